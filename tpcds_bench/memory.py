"""Suite ``memory``: a table with far more rows and delete events than fit into the heap."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil
from tqdm import tqdm

from tpcds_bench import product
from tpcds_bench.cases import AnswerError
from tpcds_bench.measure import Sample, measured
from tpcds_bench.report import Chart, Section, environment

if TYPE_CHECKING:
    from tpcds_bench.data import Dataset
    from tpcds_bench.session import Stage

_TABLE = "memory.rows"
_PARTS = 1000
_SECONDS = 0.1
_COLUMNS = """
    id,
    CAST(id * 7919 % 100003 AS INT) AS customer,
    CAST(id % 97 AS INT) AS quantity,
    CAST(id % 99991 AS DECIMAL(7,2)) / 100 AS price,
    concat('note ', id % 1013) AS note
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Cost of one step.

    Args:
        name: the action.
        sample: seconds of the step.
        peak: peak resident set size of this process and its children, in bytes.
    """

    name: str
    sample: Sample
    peak: int


def run(stage: Stage, *, rows: int, deletes: int) -> tuple[Step, ...]:
    """Create a table, delete rows, then read, update and compact the table.

    Args:
        rows: initial number of rows of the table.
        deletes: approximate number of rows that one DELETE deletes, spread over the table.

    Raises:
        AnswerError: a query returned a wrong answer.
    """
    spark = stage.spark
    product.create_database(spark, "memory")
    product.execute(
        spark,
        f"CREATE TABLE {_TABLE} (id BIGINT, customer INT, quantity INT, price DECIMAL(7,2),"
        " note STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true')",
    )
    deleted = f"id % {_PARTS} < {deletes * _PARTS // rows}"
    updated = f"id % {_PARTS} >= {_PARTS - _PARTS // 100}"
    source = f"(SELECT {_COLUMNS} FROM range({rows}))"
    aggregates = "count(*), sum(customer), sum(quantity), sum(price), max(note)"
    changed = aggregates.replace("quantity", f"quantity + IF({updated}, 1, 0)")

    def execute(text: str) -> Callable[[], object]:
        return lambda: product.execute(spark, text)

    def check(expected: str) -> Callable[[], object]:
        answer = spark.sql(f"SELECT {expected} FROM {source} WHERE NOT ({deleted})").collect()

        def read() -> None:
            values = product.query(spark, f"SELECT {aggregates} FROM {_TABLE}").collect()
            if values != answer:
                raise AnswerError(f"the table has {values} in place of {answer}")

        return read

    steps = {
        f"INSERT of {rows:,} rows": execute(f"INSERT INTO {_TABLE} SELECT * FROM {source}"),
        f"DELETE of {deletes:,} rows": execute(f"DELETE FROM {_TABLE} WHERE {deleted}"),
        "read of all columns": check(aggregates),
        "UPDATE of 1 %": execute(f"UPDATE {_TABLE} SET quantity = quantity + 1 WHERE {updated}"),
        "read after the UPDATE": check(changed),
        "major compaction": lambda: product.compact(spark, _TABLE, "major"),
        "read after the compaction": check(changed),
    }
    return tuple(_step(name, action) for name, action in tqdm(steps.items(), unit="step"))


def sections(data: Dataset, results: Sequence[Step]) -> tuple[Section, ...]:
    """Return the report on a run."""
    return (
        Section(
            title="Memory",
            text=(
                f"{environment(data.scale)} Peak of the resident memory of Spark's JVM and Python"
                " together, sampled ten times a second. No executor stands beside the driver."
            ),
            headers=("step", "peak MiB", "seconds", "CPU seconds"),
            rows=[(s.name, s.peak / 2**20, s.sample.wall, s.sample.cpu) for s in results],
            chart=Chart(
                unit="peak MiB of resident memory",
                bars=[(step.name, step.peak / 2**20, None) for step in results],
            ),
        ),
    )


def _step(name: str, action: Callable[[], object]) -> Step:
    with _peak() as peak:
        _, sample = measured(action)
    return Step(name=name, sample=sample, peak=max(peak))


@contextmanager
def _peak() -> Iterator[list[int]]:
    """Sample the resident memory of this process and its children."""
    samples = [_resident()]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_SECONDS):
            samples.append(_resident())

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        done.set()
        thread.join()


def _resident() -> int:
    root = psutil.Process()
    total = 0
    for process in (root, *root.children(recursive=True)):
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue  # the process ended after it was listed
    return total
