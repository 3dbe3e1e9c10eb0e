"""Tests of queries of only partition columns: their results, and whether they need a scan."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from acidsql.planning import statement
from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


def _made(lab: Lab) -> str:
    """Create a table with two rows in each of four partitions, one of them with the value NULL."""
    t = lab.create("id INT", partitioned="p INT, q STRING")
    rows = [f"({i}, {p}, '{q}')" for i in range(2) for p, q in ((1, "a"), (2, "a"), (10, "b"))]
    lab.insert(t, ", ".join([*rows, "(8, NULL, 'c')", "(9, NULL, 'c')"]))
    return t


@pytest.fixture
def table(lab: Lab) -> str:
    return _made(lab)


@pytest.fixture(scope="module")
def unchanged(spark: SparkSession) -> str:
    return _made(Lab(spark))


def _ask(lab: Lab, text: str) -> tuple[list[tuple[object, ...]], bool]:
    """Return the rows of a query, and whether it scans files."""
    frame = lab.frame(text)
    rows = sorted((tuple(row) for row in frame.collect()), key=repr)
    return rows, "BatchScan" in frame._jdf.queryExecution().executedPlan().toString()


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("query", "rows", "scans"),
    [
        ("SELECT max(p) FROM {t}", [(10,)], False),
        ("SELECT min(P), max(q), count(DISTINCT p) FROM {t}", [(1, "c", 3)], False),
        ("SELECT DISTINCT p FROM {t}", [(1,), (10,), (2,), (None,)], False),
        ("SELECT q FROM {t} GROUP BY q", [("a",), ("b",), ("c",)], False),
        (
            "SELECT q, max(p + 1) AS m FROM {t} GROUP BY q",
            [("a", 3), ("b", 11), ("c", None)],
            False,
        ),
        ("SELECT max(p) FROM {t} WHERE q = 'a'", [(2,)], False),
        ("SELECT max(x) FROM (SELECT p * 2 AS x, q FROM {t}) WHERE q < 'b'", [(4,)], False),
        ("SELECT max(p) FROM {t} WHERE p > 99", [(None,)], False),
        ("SELECT max(p) FILTER (WHERE q = 'a') FROM {t}", [(2,)], False),
        ("SELECT (SELECT max(p) FROM {t}) + 1", [(11,)], False),
        (
            "WITH c AS (SELECT * FROM {t}) SELECT max(p), (SELECT min(p) FROM c) FROM c",
            [(10, 1)],
            0,
        ),
        ("SELECT DISTINCT p FROM {t} WHERE p > (SELECT min(p) FROM {t})", [(10,), (2,)], False),
        # These ask for more than the values that there are.
        ("SELECT count(*), sum(p) FROM {t}", [(8, 26)], True),
        ("SELECT q, count(*) FROM {t} GROUP BY q", [("a", 4), ("b", 2), ("c", 2)], True),
        ("SELECT max(p) FROM {t} WHERE id = 0", [(10,)], True),
        ("SELECT max(p), max(id) FROM {t}", [(10, 9)], True),
        ("SELECT max(p) FROM {t} WHERE row__id.writeid = 1", [(10,)], True),
        ("SELECT max(struct(p, row__id.writeid)).p FROM {t}", [(10,)], True),
        ("SELECT p FROM {t} WHERE q = 'b'", [(10,), (10,)], True),
        ("SELECT max(p) FROM {t} WHERE p > rand()", [(10,)], True),
        ("SELECT count(DISTINCT p), sum(p) FROM {t}", [(3, 26)], True),
        ("SELECT sum(p * (SELECT max(p) FROM {t})) FROM {t}", [(260,)], True),
        ("SELECT max(p), max((SELECT max(id) FROM {t})) FROM {t}", [(10, 9)], True),
    ],
)
def test_queries(
    lab: Lab,
    unchanged: str,
    query: str,
    rows: list[tuple[object, ...]],
    scans: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = query.format(t=unchanged)
    found = _ask(lab, text)
    assert found == (rows, scans)
    monkeypatch.setattr(statement, "find_required_rows", lambda *_: {})
    assert _ask(lab, text)[0] == rows


def _values(lab: Lab, table: str) -> tuple[list[tuple[object, ...]], bool]:
    found = _ask(lab, f"SELECT DISTINCT p FROM {table}")
    assert found[0] == sorted(set(lab.sql(f"SELECT p FROM {table}")), key=repr)
    return found


@pytest.mark.slow
def test_partitions_without_rows_are_left_out(lab: Lab, table: str) -> None:
    lab.sql(f"ALTER TABLE {table} ADD PARTITION (p = 20, q = 'new')")
    assert _values(lab, table) == ([(1,), (10,), (2,), (None,)], False)
    lab.sql(f"DELETE FROM {table} WHERE p = 1 AND id = 0")
    assert _values(lab, table) == ([(1,), (10,), (2,), (None,)], False)
    # As many delete events as rows: only a scan of that partition can determine it.
    lab.sql(f"DELETE FROM {table} WHERE p = 1")
    lab.sql(f"UPDATE {table} SET id = id + 5 WHERE p = 10")
    assert _values(lab, table) == ([(10,), (2,), (None,)], True)
    lab.compact(table, "major", "p = 1, q = 'a'")
    assert _values(lab, table) == ([(10,), (2,), (None,)], False)
    lab.sql(f"TRUNCATE TABLE {table} PARTITION (p = 2, q = 'a')")
    assert _values(lab, table) == ([(10,), (None,)], False)
    lab.sql(f"ALTER TABLE {table} DROP PARTITION (p = 10)")
    assert _values(lab, table) == ([(None,)], False)


def test_what_a_snapshot_does_not_see_has_no_partitions(lab: Lab, table: str) -> None:
    frame = lab.frame(f"SELECT DISTINCT p FROM {table}")
    lab.insert(table, "(5, 5, 'e')")
    assert (5,) not in [tuple(row) for row in frame.collect()]
    assert (5,) in _values(lab, table)[0]


def test_files_without_row_ids_are_scanned(lab: Lab, table: str, tmp_path: Path) -> None:
    files = tmp_path / "files"
    lab.spark.range(1).selectExpr("CAST(id AS INT) AS id").write.orc(str(files))
    lab.sql(f"LOAD DATA LOCAL INPATH '{files}' INTO TABLE {table} PARTITION (p = 7, q = 'l')")
    assert _values(lab, table) == ([(1,), (10,), (2,), (7,), (None,)], True)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("DATE", "DATE'2024-01-05'"),
        ("DECIMAL(9, 2)", "1.50"),
        ("TIMESTAMP", "TIMESTAMP'2024-01-05 01:02:03'"),
        ("CHAR(4)", "'ab'"),
        ("BOOLEAN", "true"),
        ("DOUBLE", "1.5D"),
    ],
)
def test_types(lab: Lab, kind: str, values: str, monkeypatch: pytest.MonkeyPatch) -> None:
    t = lab.create("id INT NOT NULL, s STRUCT<a: INT> NOT NULL", partitioned=f"p {kind}")
    lab.sql(f"INSERT INTO {t} SELECT 1, struct(2), {values}")
    found = _ask(lab, f"SELECT max(p), typeof(max(p)) FROM {t}")
    assert not found[1]
    monkeypatch.setattr(statement, "find_required_rows", lambda *_: {})
    assert found[0] == lab.sql(f"SELECT max(p), typeof(max(p)) FROM {t}")
