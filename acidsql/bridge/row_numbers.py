"""Numbers of rows that are computed once and held, so that a number belongs to one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from acidsql.bridge.jobs import job_errors
from acidsql.bridge.jvm import simple_name
from acidsql.bridge.plans import frame_of

# Number of a row within its partition, in ``monotonically_increasing_id``.
_IN_PARTITION = (1 << 33) - 1


@dataclass(frozen=True, slots=True)
class HeldRows:
    """Rows that were computed, and are not computed again.

    Attributes:
        frame: the rows: a ``LocalRelation``, or what executors hold in memory and on their disks.
        is_local: whether it is the former.
    """

    frame: DataFrame
    is_local: bool

    def release(self) -> None:
        """Let executors forget the rows."""
        if not self.is_local:
            self.frame._jdf.queryExecution().analyzed().rdd().unpersist(False)


def held_rows(frame: DataFrame) -> HeldRows:
    """Compute rows once; values of ``VALUES`` are on the driver, and take no job.

    Raises:
        WriteJobError: a job failed.
    """
    with job_errors():
        plan = frame._jdf.queryExecution().optimizedPlan()
        if simple_name(plan) == "LocalRelation":
            return HeldRows(frame_of(frame.sparkSession, plan), is_local=True)
        return HeldRows(frame.localCheckpoint(eager=True), is_local=False)


def row_counts(rows: HeldRows, acting: str | None) -> Mapping[int, int]:
    """Count rows by partition; partitions without rows are left out.

    Args:
        rows: held.
        acting: SQL of a condition on the rows that count; None: all do.
    """
    with job_errors():
        counted = rows.frame if acting is None else rows.frame.where(acting)
        if rows.is_local:
            return {0: counted.count()}
        found = counted.groupBy(F.spark_partition_id()).count().collect()
    return {int(partition): int(count) for partition, count in found}


def numbered_rows(
    rows: HeldRows, counts: Mapping[int, int], name: str, acting: str | None
) -> DataFrame:
    """Add a column with the numbers 0, 1, 2 and so on of the rows that count, NULL in others.

    Args:
        rows: held.
        counts: result of ``row_counts``.
        name: of the column.
        acting: as ``row_counts`` has it.
    """
    if acting is None:
        return _numbered(rows, rows.frame, counts, name)
    is_acting = F.coalesce(F.expr(acting), F.lit(False))
    others = rows.frame.where(~is_acting).withColumn(name, F.lit(None).cast("bigint"))
    return _numbered(rows, rows.frame.where(is_acting), counts, name).unionByName(others)


def _numbered(rows: HeldRows, frame: DataFrame, counts: Mapping[int, int], name: str) -> DataFrame:
    """Add the numbers of all rows of a frame: the rows in earlier partitions, and those before it
    in its own.

    Filters and projections leave a row in the partition that holds it. A row that was not counted
    fails, since its number may be another row's.
    """
    # A column of its own: an expression with a state that is named twice may be advanced twice.
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
