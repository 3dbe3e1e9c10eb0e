"""Command ``acidsql``: its options and exit codes.

Exit codes: 0 all statements ran; 1 a statement failed, or Spark did not start; 2 wrong usage; 3 a
check found problems; 130 cancelled with Ctrl-C.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any

import click
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from acidsql.dialects import DIALECTS
from acidsql.metastore.names import METASTORE_FILE
from acidsql.repl import metastore_files
from acidsql.repl.copy_options import convert_options, export_options
from acidsql.repl.ingest_command import INTERRUPTED, ingest
from acidsql.repl.interaction import ask
from acidsql.repl.output import Output, terminal
from acidsql.repl.printer import FORMATS, SCREEN_FORMATS, result_text, summary
from acidsql.repl.program import Program
from acidsql.repl.shell import Ending, Shell
from acidsql.repl.spark_options import key_values, spark_options, start_spark
from acidsql.repl.start import (
    run_prompt,
    run_texts,
    shell_settings,
    show_warning,
    user_config,
    user_console,
)
from acidsql.serve.options import AUTHENTICATIONS, CONNECT_AUTHENTICATIONS

_EXIT_CODES = {Ending.DONE: 0, Ending.EXIT: 0, Ending.FAILED: 1, Ending.CANCELLED: INTERRUPTED}

_EXAMPLES = """\b
Examples:
  acidsql                                        starts the prompt
  acidsql demo                                   shows what it does
  acidsql -e "SELECT * FROM pet" --format csv    writes all rows
  acidsql -f changes.sql                         runs a file
  acidsql COMMAND --help                         says more of a command

\b
Documents: https://github.com/acidsql/acidsql/blob/main/docs/index.md
"""


@click.group(
    cls=Program,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EXAMPLES,
)
@click.option(
    "-e",
    "--execute",
    "texts",
    multiple=True,
    metavar="SQL",
    help="Run these statements and exit; may be repeated.",
)
@click.option(
    "-f",
    "--file",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    help="Run the statements of a file and exit; - is standard input.",
)
@spark_options
@click.option(
    "--format",
    "format_name",
    type=click.Choice(list(FORMATS)),
    default="table",
    show_default=True,
    help="Format of results.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    help="Rows of a result to write at most; by default all, but 1000 of a table on a terminal.",
)
@click.option(
    "--dialect",
    type=click.Choice(DIALECTS, case_sensitive=False),
    default="spark",
    show_default=True,
    help="Dialect of the statements.",
)
@click.option(
    "--hivevar",
    "--hiveconf",
    "variables",
    multiple=True,
    metavar="NAME=VALUE",
    help="Variable of the statements, ${NAME}; may be repeated.",
)
@click.option(
    "--timing/--no-timing",
    default=None,
    help="Show how long every statement took; by default only at the prompt.",
)
@click.option(
    "--warn/--no-warn",
    default=None,
    help="Ask before a statement that destroys much, such as a DELETE without WHERE; by default "
    "only at the prompt.",
)
@click.option(
    "--config-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Settings of the prompt; by default config.toml in the user's configuration directory.",
)
@click.option("--traceback", "tracebacks", is_flag=True, help="Show tracebacks after errors.")
@click.version_option(package_name="acidsql")
@click.pass_context
def main(
    context: click.Context,
    /,
    *,
    texts: tuple[str, ...],
    file: Path | None,
    master: str | None,
    conf: tuple[str, ...],
    warehouse: Path | None,
    variables: tuple[str, ...],
    config_file: Path | None,
    **_settings_of_the_shell: object,
) -> None:
    """Run SQL on Hive full-ACID tables with Spark: interactively, or with -e, -f or a pipe."""
    if context.invoked_subcommand is not None:
        return
    if texts and file is not None:
        raise click.UsageError("give -e or -f, not both")
    variable_values = key_values(variables, "--hivevar")
    at_prompt = not texts and file is None and sys.stdin.isatty()
    config = user_config(config_file, at_prompt=at_prompt)
    spark = start_spark(master, warehouse, conf)
    for name, value in variable_values.items():
        spark.conf.set(name, value)
    warnings.showwarning = show_warning
    shell = Shell(
        spark=spark,
        execute=_acidsql,
        settings=shell_settings(context, config, at_prompt=at_prompt),
        output=Output(terminal),
        confirm=ask if sys.stdin.isatty() else None,
    )
    try:
        console = user_console(shell, variable_values)
        ending = run_prompt(console, config) if at_prompt else run_texts(console, texts, file)
    except KeyboardInterrupt:
        ending = Ending.CANCELLED
    except BrokenPipeError:  # the program that reads the results has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        ending = Ending.FAILED
    shell.leave()
    spark.stop()
    sys.exit(_EXIT_CODES[ending])


@main.command()
@click.option("--full", is_flag=True, help="Read the row ids of all rows and delete events too.")
@click.option("--repair", is_flag=True, help="Repair what can be repaired safely.")
@click.option("--dry-run", is_flag=True, help="Show only what --repair would do.")
@click.argument("tables", nargs=-1)
@click.pass_context
def check(
    context: click.Context, *, full: bool, repair: bool, dry_run: bool, tables: tuple[str, ...]
) -> None:
    """Check TABLES (by default all) for damage: report problems, places, severity and remedy.

    Put Spark options and --format before the word check.
    """
    # Imported here because the shell shows its help without the product.
    from acidsql.repl.checks import all_tables, check_tables  # noqa: PLC0415

    given = context.parent.params if context.parent is not None else {}
    spark = start_spark(given["master"], given["warehouse"], given["conf"])
    clauses = ["FULL" if full else "FAST", *(["REPAIR"] if repair or dry_run else [])]
    report = check_tables(
        spark,
        _acidsql,
        tables or all_tables(spark),
        " ".join([*clauses, *(["DRY RUN"] if dry_run else [])]),
        progress=sys.stderr.isatty(),
    )
    is_for_people = given["format_name"] in SCREEN_FORMATS
    if report.result is not None and (report.result.rows or not is_for_people):
        sys.stdout.write(result_text(report.result, given["format_name"]))
    (sys.stdout if is_for_people else sys.stderr).write(f"{report.summary}\n")
    spark.stop()
    sys.exit(report.exit_code)


@main.command()
@click.option("--details", is_flag=True, help="Show stripes, metadata and statistics of each file.")
@click.option("--rows", is_flag=True, help="Show row ids and values of rows and delete events.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Rows to show at most, of all files together.",
)
@click.argument("place", metavar="TABLE|PATH")
@click.pass_context
def files(context: click.Context, *, details: bool, rows: bool, limit: int, place: str) -> None:
    """Describe the ORC files of TABLE, or of a table, directory or file at PATH.

    Shows write ids, buckets, stripes and rows, and for a single file also statistics and metadata.
    pyorc reads the files. Files on the local disk need no Spark.

    Put Spark options and --format before the word files.
    """
    # Imported here because the shell shows its help without the product.
    from acidsql.repl import files_command  # noqa: PLC0415

    given = context.parent.params if context.parent is not None else {}
    request = files_command.Request(place=place, details=details, rows=rows, limit=limit)
    spark = None
    try:
        located = None
        if not given["conf"] and given["master"] is None:
            located = files_command.find_locally(place, given["warehouse"])
        if located is None:
            spark = start_spark(given["master"], given["warehouse"], given["conf"])
            located = files_command.find_in_session(spark, place)
        screen = terminal()
        answered = files_command.answer(
            *located, request, given["format_name"], screen.columns if screen else None
        )
    except (PySparkException, OSError) as error:
        raise click.ClickException(summary(error)) from error
    finally:
        if spark is not None:
            spark.stop()
    for heading, result in answered.results:
        title = f"{heading}\n" if heading and given["format_name"] in SCREEN_FORMATS else ""
        sys.stdout.write(f"{title}{result_text(result, given['format_name'])}")
    for failure in answered.failures:
        sys.stderr.write(f"error: {summary(failure)}\n")
    sys.exit(1 if answered.failures else 0)


_metastore_option = click.option(
    "--metastore",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    default=METASTORE_FILE,
    show_default=True,
    help="File of the embedded metastore.",
)


@main.command()
@_metastore_option
@click.argument("copy", type=click.Path(path_type=Path))
def backup(*, file: Path, copy: Path) -> None:
    """Copy the embedded metastore's file to COPY. Other processes may use it meanwhile."""
    try:
        metastore_files.back_up(file, copy)
    except (PySparkException, OSError) as error:
        raise click.ClickException(str(error)) from error


@main.command()
@_metastore_option
@click.option(
    "--accept",
    is_flag=True,
    help="Count directories that COPY does not know as committed; without it they are listed.",
)
@click.argument("copy", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def restore(*, file: Path, copy: Path, accept: bool) -> None:
    """Replace the embedded metastore's file by COPY. No process may have the file open."""
    try:
        accepted = metastore_files.restore(copy, file, accept=accept)
    except (PySparkException, OSError) as error:
        raise click.ClickException(str(error)) from error
    for one in accepted:
        click.echo(f"counts as committed: {one.path}")


@main.command()
@spark_options
@click.option("--database", help="Look only at this database.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    help="Seconds between two rounds.",
)
@click.option("--once", is_flag=True, help="Run one round and exit.")
@click.option("--pool", help="Do the compactions of this pool.")
@click.option(
    "--max-bytes", type=click.IntRange(min=1), help="Do not run compactions of more bytes."
)
def maintain(
    *,
    master: str | None,
    conf: tuple[str, ...],
    warehouse: Path | None,
    database: str | None,
    interval: float,
    once: bool,
    pool: str | None,
    max_bytes: int | None,
) -> None:
    """Compact and clean tables, round after round, until SIGTERM or Ctrl-C."""
    # Imported here because the product takes a moment to load.
    from acidsql.metastore.model import WorkerLimits  # noqa: PLC0415
    from acidsql.repl import maintain as service  # noqa: PLC0415

    service.log_to_stderr()
    stop = service.Stop()
    # The service runs the compactions, so the session must not run them as well.
    spark = start_spark(master, warehouse, ("spark.acidsql.compaction.auto=off", *conf))
    chosen = WorkerLimits(pool=pool, most_bytes=max_bytes)
    try:
        code = service.maintain(
            spark, chosen, stop=stop, database=database, interval=interval, once=once
        )
    except KeyboardInterrupt:
        code = INTERRUPTED
    spark.stop()
    sys.exit(code)


@main.command()
@spark_options
@click.option(
    "--connect",
    is_flag=True,
    help="Serve Spark Connect's clients in place of those of Hive's protocol; PySpark 4.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(min=0, max=65535),
    show_default="10000, with --connect 15002",
    help="Port to listen on; 0 picks a free port.",
)
@click.option(
    "--auth",
    "authentication",
    type=click.Choice(
        (*AUTHENTICATIONS, *(a for a in CONNECT_AUTHENTICATIONS if a not in AUTHENTICATIONS)),
        case_sensitive=False,
    ),
    required=True,
    help="How clients authenticate; none and nosasl accept any client. With --connect: none "
    "or token.",
)
def serve(
    *,
    master: str | None,
    conf: tuple[str, ...],
    warehouse: Path | None,
    connect: bool,
    host: str,
    port: int | None,
    authentication: str,
) -> None:
    """Serve JDBC, ODBC and other clients of Hive's protocol, or of Spark Connect, until SIGTERM or
    Ctrl-C.
    """
    known = CONNECT_AUTHENTICATIONS if connect else AUTHENTICATIONS
    if authentication not in known:
        raise click.UsageError(
            f"--auth {authentication} is not one of {', '.join(known)}"
            f"{', with --connect' if connect else ''}"
        )
    # Imported here because the product takes a moment to load.
    from acidsql.repl import serve_command as service  # noqa: PLC0415

    service.without_variables()
    spark = start_spark(master, warehouse, conf)
    run = service.serve_connect if connect else service.serve
    chosen = port if port is not None else 15002 if connect else 10000
    try:
        run(spark, host=host, port=chosen, authentication=authentication)
    except PySparkException as error:
        raise click.ClickException(summary(error)) from error
    finally:
        spark.stop()


@main.command()
def demo() -> None:
    """Run a short tour: create, change and compact a table; show its rows and directories."""
    # Imported here because the product takes a moment to load.
    from acidsql.repl import demo as tour  # noqa: PLC0415

    tour.show()


main.add_command(ingest)


@main.command()
@spark_options
@convert_options
def convert(
    *, master: str | None, conf: tuple[str, ...], warehouse: Path | None, **given: Any
) -> None:
    """Copy a table of another format into an ACID table, and compare both."""
    _copy("convert", (master, warehouse, conf), given)


@main.command()
@spark_options
@export_options
def export(
    *, master: str | None, conf: tuple[str, ...], warehouse: Path | None, **given: Any
) -> None:
    """Copy an ACID table, or a version of it, into a table of another format, and compare both."""
    _copy("export", (master, warehouse, conf), given)


def _copy(
    name: str, place: tuple[str | None, Path | None, tuple[str, ...]], given: dict[str, Any]
) -> None:
    """Run ``convert`` or ``export`` of ``copies``, and leave."""
    # Imported here because the shell shows its help without the product.
    from acidsql.repl import copies  # noqa: PLC0415

    for key, option in (("options", "--option"), ("properties", "--property")):
        if key in given:
            given[key] = key_values(given[key], option)
    spark = start_spark(*place)
    code = getattr(copies, name)(spark, **given)
    spark.stop()
    sys.exit(code)


def _acidsql(spark: SparkSession, text: str, dialect: str) -> DataFrame:
    import acidsql  # noqa: PLC0415 - the shell starts and shows its help without the product

    return acidsql.sql(spark, text, dialect=dialect)
