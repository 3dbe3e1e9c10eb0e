"""Random histories, interleaved with open and aborted transactions, against a plain list."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import acidsql
from acidsql.format.names import delta_name
from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.model import Table
from acidsql.planning.name_resolution import acid_table
from acidsql.planning.statement_snapshots import latest_snapshot
from acidsql.scan.plan import count_rows_from_tails
from acidsql.session.acid_session import AcidSession
from acidsql.transactions.write_intent import insert_intent
from acidsql.transactions.write_transaction import write_transaction

pytestmark = pytest.mark.spark

_numbers = itertools.count()
_keys = st.integers(0, 9)


@dataclass
class Model:
    """Expected rows of the table: (k, v, p), in no order."""

    rows: list[tuple[int, int, int]] = field(default_factory=list)

    def insert(self, rows: list[tuple[int, int, int]]) -> None:
        self.rows += rows

    def update(self, k: int) -> None:
        self.rows = [(a, v + 1 if a >= k else v, p) for a, v, p in self.rows]

    def move(self, k: int, p: int) -> None:
        self.rows = [(a, v, p if a == k else old) for a, v, old in self.rows]

    def delete(self, k: int) -> None:
        self.rows = [row for row in self.rows if row[0] != k]

    def merge(self, source: dict[int, int]) -> None:
        known = {k for k, _, _ in self.rows}
        kept = [
            (k, source[k], p) if k in source else (k, v, p)
            for k, v, p in self.rows
            if not (k in source and source[k] < 0) and not (k not in source and v > 50)
        ]
        self.rows = kept + [(k, v, k % 2) for k, v in source.items() if k not in known]


_steps = st.one_of(
    st.tuples(
        st.just("insert"),
        st.lists(st.tuples(_keys, st.integers(0, 60), st.integers(0, 1)), min_size=1, max_size=4),
    ),
    st.tuples(st.just("update"), _keys),
    st.tuples(st.just("move"), _keys),
    st.tuples(st.just("delete"), _keys),
    st.tuples(
        st.just("merge"), st.dictionaries(_keys, st.integers(-5, 60), min_size=1, max_size=4)
    ),
    st.tuples(st.just("compact"), st.sampled_from(["minor", "major"])),
    st.tuples(st.just("open"), st.none()),
    st.tuples(st.just("abort"), st.none()),
)


@pytest.mark.repeated
@settings(
    max_examples=5,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(partitioned=st.booleans(), history=st.lists(_steps, min_size=3, max_size=7))
def test_a_history_gives_the_models_rows(
    spark: SparkSession, partitioned: bool, history: list[tuple[str, object]]
) -> None:
    name = f"history_{next(_numbers)}"
    columns, partition = (
        ("k INT, v INT", " PARTITIONED BY (p INT)") if partitioned else ("k INT, v INT, p INT", "")
    )
    acidsql.sql(
        spark,
        f"CREATE TABLE {name} ({columns}){partition} STORED AS ORC TBLPROPERTIES "
        f"('transactional'='true')",
    )
    session, model = AcidSession.of(spark), Model()
    seen: set[tuple[int, int, int, int]] = set()
    identity: dict[tuple[int, int, int, int], tuple[int, int]] = {}
    open_txns: list[int] = []
    for kind, argument in history:
        _run(spark, session, name, model, kind, argument, open_txns)
        text = f"SELECT k, v, p, row__id FROM {name}"
        found = acidsql.sql(spark, text).collect()
        assert sorted((r.k, r.v, r.p) for r in found) == sorted(model.rows)
        table = acid_table(session, (name,))
        counted = count_rows_from_tails(session, latest_snapshot(session).snapshot(table))
        assert counted in (len(found), None)
        ids = {
            (r.row__id.writeid, r.row__id.bucketid, r.row__id.rowid, r.p if partitioned else 0): (
                r.k,
                r.v,
            )
            for r in found
        }
        assert len(ids) == len(found)
        for row_id in ids.keys() & seen:
            assert ids[row_id] == identity[row_id], "a row id was used again for another row"
        seen |= ids.keys()
        identity.update(ids)
    for txn_id in open_txns:
        session.metastore.abort_txn(txn_id)
    acidsql.sql(spark, f"DROP TABLE {name}")


def _run(
    spark: SparkSession,
    session: AcidSession,
    name: str,
    model: Model,
    kind: str,
    argument: object,
    open_txns: list[int],
) -> None:
    if kind == "insert":
        rows = list(argument)  # type: ignore[call-overload]
        values = ", ".join(str(row) for row in rows)
        acidsql.sql(spark, f"INSERT INTO {name} VALUES {values}")
        model.insert(rows)
    elif kind == "update":
        acidsql.sql(spark, f"UPDATE {name} SET v = v + 1 WHERE k >= {argument}")
        model.update(int(str(argument)))
    elif kind == "move":
        acidsql.sql(spark, f"UPDATE {name} SET p = 7 WHERE k = {argument}")
        model.move(int(str(argument)), 7)
    elif kind == "delete":
        acidsql.sql(spark, f"DELETE FROM {name} WHERE k = {argument}")
        model.delete(int(str(argument)))
    elif kind == "merge":
        source = dict(argument)  # type: ignore[call-overload]
        if len({k for k, _, _ in model.rows}) != len(model.rows):
            model.rows = [r for r in model.rows if r[0] not in source]
            acidsql.sql(spark, f"DELETE FROM {name} WHERE k IN ({', '.join(map(str, source))})")
        values = ", ".join(f"({k}, {v})" for k, v in source.items())
        acidsql.sql(
            spark,
            f"MERGE INTO {name} t USING (SELECT * FROM VALUES {values} AS s(k, v)) s ON t.k = s.k "
            "WHEN MATCHED AND s.v < 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v "
            "WHEN NOT MATCHED THEN INSERT (k, v, p) VALUES (s.k, s.v, s.k % 2) "
            "WHEN NOT MATCHED BY SOURCE AND t.v > 50 THEN DELETE",
        )
        model.merge(source)
    elif kind == "compact":
        acidsql.sql(spark, f"ALTER TABLE {name} COMPACT '{argument}'")
    elif kind == "open":
        # A writer that never ends: it holds a write id, and the cleaner back.
        txn_id = session.metastore.open_txn("somebody", "elsewhere")
        session.metastore.allocate_write_id(txn_id, "default", name)
        open_txns.append(txn_id)
    else:
        _abort_after_writing(spark, session, name)


def _abort_after_writing(spark: SparkSession, session: AcidSession, name: str) -> None:
    """Run a transaction that aborts and leaves its directory behind."""
    table = acid_table(session, (name,))
    before = acidsql.sql(spark, f"SELECT count(*) FROM {name}").head()
    with pytest.raises(ZeroDivisionError):
        _write_and_fail(session, table)
    after = acidsql.sql(spark, f"SELECT count(*) FROM {name}").head()
    assert before == after


def _write_and_fail(session: AcidSession, table: Table) -> None:
    with write_transaction(
        session, insert_intent(table, RecordedStatement(operation="INSERT"))
    ) as txn:
        name = delta_name(txn.write_id, txn.write_id, 0)
        session.files.make_directory(f"{table.location}/{name}")
        raise ZeroDivisionError
