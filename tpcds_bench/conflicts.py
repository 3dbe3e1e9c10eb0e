"""Suite ``conflicts``: small UPDATEs of different rows by several writers.

The writers share one table, or each writer has a separate table.
"""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import mean, median
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from tpcds_bench import product
from tpcds_bench.report import Section
from tpcds_bench.session import spark_session

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

_CONFLICT = "CONCURRENT_WRITE"
GOAL = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Size of a run.

    Args:
        updates: number of updates of all writers together, each of another row.
        writers: number of threads, each with a separate session.
        rows: rows of each table.
        rounds: rounds of both layouts.
    """

    updates: int
    writers: int
    rows: int
    rounds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Work of all writers with one layout of tables.

    Args:
        rate: updates per second.
        conflicts: number of updates that lost a conflict.
        errors: errors of the other failed updates.
        wrong: number of rows with a wrong value.
        directories: mean number of directories that an update read.
    """

    rate: float
    conflicts: int
    errors: tuple[str, ...]
    wrong: int
    directories: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictResult:
    """Rounds of both layouts, in their order.

    Args:
        together: all writers update one table.
        apart: each writer updates a separate table.
    """

    together: tuple[Round, ...]
    apart: tuple[Round, ...]

    @property
    def ratio(self) -> float:
        """Median rate on one table, divided by the median rate on separate tables."""
        return median(r.rate for r in self.together) / median(r.rate for r in self.apart)

    @property
    def is_right(self) -> bool:
        """Whether no update was lost, failed or lost a conflict."""
        rounds = (*self.together, *self.apart)
        return not any(r.conflicts or r.errors or r.wrong for r in rounds)


def run(work: Path, size: Size, *, driver_memory: str) -> ConflictResult:
    """Run all rounds in one Spark application, without retries.

    The tables are compacted in the background, as by default. Otherwise the shared table would have
    many more deltas than the separate tables, and the suite would measure the cost of reading
    deltas.
    """
    settings = {"spark.acidsql.retries": "0", "spark.acidsql.compaction.auto": "on"}
    measured: dict[bool, list[Round]] = {True: [], False: []}
    with spark_session(work, driver_memory=driver_memory, settings=settings) as spark:
        warm = Size(updates=4 * size.writers, writers=size.writers, rows=100, rounds=1)
        for together in (True, False):
            _round(spark, f"warm_{together}", warm, together=together)
        for number in range(size.rounds):
            for together in (False, True) if number % 2 else (True, False):
                name = f"{'one' if together else 'own'}_{number}"
                measured[together].append(_round(spark, name, size, together=together))
    return ConflictResult(together=tuple(measured[True]), apart=tuple(measured[False]))


def _round(spark: SparkSession, name: str, size: Size, *, together: bool) -> Round:
    tables = [name] if together else [f"{name}_{i}" for i in range(size.writers)]
    for table in tables:
        product.execute(
            spark,
            f"CREATE TABLE {table} (id INT, balance INT) STORED AS ORC "
            "TBLPROPERTIES ('transactional' = 'true')",
        )
        product.execute(
            spark, f"INSERT INTO {table} SELECT CAST(id AS INT), 0 FROM range({size.rows})"
        )
    # Rows far from each other and in random order, as in updates for customers.
    ids = random.Random(name).sample(range(size.rows), size.updates)
    shares = [ids[i :: size.writers] for i in range(size.writers)]
    sessions = [spark.newSession() for _ in shares]
    started = time.monotonic()
    with ThreadPoolExecutor(size.writers) as pool:
        targets = [tables[i % len(tables)] for i in range(len(shares))]
        done_by = list(pool.map(_update, sessions, targets, shares))
    seconds = time.monotonic() - started
    errors = [error for failed, _ in done_by for error in failed]
    read = [number for _, counts in done_by for number in counts]
    conflicts = sum(error.startswith(_CONFLICT) for error in errors)
    done = sum(
        product.query(spark, f"SELECT sum(balance) FROM {table}").collect()[0][0]
        for table in tables
    )
    return Round(
        rate=(size.updates - len(errors)) / seconds,
        conflicts=conflicts,
        errors=tuple(error for error in errors if not error.startswith(_CONFLICT)),
        wrong=abs(size.updates - len(errors) - done),
        directories=mean(read) if read else 0.0,
    )


def _update(spark: SparkSession, table: str, ids: Sequence[int]) -> tuple[list[str], list[int]]:
    """Update rows one by one; return the errors, and the number of directories per update."""
    errors, read = [], []
    for number in ids:
        text = f"UPDATE {table} SET balance = balance + 1 WHERE id = {number}"
        try:
            read.append(product.directories_read(product.query(spark, text)))
        except PySparkException as error:
            errors.append(f"{error.getCondition()}: {str(error)[:200]}")
    return errors, read


def sections(size: Size, result: ConflictResult) -> tuple[Section, ...]:
    """Return the report on a run."""
    rows = [
        (
            layout,
            round(median(r.rate for r in rounds), 2),
            round(mean(r.directories for r in rounds), 1),
            sum(r.conflicts for r in rounds),
            sum(len(r.errors) for r in rounds),
            sum(r.wrong for r in rounds),
        )
        for layout, rounds in (("one table", result.together), ("own tables", result.apart))
    ]
    return (
        Section(
            title="Updates of different rows by several writers",
            text=(
                f"{size.updates} UPDATEs, each of another row, by {size.writers} threads with"
                f" sessions of one Spark application, on one table of {size.rows} rows without"
                f" partitions, or each thread on a table of its own; {size.rounds} rounds. Tables"
                " are compacted in the background. The ratio of the two rates is"
                f" {result.ratio:.2f}; the goal is {GOAL}, without a conflict."
            ),
            headers=(
                "writers on",
                "updates/s",
                "directories read",
                "conflicts",
                "errors",
                "wrong rows",
            ),
            rows=tuple(rows),
        ),
    )
