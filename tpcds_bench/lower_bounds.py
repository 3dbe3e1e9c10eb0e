"""Suite ``lower_bounds``: statements against a part of their work that they cannot avoid.

The part of a change is the query that finds and reads its rows. The part of a scan, and of a
compaction, is what ORC's own reader and writer take for the same files without Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpcds_bench import cases, orc_codec, product
from tpcds_bench.cases import Case, CaseResult, executing
from tpcds_bench.changes import merge_all, merge_source
from tpcds_bench.check import load
from tpcds_bench.measure import Contender
from tpcds_bench.peers.statements import KEY, on_key
from tpcds_bench.tables import CODEC, maxima, names, source_views

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from pyspark.sql import SparkSession

    from tpcds_bench.data import Column, Dataset
    from tpcds_bench.report import Section
    from tpcds_bench.session import Stage

_GOAL = 1.25
_TABLE, _UNCHANGED, _SMALL = "store_sales", "unchanged", "small"
_SOURCE = "source_store_sales"
_SMALL_TICKETS = 80  # about a thousand rows
_QUERY = "the query of the same rows"


def run(stage: Stage, *, rounds: int, only: Sequence[str] = ()) -> tuple[CaseResult, ...]:
    """Load the tables and measure the cases.

    Args:
        stage: environment of the suite.
        rounds: rounds of each case after the warm-up rounds.
        only: parts of the names of cases; all cases are measured if there are none.
    """
    spark, columns = stage.spark, stage.data.columns["store_sales"]
    source_views(spark, stage.data, ["store_sales"])
    product.create_database(spark, "bounds")
    for table in (_TABLE, _SMALL, _UNCHANGED):
        product.create_table(spark, table, columns)
    load(spark, _TABLE, columns, source="store_sales")
    load(spark, _UNCHANGED, columns, source="store_sales")
    product.execute(
        spark,
        f"INSERT INTO {_SMALL} SELECT {names(columns)} FROM {_SOURCE}"
        f" WHERE ss_ticket_number <= {_SMALL_TICKETS}",
    )
    (first_day,) = spark.sql(f"SELECT min(ss_sold_date_sk) FROM {_SOURCE}").collect()[0]
    every_case = (
        _insert(spark, columns, stage.work),
        *_changes(spark, columns),
        _merge(spark, columns),
        *_scans(spark, columns, days=(first_day + 600, first_day + 629)),
        _compaction(spark, columns, stage.work),
        _small(spark),
    )
    return cases.measure(spark, every_case, rounds=rounds, only=only)


def sections(data: Dataset, results: Sequence[CaseResult]) -> tuple[Section, ...]:
    """Return the report on a run."""
    text = (
        f"Each round changes other rows. All files have the codec {CODEC}. A ratio near 1 means"
        " that little is left to save outside the part that the statement cannot avoid."
    )
    return cases.sections(data, "Lower bounds", text, results)


def _case(name: str, subject: Contender, yardstick: Contender, against: str) -> Case:
    return Case(name=name, goal=_GOAL, subject=subject, yardstick=yardstick, against=against)


def _insert(spark: SparkSession, columns: Sequence[Column], work: Path) -> Case:
    batches: list[Any] = []

    def create(_: int) -> None:
        product.execute(spark, "DROP TABLE IF EXISTS inserted")
        product.create_table(spark, "inserted", columns)

    def insert(_: int) -> None:
        load(spark, "inserted", columns, source="store_sales")

    def decode(_: int) -> None:
        if not batches:
            batches.extend(orc_codec.decoded(spark, _data_files(spark, _UNCHANGED)))

    def encode(_: int) -> None:
        spark.sql(f"SELECT {maxima(columns)} FROM {_SOURCE}").collect()
        like = _data_files(spark, _UNCHANGED)[0]
        orc_codec.encode(spark, like, batches, work / "encoded.orc")

    return _case(
        "INSERT of all rows",
        Contender(prepare=create, run=insert),
        Contender(prepare=decode, run=encode),
        "reading the source, and ORC's writer without Spark",
    )


def _changes(spark: SparkSession, columns: Sequence[Column]) -> tuple[Case, ...]:
    def of_ticket(number: int) -> str:
        return f"WHERE ss_ticket_number % 100 = {number}"

    return (
        _case(
            "UPDATE of 1 %",
            executing(
                spark,
                lambda n: f"UPDATE {_TABLE} SET ss_quantity = ss_quantity + 1 {of_ticket(n)}",
            ),
            executing(spark, lambda n: f"SELECT {maxima(columns)} FROM {_TABLE} {of_ticket(n)}"),
            _QUERY,
        ),
        _case(
            "DELETE of 1 %",
            executing(spark, lambda n: f"DELETE FROM {_TABLE} {of_ticket(25 + n)}"),
            executing(
                spark,
                lambda n: (
                    "SELECT max(row__id.writeid), max(row__id.bucketid), max(row__id.rowid)"
                    f" FROM {_TABLE} {of_ticket(60 + n)}"
                ),
            ),
            "the query of as many row ids",
        ),
    )


def _merge(spark: SparkSession, columns: Sequence[Column]) -> Case:
    selected = names(columns)

    def join(number: int) -> str:
        source = merge_source(number, selected)
        both = ", ".join(f"max(t.{c.name}), max(s.{c.name})" for c in columns)
        return f"SELECT {both} FROM {_TABLE} t RIGHT JOIN ({source}) s ON {on_key()}"

    return _case(
        "MERGE of 1.7 %",
        executing(spark, lambda n: merge_all(_TABLE, n, selected)),
        executing(spark, lambda n: join(30 + n)),
        "the query with the same join",
    )


def _scans(
    spark: SparkSession, columns: Sequence[Column], *, days: tuple[int, int]
) -> tuple[Case, ...]:
    every = f"SELECT {maxima(columns)} FROM"
    month = f"WHERE ss_sold_date_sk BETWEEN {days[0]} AND {days[1]}"

    def decode(_: int) -> None:
        orc_codec.decode(spark, _data_files(spark, _TABLE))

    return (
        _case(
            "max of all columns, after changes",
            executing(spark, lambda _: f"{every} {_TABLE}"),
            Contender(run=decode),
            "ORC's reader without Spark",
        ),
        _case(
            "max of all columns of 30 days, after changes",
            executing(spark, lambda _: f"{every} {_TABLE} {month}"),
            executing(spark, lambda _: f"{every} {_UNCHANGED} {month}"),
            "the same without any changes",
        ),
    )


def _compaction(spark: SparkSession, columns: Sequence[Column], work: Path) -> Case:
    table = "changed"

    def change(_: int) -> None:
        product.execute(spark, f"DROP TABLE IF EXISTS {table}")
        product.create_table(spark, table, columns)
        load(spark, table, columns, source="store_sales")
        product.execute(spark, f"DELETE FROM {table} WHERE ss_ticket_number % 100 = 7")

    def compact(_: int) -> None:
        product.compact(spark, table, "major")

    def transcode(_: int) -> None:
        orc_codec.transcode(spark, _data_files(spark, _UNCHANGED), work / "transcoded.orc")

    return _case(
        "major compaction, deletes in every stripe",
        Contender(prepare=change, run=compact),
        Contender(run=transcode),
        "ORC's reader and writer without Spark",
    )


def _small(spark: SparkSession) -> Case:
    rows = spark.table(_SOURCE).where(f"ss_ticket_number <= {_SMALL_TICKETS}")
    keys = [tuple(row) for row in rows.select(*KEY).orderBy(*KEY).collect()]

    def of_row(number: int) -> str:
        pairs = zip(KEY, keys[number], strict=True)
        return f"{_SMALL} WHERE " + " AND ".join(f"{name} = {value}" for name, value in pairs)

    return _case(
        "DELETE of one row of a small table",
        executing(spark, lambda number: f"DELETE FROM {of_row(number)}"),
        executing(spark, lambda number: f"SELECT * FROM {of_row(number)}"),
        _QUERY,
    )


def _data_files(spark: SparkSession, table: str) -> list[Path]:
    """Return the files with the rows of a table."""
    return sorted(
        file
        for file in product.root(spark, table).rglob("bucket_*")
        if not file.parent.name.startswith("delete_delta_")
    )
