"""Suite ``codecs``: the same table with zstd and with zlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tqdm import tqdm

from tpcds_bench import cases, product
from tpcds_bench.cases import Case, CaseResult, executing, querying
from tpcds_bench.measure import Contender
from tpcds_bench.storage import sizes
from tpcds_bench.tables import databases, flat_table, maxima, names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from tpcds_bench.data import Column, Dataset
    from tpcds_bench.report import Section
    from tpcds_bench.session import Stage

CODECS = SUBJECT, YARDSTICK = ("zstd", "zlib")
_ACID, _FLAT = "codecs_acid", "codecs_flat"
_SOURCE = "source_store_sales"


def run(
    stage: Stage, *, rounds: int, only: Sequence[str] = ()
) -> tuple[tuple[CaseResult, ...], dict[str, float]]:
    """Load the tables and measure the cases.

    Args:
        stage: environment of the suite.
        rounds: rounds of each case after the warm-up rounds.
        only: parts of the names of cases; all cases are measured if there are none.

    Returns:
        The results, and the size of the loaded table in MiB by codec.
    """
    spark, columns = stage.spark, stage.data.columns["store_sales"]
    databases(spark, stage.data, ["store_sales"], acid=_ACID, flat=_FLAT)
    size = {}
    for codec in tqdm(CODECS, desc="load"):
        flat_table(spark.table(_SOURCE), f"{_FLAT}.sales_{codec}", codec)
        product.create_table(spark, f"sales_{codec}", columns, codec=codec)
        product.execute(
            spark, f"INSERT OVERWRITE sales_{codec} SELECT {names(columns)} FROM {_SOURCE}"
        )
        size[codec] = sum(sizes(product.root(spark, f"sales_{codec}")).values()) / 2**20
    return cases.measure(spark, _cases(spark, columns), rounds=rounds, only=only), size


def sections(
    data: Dataset, results: tuple[Sequence[CaseResult], dict[str, float]]
) -> tuple[Section, ...]:
    """Return the report on a run."""
    measured, size = results
    stored = ", ".join(f"{codec} {size[codec]:.1f} MiB" for codec in CODECS)
    text = f"Each round changes other rows. The loaded table: {stored}."
    return cases.sections(data, f"{SUBJECT} beside {YARDSTICK}", text, measured)


def _cases(spark: SparkSession, columns: Sequence[Column]) -> list[Case]:
    """Return the cases: reads and writes with each codec, and a read of flat ORC."""
    selected = names(columns)

    def flat(codec: str) -> Contender:
        return querying(spark.sql, f"SELECT {maxima(columns)} FROM {_FLAT}.sales_{codec}")

    def read(codec: str) -> Contender:
        return executing(spark, lambda _: f"SELECT {maxima(columns)} FROM sales_{codec}")

    def insert(codec: str) -> Contender:
        def prepare(_: int) -> None:
            product.execute(spark, f"DROP TABLE IF EXISTS fresh_{codec}")
            product.create_table(spark, f"fresh_{codec}", columns, codec=codec)

        def run(_: int) -> None:
            product.execute(spark, f"INSERT INTO fresh_{codec} SELECT {selected} FROM {_SOURCE}")

        return Contender(prepare=prepare, run=run)

    def change(statement: str) -> Callable[[str], Contender]:
        def of_codec(codec: str) -> Contender:
            def run(number: int) -> None:
                text = statement.format(table=f"sales_{codec}", rest=number)
                product.execute(spark, text)

            return Contender(run=run)

        return of_codec

    makers = {
        "INSERT": insert,
        "max of all columns": read,
        "UPDATE 1 %": change(
            "UPDATE {table} SET ss_quantity = ss_quantity + 1 WHERE ss_ticket_number % 100 = {rest}"
        ),
        "DELETE 1 %": change("DELETE FROM {table} WHERE ss_ticket_number % 100 = 50 + {rest}"),
        "flat ORC: max of all columns": flat,
    }
    return [
        Case(
            name=name, goal=1.0, subject=make(SUBJECT), yardstick=make(YARDSTICK), against=YARDSTICK
        )
        for name, make in makers.items()
    ]
