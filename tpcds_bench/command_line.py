"""Options that the suites share on the command line."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import click
from pyspark.sql import SparkSession

from tpcds_bench import cases, queries
from tpcds_bench.data import Dataset, ExtensionMissingError, dataset
from tpcds_bench.product import CompactionError
from tpcds_bench.report import Section, markdown, write
from tpcds_bench.session import Stage, spark_session

Results = TypeVar("Results")
Command = TypeVar("Command", bound=Callable[..., object])


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Options that all suites have.

    Args:
        data: directory that stores generated data between runs.
        output: directory for the reports.
        driver_memory: heap of Spark's JVM, in Spark's notation.
    """

    data: Path
    output: Path
    driver_memory: str

    def dataset(self, scale: float) -> Dataset:
        """Return the data of a scale factor."""
        click.echo(f"TPC-DS data, scale factor {scale:g}, in {self.data}", err=True)
        try:
            return dataset(self.data, scale)
        except ExtensionMissingError as err:
            raise click.ClickException(str(err)) from err

    @contextmanager
    def work(self) -> Iterator[Path]:
        """Create an empty directory, and remove it at the end."""
        self.data.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="run-", dir=self.data) as directory:
            yield Path(directory).resolve()

    @contextmanager
    def start(self, scale: float) -> Iterator[Stage]:
        """Create the environment of a suite, and remove it at the end."""
        data = self.dataset(scale)
        with self.session() as (spark, work):
            yield Stage(spark=spark, data=data, work=work)

    @contextmanager
    def session(
        self, settings: Mapping[str, str] | None = None
    ) -> Iterator[tuple[SparkSession, Path]]:
        """Start Spark in an empty directory, with its warehouse there, and remove it at the end.

        Args:
            settings: Spark settings in addition to those of all suites.
        """
        with self.work() as work:
            try:
                with spark_session(
                    work, driver_memory=self.driver_memory, settings=settings
                ) as spark:
                    yield spark, work
            except (CompactionError, cases.AnswerError, queries.LoadError) as err:
                raise click.ClickException(str(err)) from err

    def run(
        self,
        name: str,
        scale: float,
        suite: Callable[[Stage], Results],
        sections: Callable[[Dataset, Results], Sequence[Section]],
    ) -> Results:
        """Run a suite, report on it, and return its results."""
        with self.start(scale) as stage:
            results = suite(stage)
        self.report(name, sections(stage.data, results), results)
        return results

    def report(self, name: str, sections: Sequence[Section], payload: object) -> None:
        """Print a report and write it to the output directory."""
        click.echo(markdown(sections))
        written = write(self.output, name, sections, payload)
        click.echo(f"written: {', '.join(map(str, written))}", err=True)


def scale_option(default: float) -> Callable[[Command], Command]:
    """Add ``--scale``."""
    return click.option("--scale", default=default, show_default=True, help="TPC-DS scale factor.")


def rounds_option(default: int, per: str = "case") -> Callable[[Command], Command]:
    """Add ``--rounds``."""
    return click.option(
        "--rounds",
        type=click.IntRange(1, 40),
        default=default,
        show_default=True,
        help=f"Rounds per {per}.",
    )


only_option = click.option("--only", multiple=True, help="Part of the name of a case (repeatable).")
