"""Commands of the comparisons with other engines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from tpcds_bench.command_line import Settings, only_option, rounds_option, scale_option
from tpcds_bench.peers import cold, registry, suite
from tpcds_bench.peers.environments import EnvironmentMissingError
from tpcds_bench.peers.report import cold_sections, sections
from tpcds_bench.peers.results import passed
from tpcds_bench.peers.sources import make_sources


@click.command("peers")
@scale_option(1.0)
@rounds_option(3, per="step")
@only_option
@click.option(
    "--engine",
    "engines",
    type=click.Choice(tuple(registry.ENGINES)),
    multiple=True,
    help="Engine (repeatable); all by default.",
)
@click.pass_obj
def peers_command(
    settings: Settings, scale: float, rounds: int, only: Sequence[str], engines: Sequence[str]
) -> bool:
    """Measure changes and reads on acidsql, Delta Lake, Iceberg, Hudi and plain ORC.

    Environments for the releases of PySpark are created in the data directory.
    Exits with 1 when an engine fails or has other rows than the others; a missed goal is no error.
    """
    with _setup(settings, scale) as setup:
        results = suite.run(setup, registry.groups(engines), rounds=rounds, only=only)
    settings.report("peers", sections(scale, results), results)
    return passed(results)


@click.command("cold")
@scale_option(1.0)
@rounds_option(1, per="step")
@only_option
@click.option(
    "--engine",
    "engines",
    type=click.Choice(registry.GROUPS[0].engines),
    multiple=True,
    default=(registry.SUBJECT, registry.FLAT, "iceberg"),
    show_default=True,
    help="Engine (repeatable).",
)
@click.pass_obj
def cold_command(
    settings: Settings, scale: float, rounds: int, only: Sequence[str], engines: Sequence[str]
) -> bool:
    """Measure statements that are the first of their kind in a new process.

    Exits with 1 when an engine fails or has other rows than the others; a missed goal is no error.
    """
    group = registry.Group(pyspark=registry.GROUPS[0].pyspark, engines=tuple(engines))
    try:
        with _setup(settings, scale) as setup:
            result = cold.run(setup, group, rounds=rounds, only=only)
    except EnvironmentMissingError as err:
        raise click.ClickException(str(err)) from err
    settings.report("cold", cold_sections(scale, result), result)
    return passed([result])


@contextmanager
def _setup(settings: Settings, scale: float) -> Iterator[suite.Setup]:
    data, small = settings.dataset(scale), settings.dataset(0.01)
    with settings.work() as work:
        yield suite.Setup(
            warm_up=make_sources(small, work / "warm-up"),
            measured=make_sources(data, work / "measured"),
            environments=settings.data / "environments",
            work=work,
            driver_memory=settings.driver_memory,
        )
