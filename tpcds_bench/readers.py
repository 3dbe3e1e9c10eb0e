"""Processor seconds of reads of an ACID table, and of flat ORC by Spark.

``python -m tpcds_bench.readers --scale 1`` prints a table. All queries run in one process over
store_sales: first compacted, then with 1 % of its rows deleted, then with another 1 % updated. Each
round reads both tables; the first round is reported separately.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from tpcds_bench import product
from tpcds_bench.data import dataset
from tpcds_bench.measure import measured
from tpcds_bench.session import spark_session
from tpcds_bench.tables import databases, flat_table, maxima, names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from tpcds_bench.data import Dataset
    from tpcds_bench.measure import Sample

_ACID, _FLAT = "readers_acid", "readers_flat"
_STEPS = {
    "compacted": None,
    "1 % deleted": "DELETE FROM store_sales WHERE ss_ticket_number % 100 = 7",
    "1 % updated": (
        "UPDATE store_sales SET ss_quantity = ss_quantity + 1 WHERE ss_ticket_number % 100 = 8"
    ),
}


def _queries(data: Dataset) -> Mapping[str, str]:
    every = maxima(data.columns["store_sales"])
    return {
        "max of all columns": f"SELECT {every} FROM {{0}}.store_sales",
        "max of all columns of a day": (
            f"SELECT {every} FROM {{0}}.store_sales WHERE ss_sold_date_sk = 2452000"
        ),
        "max of all columns of 1 % of the items": (
            f"SELECT {every} FROM {{0}}.store_sales WHERE ss_item_sk % 100 = 7"
        ),
        "max of a column": "SELECT max(ss_net_profit) FROM {0}.store_sales",
        "join with date_dim": (
            "SELECT d_year, count(*), sum(ss_net_paid) FROM {0}.store_sales"
            " JOIN {0}.date_dim ON ss_sold_date_sk = d_date_sk GROUP BY d_year"
        ),
    }


def _load(spark: SparkSession, data: Dataset) -> None:
    tables = {"store_sales": "ss_ticket_number", "date_dim": "d_date_sk"}
    databases(spark, data, tables, acid=_ACID, flat=_FLAT)
    for table, key in tables.items():
        flat_table(spark.table(f"source_{table}"), f"{_FLAT}.{table}")
        product.create_table(spark, table, data.columns[table])
        rows = f"SELECT {names(data.columns[table])} FROM source_{table}"
        for half in (0, 1):
            product.execute(spark, f"INSERT INTO {table} {rows} WHERE {key} % 2 = {half}")
        product.compact(spark, table, "major")


def _sample(spark: SparkSession, text: str, kind: str) -> Sample:
    """Run a query over one of the tables; return its cost."""

    def run() -> object:
        if kind == "flat":
            return spark.sql(text.format(_FLAT)).collect()
        return product.query(spark, text.format(_ACID)).collect()

    return measured(run)[1]


def _row(samples: list[Sample]) -> str:
    first, *others = samples
    cpu = statistics.median(s.cpu for s in others)
    wall = statistics.median(s.wall for s in others)
    return f"{cpu:.2f} ({first.cpu:.2f}), {wall:.2f} s"


@click.command()
@click.option("--data", type=click.Path(path_type=Path), default=Path(__file__).parent / "data")
@click.option("--scale", default=1.0, show_default=True, help="TPC-DS scale factor.")
@click.option("--rounds", default=6, show_default=True, help="Rounds; the first one warms up.")
@click.option("--only", multiple=True, help="Part of the name of a query (repeatable).")
@click.option("--driver-memory", default="4g", show_default=True, help="Heap of Spark's JVM.")
def main(data: Path, scale: float, rounds: int, only: tuple[str, ...], driver_memory: str) -> None:
    """Print CPU seconds of later rounds (of the first), and seconds, of each query and table."""
    source = dataset(data, scale)
    kinds = ("acid", "flat")
    with (
        TemporaryDirectory(prefix="readers-") as work,
        spark_session(Path(work), driver_memory=driver_memory) as spark,
    ):
        _load(spark, source)
        click.echo("| store_sales | query | acidsql | flat ORC |")
        click.echo("|---|---|---|---|")
        for step, statement in _STEPS.items():
            if statement is not None:
                product.execute(spark, statement)
            for name, text in _queries(source).items():
                if only and not any(part in name for part in only):
                    continue
                samples: dict[str, list[Sample]] = {kind: [] for kind in kinds}
                for number in range(rounds):
                    for kind in kinds[number % 2 :] + kinds[: number % 2]:
                        samples[kind].append(_sample(spark, text, kind))
                cells = " | ".join(_row(samples[kind]) for kind in kinds)
                click.echo(f"| {step} | {name} | {cells} |")


if __name__ == "__main__":
    main()
