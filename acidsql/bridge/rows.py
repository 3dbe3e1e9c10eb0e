"""Rows on the driver: fetched by Spark, and written by its ORC writer without a job."""

from __future__ import annotations

from typing import Any, cast

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from acidsql.bridge.jobs import job_errors, root_message
from acidsql.bridge.jvm import (
    CATALYST,
    JavaObject,
    cloned_session,
    default_parallelism,
    jvm_class,
    scala_object,
    session_state,
    simple_name,
)
from acidsql.bridge.jvm_cache import cached_per_session
from acidsql.bridge.plans import frame_of, input_bytes, java_frame, logical_plan
from acidsql.bridge.spark_versions import differences
from acidsql.limits import limits

_EXCLUDED_RULES = "spark.sql.optimizer.excludedRules"
_ALL_TASKS = 1_000_000
_MAX_RESULT_SIZE = "spark.driver.maxResultSize"
_MANY_COLUMNS = 200
# Spark compares sizes of files with its broadcast threshold; rows take about this much more.
_SHRINK = 4


def has_join(frame: DataFrame) -> bool:
    """Return whether a plan has a join or a subquery, so that running it twice may be expensive."""
    patterns = scala_object(frame.sparkSession, f"{CATALYST}.trees.TreePattern")
    plan = logical_plan(frame)
    return bool(
        plan.containsPattern(patterns.JOIN()) or plan.containsPattern(patterns.PLAN_EXPRESSION())
    )


def largest_number_of_rows(frame: DataFrame) -> int | None:
    """Return a number of rows that a plan cannot exceed, if Spark knows one without running it."""
    known = logical_plan(frame).maxRows()
    return int(known.get()) if known.isDefined() else None


def limit_per_task(frame: DataFrame, rows: int, columns: int) -> DataFrame:
    """Limit a DataFrame to its first rows, with all tasks started at once; each stops after as many
    rows.

    Spark's own limit tries one task first. Below a union, it counts rows in a variable whose name
    has a serial number, so no other statement can reuse the compiled program.

    What Spark knows of values by its constraints, it knows of each pair of columns of a projection;
    of many columns that takes longer than it may save.

    Args:
        rows: largest number of rows.
        columns: number of columns of the table that the rows belong to.
    """
    spark = frame.sparkSession
    excluded = [spark.conf.get(_EXCLUDED_RULES, ""), f"{CATALYST}.optimizer.LimitPushDown"]
    settings = {
        "spark.sql.limit.initialNumPartitions": str(_ALL_TASKS),
        _EXCLUDED_RULES: ",".join(rule for rule in excluded if rule),
    }
    if columns > _MANY_COLUMNS:
        settings["spark.sql.constraintPropagation.enabled"] = "false"
    session = cloned_session(spark, settings)
    return DataFrame(java_frame(spark, session, logical_plan(frame)).limit(rows), spark)


def rows_per_task(frame: DataFrame, read: int, size: int) -> int:
    """Return how many rows each task may send to the driver, if all tasks send as many.

    It is a power of two, so that most statements have the same generated program, or 0. Spark ends
    a job whose results are larger than ``spark.driver.maxResultSize``.

    Args:
        read: bytes that the plan reads.
        size: of a row, in bytes.
    """
    spark = frame.sparkSession
    settings = session_state(spark).conf()
    tasks = max(1, default_parallelism(spark), read // int(settings.filesMaxPartitionBytes()))
    if has_join(frame):
        tasks = max(tasks, int(settings.numShufflePartitions()))
    rows = _result_bytes(spark) // (tasks * size)
    return 1 << rows.bit_length() - 1 if rows else 0


@cached_per_session(16)
def _result_bytes(spark: SparkSession) -> int:
    """Return the limit in bytes of the rows that one job brings to the driver."""
    configured = spark.sparkContext._jsc.sc().conf().getSizeAsBytes(_MAX_RESULT_SIZE, "1g")
    most = limits().result_bytes
    return min(most, int(configured) // 2 or most)


def local_rows(frame: DataFrame) -> list[JavaObject] | None:
    """Run a DataFrame and return its rows as Catalyst's ``UnsafeRow`` objects, mutable and not
    shared.

    Returns:
        None if they are larger than ``spark.driver.maxResultSize``.
    """
    try:
        return list(frame._jdf.queryExecution().executedPlan().executeCollect())
    except Py4JJavaError as error:
        if _MAX_RESULT_SIZE in root_message(error.java_exception):
            return None
        raise


def text_of(row: JavaObject, column: int) -> str:
    """Return a STRING of a row, which is not NULL."""
    return str(row.getUTF8String(column))


def has_local_rows(frame: DataFrame, most: int) -> bool:
    """Return whether Spark's optimizer makes a plan a ``LocalRelation``, as it does of VALUES.

    Args:
        most: rows; False for a plan of more.
    """
    with job_errors():  # the values are computed
        plan = frame._jdf.queryExecution().optimizedPlan()
    return simple_name(plan) == "LocalRelation" and int(plan.data().size()) <= most


def collect_to_driver(frame: DataFrame) -> DataFrame:
    """Run a DataFrame once and return its rows as a ``LocalRelation`` with the same attributes.

    Raises:
        WriteJobError: the job failed.
    """
    with job_errors():
        rows = frame._jdf.queryExecution().executedPlan().executeCollect()
    data = jvm_class(frame.sparkSession, "scala.Predef").genericWrapArray(rows).toSeq()
    return _local(frame, data)


def replace_by_collected(frame: DataFrame, held: DataFrame) -> DataFrame:
    """Return the rows that ``collect_to_driver`` made, under the attributes of another DataFrame.

    Args:
        frame: has the same columns.
        held: result of ``collect_to_driver``.
    """
    return _local(frame, logical_plan(held).data())


def _local(frame: DataFrame, data: JavaObject) -> DataFrame:
    spark = frame.sparkSession
    nothing = [scala_object(spark, "scala.None")] * differences(spark).has_streaming_local_relations
    local = jvm_class(spark, f"{CATALYST}.plans.logical.LocalRelation")
    return frame_of(spark, local(logical_plan(frame).output(), data, False, *nothing))


def fits_in_driver(frame: DataFrame, most_read: int) -> bool:
    """Return whether the driver can hold the rows of a DataFrame.

    It can if Spark's estimate of their size is below the broadcast threshold. If it is above, the
    rows are counted.

    Args:
        most_read: bytes; rows of a plan that reads more are not counted, and do not fit.

    Raises:
        WriteJobError: the counting job failed.
    """
    threshold = int(session_state(frame.sparkSession).conf().autoBroadcastJoinThreshold())
    estimated = int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))
    if estimated <= threshold:
        return True
    if threshold < 0 or input_bytes(frame) > most_read:
        return False
    with job_errors():
        rows = frame.count()
    return bool(rows * int(frame._jdf.schema().defaultSize()) <= threshold * _SHRINK)


def arrow_table(frame: DataFrame) -> pa.Table:
    """Run a DataFrame and return its rows as an Arrow table."""
    if differences(frame.sparkSession).has_to_arrow:
        return frame.toArrow()
    batches = cast(Any, frame)._collect_as_arrow()
    return (
        pa.Table.from_batches(batches) if batches else to_arrow_schema(frame.schema).empty_table()
    )
