"""Suite ``day``: a day of small changes by several processes, with and without maintenance."""

from __future__ import annotations

import multiprocessing
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tpcds_bench import product
from tpcds_bench.measure import Contender, duel
from tpcds_bench.report import Section
from tpcds_bench.session import spark_session

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pyspark.sql import SparkSession

_TABLE, _FRESH = "account", "fresh"
_QUERY = "SELECT count(*), sum(balance), max(length(note)) FROM {}"
_WORKER_MEMORY = "700m"
_READ_PAUSE = 1.0
_MODES = ("on", "off")


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Size of a day.

    Args:
        statements: number of all statements.
        processes: that run them, each on a partition of its own.
        rows: of the table at the beginning.
        rounds: rounds of the reading at the end.
    """

    statements: int
    processes: int
    rows: int
    rounds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """Work that one process has done.

    Args:
        statements: that succeeded.
        errors: of the others.
        seconds: of its statements, one after the other.
        reads: seconds of each reading beside them.
    """

    statements: int
    errors: tuple[str, ...]
    seconds: float
    reads: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DayResult:
    """Result of a day.

    Args:
        mode: ``spark.acidsql.compaction.auto``.
        rate: statements a second, all processes together.
        errors: of statements and readings.
        directories: of the table at the end.
        most_directories: at any time.
        ratio: time of a reading at the end, divided by that of a fresh table of the same rows.
        slowest_read: seconds of the slowest tenth of the readings beside the statements.
    """

    mode: str
    rate: float
    errors: tuple[str, ...]
    directories: int
    most_directories: int
    ratio: float
    slowest_read: float


def run(work: Path, size: Size, *, driver_memory: str) -> tuple[DayResult, ...]:
    """Run a day in each mode, each in a warehouse of its own."""
    return tuple(_day(work / mode, mode, size, driver_memory) for mode in _MODES)


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


def _day(work: Path, mode: str, size: Size, driver_memory: str) -> DayResult:
    work.mkdir(parents=True)
    with spark_session(work, driver_memory=driver_memory) as spark:
        _create(spark, size)
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager:
        done = manager.Event()
        with context.Pool(size.processes + 1) as pool:
            reader = pool.apply_async(_read, (work, mode, done))
            writers = [
                pool.apply_async(_write, (work, mode, number, size))
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
        mode=mode,
        rate=sum(w.statements / w.seconds for w in worked),
        errors=tuple(error for w in (*worked, read) for error in w.errors),
        directories=left,
        most_directories=most,
        ratio=ratio,
        slowest_read=sum(slowest) / len(slowest),
    )


def _create(spark: SparkSession, size: Size) -> None:
    product.execute(
        spark,
        f"CREATE TABLE {_TABLE} (id BIGINT, balance DECIMAL(12, 2), note STRING)"
        " PARTITIONED BY (branch INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')",
    )
    _fill(spark, _TABLE, size)


def _fill(spark: SparkSession, table: str, size: Size) -> None:
    product.execute(
        spark,
        f"INSERT INTO {table} SELECT id, CAST(id % 1000 AS DECIMAL(12, 2)),"
        f" concat('note ', id % 97), CAST(id % {size.processes} AS INT) FROM range({size.rows})",
    )


def _statements(number: int, size: Size) -> Iterator[str]:
    """Yield the statements of a process, which depend on its number alone."""
    chance = random.Random(number)
    branch = f"branch = {number}"
    for i in range(size.statements // size.processes):
        own = size.rows + i * size.processes + number
        some = chance.randrange(size.rows // size.processes) * size.processes + number
        yield chance.choice(
            (
                f"INSERT INTO {_TABLE} VALUES ({own}, 1.5, 'new', {number})",
                f"UPDATE {_TABLE} SET balance = balance + 1 WHERE {branch} AND id = {some}",
                f"DELETE FROM {_TABLE} WHERE {branch} AND id = {some}",
                (
                    f"MERGE INTO {_TABLE} a USING (SELECT {some} AS id, 'merged' AS note) s"
                    f" ON a.{branch} AND a.id = s.id WHEN MATCHED THEN UPDATE SET note = s.note"
                    f" WHEN NOT MATCHED THEN INSERT VALUES (s.id, 0, s.note, {number})"
                ),
            )
        )


def _own_session(work: Path, mode: str) -> AbstractContextManager[SparkSession]:
    """Start Spark for one of the processes of a day."""
    return spark_session(
        work,
        driver_memory=_WORKER_MEMORY,
        cores=1,
        settings={"spark.acidsql.compaction.auto": mode},
    )


def _write(work: Path, mode: str, number: int, size: Size) -> Worked:
    """Run the statements of one process."""
    done, errors = 0, []
    with _own_session(work, mode) as spark:
        product.query(spark, _QUERY.format(_TABLE)).collect()  # warms up
        begun = time.perf_counter()
        for text in _statements(number, size):
            try:
                product.execute(spark, text)
                done += 1
            except product.FAILURES as error:
                errors.append(f"{text}: {error}")
        seconds = time.perf_counter() - begun
    return Worked(statements=done, errors=tuple(errors), seconds=seconds)


def _read(work: Path, mode: str, done: Any) -> Worked:
    """Read the table again and again until the writers are done."""
    reads, errors = [], []
    with _own_session(work, mode) as spark:
        while not done.is_set():
            begun = time.perf_counter()
            try:
                product.query(spark, _QUERY.format(_TABLE)).collect()
                reads.append(time.perf_counter() - begun)
            except product.FAILURES as error:
                errors.append(str(error))
            done.wait(_READ_PAUSE)
    return Worked(
        statements=len(reads), errors=tuple(errors), seconds=sum(reads), reads=tuple(reads)
    )


def _ratio(spark: SparkSession, size: Size) -> float:
    """Return the ratio of a reading of the table to one of a fresh table of the same rows."""
    product.execute(
        spark,
        f"CREATE TABLE {_FRESH} PARTITIONED BY (branch) STORED AS ORC"
        f" TBLPROPERTIES ('transactional'='true') AS SELECT * FROM {_TABLE}",
    )

    def reading(table: str) -> Contender:
        return Contender(run=lambda _: product.query(spark, _QUERY.format(table)).collect())

    measured = duel(reading(_TABLE), reading(_FRESH), rounds=size.rounds, progress=lambda: None)
    return measured.wall_ratio


def _directories(work: Path) -> int:
    """Return the number of bases and deltas of the table."""
    table = work / "warehouse" / _TABLE
    return sum(path.name.startswith(("base_", "de")) for path in table.glob("branch=*/*"))
