"""Size of the splits of a scan, balanced over its tasks.

Spark counts ``spark.sql.files.openCostInBytes`` (4 MiB) for each file that a task opens. Many small
deltas thus raise the split size above the size of the large files. Spark then gives several of the
large files to one task, and only deltas to the other tasks.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from acidsql.bridge.jvm import default_parallelism, session_state
from acidsql.limits import limits

# Small files may take no more than this many rounds of tasks.
_ROUNDS = 4


def even_share(spark: SparkSession, sizes: Sequence[int]) -> int | None:
    """Compute ``share_of_task`` with a session's settings, which small scans do not look up."""
    if _is_small(sizes):
        return None
    settings = session_state(spark).conf()
    wanted = settings.filesMinPartitionNum()
    tasks = wanted.get() if wanted.isDefined() else default_parallelism(spark)
    most, open_cost = settings.filesMaxPartitionBytes(), settings.filesOpenCostInBytes()
    return share_of_task(sizes, tasks=tasks, most=most, open_cost=open_cost)


def share_of_task(sizes: Sequence[int], *, tasks: int, most: int, open_cost: int) -> int | None:
    """Return the largest split of a scan in bytes, or None if Spark's own limit balances well.

    Spark's limit is ``FilePartition.maxSplitBytes``: the bytes of all files and their open costs,
    divided by the number of tasks, but no more than ``most``. Spark fills one task after the other
    and starts with the largest files. With some limits a few tasks read far more than the others.

    Args:
        sizes: sizes of the files in bytes.
        tasks: number of tasks that run in parallel.
        most: largest split in bytes that the session allows.
        open_cost: number of bytes that Spark counts for opening a file.

    Returns:
        Bytes, or None if Spark's own limit is close to that number.
    """
    if _is_small(sizes):
        return None
    total = sum(sizes)
    counted = total + open_cost * len(sizes)
    limit_of_spark = min(most, max(open_cost, counted // tasks))
    share = max(total // tasks, counted // (tasks * _ROUNDS), open_cost)
    return share if min(limit_of_spark, total) - share >= limits().fair_share_bytes else None


def _is_small(sizes: Sequence[int]) -> bool:
    """Return whether a scan is so small that no task can read far more than the others."""
    return len(sizes) < 2 or sum(sizes) < limits().fair_share_bytes
