"""Tests of copies from and to other formats: batches, resumption, comparison, refusals."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

import acidsql
from acidsql.copies import checksums
from acidsql.copies.progress import CONVERSIONS
from acidsql.errors import AcidSqlError
from tests.product.conditions import condition_of

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


@pytest.fixture
def copied(lab: Lab) -> Iterator[str]:
    """Yield the name of a table that does not exist."""
    lab.sql(f"DROP TABLE IF EXISTS {CONVERSIONS}")
    lab.sql("DROP TABLE IF EXISTS copied")
    yield "copied"
    lab.sql("DROP TABLE IF EXISTS copied")
    lab.sql(f"DROP TABLE IF EXISTS {CONVERSIONS}")


def refused(run: Callable[[], object]) -> str:
    """Return the condition by which something is refused."""
    with pytest.raises(PySparkException) as caught:
        run()
    return condition_of(caught.value)


def write_days(lab: Lab, path: Path) -> None:
    """Write a Parquet table of three days; one needs escaping."""
    lab.spark.sql(
        "SELECT * FROM VALUES (1, map('k', array(1, NULL)), 'a'), (2, NULL, 'a'), "
        "(3, map('x', array(2), 'y', NULL), 'b c'), (4, map(), NULL) AS t (id, m, day)"
    ).coalesce(1).write.partitionBy("day").parquet(str(path))


class Stop(Exception):
    pass


@pytest.mark.slow
def test_a_conversion_goes_on_where_it_was_stopped(lab: Lab, copied: str, tmp_path: Path) -> None:
    write_days(lab, tmp_path / "days")
    source = f"parquet:{tmp_path / 'days'}"

    def stop(number: int, total: int, rows: int) -> None:
        assert (number, total, rows) == (1, 3, 1)
        raise Stop

    with pytest.raises(Stop):
        acidsql.convert(lab.spark, source, copied, batch_bytes=1, on_batch=stop)
    assert lab.rows(copied, "id") == [(4,)]
    done = acidsql.convert(lab.spark, source, copied, batch_bytes=1)
    assert (done.batches, done.copied, done.rows) == (3, 2, 4)
    assert done.partition_columns == ("day",)
    assert lab.rows(copied, "id, day") == [(1, "a"), (2, "a"), (3, "b c"), (4, None)]
    assert [row[0] for row in lab.sql(f"SHOW PARTITIONS {copied}")] == [
        "day=__HIVE_DEFAULT_PARTITION__",
        "day=a",
        "day=b c",
    ]
    lab.sql(f"DELETE FROM {copied} WHERE id = 1")
    again = acidsql.convert(lab.spark, source, copied, batch_bytes=1)
    assert (again.copied, again.rows) == (0, None)
    assert len(lab.rows(copied)) == 3


@pytest.mark.slow
def test_rows_of_a_batch_that_failed_are_not_there(lab: Lab, copied: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text(json.dumps({"id": 1}))
    (tmp_path / "in" / "2.json").write_text("{broken")
    source = f"json:{tmp_path / 'in'}"
    with pytest.raises(PySparkException, match=r"2\.json"):
        acidsql.convert(lab.spark, source, copied, schema="id INT", batch_bytes=1)
    assert lab.rows(copied) == [(1,)]
    (tmp_path / "in" / "2.json").write_text(json.dumps({"id": 2}))
    assert (
        refused(lambda: acidsql.convert(lab.spark, source, copied, schema="id INT", batch_bytes=1))
        == "CONVERSION_SOURCE_CHANGED"
    )


@pytest.mark.slow
def test_all_columns_that_cannot_be_copied_are_named_before_anything_runs(
    lab: Lab, copied: str
) -> None:
    lab.spark.sql(
        "CREATE TABLE plain USING parquet PARTITIONED BY (p) AS SELECT 1 AS id, "
        "INTERVAL '1' DAY AS i, INTERVAL '1' YEAR AS m, TIMESTAMP_NTZ'2024-01-01 02:30:00' "
        "AS t, 'x' AS p"
    )
    try:
        with pytest.raises(AcidSqlError) as caught:
            acidsql.convert(lab.spark, "plain", copied)
        assert caught.value.condition == "COLUMNS_NOT_CONVERTIBLE"
        assert caught.value.parameters == {"columns": "i, m"}
        assert not lab.sql(f"SHOW TABLES LIKE '{copied}'")
        select = ["id", "t", "CAST(i AS STRING) AS i", "p"]
        planned = acidsql.convert(lab.spark, "plain", copied, select=select, dry_run=True)
        assert [column.target for column in planned.columns] == [
            "INT",
            "TIMESTAMP_NTZ",
            "STRING",
            "STRING",
        ]
        assert not lab.sql(f"SHOW TABLES LIKE '{copied}'")
        done = acidsql.convert(lab.spark, "plain", copied, select=select)
        assert (done.rows, done.partition_columns) == (1, ("p",))
        assert lab.sql(f"SELECT CAST(t AS STRING), p FROM {copied}") == [
            ("2024-01-01 02:30:00", "x")
        ]
        assert refused(lambda: acidsql.convert(lab.spark, copied, "other")) == (
            "INVALID_PARAMETER_VALUE"
        )
    finally:
        lab.spark.sql("DROP TABLE plain")


@pytest.mark.slow
def test_a_table_with_rows_is_no_target(lab: Lab, tmp_path: Path) -> None:
    target = lab.create("id INT", values="(1)")
    lab.spark.range(1).selectExpr("CAST(id AS INT) AS id").write.parquet(str(tmp_path / "p"))
    source = f"parquet:{tmp_path / 'p'}"
    assert refused(lambda: acidsql.convert(lab.spark, source, target)) == (
        "CONVERSION_TARGET_NOT_EMPTY"
    )
    pattern = f"parquet:{tmp_path}/*"
    assert refused(lambda: acidsql.convert(lab.spark, pattern, "other")) == (
        "INVALID_PARAMETER_VALUE"
    )
    other = lab.create("id BIGINT, more INT")
    with pytest.raises(AcidSqlError) as caught:
        acidsql.convert(lab.spark, source, other)
    assert caught.value.parameters == {"columns": "id, more"}
    bucketed = lab.create("id INT", clustered="(id) INTO 2 BUCKETS")
    assert acidsql.convert(lab.spark, source, bucketed).rows == 1
    lab.sql(f"DROP TABLE IF EXISTS {CONVERSIONS}")


@pytest.mark.slow
def test_an_export_is_one_version_and_is_compared(lab: Lab, tmp_path: Path) -> None:
    t = lab.create("id INT, v CHAR(3)", partitioned="p STRING", values="(1, 'a', '01')")
    lab.sql(f"UPDATE {t} SET v = 'b'")
    done = acidsql.export(lab.spark, t, f"parquet:{tmp_path / 'out'}", version=1)
    assert (done.rows, done.partition_columns) == (1, ("p",))
    assert [p.name for p in (tmp_path / "out").iterdir() if p.is_dir()] == ["p=01"]
    found = lab.spark.read.parquet(str(tmp_path / "out")).collect()
    assert [(row.id, row.v) for row in found] == [(1, "a  ")]
    assert (
        refused(lambda: acidsql.export(lab.spark, t, f"parquet:{tmp_path / 'out'}"))
        == "PATH_ALREADY_EXISTS"
    )
    assert refused(lambda: acidsql.export(lab.spark, t, "csv:out")) == ("INVALID_PARAMETER_VALUE")


@pytest.mark.slow
def test_checksums_tell_rows_apart(lab: Lab) -> None:
    def rows(text: str) -> tuple[int, int, int]:
        frame = lab.spark.sql(f"SELECT * FROM VALUES {text} AS t (a, b)")
        return checksums.checksum(frame, checksums.fields_of(frame.schema))

    assert rows("(1, 2), (3, 4)") == rows("(3, 4), (1, 2)")
    assert rows("(1, NULL)") != rows("(NULL, 1)")
    assert rows("(1, 2), (1, 2)") != rows("(1, 2), (3, 4), (3, 4)")
    one, other = "map('a', 1, 'b', 2)", "map('b', 2, 'a', 1)"
    assert rows(f"(1, {one})") == rows(f"(1, {other})")
    assert rows(f"(1, {one})") != rows("(1, map('a', 2, 'b', 1))")
    assert rows("(1, array(NULL, 1))") != rows("(1, array(1, NULL))")
    assert rows("(1, array(struct(1 AS x)))") != rows("(1, array(struct(2 AS x)))")


def test_a_copy_with_another_value_is_told_by_its_column(lab: Lab) -> None:
    one = lab.spark.sql("SELECT 1 AS a, 2 AS b")
    other = lab.spark.sql("SELECT 1 AS a, 3 AS b")
    fields = checksums.fields_of(one.schema)
    with pytest.raises(AcidSqlError, match="column b has other values") as caught:
        checksums.compare(one, other, fields, ("x", "y"))
    assert caught.value.condition == "COPY_DIFFERS"
    with pytest.raises(AcidSqlError, match="1 rows became 2"):
        checksums.compare(one, one.union(one), fields, ("x", "y"))
