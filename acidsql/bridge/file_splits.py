"""Size of the splits of a scan, balanced over its tasks.

Spark counts ``spark.sql.files.openCostInBytes`` (4 MiB) for each file that a task opens. Many small
deltas thus raise the split size above that of the large files; one task is then given several of
the large files while the others have only deltas.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from acidsql.bridge.jvm import default_parallelism, session_state
from acidsql.limits import limits

# Small files may take no more than this many rounds of tasks.
_ROUNDS = 4


def even_share(spark: SparkSession, sizes: Sequence[int]) -> int | None:
    """Return ``share_of_task`` by the settings of a session, which are not looked up in vain."""
    if _is_small(sizes):
        return None
    settings = session_state(spark).conf()
    wanted = settings.filesMinPartitionNum()
    tasks = wanted.get() if wanted.isDefined() else default_parallelism(spark)
    most, open_cost = settings.filesMaxPartitionBytes(), settings.filesOpenCostInBytes()
    return share_of_task(sizes, tasks=tasks, most=most, open_cost=open_cost)


def share_of_task(sizes: Sequence[int], *, tasks: int, most: int, open_cost: int) -> int | None:
    """Return the largest split of a scan in bytes, or None if Spark's own number balances well.

    Spark's number does not where some tasks would read far more than others. It is
    ``FilePartition.maxSplitBytes``: the bytes of all files and their open costs, divided by the
    number of tasks, but no more than ``most``. Spark fills one task after the other, the largest
    files first.

    Args:
        sizes: of the files, in bytes.
        tasks: number of tasks that run at once.
        most: largest split in bytes that the session allows.
        open_cost: bytes that opening a file counts as.

    Returns:
        Bytes, or None if Spark's own number is close to it.
    """
    if _is_small(sizes):
        return None
    total = sum(sizes)
    counted = total + open_cost * len(sizes)
    own = min(most, max(open_cost, counted // tasks))
    share = max(total // tasks, counted // (tasks * _ROUNDS), open_cost)
    return share if min(own, total) - share >= limits().fair_share_bytes else None


def _is_small(sizes: Sequence[int]) -> bool:
    """Return whether files are so few or small that no task can read far more than the others."""
    return len(sizes) < 2 or sum(sizes) < limits().fair_share_bytes
