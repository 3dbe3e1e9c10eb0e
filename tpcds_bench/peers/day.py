"""A day of small changes on one engine: threads of one process, with the engine's maintenance."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError

from tpcds_bench.day_work import PARTITIONED_BY, TABLE, Size, filling, reading_ratio, statements
from tpcds_bench.product import FAILURES

if TYPE_CHECKING:
    from pathlib import Path

    from tpcds_bench.peers.engine import Engine

_FRESH = "fresh"
# Number of statements of all threads between two rounds of maintenance.
_STATEMENTS = 100
_POLL = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerDay:
    """Result of a day.

    Args:
        rate: statements per second.
        errors: first lines of the statements' errors.
        files: number of files below the table's directory at the end.
        ratio: time of a read at the end, divided by the time for a fresh table of the same rows.
    """

    rate: float
    errors: tuple[str, ...]
    files: int
    ratio: float


def run(engine: Engine, size: Size) -> PeerDay:
    """Run a day on an engine, with a thread in place of each process."""
    root = engine.create(TABLE, PARTITIONED_BY)
    engine.sql(filling(engine.target(TABLE), size)).collect()
    done, errors = [0] * size.processes, list[str]()

    def work(number: int) -> None:
        for text in statements(number, size, engine.target(TABLE)):
            try:
                engine.sql(text).collect()
            except FAILURES as error:
                errors.append(_first_line(error))
            done[number] += 1

    over = threading.Event()
    maintenance = threading.Thread(target=_maintain, args=(engine, done, errors, over))
    maintenance.start()
    begun = time.perf_counter()
    with ThreadPoolExecutor(size.processes) as pool:
        list(pool.map(work, range(size.processes)))
    seconds = time.perf_counter() - begun
    over.set()
    maintenance.join()
    return PeerDay(
        rate=sum(done) / seconds,
        errors=tuple(errors),
        files=_files(root),
        ratio=_ratio(engine, size),
    )


def _maintain(engine: Engine, done: list[int], errors: list[str], over: threading.Event) -> None:
    """Maintain the table each time after a number of statements, as a scheduler would."""
    due = _STATEMENTS
    while not over.wait(_POLL):
        if sum(done) >= due:
            due += _STATEMENTS
            try:
                engine.maintain(TABLE)
            except FAILURES as error:
                errors.append(f"maintenance: {_first_line(error)}")


def _first_line(error: Exception) -> str:
    """Return the first line of an error's message; for a Java exception, of Java's message."""
    text = str(error.java_exception if isinstance(error, Py4JJavaError) else error)
    return text.strip().partition("\n")[0]


def _ratio(engine: Engine, size: Size) -> float:
    engine.create(_FRESH, PARTITIONED_BY)
    engine.sql(
        f"INSERT INTO {engine.target(_FRESH)} SELECT * FROM {engine.target(TABLE)}"
    ).collect()
    targets = engine.target(TABLE), engine.target(_FRESH)
    return reading_ratio(lambda text: engine.sql(text).collect(), *targets, size)


def _files(root: Path) -> int:
    return sum(path.is_file() for path in root.rglob("*"))
