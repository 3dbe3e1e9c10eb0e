"""Options of ``acidsql ingest``; ``ingest`` implements the command."""

from __future__ import annotations

import csv
import re
import sys
from typing import Any, Literal

import click
from pyspark.errors import PySparkException

from acidsql.metastore.names import METASTORE_FILE

FORMATS = ("json", "csv", "regex", "arrow")
_HDFS_SECONDS = 60.0
INTERRUPTED = 130
"""Exit code of every command after Ctrl-C."""


@click.command()
@click.option("--table", required=True, help="Table that the rows go to: DATABASE.NAME or NAME.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(FORMATS),
    required=True,
    help="Form of the records: JSON objects or texts, one in a line, or an Arrow IPC stream.",
)
@click.option(
    "--metastore",
    default=METASTORE_FILE,
    show_default=True,
    help="File of the embedded metastore, or thrift://host:port of a Hive Metastore.",
)
@click.option("--partition", metavar="NAME", help="Write all rows to this partition: p=1/q=a.")
@click.option("--delimiter", default=",", show_default=True, help="Between the fields of csv.")
@click.option("--null", default="\\N", show_default=True, help="Field of csv that is NULL.")
@click.option("--header", is_flag=True, help="The first line of csv names the columns.")
@click.option("--pattern", help="Regular expression of regex; its groups are the columns.")
@click.option(
    "--rows",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    help="Records of a transaction.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="Commit a transaction after this time, even with fewer records.",
)
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Transactions that share files.",
)
@click.option(
    "--on-error",
    type=click.Choice(["abort_transaction", "reject_record"]),
    default="abort_transaction",
    show_default=True,
    help="What to do with a record that is not a row.",
)
@click.option(
    "--resume",
    metavar="NAME",
    help="Keep the number of records read under this name; leave out those that were committed.",
)
@click.option(
    "--webhdfs",
    metavar="ADDRESS",
    help="Name node of a table on HDFS: http://host:9870; several of them are joined by ';'.",
)
@click.option("--time-zone", help="Zone of the table's local times; by default this machine's.")
def ingest(  # noqa: PLR0913 - one argument for every option
    *,
    table: str,
    format_name: str,
    metastore: str,
    partition: str | None,
    delimiter: str,
    null: str,
    header: bool,
    pattern: str | None,
    rows: int,
    seconds: float,
    batch_size: int,
    on_error: Literal["abort_transaction", "reject_record"],
    resume: str | None,
    webhdfs: str | None,
    time_zone: str | None,
) -> None:
    """Write rows from standard input to a table, without Spark."""
    # Imported here because other commands do not need it.
    from acidsql.format.partitions import parse_partition_name  # noqa: PLC0415
    from acidsql.repl import ingest as transfer  # noqa: PLC0415
    from acidsql.streaming import connect  # noqa: PLC0415

    if (format_name == "regex") != (pattern is not None):
        raise click.UsageError("--pattern belongs to --format regex")
    if len(delimiter) != 1:
        raise click.BadParameter("give one character", param_hint="--delimiter")
    work: transfer.Ingest | None = None
    try:
        source = transfer.InputFormat(
            format=format_name,
            delimiter=delimiter,
            null=null,
            header=header,
            pattern=None if pattern is None else re.compile(pattern),
        )
        writer, records = source.open(sys.stdin.buffer)
        with connect(
            metastore=metastore,
            table=table,
            partition=None if partition is None else dict(parse_partition_name(partition)),
            agent="acidsql ingest",
            transaction_batch_size=batch_size,
            writer=writer,
            stream=resume,
            on_error=on_error,
            on_rejected=lambda rejection: transfer.report_rejected(work, rejection),
            time_zone=time_zone,
            storage=None if webhdfs is None else _webhdfs(webhdfs),
        ) as connection:
            work = transfer.Ingest(
                connection, rows=rows, seconds=seconds, keeps_offset=resume is not None
            )
            work.run(transfer.skip(records, work.read), progress=sys.stderr.isatty())
    except re.error as error:
        raise click.BadParameter(str(error), param_hint="--pattern") from error
    except (PySparkException, OSError, ValueError, csv.Error) as error:
        done = "" if work is None else f"\nbefore that: {transfer.report(work, table)}"
        raise click.ClickException(f"{transfer.message(work, error)}{done}") from error
    except KeyboardInterrupt:
        if work is not None:
            click.echo(transfer.report(work, table))
        sys.exit(INTERRUPTED)
    click.echo(transfer.report(work, table))
    sys.exit(transfer.exit_code(work))


def _webhdfs(address: str) -> Any:
    try:
        from hdfs import InsecureClient  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise click.UsageError(
            "--webhdfs needs the package hdfs: pip install 'acidsql[hdfs]'"
        ) from error
    return InsecureClient(address, timeout=_HDFS_SECONDS)
