"""Tests of ANALYZE TABLE, of what DESCRIBE shows of it, and of what Spark's optimiser learns."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame

from acidsql.errors import AcidAnalysisError, AcidLookupError
from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

COLUMNS = (
    "i INT, s STRING, d DECIMAL(7,2), day DATE, b BOOLEAN, at TIMESTAMP, f DOUBLE, a ARRAY<INT>"
)
VALUES = (
    "(1, 'x', -1.25, DATE '2024-01-31', true, TIMESTAMP '2024-01-31 10:00:00', 0.5, array(1)),"
    "(7, 'xyz', 12.5, DATE '1969-12-31', true, NULL, -2.0, NULL),"
    "(NULL, NULL, NULL, NULL, false, NULL, NULL, NULL), (7, 'yy', 0, NULL, NULL, NULL, 1, NULL)"
)


def statistic(lab: Lab, text: str) -> str | None:
    """Return the line of DESCRIBE about the statistics of a table or partition."""
    rows = {row[0]: row[1] for row in lab.sql(f"DESCRIBE EXTENDED {text}")}
    return rows.get("Statistics") or rows.get("Partition Statistics")


def statistics_of(lab: Lab, table: str, name: str) -> dict[str, str]:
    shown = dict(lab.sql(f"DESCRIBE EXTENDED {table} {name}"))
    return {k: v for k, v in shown.items() if k not in ("col_name", "data_type", "comment")}


def plan_statistics(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution().optimizedPlan().stats()


@pytest.mark.slow
def test_columns(lab: Lab) -> None:
    table = lab.create(COLUMNS, values=VALUES)
    lab.sql(f"ANALYZE TABLE {table} COMPUTE STATISTICS FOR ALL COLUMNS")
    names = ("min", "max", "num_nulls", "distinct_count", "avg_col_len", "max_col_len")
    for name, expected in {
        "i": ("1", "7", "1", "2", "4", "4"),
        "s": ("NULL", "NULL", "1", "3", "2", "3"),
        "d": ("-1.25", "12.50", "1", "3", "8", "8"),
        "day": ("1969-12-31", "2024-01-31", "2", "2", "4", "4"),
        "b": ("false", "true", "1", "2", "1", "1"),
        "at": ("2024-01-31 10:00:00", "2024-01-31 10:00:00", "3", "1", "8", "8"),
        "f": ("-2.0", "1.0", "1", "3", "8", "8"),
        "a": ("NULL",) * 6,
    }.items():
        shown = statistics_of(lab, table, name)
        assert shown == {**dict(zip(names, expected, strict=True)), "histogram": "NULL"}, name


@pytest.mark.slow
def test_a_change_makes_them_out_of_date(lab: Lab) -> None:
    table = lab.create("id INT, v STRING", values="(1, 'a'), (2, 'b'), (3, 'c')")
    assert statistic(lab, table) is None
    lab.sql(f"ANALYZE TABLE {table} COMPUTE STATISTICS NOSCAN")
    (base,) = lab.root(table).rglob("bucket_*")
    assert statistic(lab, table) == f"{base.stat().st_size} bytes"
    lab.sql(f"ANALYZE TABLE {table} COMPUTE STATISTICS FOR COLUMNS id")
    lab.sql(f"ANALYZE TABLE {table} COMPUTE STATISTICS FOR COLUMNS V")
    assert statistic(lab, table) == f"{base.stat().st_size} bytes, 3 rows"
    assert statistics_of(lab, table, "id")["max"] == "3"
    assert statistics_of(lab, table, "v")["max_col_len"] == "1"
    lab.sql(f"DELETE FROM {table} WHERE id = 3")
    assert statistic(lab, table) == f"{base.stat().st_size} bytes, 3 rows (out of date)"
    assert statistics_of(lab, table, "id")["max"] == "NULL"
    lab.sql(f"ANALYZE TABLE {table} COMPUTE STATISTICS")
    size = sum(path.stat().st_size for path in lab.root(table).rglob("bucket_*"))
    assert statistic(lab, table) == f"{size} bytes, 2 rows"
    assert statistics_of(lab, table, "id")["max"] == "NULL"


@pytest.mark.slow
def test_partitions(lab: Lab) -> None:
    table = lab.create(
        "id INT", partitioned="p INT, q STRING", values="(1, 1, 'x'), (2, NULL, 'x')"
    )
    lab.insert(table, "(3, 1, 'x'), (4, 2, 'y')")
    lab.sql(f"ANALYZE TABLE {table} PARTITION (p = 1, q) COMPUTE STATISTICS")
    assert str(statistic(lab, f"{table} PARTITION (p = 1, q = 'x')")).endswith(", 2 rows")
    assert statistic(lab, f"{table} PARTITION (p = 2, q = 'y')") is None
    assert statistic(lab, table) is None
    lab.sql(f"ANALYZE TABLE {table} COMPUTE STATISTICS FOR COLUMNS (id)")
    assert str(statistic(lab, table)).endswith(", 4 rows")
    assert statistics_of(lab, table, "id")["max"] == "4"
    nowhere = f"{table} PARTITION (p = NULL, q = 'x')"
    assert str(statistic(lab, nowhere)).endswith(", 1 rows")
    lab.insert(table, "(9, 2, 'y')")
    assert str(statistic(lab, f"{table} PARTITION (p = 2, q = 'y')")).endswith("(out of date)")
    assert str(statistic(lab, nowhere)).endswith(", 1 rows")
    with pytest.raises(AcidLookupError, match="PARTITIONS_NOT_FOUND"):
        lab.sql(f"ANALYZE TABLE {table} PARTITION (p = 99) COMPUTE STATISTICS")


def test_refused(lab: Lab) -> None:
    table = lab.create("i INT, a ARRAY<INT>", partitioned="p INT")
    lab.sql(f"CREATE VIEW {table}_view AS SELECT * FROM {table}")
    unsupported = "UNSUPPORTED_FEATURE.ANALYZE_"
    for column, condition in {
        "nothing": "COLUMN_NOT_FOUND",
        "i, a": f"{unsupported}UNSUPPORTED_COLUMN_TYPE",
        "p": f"{unsupported}PARTITION_COLUMN",
    }.items():
        with pytest.raises(AcidAnalysisError) as caught:
            lab.sql(f"ANALYZE TABLE {table} COMPUTE STATISTICS FOR COLUMNS {column}")
        assert caught.value.getCondition() == condition
    with pytest.raises(AcidAnalysisError, match="ANALYZE_VIEW"):
        lab.sql(f"ANALYZE TABLE {table}_view COMPUTE STATISTICS")
    lab.sql(f"DROP VIEW {table}_view")


def test_tables_of_a_database(lab: Lab) -> None:
    lab.sql("CREATE DATABASE counted")
    lab.sql("CREATE TABLE counted.t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
    lab.sql("CREATE VIEW counted.v AS SELECT * FROM counted.t")
    lab.spark.sql("CREATE TABLE counted.plain USING orc AS SELECT 1 AS id")
    lab.sql("INSERT INTO counted.t VALUES (1), (2)")
    lab.sql("ANALYZE TABLES IN counted COMPUTE STATISTICS")
    assert str(statistic(lab, "counted.t")).endswith(", 2 rows")
    plain = {row[0]: row[1] for row in lab.sql("DESCRIBE EXTENDED counted.plain")}
    assert plain["Statistics"].endswith(" 1 rows")
    lab.sql("DROP DATABASE counted CASCADE")


def test_the_optimiser_learns_the_size_of_the_columns_used(lab: Lab) -> None:
    """Check that a scan counts as much as that of flat ORC of the same size does."""
    columns = ", ".join(f"c{i} STRING" for i in range(9))
    table = lab.create(f"id INT, {columns}", partitioned="p INT")
    values = ", ".join(f"repeat('{i}', 3)" for i in range(9))
    lab.sql(f"INSERT INTO {table} SELECT CAST(id AS INT), {values}, 1 FROM range(1000)")
    lab.sql(f"DELETE FROM {table} WHERE id < 500")
    size = sum(p.stat().st_size for p in lab.root(table).rglob("delta_*/bucket_*"))
    whole = 8 + 4 + 9 * 20 + 4
    one = plan_statistics(lab.frame(f"SELECT id FROM {table}"))
    assert int(str(one.sizeInBytes())) == pytest.approx(size / 2 * (8 + 4) / whole, rel=0.02)
    every = plan_statistics(lab.frame(f"SELECT * FROM {table}"))
    assert int(str(every.sizeInBytes())) == pytest.approx(size / 2, rel=0.02)
    lab.spark.conf.set("spark.sql.cbo.enabled", "true")
    try:
        rows = plan_statistics(lab.frame(f"SELECT id, c1 FROM {table}"))
        assert int(str(rows.rowCount().get())) == 500
        assert int(str(rows.sizeInBytes())) == 500 * (8 + 4 + 20)
    finally:
        lab.spark.conf.unset("spark.sql.cbo.enabled")


def estimates(statistics: Any) -> tuple[int, int]:
    return int(str(statistics.rowCount().get())), int(str(statistics.sizeInBytes()))


def test_the_optimiser_learns_what_was_analysed_of_columns(lab: Lab) -> None:
    """Check that joins and filters count as many rows as those of flat ORC do."""
    columns = "Id INT, d DECIMAL(9,2), day DATE, at TIMESTAMP, s STRING, b BOOLEAN, n BIGINT"
    rows = (
        "SELECT CAST(id AS INT) AS Id, CAST(id % 50 AS DECIMAL(9,2)) AS d, "
        "DATE'2024-01-01' + CAST(id % 366 AS INT) AS day, "
        "TIMESTAMP'2024-01-01 00:00:00' + make_dt_interval(id % 100) AS at, "
        "CAST(id % 7 AS STRING) AS s, id % 2 = 0 AS b, NULLIF(id % 4, 0) AS n FROM range(1000)"
    )
    acid = lab.create(columns)
    lab.sql(f"INSERT INTO {acid} {rows}")
    lab.spark.sql(f"CREATE TABLE flat USING orc AS {rows}")
    try:
        lab.sql(f"ANALYZE TABLE {acid} COMPUTE STATISTICS FOR ALL COLUMNS")
        lab.sql("ANALYZE TABLE flat COMPUTE STATISTICS FOR ALL COLUMNS")
        with lab.settings(spark__sql__cbo__enabled="true"):
            for query in (
                "SELECT * FROM {}",
                "SELECT Id, s FROM {} WHERE d < 5",
                "SELECT Id FROM {} WHERE day >= DATE'2024-12-01' AND s = '3'",
                "SELECT Id FROM {} WHERE at < TIMESTAMP'2024-01-11 00:00:00'",
                "SELECT b FROM {} WHERE n IS NULL",
                "SELECT s FROM {} GROUP BY s",
                "SELECT l.Id FROM {0} l JOIN {0} r ON l.Id = r.n",
            ):
                found, expected = (
                    plan_statistics(lab.frame(query.format(table))) for table in (acid, "flat")
                )
                # The rows of files are counted by a sample of their bytes.
                assert estimates(found) == pytest.approx(estimates(expected), rel=0.02), query
    finally:
        lab.spark.sql("DROP TABLE flat")
