"""Tests of the values of rows that ORC's reader selected, in files of many batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import acidsql
from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


def answers(lab: Lab, table: str, query: str, condition: str) -> list[list[str]]:
    """Return the results of a query, and of the same over rows that were read as a whole."""
    acidsql.table(lab.spark, table).localCheckpoint().createOrReplaceTempView("whole")
    texts = [query.format(t=t, condition=condition) for t in (table, "whole")]
    return [sorted(map(repr, lab.sql(text))) for text in texts]


# One file of several row groups. Text goes along with the number of the row, so that batches have
# one value only.
LONG_ROWS = """
SELECT /*+ COALESCE(1) */ k, IF(k % 7 = 0, NULL, k % 50), IF(k % 11 = 0, NULL, k % 3 = 1),
  IF(k % 13 = 0, NULL, date_add(DATE'1970-01-01', k % 40)), IF(k % 5 = 0, NULL, k % 90 / 8),
  IF(k % 17 = 0, NULL, concat('g', k DIV 450)), concat('h', k DIV 450)
FROM (SELECT CAST(id AS INT) AS k FROM range(5500))
"""


@pytest.fixture(scope="module")
def long(spark: Any) -> Iterator[str]:
    lab = Lab(spark)
    name = lab.create(
        "k INT, n INT, b BOOLEAN, d DATE, m DECIMAL(9, 3), s STRING, z STRING",
        properties={"orc.row.index.stride": "1000"},
    )
    lab.sql(f"INSERT INTO {name} {LONG_ROWS}")
    yield name
    lab.sql(f"DROP TABLE {name}")


LONG_CONDITIONS = [
    "n = 1",
    "n <> 40",
    "n < 5",
    "n > 3",
    "n > 3 AND n < 6",
    "n IN (1, 7)",
    "n NOT IN (7, 8)",
    "n IN (7, 8)",
    "k = 1",
    "k IN (7, 3007)",
    "k BETWEEN 990 AND 1010 AND n <> 3",
    "n > 45 OR d = DATE'1970-01-20'",
    "n > 3 OR n = 2",
    "n > 45 AND d > DATE'1970-01-20'",
    "d = DATE'1970-01-02'",
    "d <> DATE'1970-01-20'",
    "d > DATE'1970-01-20'",
    "m >= 0",
    "m = 2.5",
    "b",
    "NOT b",
    "b AND n > 40",
    "s = 'g4'",
    "s <> 'g4'",
    "s = 'g4' AND n > 40",
    "z = 'h4'",
    "z IN ('h4', 'h8') AND n > 40",
]


@pytest.mark.sample(3)
@pytest.mark.parametrize("condition", LONG_CONDITIONS)
def test_values_that_were_compared_are_right_in_every_row_group(
    lab: Lab, long: str, condition: str
) -> None:
    """Check values of columns by which ORC's reader selects rows.

    There it loses NULLs, and values that are the same in a whole batch.
    """
    found, expected = answers(lab, long, "SELECT * FROM {t} WHERE {condition}", condition)
    assert found == expected


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize("condition", ["n = 1", "n < 5", "b", "s = 'g4'", "d <> DATE'1970-01-20'"])
def test_changes_leave_rows_alone_that_do_not_match(lab: Lab, long: str, condition: str) -> None:
    t = lab.create("k INT, n INT, b BOOLEAN, d DATE, s STRING")
    lab.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('orc.row.index.stride'='1000')")
    lab.sql(f"INSERT INTO {t} SELECT /*+ COALESCE(1) */ k, n, b, d, s FROM {long}")
    acidsql.table(lab.spark, t).localCheckpoint().createOrReplaceTempView("whole")
    kept = lab.sql(f"SELECT k FROM whole WHERE NOT coalesce({condition}, false)")
    lab.sql(f"DELETE FROM {t} WHERE {condition}")
    assert sorted(lab.rows(t, "k")) == sorted(kept)


def test_copies_of_a_table_read_all_columns_that_are_compared(lab: Lab, long: str) -> None:
    """Check that each use of a common table expression has required rows of its own."""
    query = (
        "WITH c AS (SELECT * FROM {t} WHERE k > 100) SELECT count(x.k), count(y.k), max(y.z) "
        "FROM c AS x JOIN c AS y ON x.k = y.k "
        "WHERE x.n IN (7, 8) AND y.d > DATE'1970-01-20' AND (y.n = 7 OR y.b)"
    )
    found, expected = answers(lab, long, query, "")
    assert found == expected


# In a block, a value is always NULL, always the same, or never. No block ends where a batch does.
# The row groups have three batches each.
_BLOCK = "CASE k DIV 1700 % 4 WHEN 0 THEN NULL WHEN 1 THEN {constant} ELSE {value} END"
_WIDE = {
    "x DOUBLE": ("1.5D", "k / 3"),
    "f FLOAT": ("float(0.5)", "float(k)"),
    "ts TIMESTAMP": ("TIMESTAMP'1600-02-03 04:05:06.7'", "timestamp_seconds(k * 100001L)"),
    "n DECIMAL(9, 2)": ("7.25", "CAST(k / 8 AS DECIMAL(9, 2))"),
    "big DECIMAL(30, 4)": ("1.0001", "k * 10000000000.0001"),
    "s STRING": ("'same'", "concat('s', k)"),
    "w STRING": ("'same'", "concat('w', k % 5)"),
    "c CHAR(5)": ("'c'", "concat('c', k % 900)"),
    "b BOOLEAN": ("true", "k % 2 = 0"),
    "y TINYINT": ("CAST(3 AS TINYINT)", "CAST(k % 100 AS TINYINT)"),
    "bin BINARY": ("X'01'", "CAST(concat('b', k) AS BINARY)"),
    "d DATE": ("DATE'1500-01-01'", "date_add(DATE'2024-01-01', k)"),
    "st STRUCT<i: INT, t: STRING>": (
        "named_struct('i', 1, 't', 'u')",
        "named_struct('i', k, 't', s)",
    ),
    "a ARRAY<STRING>": ("array('e')", "array(s, NULL)"),
}


@pytest.fixture(scope="module")
def wide(spark: Any) -> Iterator[str]:
    lab = Lab(spark)
    name = lab.create(f"k INT, m INT, {', '.join(_WIDE)}")
    values = ", ".join(_BLOCK.format(constant=c, value=v) for c, v in _WIDE.values())
    lab.sql(
        f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ k, k % 1000, {values} FROM "
        "(SELECT CAST(id AS INT) AS k, concat('q', id) AS s FROM range(26000))"
    )
    yield name
    lab.sql(f"DROP TABLE {name}")


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "condition",
    [
        "k > 0",
        "k > 12345",
        "k BETWEEN 4000 AND 9000",
        "k IN (5, 4095, 4096, 9999, 10000, 20000)",
        "k BETWEEN 8100 AND 8300 OR k BETWEEN 10010 AND 10020",
        "m = 999",
        "m > 2",
        "m > 997 AND k > 300",
        "d > DATE'2060-01-01'",
        "y = 3",
    ],
)
def test_values_of_found_rows_are_right_in_every_batch(lab: Lab, wide: str, condition: str) -> None:
    columns = ", ".join(["k", "m", *(name.split()[0] for name in _WIDE)])
    query = f"SELECT count(*), sum(hash({columns})), max(k) FROM {{t}} WHERE {{condition}}"
    found, expected = answers(lab, wide, query, condition)
    assert found == expected
