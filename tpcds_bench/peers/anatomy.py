"""Breakdown of a statement's processor time by threads, and the code that the JVM compiled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASKS, C1, C2, GC, DRIVER, PYTHON = KINDS = (
    "tasks",
    "C1",
    "C2",
    "garbage collection",
    "driver",
    "Python",
)
"""Kinds of threads. ``DRIVER`` contains all other threads of the JVM: analysis and planning, calls
from Python, and Janino when it compiles before a job."""
# Prefixes of the names of the JVM's threads. Linux truncates a name to 15 characters.
_NAMES = {
    "Executor task": TASKS,
    "C1 Compiler": C1,
    "C2 Compiler": C2,
    "GC Thread": GC,
    "G1 ": GC,
}
_CODEGEN = "org.apache.spark.metrics.source.CodegenMetrics"

Threads = Mapping[tuple[int, int], tuple[str, float]]
"""For each process and thread: the kind of the thread, and its seconds of processor time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """Programs and classes that a JVM has compiled and loaded.

    Args:
        programs: number of programs that Spark generated and Janino compiled.
        seconds: seconds that Janino took.
        classes: number of loaded classes, including those of the programs.
    """

    programs: int
    seconds: float
    classes: int

    def since(self, before: Compiled) -> Compiled:
        """Return the difference."""
        return Compiled(
            programs=self.programs - before.programs,
            seconds=self.seconds - before.seconds,
            classes=self.classes - before.classes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Anatomy:
    """Breakdown of a statement.

    Args:
        seconds: processor time by the kind of thread, without threads that ended meanwhile.
        compiled: programs and classes that the JVM compiled and loaded meanwhile.
    """

    seconds: Mapping[str, float]
    compiled: Compiled


def kind_of(command: str, thread: str) -> str:
    """Return the kind of a thread.

    Args:
        command: name of its process, such as ``java``.
        thread: name of the thread.
    """
    if command != "java":
        return PYTHON
    kinds = (kind for start, kind in _NAMES.items() if thread.startswith(start))
    return next(kinds, DRIVER)


def threads(root: psutil.Process) -> Threads:
    """Return the threads of a process and its children; empty without Linux's ``/proc``."""
    by_id: dict[tuple[int, int], tuple[str, float]] = {}
    for process in (root, *root.children(recursive=True)):
        try:
            command = process.name()
            for thread in process.threads():
                name = Path(f"/proc/{process.pid}/task/{thread.id}/comm").read_text().strip()
                spent = thread.user_time + thread.system_time
                by_id[process.pid, thread.id] = (kind_of(command, name), spent)
        except (psutil.NoSuchProcess, OSError):
            continue  # the process or thread ended after it was listed
    return by_id


def spent(before: Threads, after: Threads) -> dict[str, float]:
    """Return the seconds of each kind of thread between two samples."""
    seconds = dict.fromkeys(KINDS, 0.0)
    for thread, (kind, total) in after.items():
        seconds[kind] += total - before.get(thread, (kind, 0.0))[1]
    return seconds


def compiled(spark: SparkSession) -> Compiled:
    """Return the programs and classes that the JVM of a session has compiled and loaded so far."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    metrics = getattr(jvm, _CODEGEN)
    # The metric's reservoir contains the last 1,028 compilation times, in milliseconds.
    taken = metrics.METRIC_COMPILATION_TIME()
    management = jvm.java.lang.management.ManagementFactory
    return Compiled(
        programs=taken.getCount(),
        seconds=sum(taken.getSnapshot().getValues()) / 1000,
        classes=management.getClassLoadingMXBean().getTotalLoadedClassCount(),
    )
