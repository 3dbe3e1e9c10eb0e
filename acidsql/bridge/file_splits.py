"""How much of a scan is one task's.

Spark counts opening a file as so many bytes when it shares a scan out among its tasks
(``spark.sql.files.openCostInBytes``, 4 MiB). With many small deltas a task's share becomes larger
than the large files are, and one task is given several of them while the others have only deltas.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from acidsql.bridge.jvm import default_parallelism, session_state
from acidsql.limits import limits

# Small files make no more than so many rounds of tasks.
_ROUNDS = 4


def even_share(spark: SparkSession, sizes: Sequence[int]) -> int | None:
    """The most bytes of a scan's task, where Spark's own number would leave some tasks with far
    more to read than others.

    Args:
        sizes: of the files, in bytes.

    Returns:
        None if Spark's own number will do.
    """
    if len(sizes) < 2 or sum(sizes) < limits().fair_share_bytes:
        return None
    settings = session_state(spark).conf()
    wanted = settings.filesMinPartitionNum()
    tasks = wanted.get() if wanted.isDefined() else default_parallelism(spark)
    most, open_cost = settings.filesMaxPartitionBytes(), settings.filesOpenCostInBytes()
    return share_of_task(sizes, tasks=tasks, most=most, open_cost=open_cost)


def share_of_task(sizes: Sequence[int], *, tasks: int, most: int, open_cost: int) -> int | None:
    """What ``even_share`` finds.

    Spark's own number is that of FilePartition.maxSplitBytes: an equal share of the bytes and of
    what opening the files counts, but ``most``. It fills one task after the other, the largest
    files first.

    Args:
        tasks: that run at once.
        most: bytes of a task, as the session has it.
        open_cost: bytes that opening a file counts as.
    """
    total = sum(sizes)
    counted = total + open_cost * len(sizes)
    own = min(most, max(open_cost, counted // tasks))
    share = max(total // tasks, counted // (tasks * _ROUNDS), open_cost)
    return share if min(own, total) - share >= limits().fair_share_bytes else None
