"""Command line: ``python -m tpcds_bench <suite>``."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tpcds_bench import cost, maintenance, queries
from tpcds_bench.data import Dataset, ExtensionMissingError, dataset
from tpcds_bench.product import CompactionError
from tpcds_bench.report import Section, markdown, write
from tpcds_bench.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Options that all suites have.

    Args:
        data: directory that keeps generated data between runs.
        output: directory for the reports.
        driver_memory: heap of Spark's JVM, in Spark's notation.
    """

    data: Path
    output: Path
    driver_memory: str

    @contextmanager
    def start(self, scale: float) -> Iterator[tuple[SparkSession, Dataset, Path]]:
        """Give a Spark session, data and an empty directory that is removed at the end."""
        click.echo(f"TPC-DS data, scale factor {scale:g}, in {self.data}", err=True)
        try:
            data = dataset(self.data, scale)
        except ExtensionMissingError as err:
            raise click.ClickException(str(err)) from err
        with tempfile.TemporaryDirectory(prefix="run-", dir=self.data) as directory:
            work = Path(directory).resolve()
            try:
                with spark_session(work, driver_memory=self.driver_memory) as spark:
                    yield spark, data, work
            except (CompactionError, cost.AnswerError, queries.LoadError) as err:
                raise click.ClickException(str(err)) from err

    def report(self, name: str, sections: Sequence[Section], payload: object) -> None:
        """Print a report and write it to the output directory."""
        click.echo(markdown(sections))
        write(self.output, name, sections, payload)
        click.echo(f"written to {self.output / name}.md and .json", err=True)


@click.group(chain=True)
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    default=_HERE / "data",
    help="Directory that keeps generated data between runs.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=_HERE / "results",
    help="Directory for the reports (Markdown and JSON).",
)
@click.option("--driver-memory", default="4g", show_default=True, help="Heap of Spark's JVM.")
@click.pass_context
def main(context: click.Context, data: Path, output: Path, driver_memory: str) -> None:
    """TPC-DS over ACID tables: right answers and costs. Several suites may follow each other."""
    context.obj = Settings(data=data, output=output, driver_memory=driver_memory)


@main.result_callback()
def exit_code(passed: Sequence[bool], **_: object) -> None:
    """Exit with 1 when a suite found a difference."""
    sys.exit(not all(passed))


@main.command("maintenance")
@click.option("--scale", default=1.0, show_default=True, help="TPC-DS scale factor.")
@click.pass_obj
def maintenance_command(settings: Settings, scale: float) -> bool:
    """Change and compact store_sales; compare every table with DuckDB after every step.

    Exits with 1 when a table differs; the report says which step, table and column.
    """
    with settings.start(scale) as (spark, data, _):
        results = maintenance.run(spark, data)
    settings.report("maintenance", maintenance.sections(data, results), results)
    return not any(result.mismatches for result in results)


@main.command("queries")
@click.option("--scale", default=0.1, show_default=True, help="TPC-DS scale factor.")
@click.option(
    "--only", type=click.IntRange(1, 99), multiple=True, help="Number of a query (repeatable)."
)
@click.pass_obj
def queries_command(settings: Settings, scale: float, only: Sequence[int]) -> bool:
    """Run the 99 queries over ACID tables; compare with flat ORC in Spark and with DuckDB.

    Exits with 1 when an answer differs.
    """
    with settings.start(scale) as (spark, data, _):
        results = queries.run(spark, data, only or range(1, 100))
    settings.report("queries", queries.sections(data, results), results)
    return queries.passed(results)


@main.command("cost")
@click.option("--scale", default=1.0, show_default=True, help="TPC-DS scale factor.")
@click.option(
    "--rounds", type=click.IntRange(1, 40), default=5, show_default=True, help="Rounds per case."
)
@click.option("--only", multiple=True, help="Part of the name of a case (repeatable).")
@click.pass_obj
def cost_command(settings: Settings, scale: float, rounds: int, only: Sequence[str]) -> bool:
    """Measure what ACID tables cost beside flat ORC. A missed goal is no error, but profiled."""
    with settings.start(scale) as (spark, data, work):
        results = cost.run(spark, data, work, rounds=rounds, only=only)
    settings.report("cost", cost.sections(data, results), results)
    return True


if __name__ == "__main__":
    main(prog_name="python -m tpcds_bench")
