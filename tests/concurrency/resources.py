"""What a run uses over time: samples, and whether they grow."""

from __future__ import annotations

import sqlite3
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import psutil

from acidsql.format.names import STAGING_PREFIX
from acidsql.format.selection import ACID_PREFIXES
from acidsql.metastore.model import TxnState, TxnType
from tests.concurrency.warehouses import Entry

MIB = 1024 * 1024

# Remembered for good: one number of an aborted transaction, so that its late commit is refused.
_HISTORY = "rows of forgotten_aborts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What was used at some moment.

    Attributes:
        seconds: since the run began.
        at_rest: whether no thread worked, and all DataFrames and old directories were gone.
        values: by name.
    """

    seconds: float
    at_rest: bool
    values: Mapping[str, float]


def of_processes(processes: Mapping[str, int]) -> dict[str, float]:
    """Return memory in MiB, threads and open files of some processes and their JVMs.

    Args:
        processes: process ids by name.
    """
    found: dict[str, float] = {}
    for name, pid in processes.items():
        python = psutil.Process(pid)
        java = next((c for c in python.children(recursive=True) if c.name() == "java"), None)
        for kind, process in (("Python", python), ("JVM", java)):
            if process is not None:
                found[f"memory of {name} {kind}"] = process.memory_info().rss / MIB
                found[f"threads of {name} {kind}"] = process.num_threads()
                found[f"open files of {name} {kind}"] = process.num_fds()
    return found


def of_metastore(path: Path) -> dict[str, float]:
    """Return what an embedded metastore holds."""
    found: dict[str, float] = {}
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60)) as connection:

        def number(query: str, *values: object) -> float:
            return float(connection.execute(query, values).fetchone()[0])

        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (table,) in tables.fetchall():
            found[f"rows of {table}"] = number(f"SELECT count(*) FROM {table}")
        opened = "SELECT count(*) FROM txns WHERE state = ? AND type"
        reading, is_open = TxnType.READ_ONLY.value, TxnState.OPEN.value
        found["leases"] = number(f"{opened} = ?", is_open, reading)
        found["open writers"] = number(f"{opened} <> ?", is_open, reading)
        found["unsettled write ids"] = number(
            "SELECT count(*) FROM write_ids WHERE outcome IS NULL"
        )
    found["metastore in KiB"] = path.stat().st_size / 1024
    found["files beside the metastore"] = len(list(path.parent.glob(f"{path.name}*")))
    return found


def of_tables(entries: Iterable[Entry]) -> dict[str, float]:
    """Return the number of directories of deltas and bases, and of others, in a warehouse.

    Directories of partitions are neither.
    """
    acid, others, files = 0, 0, 0
    for path, is_file in entries:
        inside = any(p.startswith(ACID_PREFIXES) for p in path.parts[:-1])
        if is_file:
            files += 1
        elif path.name.startswith(ACID_PREFIXES) and not inside:
            acid += 1
        elif path.name.startswith(("_", ".", STAGING_PREFIX)):
            others += 1
    return {"directories": acid, "staging and holding": others, "files": files}


def leftovers(values: Mapping[str, float], places: int) -> Iterator[str]:
    """Return what is there at rest, after cleaning, and should not be.

    Args:
        values: of a sample.
        places: number of partitions, and tables without any.
    """
    for name in (
        "leases",
        "open writers",
        "unsettled write ids",
        "rows of locks",
        "rows of file_operations",
        "staging and holding",
    ):
        if values[name]:
            yield f"at rest there are {values[name]:g} {name}"
    if values["directories"] > places:
        yield f"at rest {places} partitions have {values['directories']:g} directories"


def growing(samples: Sequence[Sample]) -> Iterator[str]:
    """Return what is more in the last quarter of a run than in the second (medians, at rest).

    The first quarter is left out: caches fill up, and Java compiles.
    """
    at_rest = [sample for sample in samples if sample.at_rest]
    if len(at_rest) < 8:
        return
    quarter = len(at_rest) // 4
    for name in sorted(set.intersection(*(set(s.values) for s in at_rest))):
        series = [sample.values[name] for sample in at_rest]
        early = statistics.median(series[quarter : 2 * quarter])
        late = statistics.median(series[-quarter:])
        share, amount = _tolerance(name)
        if name != _HISTORY and late > early * (1 + share) + amount:
            yield f"{name} grew from {early:.1f} to {late:.1f}"


def _tolerance(name: str) -> tuple[float, float]:
    """Return the share and the amount by which something may vary."""
    if name.startswith("memory"):
        return 0.1, 24
    if name.startswith("threads") and name.endswith("JVM"):
        return 0.2, 16  # pools of Spark's, with up to 128 threads
    if name.startswith("heap"):
        return 0.1, 8
    if name in ("rows of write_ids", "rows of history"):
        return 0.5, 100  # tables are dropped when they have many, which is a saw
    if name.startswith("metastore"):
        return 0.25, 32  # most of it is those rows
    return 0.1, 8
