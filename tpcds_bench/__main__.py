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

from tpcds_bench import cases, changes, cost, deltas, maintenance, planning, queries, upkeep
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
            except (CompactionError, cases.AnswerError, queries.LoadError) as err:
                raise click.ClickException(str(err)) from err

    def report(self, name: str, sections: Sequence[Section], payload: object) -> None:
        """Print a report and write it to the output directory."""
        click.echo(markdown(sections))
        written = write(self.output, name, sections, payload)
        click.echo(f"written: {', '.join(map(str, written))}", err=True)


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
    """TPC-DS over ACID tables: right answers and costs."""
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


@main.command("deltas")
@click.option("--scale", default=1.0, show_default=True, help="TPC-DS scale factor.")
@click.option(
    "--rounds", type=click.IntRange(1, 40), default=5, show_default=True, help="Rounds per case."
)
@click.option("--only", multiple=True, help="Part of the name of a case (repeatable).")
@click.pass_obj
def deltas_command(settings: Settings, scale: float, rounds: int, only: Sequence[str]) -> bool:
    """Measure reads of tables with pending deletes and inserts beside flat ORC."""
    with settings.start(scale) as (spark, data, _):
        results = deltas.run(spark, data, rounds=rounds, only=only)
    settings.report("deltas", deltas.sections(data, results), results)
    return True


@main.command("changes")
@click.option("--scale", default=1.0, show_default=True, help="TPC-DS scale factor.")
@click.option(
    "--rounds", type=click.IntRange(1, 40), default=5, show_default=True, help="Rounds per case."
)
@click.option("--only", multiple=True, help="Part of the name of a case (repeatable).")
@click.pass_obj
def changes_command(settings: Settings, scale: float, rounds: int, only: Sequence[str]) -> bool:
    """Measure INSERT, UPDATE, DELETE and MERGE, and the bytes that they write."""
    with settings.start(scale) as (spark, data, work):
        results = changes.run(spark, data, work, rounds=rounds, only=only)
        stored = changes.storage(spark)
    settings.report("changes", [*changes.sections(data, results), *stored], results)
    return True


@main.command("compaction")
@click.option("--scale", default=1.0, show_default=True, help="TPC-DS scale factor.")
@click.option(
    "--rounds", type=click.IntRange(1, 40), default=5, show_default=True, help="Rounds per case."
)
@click.option("--only", multiple=True, help="Part of the name of a case (repeatable).")
@click.pass_obj
def compaction_command(settings: Settings, scale: float, rounds: int, only: Sequence[str]) -> bool:
    """Measure compactions beside writing flat ORC anew."""
    with settings.start(scale) as (spark, data, work):
        results = upkeep.compaction(spark, data, work, rounds=rounds, only=only)
    settings.report("compaction", upkeep.compaction_sections(data, results), results)
    return True


@main.command("decay")
@click.option("--scale", default=1.0, show_default=True, help="TPC-DS scale factor.")
@click.option(
    "--maintenance", type=click.IntRange(1, 40), default=10, help="Rounds of changes (default 10)."
)
@click.option(
    "--rounds", type=click.IntRange(1, 40), default=3, show_default=True, help="Rounds per reading."
)
@click.pass_obj
def decay_command(settings: Settings, scale: float, maintenance: int, rounds: int) -> bool:
    """Measure a query after each of ten rounds of changes, without any compaction."""
    with settings.start(scale) as (spark, data, _):
        results = upkeep.decay(spark, data, maintenance=maintenance, rounds=rounds)
    settings.report("decay", upkeep.decay_sections(data, results), results)
    return True


@main.command("planning")
@click.option("--deltas", "number", default=1000, show_default=True, help="Deltas of a table.")
@click.option("--partitions", default=10000, show_default=True, help="Partitions of a table.")
@click.option(
    "--rounds", type=click.IntRange(1, 40), default=5, show_default=True, help="Rounds per case."
)
@click.option("--only", multiple=True, help="Part of the name of a case (repeatable).")
@click.pass_obj
def planning_command(
    settings: Settings, number: int, partitions: int, rounds: int, only: Sequence[str]
) -> bool:
    """Measure how planning grows with the number of deltas and of partitions."""
    with settings.start(0.01) as (spark, data, _):
        results = planning.run(
            spark, deltas=number, partitions=partitions, rounds=rounds, only=only
        )
    settings.report("planning", planning.sections(data, results), results)
    return True


if __name__ == "__main__":
    main(prog_name="python -m tpcds_bench")
