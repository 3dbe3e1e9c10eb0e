"""Tests that ORC skips stripes, row groups and rows that no statement needs, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame

import acidsql
from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

COLUMNS = (
    "i INT, l BIGINT, s SMALLINT, b TINYINT, f BOOLEAN, t STRING, v VARCHAR(9), c CHAR(5), "
    "d DATE, n DECIMAL(9, 2), big DECIMAL(30, 4), x DOUBLE, r FLOAT, ts TIMESTAMP, bin BINARY, "
    "at TIMESTAMP_LTZ, st STRUCT<i: INT, t: STRING>, a ARRAY<STRING>, operation INT, "
    "`row` INT, `two words` INT"
)
# Each of 200 rows has a NULL here and there; text and numbers go along with the number of the row.
ROWS = """
SELECT /*+ COALESCE(1) */ IF(k % 7 = 0, NULL, k), IF(k % 11 = 0, NULL, k * 1000000007L), k % 50,
  IF(k % 3 = 0, NULL, k % 100), IF(k % 5 = 0, NULL, k % 2 = 0),
  IF(k % 6 = 0, NULL, concat('t', lpad(k, 3, '0'))), concat('v', k % 10), concat('c', k % 9),
  IF(k % 13 = 0, NULL, date_add(DATE'2024-01-01', k)), IF(k % 4 = 0, NULL, k / 8),
  k * 1000000000000.0001, IF(k % 9 = 0, double('NaN'), k / 3), IF(k = 0, -0.0, k / 7),
  timestamp_seconds(k * 100000), CAST(concat('b', k) AS BINARY),
  IF(k % 10 = 4, NULL, timestamp_micros(k * 86400000001)),
  IF(k % 8 = 0, NULL, named_struct('i', IF(k % 10 = 0, NULL, k), 't', concat('s', k))),
  IF(k % 12 = 0, NULL, array(concat('e', k), NULL)), k % 20, k % 21, k % 22
FROM (SELECT CAST({first} + id AS INT) AS k FROM range({count}))
"""
CONDITIONS = [
    "i = 42",
    "I = 42 AND T > 't' AND i > 3",
    "i <> 42",
    "NOT i = 42",
    "i > 150 AND t < 't170'",
    "i BETWEEN 30 AND 35 OR i = 100",
    "i IN (1, 2, 3, 500)",
    "i IN (1, 2, NULL)",
    "i NOT IN (1, 2, 3)",
    "i <=> 42",
    "NOT i <=> 42",
    "NOT i <=> NULL",
    "i IS NULL",
    "i IS NULL OR i = 5",
    "NOT (i = 5 AND b IS NULL)",
    "NOT (i > 5 OR t IS NULL)",
    "l = 42000000294",
    "l >= 42000000294 AND i IS NOT NULL",
    "s = 13 AND b < 60",
    "b = -1",
    "f",
    "NOT f",
    "f AND i > 100",
    "t = 't042'",
    "t IN ('t001', 't002')",
    "t LIKE 't04%' AND i > 40",
    "length(t) = 4 AND i = 42",
    "CAST(substr(t, 2, 3) AS INT) + 1 > 100 AND i < 120",
    "v = 'v3'",
    "c = 'c4'",
    "c = 'c4   '",
    "d = DATE'2024-02-12'",
    "d > DATE'2024-06-01' OR d < DATE'1500-01-01'",
    "d > '1582-10-15'",
    "n = 5.25",
    "n BETWEEN 5 AND 6.125",
    "big > 150000000000000",
    "x = double('NaN')",
    "x > 60",
    "x <= 1 OR i = 3",
    "r = 0.0",
    "ts < TIMESTAMP'1970-01-03 00:00:00' OR i = 77",
    "at = TIMESTAMP'2024-02-12 00:00:00' OR at = timestamp_micros(42 * 86400000001)",
    "NOT at = timestamp_micros(42 * 86400000001) AND at < TIMESTAMP'1970-03-01'",
    "at <> timestamp_micros(42 * 86400000001)",
    "at <= timestamp_micros(42 * 86400000001) AND at > timestamp_micros(40 * 86400000001)",
    "at >= timestamp_micros(42 * 86400000001) AND at < timestamp_micros(50 * 86400000001)",
    "at IN (timestamp_micros(42 * 86400000001), timestamp_micros(43 * 86400000001), NULL)",
    "at NOT IN (timestamp_micros(42 * 86400000001), timestamp_micros(43 * 86400000001))",
    "at IS NULL AND i > 20",
    "at IS NOT NULL AND at < TIMESTAMP'1950-01-01'",
    "at < timestamp_micros(1) OR at > TIMESTAMP'1970-06-01'",
    "bin = CAST('b42' AS BINARY)",
    "st.i = 43",
    "st.i = 43 AND i = 43",
    "a[0] = 'e5' AND i < 10",
    "operation = 3 AND `row` = 3",
    "`two words` = 3 AND i > 20",
    "i = (SELECT max(i) FROM {t})",
    "i IN (SELECT i FROM {t} WHERE i < 5) AND i > 2",
    "i = l / 1000000007",
    "i > 10 AND rand() >= 0",
]


@pytest.fixture(scope="module")
def many(spark: Any) -> Iterator[str]:
    """Yield a table of two files, with some rows deleted and some changed."""
    lab = Lab(spark)
    name = lab.create(COLUMNS)
    lab.sql(f"INSERT INTO {name} {ROWS.format(first=0, count=120)}")
    lab.sql(f"INSERT INTO {name} {ROWS.format(first=120, count=80)}")
    lab.sql(f"DELETE FROM {name} WHERE i % 10 = 1")
    lab.sql(f"UPDATE {name} SET i = i + 1000, t = concat(t, '!') WHERE i % 10 = 2")
    yield name
    lab.sql(f"DROP TABLE {name}")


def whole(lab: Lab, table: str) -> DataFrame:
    """Return the rows of the table, read as a whole before a query asks for some."""
    return acidsql.table(lab.spark, table).localCheckpoint()


def answers(lab: Lab, many: str, query: str, condition: str) -> list[list[str]]:
    """Return the results of a query with a search argument and without one."""
    whole(lab, many).createOrReplaceTempView("whole")
    queries = [query.format(t=t, condition=condition.format(t=t)) for t in (many, "whole")]
    return [sorted(map(repr, lab.sql(text))) for text in queries]


@pytest.mark.slow
@pytest.mark.sample(5)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_nothing_is_missing(lab: Lab, many: str, condition: str) -> None:
    found, expected = answers(lab, many, "SELECT * FROM {t} WHERE {condition}", condition)
    assert found == expected


@pytest.mark.slow
@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM {t} WHERE {condition}",
        "SELECT max(t), min(x), max(st.t) FROM {t} WHERE {condition}",
        "SELECT a.i, b.t FROM {t} a JOIN {t} b ON a.i = b.s WHERE {condition}",
        "SELECT * FROM (SELECT i AS j, t AS i, l FROM {t}) WHERE j > 190 AND i > 't195'",
        "SELECT count(*) FROM {t} WHERE {condition} AND EXISTS (SELECT 1 FROM {t} WHERE i = 43)",
    ],
)
def test_whatever_is_made_of_the_rows(lab: Lab, many: str, query: str) -> None:
    condition = "i > 150" if " a JOIN" not in query else "a.i < 30 AND b.i > 20"
    found, expected = answers(lab, many, query.replace("{condition}", condition), "")
    assert found == expected


def test_row_ids_are_looked_for_beside_columns(lab: Lab, many: str) -> None:
    query = f"SELECT i FROM {many} WHERE row__id.rowid = 3"
    assert sorted(lab.sql(query)) == [(3,), (123,), (1032,)]
    assert lab.sql(f"{query} AND i > 3 AND i < 1000") == [(123,)]


def scanned_rows(frame: DataFrame) -> int:
    """Run a DataFrame without a shuffle; return the number of rows that its scans gave to Spark."""
    frame.collect()
    leaves = frame._jdf.queryExecution().executedPlan().collectLeaves()
    scans = [leaves.apply(i) for i in range(leaves.size())]
    return sum(int(s.metrics().apply("numOutputRows").value()) for s in scans)


@pytest.fixture(scope="module")
def sorted_table(spark: Any) -> Iterator[str]:
    """Yield a table of four row groups of 10,000 rows each."""
    lab = Lab(spark)
    name = lab.create("id INT, t STRING, at TIMESTAMP_LTZ")
    rows = (
        "SELECT CAST(id AS INT), concat('t', id), timestamp_seconds(86400 * 365 + id) "
        "FROM range(0, 40000, 1, 1)"
    )
    lab.sql(f"INSERT INTO {name} {rows}")
    yield name
    lab.sql(f"DROP TABLE {name}")


@pytest.mark.parametrize(
    ("query", "most"),
    [
        ("SELECT * FROM {t} WHERE id = 25000", 10000),
        ("SELECT * FROM {t} WHERE ID = 25000 AND Id < 30000", 10000),
        ("SELECT * FROM {t} WHERE id > 35000 AND length(t) > 1", 10000),
        ("SELECT t FROM (SELECT id + 0 AS x, * FROM {t}) WHERE id BETWEEN 9999 AND 10000", 20000),
        ("SELECT * FROM {t} WHERE id IN (1, 39999)", 20000),
        ("SELECT * FROM {t} WHERE id + 1 = 25000", 40000),
        ("SELECT * FROM {t} WHERE id = 50000", 0),
        ("SELECT * FROM {t} WHERE at = timestamp_seconds(86400 * 365 + 25000)", 10000),
        ("SELECT * FROM {t} WHERE at < timestamp_micros(31536000000001)", 10000),
        ("SELECT * FROM {t} WHERE at >= timestamp_seconds(86400 * 365 + 40000)", 0),
        (
            "WITH c AS (SELECT * FROM {t}) "
            "SELECT * FROM c WHERE id = 1 UNION ALL SELECT * FROM c WHERE id = 2",
            20000,
        ),
        (
            "WITH c AS (SELECT * FROM {t}) SELECT * FROM c WHERE id = 1 UNION ALL SELECT * FROM c",
            40001,
        ),
    ],
)
def test_row_groups_are_passed_over(lab: Lab, sorted_table: str, query: str, most: int) -> None:
    """Check the number of rows; batches without a matching row are not given to Spark at all."""
    rows = scanned_rows(lab.frame(query.format(t=sorted_table)))
    assert (rows > 0) == (most > 0)
    assert rows <= most
    assert most < 40000 or rows == most


@pytest.mark.repeated
def test_changes_find_their_rows_the_same_way(lab: Lab, sorted_table: str) -> None:
    lab.sql(
        "CREATE TABLE changed STORED AS ORC TBLPROPERTIES ('transactional'='true') "
        f"AS SELECT * FROM {sorted_table}"
    )
    try:
        lab.sql("UPDATE changed SET t = 'new' WHERE id = 20001")
        lab.sql("DELETE FROM changed WHERE id BETWEEN 5 AND 9")
        lab.sql(
            "MERGE INTO changed USING (SELECT 7 AS k) ON id = k AND id < 10 "
            "WHEN NOT MATCHED THEN INSERT (id, t) VALUES (k, 'seven')"
        )
        assert lab.sql("SELECT count(*), count(DISTINCT id) FROM changed") == [(39996, 39996)]
        assert lab.sql("SELECT t FROM changed WHERE id IN (20001, 7)") == [("new",), ("seven",)]
    finally:
        lab.sql("DROP TABLE changed")


@pytest.mark.slow
def test_columns_that_changed_are_compared_as_they_are_now(lab: Lab) -> None:
    t = lab.create("a INT, b INT, c DECIMAL(5, 2)", values="(1, 2, 1.5), (3, 4, 2.5)")
    lab.sql(f"ALTER TABLE {t} ALTER COLUMN a TYPE BIGINT")
    lab.sql(f"ALTER TABLE {t} RENAME COLUMN b TO a2")
    lab.sql(f"ALTER TABLE {t} ALTER COLUMN c TYPE DECIMAL(9, 2)")
    lab.sql(f"ALTER TABLE {t} ADD COLUMNS (d STRING, b INT)")
    lab.insert(t, "(5000000000, 6, 12345.67, 'x', 2)")
    for condition, expected in {
        "a = 1": [1],
        "a > 2": [3, 5000000000],
        "a2 = 4": [3],
        "a2 > 2 AND b = 2": [5000000000],
        "b = 2": [5000000000],
        "c = 1.5": [1],
        "c > 2": [3, 5000000000],
        "d IS NULL AND a2 >= 2": [1, 3],
        "d = 'x'": [5000000000],
    }.items():
        assert sorted(a for (a,) in lab.sql(f"SELECT a FROM {t} WHERE {condition}")) == expected


@pytest.mark.slow
def test_settings_may_change_before_a_dataframe_runs(lab: Lab, many: str) -> None:
    frame = lab.frame(f"SELECT * FROM {many} WHERE i = 43")
    with lab.settings(
        spark__sql__orc__enableVectorizedReader="false",
        spark__sql__codegen__wholeStage="false",
        spark__sql__orc__filterPushdown="false",
    ):
        assert [row.t for row in frame.where("length(t) > 1").collect()] == ["t043"]
        again = lab.frame(f"SELECT t, st, a FROM {many} WHERE i = 43")
        assert [row.t for row in again.collect()] == ["t043"]


def test_rows_that_were_passed_over_are_not_looked_at(lab: Lab) -> None:
    t = lab.create("kind STRING, value STRING", values="('n', '1'), ('t', 'x'), ('n', '2')")
    query = f"SELECT sum(n) FROM (SELECT CAST(value AS INT) AS n FROM {t} WHERE kind = 'n')"
    assert lab.sql(query) == [(3,)]
    # The condition on ``value`` stands first, and finds nothing in rows that ORC did not decode.
    assert lab.sql(f"SELECT value FROM {t} WHERE length(value) = 1 AND kind = 't'") == [("x",)]


@pytest.mark.repeated
def test_wide_tables_are_searched_by_row_groups(lab: Lab) -> None:
    t = lab.create(", ".join(f"c{i} STRING" for i in range(120)))
    values = ", ".join(f"concat('v', id + {i})" for i in range(120))
    lab.sql(f"INSERT INTO {t} SELECT {values} FROM range(0, 50, 1, 1)")
    assert lab.sql(f"SELECT c1, c119 FROM {t} WHERE c0 = 'v7'") == [("v8", "v126")]
    assert len(lab.sql(f"SELECT * FROM {t} WHERE c0 >= 'v9'")) == 1
