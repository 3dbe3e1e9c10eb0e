"""Commands of the suites for continuous writers: processes, threads, streams."""

from __future__ import annotations

from collections.abc import Sequence
from subprocess import CalledProcessError

import click

from tpcds_bench import cases, conflicts, day, ingest, processes, stream
from tpcds_bench.command_line import Settings, rounds_option
from tpcds_bench.day_work import Size
from tpcds_bench.hive_streaming import HiveStreamingError
from tpcds_bench.peers import registry


@click.command("day")
@click.option("--statements", default=1000, show_default=True, help="Statements of a day.")
@click.option("--processes", default=4, show_default=True, help="Processes that run them.")
@click.option("--rows", default=100_000, show_default=True, help="Rows at the beginning.")
@rounds_option(5, per="reading")
@click.option(
    "--engine",
    "engines",
    type=click.Choice((registry.SUBJECT, *registry.peers(registry.GROUPS[0].engines))),
    multiple=True,
    help="Do a day on this engine instead (repeatable), with threads for processes.",
)
@click.pass_obj
def day_command(
    settings: Settings,
    statements: int,
    processes: int,
    rows: int,
    rounds: int,
    engines: Sequence[str],
) -> bool:
    """Measure a day of small changes, with and without maintenance in the background.

    Exits with 1 when a statement fails.
    """
    size = Size(statements=statements, processes=processes, rows=rows, rounds=rounds)
    with settings.work() as work:
        if engines:
            place = settings.data / "environments"
            days = day.run_peers(work, size, engines, place, driver_memory=settings.driver_memory)
            settings.report("day_peers", day.peer_sections(size, days), days)
            return True
        results = day.run(work, size, driver_memory=settings.driver_memory)
    settings.report("day", day.sections(size, results), results)
    return not any(result.errors for result in results)


@click.command("conflicts")
@click.option("--updates", default=1000, show_default=True, help="UPDATEs of all writers.")
@click.option("--writers", default=8, show_default=True, help="Threads that run them.")
@click.option("--rows", default=100_000, show_default=True, help="Rows of each table.")
@rounds_option(3)
@click.pass_obj
def conflicts_command(
    settings: Settings, updates: int, writers: int, rows: int, rounds: int
) -> bool:
    """Measure small UPDATEs of different rows of one table by several writers.

    Exits with 1 when an UPDATE fails, conflicts or is lost.
    """
    size = conflicts.Size(updates=updates, writers=writers, rows=rows, rounds=rounds)
    with settings.work() as work:
        result = conflicts.run(work, size, driver_memory=settings.driver_memory)
    settings.report("conflicts", conflicts.sections(size, result), result)
    return result.is_right


@click.command("stream")
@click.option("--minutes", default=60, show_default=True, help="Minutes of the stream.")
@click.option("--rows", default=1000, show_default=True, help="Rows of a batch.")
@click.option("--keys", default=20_000, show_default=True, help="Different keys of the rows.")
@click.pass_obj
def stream_command(settings: Settings, minutes: int, rows: int, keys: int) -> bool:
    """Measure a long Structured Streaming query that merges into a table.

    Exits with 1 when the rows of the table do not match the stream.
    """
    size = stream.Size(minutes=minutes, rows=rows, keys=keys)
    with settings.session(stream.SETTINGS) as (spark, work):
        result = stream.run(spark, work, size)
    settings.report("stream", stream.sections(size, result), result)
    return True


@click.command("processes")
@click.option("--processes", "number", default=200, show_default=True, help="Their number.")
@click.option("--together", default=2, show_default=True, help="How many run at a time.")
@click.pass_obj
def processes_command(settings: Settings, number: int, together: int) -> bool:
    """Measure the state of a table after processes of one INSERT each.

    Exits with 1 when a process fails or a row is missing.
    """
    with settings.work() as work:
        try:
            result = processes.run(work, number, together, driver_memory=settings.driver_memory)
        except (cases.AnswerError, CalledProcessError) as err:
            raise click.ClickException(str(err)) from err
    settings.report("processes", processes.sections(number, together, result), result)
    return True


@click.command("ingest")
@rounds_option(3, per="size")
@click.option(
    "--metastore",
    metavar="URI",
    help="Hive Metastore of this machine, where Hive's own client does the same"
    " (thrift://host:port); by default an embedded one.",
)
@click.pass_obj
def ingest_command(settings: Settings, rounds: int, metastore: str | None) -> bool:
    """Measure streaming ingest by the size of its transactions, with dicts and with Arrow."""
    with settings.session() as (spark, work):
        try:
            results = ingest.run(spark, work, rounds=rounds, metastore=metastore)
        except HiveStreamingError as err:
            raise click.ClickException(str(err)) from err
    settings.report("ingest", ingest.sections(results), results)
    return True
