"""Statements of other dialects, on ACID tables."""

from __future__ import annotations

import datetime as dt

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import acidsql
from acidsql.errors import AcidAnalysisError, AcidDialectError

pytestmark = pytest.mark.spark

_CREATE = """CREATE TABLE {} (id INT, name STRING, day DATE)
    STORED AS ORC TBLPROPERTIES ('transactional'='true')"""


def made(
    spark: SparkSession, dialect: str, table: str, *statements: str
) -> list[tuple[object, ...]]:
    """Return the rows of a table that statements of a dialect changed."""
    acidsql.sql(spark, _CREATE.format(table))
    for statement in statements:
        acidsql.sql(spark, statement, dialect=dialect)
    return [
        tuple(row) for row in acidsql.sql(spark, f"SELECT * FROM {table} ORDER BY id").collect()
    ]


def test_changes_in_hives_dialect(empty: SparkSession) -> None:
    assert made(
        empty,
        "hive",
        "t",
        "INSERT INTO TABLE t SELECT 1, 'it''s', add_months('2024-02-29', 1)",
        "INSERT INTO t VALUES (2, NULL, '2024-01-15'), (3, 'c', 'nonsense')",
        "UPDATE t SET name = greatest(name, 'b'), day = trunc(day, 'Q') WHERE id < '3'",
        "MERGE INTO t USING (SELECT 3 AS id, 'x y' AS names) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET name = split(s.names, ' ')[1]",
        "DELETE FROM t WHERE id / 0 = 1 OR name IS NULL",
    ) == [
        (1, "its", dt.date(2024, 1, 1)),
        (3, "y", None),
    ]


def test_changes_in_trinos_dialect(empty: SparkSession) -> None:
    assert made(
        empty,
        "trino",
        "u",
        "INSERT INTO u VALUES (1, 'it''s', DATE '2024-02-29'), (2, 'back\\slash', NULL)",
        """UPDATE "u" SET "day" = date_add('month', 1, "day") WHERE strpos(name, 's') = 4""",
        "MERGE INTO u USING (SELECT 3 AS id) AS s ON u.id = s.id "
        "WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, split_part('a.b', '.', 2))",
    ) == [
        (1, "it's", dt.date(2024, 3, 29)),
        (2, "back\\slash", None),
        (3, "b", None),
    ]


def test_settings_of_a_dialect_hold_for_one_statement(empty: SparkSession) -> None:
    before = empty.conf.get("spark.sql.ansi.enabled")
    lazy = acidsql.sql(empty, "SELECT 1 / 0 AS x, CAST('a' AS INT) AS y", dialect="hive")
    assert empty.conf.get("spark.sql.ansi.enabled") == before
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
        acidsql.sql(empty, "SELECT 1 / 0").collect()
    assert lazy.collect() == [(None, None)]
    with pytest.raises(PySparkException):
        acidsql.sql(empty, "SELECT nosuch", dialect="hive")
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
        acidsql.sql(empty, "SELECT 1 / 0").collect()


def test_variables_parameters_and_frames(empty: SparkSession) -> None:
    acidsql.sql(empty, "SET hivevar:least_id = 2", dialect="hive")
    frame = empty.createDataFrame([(1, "a"), (2, "b"), (3, None)], "id INT, name STRING")
    text = (
        "SELECT greatest(name, :least) AS g FROM {source} "
        "WHERE id >= ${hivevar:least_id} ORDER BY g"
    )
    found = acidsql.sql(empty, text, {"least": "a"}, dialect="HIVE", source=frame)
    assert found.collect() == [("b",), (None,)]


def test_a_setting_of_hive_alone_has_a_warning(empty: SparkSession) -> None:
    with pytest.warns(UserWarning, match=r"hive\.exec\.parallel is kept and has no effect"):
        acidsql.sql(empty, "SET hive.exec.parallel=true", dialect="hive")
    assert empty.conf.get("hive.exec.parallel") == "true"


def test_what_is_refused_changes_nothing(empty: SparkSession) -> None:
    acidsql.sql(empty, _CREATE.format("v"))
    with pytest.raises(AcidDialectError) as caught:
        acidsql.sql(empty, "INSERT INTO v\nSELECT hash(1), 'a', NULL", dialect="hive")
    assert (caught.value.line, caught.value.column) == (2, 8)
    assert acidsql.sql(empty, "SELECT * FROM v").collect() == []
    with pytest.raises(AcidAnalysisError, match="Impala's dialect is not carried over"):
        acidsql.sql(empty, "SELECT 1", dialect="impala")
