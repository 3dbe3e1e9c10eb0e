"""Tests of ``format("acidsql")`` in a session: the rows of ``acidsql.table``, writes, refusals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import acidsql
from acidsql.datasource.writing import STAGING
from acidsql.errors import AcidSqlError

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark
_IS_OLD = pyspark.__version__ < "4"


@pytest.fixture
def registered(lab: Lab) -> Iterator[Lab]:
    if _IS_OLD:
        pytest.skip("PySpark 3.5 has no data sources in Python")
    before = lab.spark.conf.get("spark.sql.python.filterPushdown.enabled", None)
    acidsql.register(lab.spark)
    yield lab
    if before is not None:
        lab.spark.conf.set("spark.sql.python.filterPushdown.enabled", before)


def read(lab: Lab, table: str, **options: str) -> DataFrame:
    database = lab.spark.catalog.currentDatabase()
    return lab.spark.read.format("acidsql").options(**options).load(f"{database}.{table}")


@pytest.mark.skipif(not _IS_OLD, reason="PySpark 4 has data sources in Python")
def test_pyspark_3_has_no_such_format(lab: Lab) -> None:
    with pytest.raises(AcidSqlError) as caught:
        acidsql.register(lab.spark)
    assert caught.value.condition == "UNSUPPORTED_SPARK_VERSION"


def test_rows_are_those_of_the_table(registered: Lab) -> None:
    lab = registered
    t = lab.create(
        "id INT, c CHAR(3), n DECIMAL(7,2), at TIMESTAMP, m MAP<STRING, ARRAY<TIMESTAMP>>",
        partitioned="day DATE",
        values="(1, 'a', 1.5, TIMESTAMP'2024-07-01 12:00:00.000001', "
        "map('k', array(TIMESTAMP'2024-01-01 12:00:00', NULL)), DATE'2024-07-01'), "
        "(2, NULL, NULL, NULL, NULL, NULL), (3, 'b', 2, NULL, map(), DATE'2024-07-02')",
    )
    lab.sql(f"DELETE FROM {t} WHERE id = 3")
    lab.sql(f"UPDATE {t} SET n = 9 WHERE id = 2")
    expected = acidsql.table(lab.spark, t)
    found = read(lab, t)
    assert [(f.name, f.dataType) for f in found.schema] == [
        (f.name, f.dataType) for f in expected.schema
    ]
    assert sorted(found.collect()) == sorted(expected.collect())
    some = found.where((F.col("id") > 1) & F.col("day").isNull()).select("n")
    assert [tuple(map(str, row)) for row in some.collect()] == [("9.00",)]
    old = read(lab, t, versionAsOf="1", columns="id")
    assert sorted(old.collect()) == [(1,), (2,), (3,)]


def test_a_write_is_one_transaction(registered: Lab) -> None:
    lab = registered
    t = lab.create("id INT, at TIMESTAMP", partitioned="p STRING")
    name = f"{lab.spark.catalog.currentDatabase()}.{t}"
    rows = lab.spark.sql(
        "SELECT CAST(id AS INT) AS id, TIMESTAMP'2024-07-01 12:00:00' AS at, "
        "concat('p', id % 2) AS p FROM range(0, 4, 1, 2)"
    )
    rows.write.format("acidsql").mode("append").save(name)
    assert sorted(acidsql.table(lab.spark, t).collect()) == sorted(rows.collect())
    assert lab.sql(f"SELECT DISTINCT row__id.writeid FROM {t}") == [(1,)]
    failing = rows.withColumn("id", F.expr("IF(id = 3, raise_error('no'), id)").cast("int"))
    for frame, mode, condition in (
        (failing, "append", "no"),
        (rows, "overwrite", "UNSUPPORTED_FEATURE.DATA_SOURCE_OVERWRITE"),
        (rows.withColumnRenamed("id", "other"), "append", "COLUMN_NOT_FOUND"),
    ):
        with pytest.raises(PySparkException, match=condition):
            frame.write.format("acidsql").mode(mode).save(name)
        assert len(lab.rows(t)) == 4
        assert not list(lab.root(t).glob(f"{STAGING}*"))


@pytest.mark.slow
@pytest.mark.skipif(pyspark.__version__ < "4.1", reason="streams of Arrow came with PySpark 4.1")
def test_a_stream_is_written_once(registered: Lab, tmp_path: Path) -> None:
    lab = registered
    t = lab.create("value BIGINT")
    (tmp_path / "in").mkdir()
    for number in range(2):
        lab.spark.range(number, number + 1).toDF("value").coalesce(1).write.mode("append").parquet(
            str(tmp_path / "in")
        )
    for checkpoint in ("one", "two"):  # the second one repeats the batches of the first
        frame = lab.spark.readStream.schema("value BIGINT").option("maxFilesPerTrigger", 1)
        writer = frame.parquet(str(tmp_path / "in")).writeStream.format("acidsql")
        query = writer.options(
            path=f"{lab.spark.catalog.currentDatabase()}.{t}",
            stream="numbers",
            checkpointLocation=str(tmp_path / checkpoint),
        )
        query.trigger(availableNow=True).start().awaitTermination()
    assert lab.rows(t) == [(0,), (1,)]
