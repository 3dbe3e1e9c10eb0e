"""Suite ``processes``: short jobs that start, insert one row and end, without time to maintain."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tqdm import tqdm

from tpcds_bench import product
from tpcds_bench.cases import AnswerError
from tpcds_bench.data import Column
from tpcds_bench.one_insert import TABLE
from tpcds_bench.report import Section
from tpcds_bench.session import spark_session

if TYPE_CHECKING:
    from pathlib import Path

_GOAL = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Result of the suite.

    Args:
        most_deltas: largest number of deltas of the table after a process.
        bases: number of bases of the table at the end.
        seconds: median seconds of a process from its start to its end.
        slowest: seconds of the slowest process.
    """

    most_deltas: int
    bases: int
    seconds: float
    slowest: float


def run(work: Path, processes: int, together: int, *, driver_memory: str) -> Result:
    """Run processes of one INSERT each, several at a time.

    Args:
        work: directory of the warehouse.
        processes: number of processes.
        together: number of processes that run at a time.
        driver_memory: heap of the session that creates the table, and reads it at the end.

    Raises:
        AnswerError: a row is missing.
        subprocess.CalledProcessError: a process failed.
    """
    with spark_session(work, driver_memory=driver_memory) as spark:
        product.create_table(spark, TABLE, [Column(name="id", type="INT")])
    with ThreadPoolExecutor(together) as pool:
        done = [pool.submit(_insert, work, number) for number in range(processes)]
        ended = [future.result() for future in tqdm(done, unit="process")]
    with spark_session(work, driver_memory=driver_memory) as spark:
        ids = product.query(spark, f"SELECT id FROM {TABLE} ORDER BY id").collect()
    if [row[0] for row in ids] != list(range(processes)):
        raise AnswerError(f"{TABLE} has {len(ids)} rows after {processes} INSERTs")
    seconds = sorted(taken for taken, _ in ended)
    return Result(
        most_deltas=max(deltas for _, deltas in ended),
        bases=_layout(work).bases,
        seconds=seconds[len(seconds) // 2],
        slowest=seconds[-1],
    )


def sections(processes: int, together: int, result: Result) -> tuple[Section, ...]:
    """Return the report on a run."""
    return (
        Section(
            title="Processes of one INSERT",
            text=(
                f"{processes} processes, {together} at a time, each with its own Spark, insert a"
                " row and end. The maintenance of their sessions compacts what they leave; the"
                f" goal is {_GOAL} deltas at most."
            ),
            headers=("most deltas", "bases at the end", "seconds of a process", "slowest"),
            rows=[
                (result.most_deltas, result.bases, round(result.seconds, 1), result.slowest),
            ],
        ),
    )


def _insert(work: Path, number: int) -> tuple[float, int]:
    """Run one process; return its seconds, and the number of deltas of the table after it."""
    begun = time.perf_counter()
    command = [sys.executable, "-m", "tpcds_bench.one_insert", str(work), str(number)]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begun, _layout(work).deltas


def _layout(work: Path) -> product.Layout:
    return product.layout_below(work / "warehouse" / TABLE)
