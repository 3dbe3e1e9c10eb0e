"""Rows that Spark fetches to the driver, and limits for their size."""

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
    elements,
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
_SCAN_RELATION = "DataSourceV2ScanRelation"
# Spark compares file sizes with its broadcast threshold. Rows in memory are larger by this factor.
_SHRINK = 4


def has_join(frame: DataFrame) -> bool:
    """Return whether a plan has a join or a subquery, which can be expensive to run twice."""
    patterns = scala_object(frame.sparkSession, f"{CATALYST}.trees.TreePattern")
    plan = logical_plan(frame)
    return bool(
        plan.containsPattern(patterns.JOIN()) or plan.containsPattern(patterns.PLAN_EXPRESSION())
    )


def has_search_argument(frame: DataFrame) -> bool:
    """Return whether a scan of an ACID table has a search argument, by which it can skip rows.

    Predicates on partition columns do not count, and neither does IS NOT NULL. Spark optimises the
    plan.

    Raises:
        WriteJobError: the optimizer failed to compute a value.
    """
    with job_errors():
        plan = frame._jdf.queryExecution().optimizedPlan()
    leaves = [
        leaf for leaf in elements(plan.collectLeaves()) if simple_name(leaf) == _SCAN_RELATION
    ]
    scans = [leaf.scan() for leaf in leaves]
    return any(simple_name(scan) == "AcidScan" and scan.hasSearchArgument() for scan in scans)


def largest_number_of_rows(frame: DataFrame) -> int | None:
    """Return an upper bound of a plan's rows, if Spark knows one without running the plan."""
    known = logical_plan(frame).maxRows()
    return int(known.get()) if known.isDefined() else None


def limit_per_task(frame: DataFrame, rows: int, columns: int) -> DataFrame:
    """Limit a DataFrame to its first rows; all tasks start together and each applies the limit.

    Spark's own limit tries one task first. Below a union, it counts rows in a variable whose name
    has a serial number, so no other statement can reuse the compiled program.

    Spark derives constraints for pairs of columns of a projection. With many columns, this takes
    longer than the constraints can save, so they are switched off.

    Args:
        frame: the DataFrame.
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
    """Return how many rows each task can send to the driver if all tasks send the same number.

    The number is 0 or a power of two, so that most statements have the same generated program.
    Spark cancels a job whose results are larger than ``spark.driver.maxResultSize``.

    Args:
        frame: the DataFrame.
        read: number of bytes that the plan reads.
        size: size of a row in bytes.
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
    """Return the limit in bytes for the rows that one job sends to the driver."""
    configured = spark.sparkContext._jsc.sc().conf().getSizeAsBytes(_MAX_RESULT_SIZE, "1g")
    most = limits().result_bytes
    return min(most, int(configured) // 2 or most)


def local_rows(frame: DataFrame) -> list[JavaObject] | None:
    """Run a DataFrame and return its rows as mutable, unshared ``UnsafeRow`` objects.

    Returns:
        None if the rows are larger than ``spark.driver.maxResultSize``.
    """
    try:
        return list(frame._jdf.queryExecution().executedPlan().executeCollect())
    except Py4JJavaError as error:
        if _MAX_RESULT_SIZE in root_message(error.java_exception):
            return None
        raise


def text_of(row: JavaObject, column: int) -> str:
    """Return the value of a STRING column that is not NULL."""
    return str(row.getUTF8String(column))


def has_local_rows(frame: DataFrame, most: int) -> bool:
    """Return whether Spark's optimizer turns a plan, for example VALUES, into a ``LocalRelation``.

    Args:
        frame: the DataFrame.
        most: largest number of rows. The result is False for a larger plan.
    """
    with job_errors():  # the optimizer computes the values
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
    """Return the result of ``collect_to_driver`` under the attributes of another DataFrame.

    Args:
        frame: the other DataFrame, with the same columns.
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

    It can if Spark's estimate of their size is at most the broadcast threshold. For a larger
    estimate, Spark counts the rows.

    Args:
        frame: the DataFrame.
        most_read: number of bytes. If the plan reads more, Spark does not count the rows, and the
            result is False.

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
