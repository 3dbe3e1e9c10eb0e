"""Suite ``ingest``: rows per second of a streaming client, by the size of its transactions.

The client needs no Spark. A Spark session creates the tables, and counts their rows at the end. On
a Hive Metastore, Hive's client writes the same rows for comparison.
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession
from tqdm import tqdm

import acidsql
from tpcds_bench import hive_streaming, ingest_client
from tpcds_bench.cases import AnswerError
from tpcds_bench.report import Section

_METASTORE = "acidsql_metastore.sqlite"  # next to the warehouse
HIVE = "Hive's client"
_FORMS = ("dicts", "Arrow")
# Rows of a transaction, and transactions of a round.
_SIZES = ((1, 200), (1_000, 100), (100_000, 5))
_LARGE = (100_000, 1_000_000, 5_000_000)  # rows of transactions whose memory is measured
_BATCH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Records of one form, written in transactions of one size by a separate process.

    Args:
        form: form of the records, or ``HIVE``.
        synchronous: whether a commit waits for the disk; Hive's client never waits.
        rows: rows of a transaction.
        transactions: transactions of a round.
        rounds: number of rounds.
    """

    form: str
    synchronous: bool
    rows: int
    transactions: int
    rounds: int

    @property
    def table(self) -> str:
        """Name of the table."""
        form = self.form.partition("'")[0].lower()
        return f"ingest_{form}_{self.rows}_{'waits' if self.synchronous else 'goes_on'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Result of a case.

    Args:
        case: the case.
        seconds: seconds of each round after the first, including its commits.
        memory: peak resident size of the process in bytes.
    """

    case: Case
    seconds: tuple[float, ...]
    memory: int

    @property
    def median(self) -> float:
        """Median of the seconds."""
        return sorted(self.seconds)[len(self.seconds) // 2]

    @property
    def rate(self) -> float:
        """Rows per second of the median round."""
        return self.case.rows * self.case.transactions / self.median


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Results of the suite.

    Args:
        rates: results of the cases.
        large: results of single large transactions.
        start: seconds to import the client, for each of some new processes.
    """

    rates: tuple[Result, ...]
    large: tuple[Result, ...]
    start: tuple[float, ...]


def run(spark: SparkSession, work: Path, *, rounds: int, metastore: str | None) -> Results:
    """Write rows of four columns in transactions of each size, in both forms.

    Args:
        spark: session with its warehouse in ``work``.
        work: directory of the warehouse.
        rounds: rounds after one warm-up round.
        metastore: URI of a Hive Metastore on this machine, where Hive's client writes too; None:
            the embedded metastore of the session.

    Raises:
        AnswerError: a table does not contain the committed rows.
        HiveStreamingError: Hive's client failed.
    """
    forms = [(form, True) for form in _FORMS]
    classes = ""
    if metastore is not None:
        spark.conf.set("spark.acidsql.metastore", metastore)
        classes = hive_streaming.class_path(work)
        forms = [(HIVE, False), *((form, waits) for form in _FORMS for waits in (False, True))]
    place = metastore or str(work / _METASTORE)
    cases = [
        Case(form=form, synchronous=waits, rows=rows, transactions=count, rounds=1 + rounds)
        for rows, count in _SIZES
        for form, waits in forms
    ]
    large = [
        Case(form=form, synchronous=True, rows=rows, transactions=1, rounds=1)
        for form in _FORMS
        for rows in _LARGE
    ]
    results = []
    for case in tqdm([*cases, *large], unit="case"):
        table = case.table if case in cases else f"{case.table}_large"
        acidsql.sql(spark, f"DROP TABLE IF EXISTS {table}")
        acidsql.sql(
            spark,
            f"CREATE TABLE {table} (id BIGINT, name STRING, amount DECIMAL(10,2), day DATE)"
            " STORED AS ORC TBLPROPERTIES ('transactional' = 'true', 'orc.compress' = 'ZLIB')",
        )
        if case.form == HIVE:
            results.append(_by_hive(case, place, table, work, classes))
        else:
            results.append(_by_acidsql(case, place, table))
        _check(spark, table, case.rows * case.transactions * case.rounds)
        acidsql.sql(spark, f"DROP TABLE {table}")
    return Results(
        rates=tuple(results[: len(cases)]),
        large=tuple(results[len(cases) :]),
        start=tuple(_start() for _ in range(rounds)),
    )


def sections(results: Results) -> tuple[Section, ...]:
    """Return the report on a run."""
    hive = {result.case.rows: result.rate for result in results.rates if result.case.form == HIVE}
    return (
        Section(
            title="Streaming ingest",
            text=(
                "Rows of BIGINT, STRING, DECIMAL(10,2) and DATE into a table without partitions,"
                f" by one client, in batches of {_BATCH} transactions. Medians of rounds."
                " Import of the client:"
                f" {sorted(results.start)[len(results.start) // 2]:.2f} s."
            ),
            headers=(
                "rows of a transaction",
                "records",
                "waits for the disk",
                "rows/s",
                f"ratio to {HIVE}",
                "ms/transaction",
                "memory, MB",
            ),
            rows=[
                (
                    f"{result.case.rows:,}",
                    result.case.form,
                    "yes" if result.case.synchronous else "no",
                    f"{result.rate:,.0f}",
                    result.rate / hive[result.case.rows] if hive else None,
                    1000 * result.median / result.case.transactions,
                    result.memory / 2**20,
                )
                for result in results.rates
            ],
        ),
        Section(
            title="Memory of large transactions",
            headers=("rows of the transaction", "records", "memory, MB"),
            rows=[
                (f"{result.case.rows:,}", result.case.form, result.memory / 2**20)
                for result in results.large
            ],
        ),
    )


def _by_acidsql(case: Case, metastore: str, table: str) -> Result:
    """Write the rows of a case with acidsql's client, in a separate process."""
    waits = "yes" if case.synchronous else "no"
    numbers = (case.rows, case.transactions, _BATCH, case.rounds)
    arguments = [metastore, table, case.form, waits, *map(str, numbers)]
    done = subprocess.run(
        [sys.executable, "-m", "tpcds_bench.ingest_client", *arguments],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    *seconds, memory = done.stdout.split()
    taken = tuple(map(float, seconds))
    return Result(case=case, seconds=taken[1:] or taken, memory=1024 * int(memory))


def _by_hive(case: Case, metastore: str, table: str, work: Path, classes: str) -> Result:
    """Write the rows of a case with Hive's client."""
    records = work / "records"
    records.write_text(
        "".join(
            f"{row['id']},{row['name']},{row['amount']},{row['day']}\n"
            for row in ingest_client.rows(min(case.rows, ingest_client.CHUNK))
        )
    )
    seconds, memory = hive_streaming.ingest(
        classes=classes,
        metastore=metastore,
        table=table,
        records=records,
        rows=case.rows,
        transactions=case.transactions,
        batch=_BATCH,
        rounds=case.rounds,
    )
    return Result(case=case, seconds=seconds[1:], memory=memory)


def _check(spark: SparkSession, table: str, expected: int) -> None:
    ((count,),) = acidsql.sql(spark, f"SELECT count(*) FROM {table}").collect()
    if count != expected:
        raise AnswerError(f"{table} has {count} rows instead of {expected}")


def _start() -> float:
    """Return the seconds that a new process takes to import the client."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import acidsql.streaming"], check=True)
    return time.perf_counter() - begun
