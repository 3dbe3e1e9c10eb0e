"""Tests of streaming ingest as Spark sees it: open batches, aborted transactions, dead clients."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import acidsql
from acidsql.streaming import StreamingConnection, connect
from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

Connect = Callable[..., StreamingConnection]


@pytest.fixture
def stream(lab: Lab) -> Connect:
    """Return ``connect`` for tables of the shared session."""

    def open_connection(table: str, **options: Any) -> StreamingConnection:
        return connect(
            metastore=lab.session.settings.metastore,
            table=table,
            time_zone=lab.session.time_zone,
            synchronous=False,
            **options,
        )

    return open_connection


@pytest.mark.slow
def test_an_open_batch_is_read_as_far_as_it_has_committed(lab: Lab, stream: Connect) -> None:
    table = lab.create("id INT, s STRING", values="(0, 'before')")
    with stream(table, transaction_batch_size=4) as connection:
        for number in (1, 2):
            with connection.transaction():
                connection.write({"id": number, "s": f"row {number}"})
            expected = [(0, "before"), *((n, f"row {n}") for n in range(1, number + 1))]
            assert lab.rows(table) == expected
        connection.begin()
        connection.write((3, "never"))
        assert len(lab.rows(table)) == 3
        connection.abort()
        assert lab.directories(table)[-1] == "delta_0000002_0000005"
        names = sorted(p.name for p in (lab.root(table) / "delta_0000002_0000005").iterdir())
        assert names == ["_orc_acid_version", "bucket_00000", "bucket_00000_flush_length"]
        with connection.transaction():
            connection.write((4, None))
    assert lab.rows(table) == [(0, "before"), (1, "row 1"), (2, "row 2"), (4, None)]
    assert lab.sql(f"SELECT id, row__id.writeid FROM {table} WHERE id > 0 ORDER BY id") == [
        (1, 2),
        (2, 3),
        (4, 5),
    ]
    lab.sql(f"UPDATE {table} SET s = 'new' WHERE id = 2")
    lab.sql(f"DELETE FROM {table} WHERE id = 1")
    assert lab.compact(table, "major").state == "succeeded"
    assert lab.rows(table) == [(0, "before"), (2, "new"), (4, None)]
    assert lab.sql(f"CHECK TABLE {table} FULL") == []


@pytest.mark.slow
def test_a_killed_client_leaves_what_it_committed(lab: Lab) -> None:
    table = lab.create("id INT, s STRING")
    program = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.product.streaming_program",
            lab.session.settings.metastore,
            table,
        ],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    while int(program.stdout.readline()) < 6:
        pass
    program.kill()
    printed = [6, *map(int, program.stdout.read().split())]
    program.wait()
    rows = lab.rows(table)
    # It may have been killed between a commit and the line that reports it.
    assert len(rows) in (2 * printed[-1], 2 * printed[-1] + 2)
    assert rows == [(n, s) for n in range(len(rows) // 2) for s in "ab"]
    lab.session.metastore.reap()
    assert lab.compact(table, "minor").state == "succeeded"
    acidsql.run_cleaner(lab.spark)
    assert lab.rows(table) == rows
    assert lab.sql(f"CHECK TABLE {table} FULL") == []


def test_values_of_all_types_are_those_of_insert(lab: Lab, stream: Connect) -> None:
    columns = (
        "b BOOLEAN, t TINYINT, i INT, l BIGINT, f FLOAT, d DOUBLE, n DECIMAL(10,2), s STRING, "
        "c CHAR(3), v VARCHAR(3), x BINARY, da DATE, ts TIMESTAMP, a ARRAY<INT>, "
        "m MAP<STRING, BIGINT>, r STRUCT<p: INT, q: ARRAY<STRING>>"
    )
    table = lab.create(columns)
    moment = dt.datetime.fromisoformat("1970-01-01T00:00:00.123456")
    long_ago = dt.datetime.fromisoformat("1582-01-01")
    record = (
        True, 1, -5, 2**40, 0.5, -1e300, Decimal("1.005"), "ä", "a", "abc", b"\x00\xff",
        dt.date(1500, 2, 28), moment, [1, None], {"k": 1}, {"p": 1, "q": ["x"]},
    )  # fmt: skip
    with stream(table) as connection, connection.transaction():
        connection.write(record)
        connection.write([None] * len(record))
        connection.write([*[None] * 2, 7, *[None] * 9, long_ago, *[None] * 3])
    assert lab.sql(f"SELECT ts FROM {table} WHERE i = 7") == [(long_ago,)]
    lab.sql(
        f"INSERT INTO {table} VALUES (true, 1, -5, {2**40}, 0.5F, -1e300D, 1.005, 'ä', 'a', "
        "'abc', X'00FF', DATE'1500-02-28', TIMESTAMP'1970-01-01 00:00:00.123456', "
        "array(1, NULL), map('k', 1L), named_struct('p', 1, 'q', array('x')))"
    )
    found = lab.frame(f"SELECT * FROM {table} WHERE i IS NULL OR i < 7 ORDER BY i")
    first, second, third = found.collect()
    assert second == third
    assert (second["n"], second["c"], second["ts"]) == (Decimal("1.01"), "a  ", moment)
    assert list(first) == [None] * len(record)


@pytest.mark.slow
def test_rows_go_to_partitions_and_buckets(lab: Lab, stream: Connect) -> None:
    table = lab.create(
        "id BIGINT, s STRING", partitioned="p INT, q DATE", clustered="(s, id) INTO 3 BUCKETS"
    )
    rows = [(n, f"s{n}", n % 2, dt.date(2024, 1, 1 + n % 3)) for n in range(60)]
    with stream(table) as connection, connection.transaction():
        connection.write(pa.table(_arrow(rows)))
    lab.sql(f"INSERT INTO {table} SELECT id + 1000, s, p, q FROM {table}")
    assert len(lab.sql(f"SHOW PARTITIONS {table}")) == 6
    assert sorted(lab.sql(f"SELECT * FROM {table} WHERE id < 1000")) == rows
    assert lab.sql(f"CHECK TABLE {table} FULL") == []


def _arrow(rows: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    columns = zip(*rows, strict=True)
    return {name: list(values) for name, values in zip(("id", "s", "p", "q"), columns, strict=True)}


def test_rows_survive_an_overwrite_between_two_transactions(lab: Lab, stream: Connect) -> None:
    table = lab.create("id INT")
    with stream(table, transaction_batch_size=5) as connection:
        with connection.transaction():
            connection.write((1,))
        lab.sql(f"INSERT OVERWRITE TABLE {table} VALUES (10)")
        with connection.transaction():
            connection.write((2,))
        lab.sql(f"ALTER TABLE {table} ADD COLUMNS (s STRING)")
        with connection.transaction():
            connection.write({"id": 3, "s": "new column"})
    assert lab.rows(table) == [(10, None), (2, None), (3, "new column")]
