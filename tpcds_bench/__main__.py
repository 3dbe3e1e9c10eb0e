"""Command line: ``python -m tpcds_bench <suite>``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from tpcds_bench import (
    arrow,
    changes,
    clustering,
    codecs,
    columns,
    cost,
    delete_files,
    deltas,
    durability,
    joins,
    lower_bounds,
    maintenance,
    memory,
    partitions,
    planning,
    plans,
    queries,
    requests,
    serve,
    source,
    upkeep,
)
from tpcds_bench.command_line import Settings, only_option, rounds_option, scale_option
from tpcds_bench.peers.commands import cold_command, peers_command
from tpcds_bench.session import spark_session
from tpcds_bench.writer_commands import (
    conflicts_command,
    day_command,
    ingest_command,
    processes_command,
    stream_command,
)

_HERE = Path(__file__).parent


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
    """Run TPC-DS over ACID tables: check answers and measure costs."""
    context.obj = Settings(data=data, output=output, driver_memory=driver_memory)


@main.result_callback()
def exit_code(passed: Sequence[bool], **_: object) -> None:
    """Exit with 1 when a suite found a difference."""
    sys.exit(not all(passed))


@main.command("maintenance")
@scale_option(1.0)
@click.pass_obj
def maintenance_command(settings: Settings, scale: float) -> bool:
    """Change and compact store_sales; compare every table with DuckDB after every step.

    Exits with 1 when a table differs; the report says which step, table and column.
    """
    results = settings.run("maintenance", scale, maintenance.run, maintenance.sections)
    return not any(result.mismatches for result in results)


@main.command("queries")
@scale_option(0.1)
@click.option(
    "--only", type=click.IntRange(1, 99), multiple=True, help="Number of a query (repeatable)."
)
@rounds_option(3, per="query")
@click.pass_obj
def queries_command(settings: Settings, scale: float, only: Sequence[int], rounds: int) -> bool:
    """Run the 99 queries over ACID tables; compare with flat ORC in Spark and with DuckDB.

    Exits with 1 when an answer differs.
    """
    suite = partial(queries.run, numbers=only or range(1, 100), rounds=rounds)
    return queries.passed(settings.run("queries", scale, suite, queries.sections))


@main.command("joins")
@scale_option(1.0)
@click.option(
    "--only", type=click.IntRange(1, 99), multiple=True, help="Number of a query (repeatable)."
)
@click.option(
    "--threshold",
    default="10MB",
    show_default=True,
    help="Broadcast threshold; a tenth of it is like data of ten times the size.",
)
@click.pass_obj
def joins_command(settings: Settings, scale: float, only: Sequence[int], threshold: str) -> bool:
    """Compare the joins that Spark chooses over ACID tables and over flat ORC, without running any.

    Exits with 1 when more than three queries differ without the cost-based optimiser.
    """
    suite = partial(joins.run, numbers=only or range(1, 100), threshold=threshold)
    return joins.passed(settings.run("joins", scale, suite, joins.sections))


@main.command("plans")
@scale_option(0.1)
@rounds_option(9)
@only_option
@click.pass_obj
def plans_command(settings: Settings, scale: float, rounds: int, only: Sequence[str]) -> bool:
    """Measure the planning of TPC-DS queries, and short statements, against flat ORC."""
    suite = partial(plans.run, rounds=rounds, only=only)
    settings.run("plans", scale, suite, plans.sections)
    return True


@main.command("cost")
@scale_option(1.0)
@rounds_option(5)
@only_option
@click.pass_obj
def cost_command(settings: Settings, scale: float, rounds: int, only: Sequence[str]) -> bool:
    """Measure the cost of ACID tables against flat ORC. A missed goal is profiled, and no error."""
    suite = partial(cost.run, rounds=rounds, only=only)
    settings.run("cost", scale, suite, cost.sections)
    return True


@main.command("lower_bounds")
@scale_option(1.0)
@rounds_option(5)
@only_option
@click.pass_obj
def lower_bounds_command(
    settings: Settings, scale: float, rounds: int, only: Sequence[str]
) -> bool:
    """Measure statements against the part of their work that they cannot avoid."""
    suite = partial(lower_bounds.run, rounds=rounds, only=only)
    settings.run("lower_bounds", scale, suite, lower_bounds.sections)
    return True


@main.command("clustering")
@scale_option(1.0)
@rounds_option(5)
@click.pass_obj
def clustering_command(settings: Settings, scale: float, rounds: int) -> bool:
    """Measure how much of store_sales conditions read, before and after OPTIMIZE … ZORDER BY."""
    suite = partial(clustering.run, rounds=rounds)
    results = settings.run("clustering", scale, suite, clustering.sections)
    return len(results) == len(clustering.COLUMNS)


@main.command("deltas")
@scale_option(1.0)
@rounds_option(5)
@only_option
@click.pass_obj
def deltas_command(settings: Settings, scale: float, rounds: int, only: Sequence[str]) -> bool:
    """Measure reads of tables with pending deletes and inserts against flat ORC."""
    suite = partial(deltas.run, rounds=rounds, only=only)
    settings.run("deltas", scale, suite, deltas.sections)
    return True


@main.command("changes")
@scale_option(1.0)
@rounds_option(5)
@only_option
@click.pass_obj
def changes_command(settings: Settings, scale: float, rounds: int, only: Sequence[str]) -> bool:
    """Measure INSERT, UPDATE, DELETE and MERGE, and the number of bytes that they write."""
    with settings.start(scale) as stage:
        results = changes.run(stage, rounds=rounds, only=only)
        stored = changes.storage(stage.spark)
    settings.report("changes", [*changes.sections(stage.data, results), *stored], results)
    return True


@main.command("codecs")
@scale_option(1.0)
@rounds_option(5)
@only_option
@click.pass_obj
def codecs_command(settings: Settings, scale: float, rounds: int, only: Sequence[str]) -> bool:
    """Measure zstd against zlib."""
    suite = partial(codecs.run, rounds=rounds, only=only)
    settings.run("codecs", scale, suite, codecs.sections)
    return True


@main.command("durability")
@scale_option(1.0)
@rounds_option(10)
@only_option
@click.pass_obj
def durability_command(settings: Settings, scale: float, rounds: int, only: Sequence[str]) -> bool:
    """Measure statements that wait for the disk against statements that do not."""
    suite = partial(durability.run, rounds=rounds, only=only)
    settings.run("durability", scale, suite, durability.sections)
    return True


@main.command("compaction")
@scale_option(1.0)
@rounds_option(5)
@only_option
@click.pass_obj
def compaction_command(settings: Settings, scale: float, rounds: int, only: Sequence[str]) -> bool:
    """Measure compactions against rewriting flat ORC."""
    suite = partial(upkeep.compaction, rounds=rounds, only=only)
    settings.run("compaction", scale, suite, upkeep.compaction_sections)
    return True


@main.command("decay")
@scale_option(1.0)
@click.option(
    "--maintenance", type=click.IntRange(1, 40), default=10, help="Rounds of changes (default 10)."
)
@rounds_option(3, per="reading")
@click.pass_obj
def decay_command(settings: Settings, scale: float, maintenance: int, rounds: int) -> bool:
    """Measure a query after each of ten rounds of changes, without compaction."""
    suite = partial(upkeep.decay, maintenance=maintenance, rounds=rounds)
    settings.run("decay", scale, suite, upkeep.decay_sections)
    return True


@main.command("serve")
@rounds_option(30)
@click.option("--connect", is_flag=True, help="With Spark Connect in place of Hive's protocol.")
@click.pass_obj
def serve_command(settings: Settings, rounds: int, *, connect: bool) -> bool:
    """Measure statements through ``acidsql serve`` against Spark's server."""
    with (
        settings.work() as work,
        spark_session(work / "here", driver_memory=settings.driver_memory) as spark,
    ):
        costs = serve.run(spark, work, rounds=rounds, connect=connect)
    settings.report("serve", serve.sections(costs), costs)
    return True


@main.command("planning")
@click.option("--deltas", "number", default=1000, show_default=True, help="Deltas of a table.")
@click.option("--partitions", default=10000, show_default=True, help="Partitions of a table.")
@click.option(
    "--metastore",
    help="Measure only statements of one partition, on a Hive Metastore of this machine"
    " (thrift://host:port) or an embedded one (a path).",
)
@rounds_option(5)
@only_option
@click.pass_obj
def planning_command(
    settings: Settings,
    number: int,
    partitions: int,
    metastore: str | None,
    rounds: int,
    only: Sequence[str],
) -> bool:
    """Measure how planning grows with the number of deltas and partitions."""
    suite = partial(
        planning.run,
        deltas=number,
        partitions=partitions,
        metastore=metastore,
        rounds=rounds,
        only=only,
    )
    settings.run("planning", 0.01, suite, planning.sections)
    return True


@main.command("partitions")
@click.option("--partitions", "number", default=500, show_default=True, help="Of each table.")
@rounds_option(5)
@only_option
@click.pass_obj
def partitions_command(settings: Settings, number: int, rounds: int, only: Sequence[str]) -> bool:
    """Measure changes of a row in each of many partitions against writing flat ORC."""
    suite = partial(partitions.run, partitions=number, rounds=rounds, only=only)
    settings.run("partitions", 0.01, suite, partitions.sections)
    return True


@main.command("memory")
@click.option("--rows", default=100_000_000, show_default=True, help="Rows of the table.")
@click.option("--deletes", default=30_000_000, show_default=True, help="Rows that are deleted.")
@click.pass_obj
def memory_command(settings: Settings, rows: int, deletes: int) -> bool:
    """Measure the memory for a large table with many delete events."""
    suite = partial(memory.run, rows=rows, deletes=deletes)
    settings.run("memory", 0.01, suite, memory.sections)
    return True


@main.command("delete_files")
@click.option("--rows", default=1_000_000, show_default=True, help="Delete events of the file.")
@rounds_option(5, per="codec")
@click.pass_obj
def delete_files_command(settings: Settings, rows: int, rounds: int) -> bool:
    """Measure writing a delete file against pyorc, without Spark."""
    results = delete_files.run(rows=rows, rounds=rounds)
    settings.report("delete_files", delete_files.sections(rows, results), results)
    return True


@main.command("requests")
@click.option("--location", required=True, help="Directory on S3A, such as s3a://bucket/bench.")
@click.option(
    "--setting", "given", multiple=True, metavar="KEY=VALUE", help="Of Spark, such as fs.s3a.*."
)
@click.pass_obj
def requests_command(settings: Settings, location: str, given: Sequence[str]) -> bool:
    """Count the requests of statements to an object store, against flat ORC on the same store."""
    of_spark = dict(setting.split("=", 1) for setting in given)
    with settings.session(of_spark) as (spark, _):
        try:
            results = requests.run(spark, location)
        except requests.NotCountedError as err:
            raise click.ClickException(str(err)) from err
    settings.report("requests", requests.sections(results), results)
    return True


@main.command("arrow")
@scale_option(1.0)
@rounds_option(5, per="reading")
@click.pass_obj
def arrow_command(settings: Settings, scale: float, rounds: int) -> bool:
    """Measure reading by Arrow without Spark, against Arrow on flat ORC."""
    data = settings.dataset(scale)
    with settings.session() as (spark, work):
        results = arrow.run(spark, work, data.parquet("store_sales"), rounds=rounds)
    settings.report("arrow", arrow.sections(results), results)
    return True


@main.command("source")
@scale_option(1.0)
@rounds_option(5, per="action")
@click.pass_obj
def source_command(settings: Settings, scale: float, rounds: int) -> bool:
    """Measure format("acidsql") against acidsql.table and INSERT INTO."""
    data = settings.dataset(scale)
    with settings.session() as (spark, _):
        results = source.run(spark, data.parquet("store_sales"), rounds=rounds)
    settings.report("source", source.sections(results), results)
    return True


@main.command("columns")
@click.option("--columns", "number", default=2000, show_default=True, help="Number of columns.")
@rounds_option(3, per="statement")
@click.pass_obj
def columns_command(settings: Settings, number: int, rounds: int) -> bool:
    """Measure statements on a row of a table with very many columns, against flat ORC."""
    with settings.session() as (spark, _):
        results = columns.run(spark, columns=number, rounds=rounds, progress=lambda: None)
    settings.report("columns", columns.sections(number, results), results)
    return True


for command in (
    day_command,
    conflicts_command,
    stream_command,
    processes_command,
    ingest_command,
    peers_command,
    cold_command,
):
    main.add_command(command)


if __name__ == "__main__":
    main(prog_name="python -m tpcds_bench")
