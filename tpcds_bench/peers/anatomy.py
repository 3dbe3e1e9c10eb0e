"""Anatomy of a statement's processor time: threads of its processes, and what the JVM compiled."""

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
"""Kinds of threads. ``DRIVER`` are those of the JVM that are nothing else: analysis and planning,
calls from Python, and Janino where it compiles before a job."""
# Beginnings of the names of the JVM's threads. Linux keeps 15 characters of a name.
_NAMES = {
    "Executor task": TASKS,
    "C1 Compiler": C1,
    "C2 Compiler": C2,
    "GC Thread": GC,
    "G1 ": GC,
}
_CODEGEN = "org.apache.spark.metrics.source.CodegenMetrics"

Threads = Mapping[tuple[int, int], tuple[str, float]]
"""By process and thread: its kind and the seconds of processor time that it has taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """Programs and classes that a JVM has compiled and loaded.

    Args:
        programs: that Spark generated and Janino compiled.
        seconds: of Janino.
        classes: loaded, those of the programs among them.
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
    """Anatomy of a statement.

    Args:
        seconds: processor time by the kind of thread. Threads that ended meanwhile are missing.
        compiled: by the JVM meanwhile.
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
    found = (kind for start, kind in _NAMES.items() if thread.startswith(start))
    return next(found, DRIVER)


def threads(root: psutil.Process) -> Threads:
    """Return the threads of a process and of those below it; empty without Linux's ``/proc``."""
    found: dict[tuple[int, int], tuple[str, float]] = {}
    for process in (root, *root.children(recursive=True)):
        try:
            command = process.name()
            for thread in process.threads():
                name = Path(f"/proc/{process.pid}/task/{thread.id}/comm").read_text().strip()
                spent = thread.user_time + thread.system_time
                found[process.pid, thread.id] = (kind_of(command, name), spent)
        except (psutil.NoSuchProcess, OSError):
            continue  # ended since it was listed
    return found


def spent(before: Threads, after: Threads) -> dict[str, float]:
    """Return the seconds of each kind between two looks."""
    seconds = dict.fromkeys(KINDS, 0.0)
    for thread, (kind, total) in after.items():
        seconds[kind] += total - before.get(thread, (kind, 0.0))[1]
    return seconds


def compiled(spark: SparkSession) -> Compiled:
    """Return what the JVM of a session has compiled and loaded until now."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    metrics = getattr(jvm, _CODEGEN)
    # Its reservoir keeps the last 1,028 of them, in milliseconds.
    taken = metrics.METRIC_COMPILATION_TIME()
    management = jvm.java.lang.management.ManagementFactory
    return Compiled(
        programs=taken.getCount(),
        seconds=sum(taken.getSnapshot().getValues()) / 1000,
        classes=management.getClassLoadingMXBean().getTotalLoadedClassCount(),
    )
