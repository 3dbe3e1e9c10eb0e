"""Suite ``day``: a day of small changes by several processes, with and without maintenance."""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tpcds_bench import product
from tpcds_bench.day_work import (
    COLUMNS,
    PARTITIONED_BY,
    QUERY,
    TABLE,
    Size,
    filling,
    reading_ratio,
    statements,
)
from tpcds_bench.peers import registry
from tpcds_bench.peers.client import start
from tpcds_bench.peers.day import PeerDay
from tpcds_bench.peers.environments import environment_python
from tpcds_bench.report import Section
from tpcds_bench.session import spark_session

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pyspark.sql import SparkSession

_FRESH = "fresh"
_WORKER_MEMORY = "700m"
_READ_PAUSE = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """Maintenance mode of a day.

    Args:
        name: name of the mode.
        auto: ``spark.acidsql.compaction.auto``.
        retention: ``acidsql.history.retention`` of the table.
    """

    name: str
    auto: str
    retention: str = "0 seconds"


_MODES = (
    Mode(name="on", auto="on"),
    Mode(name="on, versions of a day are kept", auto="on", retention="1 day"),
    Mode(name="off", auto="off"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """Work of one process.

    Args:
        statements: number of successful statements.
        errors: errors of the other statements.
        seconds: total seconds of its statements.
        reads: seconds of each read that ran in parallel.
    """

    statements: int
    errors: tuple[str, ...]
    seconds: float
    reads: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DayResult:
    """Result of a day.

    Args:
        mode: name of the mode.
        rate: statements per second of all processes together.
        errors: errors of statements and reads.
        directories: directories of the table at the end.
        most_directories: largest number of directories at any time.
        ratio: time of a read at the end, divided by the time for a fresh table of the same rows.
        slowest_read: mean seconds of the slowest tenth of the reads in parallel to statements.
    """

    mode: str
    rate: float
    errors: tuple[str, ...]
    directories: int
    most_directories: int
    ratio: float
    slowest_read: float


def run(work: Path, size: Size, *, driver_memory: str) -> tuple[DayResult, ...]:
    """Run a day in each mode, each in a separate warehouse."""
    return tuple(
        _day(work / str(number), mode, size, driver_memory) for number, mode in enumerate(_MODES)
    )


def run_peers(
    work: Path, size: Size, engines: Sequence[str], environments: Path, *, driver_memory: str
) -> dict[str, PeerDay]:
    """Run a day on other engines, each in a separate process with a Spark that it supports.

    Raises:
        WorkerError: an engine failed.
    """
    group = registry.GROUPS[0]
    python = environment_python(environments, group.pyspark)
    days = {}
    for name in engines:
        place = work / name
        place.mkdir(parents=True)
        with start(python, name, place, driver_memory=driver_memory) as client:
            days[name] = PeerDay(**client.ask("day", size=asdict(size)))
    return days


def sections(size: Size, results: Sequence[DayResult]) -> tuple[Section, ...]:
    """Return the report on a run."""
    rows = [
        (
            r.mode,
            round(r.rate, 2),
            len(r.errors),
            r.most_directories,
            r.directories,
            round(r.slowest_read, 2),
            round(r.ratio, 2),
        )
        for r in results
    ]
    return (
        Section(
            title="A day of small changes",
            text=(
                f"{size.statements} INSERTs, UPDATEs, DELETEs and MERGEs by {size.processes}"
                f" processes on a table of {size.rows} rows, and a reader beside them. The ratio is"
                " the time of the query at the end, divided by that of the same query on a fresh"
                " table of the same rows; the goal with maintenance is 1.2."
            ),
            headers=(
                "maintenance",
                "statements/s",
                "errors",
                "most directories",
                "directories at the end",
                "slowest tenth of reads (s)",
                "ratio",
            ),
            rows=rows,
        ),
    )


def peer_sections(size: Size, days: Mapping[str, PeerDay]) -> tuple[Section, ...]:
    """Return the report on the engines."""
    return (
        Section(
            title="The same day on other engines",
            text=(
                f"{size.processes} threads of one process on PySpark {registry.GROUPS[0].pyspark}."
                " acidsql maintains its tables itself; Delta Lake's OPTIMIZE and Iceberg's"
                " procedures run after every 100 statements. The ratio is within one engine."
            ),
            headers=("engine", "statements/s", "errors", "files at the end", "ratio"),
            rows=[
                (
                    registry.ENGINES[name].label,
                    round(day.rate, 2),
                    len(day.errors),
                    day.files,
                    round(day.ratio, 2),
                )
                for name, day in days.items()
            ],
        ),
    )


def _day(work: Path, mode: Mode, size: Size, driver_memory: str) -> DayResult:
    work.mkdir(parents=True)
    with spark_session(work, driver_memory=driver_memory) as spark:
        _create(spark, size, mode.retention)
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager:
        done = manager.Event()
        with context.Pool(size.processes + 1) as pool:
            reader = pool.apply_async(_read, (work, mode.auto, done))
            writers = [
                pool.apply_async(_write, (work, mode.auto, number, size))
                for number in range(size.processes)
            ]
            most = 0
            while not all(writer.ready() for writer in writers):
                most = max(most, _directories(work))
                time.sleep(_READ_PAUSE)
            worked = [writer.get() for writer in writers]
            done.set()
            read = reader.get()
            pool.close()
            pool.join()
    with spark_session(work, driver_memory=driver_memory) as spark:
        ratio = _ratio(spark, size)
        left = _directories(work)
    slowest = sorted(read.reads)[-max(1, len(read.reads) // 10) :]
    return DayResult(
        mode=mode.name,
        rate=sum(w.statements / w.seconds for w in worked),
        errors=tuple(error for w in (*worked, read) for error in w.errors),
        directories=left,
        most_directories=most,
        ratio=ratio,
        slowest_read=sum(slowest) / len(slowest),
    )


def _create(spark: SparkSession, size: Size, retention: str) -> None:
    product.create_table(spark, TABLE, COLUMNS, partitioned_by=PARTITIONED_BY)
    kept = f"'acidsql.history.retention' = '{retention}'"
    product.execute(spark, f"ALTER TABLE {TABLE} SET TBLPROPERTIES ({kept})")
    product.execute(spark, filling(TABLE, size))


def _process_session(work: Path, auto: str) -> AbstractContextManager[SparkSession]:
    """Start Spark for one of the processes of a day."""
    return spark_session(
        work,
        driver_memory=_WORKER_MEMORY,
        cores=1,
        settings={"spark.acidsql.compaction.auto": auto},
    )


def _write(work: Path, auto: str, number: int, size: Size) -> Worked:
    """Run the statements of one process."""
    done, errors = 0, []
    with _process_session(work, auto) as spark:
        product.query(spark, QUERY.format(TABLE)).collect()  # warms up
        begun = time.perf_counter()
        for text in statements(number, size, TABLE):
            try:
                product.execute(spark, text)
                done += 1
            except product.FAILURES as error:
                errors.append(f"{text}: {error}")
        seconds = time.perf_counter() - begun
    return Worked(statements=done, errors=tuple(errors), seconds=seconds)


def _read(work: Path, auto: str, done: Any) -> Worked:
    """Read the table in a loop until the writers are done."""
    reads, errors = [], []
    with _process_session(work, auto) as spark:
        while not done.is_set():
            begun = time.perf_counter()
            try:
                product.query(spark, QUERY.format(TABLE)).collect()
                reads.append(time.perf_counter() - begun)
            except product.FAILURES as error:
                errors.append(str(error))
            done.wait(_READ_PAUSE)
    return Worked(
        statements=len(reads), errors=tuple(errors), seconds=sum(reads), reads=tuple(reads)
    )


def _ratio(spark: SparkSession, size: Size) -> float:
    """Return the time to read the table, divided by the time for a fresh table of its rows."""
    product.execute(
        spark,
        f"CREATE TABLE {_FRESH} PARTITIONED BY (branch) STORED AS ORC"
        f" TBLPROPERTIES ('transactional'='true') AS SELECT * FROM {TABLE}",
    )
    return reading_ratio(lambda text: product.query(spark, text).collect(), TABLE, _FRESH, size)


def _directories(work: Path) -> int:
    """Return the number of bases and deltas of the table."""
    return product.layout_below(work / "warehouse" / TABLE).directories
