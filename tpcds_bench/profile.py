"""Profile of a statement: the time in Spark's jobs, and in this process between the jobs."""

from __future__ import annotations

import cProfile
import pstats
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import acidsql

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

_TOP = 12
_PACKAGE = str(Path(acidsql.__file__).parent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Profile of one run.

    Args:
        wall: seconds on the clock; profiling makes the run longer.
        jobs: number of Spark jobs.
        tasks: number of tasks of these jobs.
        job_seconds: seconds during which at least one job ran.
        functions: the functions of acidsql, and py4j's call into the JVM, that took longest, with
            their cumulative seconds.
    """

    wall: float
    jobs: int
    tasks: int
    job_seconds: float
    functions: tuple[tuple[str, float], ...]


def profile(spark: SparkSession, run: Callable[[], None]) -> Profile:
    """Run a function once under the profiler.

    The profile contains jobs of the calling thread and of threads that inherit its job group.
    """
    group = f"profile-{uuid.uuid4()}"
    spark.sparkContext.setJobGroup(group, "profile")
    profiler = cProfile.Profile()
    started = time.perf_counter()
    profiler.runcall(run)
    wall = time.perf_counter() - started
    spans, tasks = _jobs(spark, group)
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    return Profile(
        wall=wall,
        jobs=len(spans),
        tasks=tasks,
        job_seconds=_covered(spans),
        functions=_longest(profiler),
    )


def _jobs(spark: SparkSession, group: str) -> tuple[list[tuple[float, float]], int]:
    """Return the start and end of each job of a group in seconds, and the number of tasks."""
    store = spark.sparkContext._jsc.sc().statusStore()
    spans, tasks = [], 0
    for job_id in spark.sparkContext.statusTracker().getJobIdsForGroup(group):
        job = store.job(job_id)
        if job.submissionTime().isDefined() and job.completionTime().isDefined():
            begin, end = job.submissionTime().get(), job.completionTime().get()
            spans.append((begin.getTime() / 1000, end.getTime() / 1000))
            tasks += job.numCompletedTasks()
    return spans, tasks


def _covered(spans: list[tuple[float, float]]) -> float:
    """Return the total length of the union of spans."""
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def _longest(profiler: cProfile.Profile) -> tuple[tuple[str, float], ...]:
    stats = pstats.Stats(profiler).get_stats_profile().func_profiles
    timed = [
        (f"{Path(entry.file_name).name}:{entry.line_number} {name}", entry.cumtime)
        for name, entry in stats.items()
        if entry.file_name.startswith(_PACKAGE) or name == "send_command"
    ]
    return tuple(sorted(timed, key=lambda item: -item[1])[:_TOP])
