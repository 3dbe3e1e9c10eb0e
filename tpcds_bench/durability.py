"""Suite ``durability``: the same statements with and without waiting for the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpcds_bench import cases, product
from tpcds_bench.cases import Case, CaseResult
from tpcds_bench.measure import Contender
from tpcds_bench.tables import names, source_views

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from tpcds_bench.data import Column, Dataset
    from tpcds_bench.report import Section
    from tpcds_bench.session import Stage

SUBJECT, YARDSTICK = "full", "off"
_SOURCE = "source_store_sales"
_FEW = "few"
_FEW_ROWS = 1000


def run(stage: Stage, *, rounds: int, only: Sequence[str] = ()) -> tuple[CaseResult, ...]:
    """Measure the cases, each setting in a session with a separate metastore.

    Args:
        stage: environment of the suite.
        rounds: rounds of each case after the warm-up rounds.
        only: parts of the names of cases; all cases are measured if there are none.
    """
    columns = stage.data.columns["store_sales"]
    sessions = {value: _open(stage, value) for value in (SUBJECT, YARDSTICK)}
    makers: dict[str, tuple[float, Callable[[SparkSession], Contender]]] = {
        "INSERT of one row": (1.5, _changing(f"INSERT INTO {_FEW} VALUES (-{{n}}, 'v')")),
        "UPDATE of one row": (1.5, _changing(f"UPDATE {_FEW} SET v = 'u' WHERE id = {{n}}")),
        "DELETE of one row": (1.5, _changing(f"DELETE FROM {_FEW} WHERE id = 500 + {{n}}")),
        "INSERT of all rows": (1.5, lambda session: _inserting(session, columns)),
        "major compaction": (1.5, lambda session: _compacting(session, columns)),
    }
    chosen = [
        Case(
            name=name,
            goal=goal,
            subject=make(sessions[SUBJECT]),
            yardstick=make(sessions[YARDSTICK]),
            against=YARDSTICK,
        )
        for name, (goal, make) in makers.items()
    ]
    return cases.measure(sessions[SUBJECT], chosen, rounds=rounds, only=only)


def sections(data: Dataset, results: Sequence[CaseResult]) -> tuple[Section, ...]:
    """Return the report on a run."""
    text = (
        "`spark.acidsql.synchronous`. The ratio is that of the file system and of the disk below"
        f" it. One row is one of {_FEW_ROWS}."
    )
    return cases.sections(data, f"Synchronous {SUBJECT} beside {YARDSTICK}", text, results)


def _open(stage: Stage, value: str) -> SparkSession:
    """Return a session with a setting, and with a small table in a separate database."""
    session = stage.spark.newSession()
    session.conf.set("spark.acidsql.synchronous", value)
    session.conf.set("spark.acidsql.metastore", str(stage.work / f"{value}.sqlite"))
    source_views(session, stage.data, ["store_sales"])
    product.create_database(session, f"durability_{value}")
    product.execute(
        session,
        f"CREATE TABLE {_FEW} (id INT, v STRING) STORED AS ORC"
        " TBLPROPERTIES ('transactional'='true')",
    )
    product.execute(
        session, f"INSERT INTO {_FEW} SELECT CAST(id AS INT), 'v' FROM range({_FEW_ROWS})"
    )
    return session


def _changing(statement: str) -> Callable[[SparkSession], Contender]:
    """Return a contender that changes another row in each round; ``{n}`` is the round's number."""

    def of_session(session: SparkSession) -> Contender:
        return Contender(run=lambda n: _execute(session, statement.format(n=n)))

    return of_session


def _execute(session: SparkSession, statement: str) -> None:
    product.execute(session, statement)


def _make(session: SparkSession, columns: Sequence[Column]) -> None:
    """Create the table for all rows again, empty."""
    product.execute(session, "DROP TABLE IF EXISTS sales")
    product.create_table(session, "sales", columns)


def _inserting(session: SparkSession, columns: Sequence[Column]) -> Contender:
    insert = f"INSERT INTO sales SELECT {names(columns)} FROM {_SOURCE}"
    return Contender(
        prepare=lambda _: _make(session, columns), run=lambda _: _execute(session, insert)
    )


def _compacting(session: SparkSession, columns: Sequence[Column]) -> Contender:
    insert = f"INSERT INTO sales SELECT {names(columns)} FROM {_SOURCE}"

    def prepare(_: int) -> None:
        _make(session, columns)
        for part in range(2):
            product.execute(session, f"{insert} WHERE ss_ticket_number % 2 = {part}")
        product.execute(session, "DELETE FROM sales WHERE ss_ticket_number % 100 = 7")

    return Contender(prepare=prepare, run=lambda _: product.compact(session, "sales", "major"))
