"""Suite ``ingest``: rows per second of a streaming client, by the size of its transactions.

The client needs no Spark. A session makes the tables, and counts their rows at the end.
"""

from __future__ import annotations

import datetime as dt
import resource
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from tqdm import tqdm

import acidsql
from acidsql.streaming import StreamingConnection, connect
from tpcds_bench.cases import AnswerError
from tpcds_bench.report import Section

_METASTORE = "acidsql_metastore.sqlite"  # beside the warehouse
_FORMS = ("dicts", "Arrow")
# Rows of a transaction, and transactions of a round.
_SIZES = ((1, 200), (1_000, 100), (100_000, 5))
_CHUNK = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Result of one form of records and one size of transactions.

    Args:
        form: of the records.
        rows: of a transaction.
        transactions: of each round.
        seconds: of each round, its commits included.
        memory: greatest resident size of the process so far, in bytes.
    """

    form: str
    rows: int
    transactions: int
    seconds: tuple[float, ...]
    memory: int

    @property
    def median(self) -> float:
        """Median of the seconds."""
        return sorted(self.seconds)[len(self.seconds) // 2]

    @property
    def rate(self) -> float:
        """Rows per second, of the median round."""
        return self.rows * self.transactions / self.median


def run(spark: SparkSession, work: Path, *, rounds: int) -> tuple[Result, ...]:
    """Write rows of four columns in transactions of each size, in both forms.

    Args:
        spark: session with its warehouse in ``work``.
        work: directory of the warehouse.
        rounds: rounds after one that warms up.

    Raises:
        AnswerError: the table has not the rows that were committed.
    """
    results = []
    with tqdm(total=len(_SIZES) * len(_FORMS) * (1 + rounds), unit="round") as progress:
        for rows, transactions in _SIZES:
            for form in _FORMS:
                table = f"ingest_{form.lower()}_{rows}"
                acidsql.sql(
                    spark,
                    f"CREATE TABLE {table} (id BIGINT, name STRING, amount DECIMAL(10,2), day DATE)"
                    " STORED AS ORC TBLPROPERTIES ('transactional' = 'true')",
                )
                seconds = []
                with connect(
                    metastore=work / _METASTORE, table=table, transaction_batch_size=100
                ) as connection:
                    for _ in range(1 + rounds):
                        seconds.append(_round(connection, form, rows, transactions))
                        progress.update()
                _check(spark, table, rows * transactions * (1 + rounds))
                memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
                results.append(
                    Result(
                        form=form,
                        rows=rows,
                        transactions=transactions,
                        seconds=tuple(seconds[1:]),
                        memory=memory,
                    )
                )
    return tuple(results)


def sections(results: Sequence[Result]) -> tuple[Section, ...]:
    """Return the report on a run."""
    return (
        Section(
            title="Streaming ingest",
            text=(
                "Rows of BIGINT, STRING, DECIMAL(10,2) and DATE into a table without partitions,"
                " by one client of an embedded metastore; each commit is on the disk."
                " Medians of rounds."
            ),
            headers=("rows of a transaction", "records", "rows/s", "ms/transaction", "memory, MB"),
            rows=[
                (
                    f"{result.rows:,}",
                    result.form,
                    f"{result.rate:,.0f}",
                    1000 * result.median / result.transactions,
                    result.memory / 2**20,
                )
                for result in results
            ],
        ),
    )


def _round(connection: StreamingConnection, form: str, rows: int, transactions: int) -> float:
    """Return the seconds that some transactions take; the records are made before."""
    chunk = list(_rows(min(rows, _CHUNK)))
    batch = pa.Table.from_pylist(chunk)
    begun = time.perf_counter()
    for _ in range(transactions):
        with connection.transaction():
            for start in range(0, rows, _CHUNK):
                count = min(_CHUNK, rows - start)
                if form == "Arrow":
                    connection.write(batch.slice(0, count))
                else:
                    connection.write_all(islice(chunk, count))
    return time.perf_counter() - begun


def _rows(count: int) -> Iterator[dict[str, object]]:
    for number in range(count):
        yield {
            "id": number,
            "name": f"name {number % 1000}",
            "amount": Decimal(number % 10_000) / 100,
            "day": dt.date(2024, 1, 1 + number % 28),
        }


def _check(spark: SparkSession, table: str, expected: int) -> None:
    ((found,),) = acidsql.sql(spark, f"SELECT count(*) FROM {table}").collect()
    if found != expected:
        raise AnswerError(f"{table} has {found} rows instead of {expected}")
