"""Row numbers for rows that Spark computes once and holds, so that each number is unique."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from acidsql.bridge.jobs import job_errors
from acidsql.bridge.jvm import simple_name
from acidsql.bridge.plans import frame_of

# Mask for the number of a row within its partition, in ``monotonically_increasing_id``.
_IN_PARTITION = (1 << 33) - 1


@dataclass(frozen=True, slots=True)
class HeldRows:
    """Rows that Spark computed once and does not compute again.

    Attributes:
        frame: the rows: a ``LocalRelation``, or data that executors hold in memory and on disk.
        is_local: whether the frame is a ``LocalRelation``.
    """

    frame: DataFrame
    is_local: bool

    def release(self) -> None:
        """Release the rows that executors hold."""
        if not self.is_local:
            self.frame._jdf.queryExecution().analyzed().rdd().unpersist(False)


def held_rows(frame: DataFrame) -> HeldRows:
    """Compute rows once. The rows of ``VALUES`` are on the driver and take no job.

    Raises:
        WriteJobError: a job failed.
    """
    with job_errors():
        plan = frame._jdf.queryExecution().optimizedPlan()
        if simple_name(plan) == "LocalRelation":
            return HeldRows(frame_of(frame.sparkSession, plan), is_local=True)
        return HeldRows(frame.localCheckpoint(eager=True), is_local=False)


def row_counts(rows: HeldRows, acting: str | None) -> Mapping[int, int]:
    """Count rows by partition; partitions without rows are omitted.

    Args:
        rows: the rows.
        acting: SQL condition that selects the rows to count; None to count all rows.
    """
    with job_errors():
        counted = rows.frame if acting is None else rows.frame.where(acting)
        if rows.is_local:
            return {0: counted.count()}
        counts = counted.groupBy(F.spark_partition_id()).count().collect()
    return {int(partition): int(count) for partition, count in counts}


def numbered_rows(
    rows: HeldRows, counts: Mapping[int, int], name: str, acting: str | None
) -> DataFrame:
    """Add a column that numbers the selected rows from 0; it is NULL in the other rows.

    Args:
        rows: the rows.
        counts: result of ``row_counts``.
        name: name of the column.
        acting: condition that was passed to ``row_counts``.
    """
    if acting is None:
        return _numbered(rows, rows.frame, counts, name)
    is_acting = F.coalesce(F.expr(acting), F.lit(False))
    others = rows.frame.where(~is_acting).withColumn(name, F.lit(None).cast("bigint"))
    return _numbered(rows, rows.frame.where(is_acting), counts, name).unionByName(others)


def _numbered(rows: HeldRows, frame: DataFrame, counts: Mapping[int, int], name: str) -> DataFrame:
    """Add row numbers to all rows of a frame.

    The number of a row is the number of rows in earlier partitions and before it in its partition.
    Filters and projections leave a row in its partition. A row that was not counted raises an
    error, because another row may have its number.
    """
    # This is a separate column, because Spark may advance a stateful expression that occurs twice.
    frame = frame.withColumn(name, F.monotonically_increasing_id())
    within = F.col(name)
    if rows.is_local:
        number, end = within, F.lit(sum(counts.values()))
    else:
        size = max(counts, default=0) + 1
        ends = list(accumulate(counts.get(partition, 0) for partition in range(size)))
        partition = F.shiftright(within, 33).cast("int") + 1
        number = F.element_at(_numbers([0, *ends[:-1]]), partition)
        number += within.bitwiseAND(F.lit(_IN_PARTITION))
        end = F.element_at(_numbers(ends), partition)
    failing = F.raise_error(F.lit("rows were computed again, and are others"))
    return frame.withColumn(name, F.when(number < end, number).otherwise(failing))


def _numbers(values: Sequence[int]) -> Column:
    return F.array(*(F.lit(number).cast("bigint") for number in values))
