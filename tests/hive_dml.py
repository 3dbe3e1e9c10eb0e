"""Statements of acidsql on a table that Hive wrote, with a plain model of their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import SparkSession

import acidsql
from acidsql.format.partitions import DEFAULT_PARTITION
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.lexer import quote
from tests.hive_tables import HiveTable
from tests.hive_values import Identified, Row, rows_with_ids

_NEW_KEY = 1_000_003


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Statement with a model of its effect.

    Attributes:
        deletes: returns whether the row of a key is deleted.
        updates: returns whether the row of a key is changed.
        inserts: new rows.
    """

    text: str
    deletes: Callable[[int], bool] = lambda _: False
    updates: Callable[[int], bool] = lambda _: False
    inserts: tuple[Row, ...] = ()


def write_and_compact(spark: SparkSession, table: HiveTable, now: list[Identified]) -> None:
    """Run UPDATE, DELETE, MERGE and both compactions on ``default.t``, and check each.

    Args:
        spark: the session that adopted the table.
        table: its first column is an int, the key.
        now: its rows, with their row ids.
    """
    metastore = AcidSession.of(spark).metastore
    for statement in _statements(table):
        before, write_id = now, metastore.next_write_id("default", "t")
        acidsql.sql(spark, statement.text)
        now = rows_with_ids(acidsql.table(spark, "t"))
        _check(before, statement, now, changed=_changed(table), write_id=write_id)
    for kind in ("minor", "major"):
        acidsql.sql(spark, f"ALTER TABLE t COMPACT '{kind}' AND WAIT")
        assert rows_with_ids(acidsql.table(spark, "t")) == now
    states = acidsql.sql(spark, "SHOW COMPACTIONS t").select("state").collect()
    assert "failed" not in {row.state for row in states}


def _statements(table: HiveTable) -> list[Statement]:
    """Return an UPDATE, DELETE and MERGE, each of a quarter of the keys; a quarter stays."""
    key = quote(table.columns[0][0])
    changed = quote(table.columns[_changed(table)][0])
    # NULL in a partition column is read otherwise than Hive reads it.
    named = (p.values for p in table.partitions if DEFAULT_PARTITION not in p.values)
    partition = next(named, ())
    values = "".join(
        f", CAST('{value}' AS {kind}) AS {quote(name)}"
        for value, (name, kind) in zip(partition, table.partition_columns, strict=False)
    )
    columns = "".join(f", {quote(name)}" for name, _ in table.partition_columns[: len(partition)])
    new_row = (str(_NEW_KEY), *[None] * (len(table.columns) - 1), *partition)
    return [
        Statement(
            text=f"UPDATE t SET {changed} = NULL WHERE pmod({key}, 4) = 0",
            updates=lambda k: k % 4 == 0,
        ),
        Statement(text=f"DELETE FROM t WHERE pmod({key}, 4) = 1", deletes=lambda k: k % 4 == 1),
        Statement(
            text=f"""MERGE INTO t USING (
                SELECT {key} AS k{columns} FROM t WHERE pmod({key}, 4) = 2
                UNION ALL SELECT {_NEW_KEY}{values}) s
            ON t.{key} = s.k
            WHEN MATCHED AND pmod(s.k, 8) = 2 THEN DELETE
            WHEN MATCHED THEN UPDATE SET {changed} = NULL
            WHEN NOT MATCHED THEN INSERT ({key}{columns}) VALUES (s.k{columns})""",
            deletes=lambda k: k % 8 == 2,
            updates=lambda k: k % 8 == 6,
            inserts=(new_row,),
        ),
    ]


def _changed(table: HiveTable) -> int:
    """Return the column that UPDATE changes: the first after the key that is no bucket column."""
    names = [name for name, _ in table.columns]
    return next((i for i in range(1, len(names)) if names[i] not in table.bucket_columns), 0)


def _check(
    before: list[Identified],
    statement: Statement,
    after: list[Identified],
    *,
    changed: int,
    write_id: int,
) -> None:
    """Compare the rows after a statement with those that it must leave, change and add."""
    kept, new = set(), list(statement.inserts)
    for row_id, row in before:
        key = None if row[0] is None else int(row[0])
        if key is not None and statement.updates(key):
            new.append((*row[:changed], None, *row[changed + 1 :]))
        elif key is None or not statement.deletes(key):
            kept.add((row_id, row))
    assert kept <= set(after)
    added = [pair for pair in after if pair not in kept]
    assert sorted((row for _, row in added), key=repr) == sorted(new, key=repr)
    assert {row_id[0] for row_id, _ in added} <= {write_id}
    assert len(set(after)) == len(after)
