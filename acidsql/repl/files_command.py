r"""``acidsql files`` and ``\files``: show the files of a table or below a path."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import click
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.errors import FormatError
from acidsql.file_dump.description import FileDescription, UnreadableFile
from acidsql.file_dump.events import Event, read_events
from acidsql.file_dump.finding import FoundFile, find_files
from acidsql.file_dump.places import describe_files, files_of_table, is_path
from acidsql.metastore.names import METASTORE_FILE
from acidsql.planning.name_resolution import acid_table
from acidsql.repl import file_views
from acidsql.repl.console import CommandError, Completes, Console, PromptCommand
from acidsql.repl.file_views import Headed
from acidsql.repl.machine_formats import MACHINE_FORMATS
from acidsql.repl.printer import summary
from acidsql.repl.shell import Ending
from acidsql.session.acid_session import AcidSession
from acidsql.storage.local_disk import local_path
from acidsql.storage.local_files import LocalFiles
from acidsql.storage.readable_files import ReadableFiles
from acidsql.streaming.client import open_client

# Default number of events to show.
_FEW = 20
_SCREEN = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Request to inspect files.

    Attributes:
        place: name of a table, or a path.
        details: whether to show the stripes and statistics of each file.
        rows: whether to show row ids and values.
        limit: largest number of rows to show, for all files together.
    """

    place: str
    details: bool = False
    rows: bool = False
    limit: int = _FEW


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Results to show, and the errors of files that cannot be read."""

    results: tuple[Headed, ...]
    failures: tuple[FormatError, ...]


def answer(
    files: ReadableFiles,
    selected: Sequence[FoundFile],
    request: Request,
    format_name: str,
    width: int | None = None,
) -> Answer:
    """Inspect files.

    Args:
        files: the file system.
        selected: the files.
        request: what to show.
        format_name: one of ``printer.FORMATS``; a format for programs gets one result.
        width: width of the terminal in characters.

    Raises:
        AcidAnalysisError: PYORC_MISSING.
    """
    is_record = format_name in MACHINE_FORMATS
    if request.rows:
        events, failures = _events(files, selected, request.limit)
        if is_record:
            return Answer(results=(("", file_views.event_records(events)),), failures=failures)
        shown = [file_views.events(*pair, width or _SCREEN) for pair in events]
        return Answer(results=tuple(shown), failures=failures)
    described = describe_files(files, selected)
    readable = [one for one in described if isinstance(one, FileDescription)]
    failures = tuple(one.error for one in described if isinstance(one, UnreadableFile))
    is_file = len(selected) == 1 and request.place.endswith(f"/{selected[0].name}")
    if request.details or is_file:
        views = chain.from_iterable(map(file_views.details, readable))
        results = [("", file_views.statistics(readable))] if is_record else list(views)
    else:
        record = file_views.records
        results = [("", record(readable))] if is_record else file_views.overview(readable)
    return Answer(results=tuple(results), failures=failures)


def _events(
    files: ReadableFiles, selected: Sequence[FoundFile], limit: int
) -> tuple[list[tuple[FoundFile, list[Event]]], tuple[FormatError, ...]]:
    """Read the events of files up to a limit, for all files together."""
    read, failures = [], []
    for one in selected:
        if limit <= 0:
            break
        try:
            events = list(read_events(files, one, limit))
        except FormatError as error:
            failures.append(error)
        else:
            limit -= len(events)
            read.append((one, events))
    return read, tuple(failures)


def find_in_session(spark: SparkSession, place: str) -> tuple[ReadableFiles, list[FoundFile]]:
    """Find the files of a session's table, or below a path on any of its file systems.

    Raises:
        AcidSqlError: the table does not exist, or is not transactional.
        FileNotFoundError: the path does not exist.
    """
    session = AcidSession.of(spark)
    if is_path(place):
        return session.files, find_files(session.files, session.files.qualify(place).rstrip("/"))
    table = acid_table(session, bridge.parse_name(spark, place))
    return session.files, files_of_table(session.files, session.metastore, table)


def find_locally(
    place: str, warehouse: Path | None
) -> tuple[ReadableFiles, list[FoundFile]] | None:
    """Find the files of an embedded metastore's table, or below a path, without Spark.

    Args:
        place: name of the table, or the path.
        warehouse: directory of tables; the metastore file is in its parent directory.

    Returns:
        The file system and the files; None if they are not on the local disk.

    Raises:
        AcidSqlError: the metastore or the table does not exist.
        FileNotFoundError: the path does not exist.
    """
    files = LocalFiles()
    if is_path(place):
        if "://" in place or not (path := Path(place.removeprefix("file:")).resolve()).exists():
            if "://" in place:
                return None
            raise FileNotFoundError(f"there is no file or directory {place}")
        return files, find_files(files, f"file:{path}")
    client = open_client(
        (warehouse or Path("spark-warehouse")).resolve().parent / METASTORE_FILE,
        user=None,
        timeout=60,
        txn_timeout=300,
        synchronous=True,
        kerberos=None,
        tls=None,
    )
    try:
        table = client.table(place)
        if local_path(table.location) is None:
            return None
        return files, files_of_table(files, client.metastore, table)
    finally:
        client.close()


def _show(console: Console, argument: str) -> Ending:
    request = _request(argument)
    shell = console.shell
    try:
        files, selected = find_in_session(shell.spark, request.place)
        answered = answer(
            files, selected, request, shell.settings.format_name, shell.output.columns
        )
    except (PySparkException, OSError) as error:
        raise CommandError(summary(error)) from error
    shell.show(answered.results, expanded="off")
    for failure in answered.failures:
        sys.stderr.write(f"error: {summary(failure)}\n")
    return Ending.FAILED if answered.failures else Ending.DONE


@click.command(add_help_option=False)
@click.option("--details", is_flag=True)
@click.option("--rows", is_flag=True)
@click.option("--limit", type=click.IntRange(min=0), default=_FEW)
@click.argument("place")
def _words(**given: object) -> Request:
    """Parse the words after the command of the shell."""
    return Request(**given)  # type: ignore[arg-type] # click has checked the types


def _request(argument: str) -> Request:
    """Parse the argument of the command.

    Raises:
        CommandError: the argument is not valid.
    """
    try:
        words = shlex.split(argument.rstrip("; "))
        request: Request = _words.main(words, standalone_mode=False)
    except (click.ClickException, ValueError) as error:
        text = error.format_message() if isinstance(error, click.ClickException) else str(error)
        raise CommandError(f"{text}: \\files TABLE [--details] [--rows] [--limit N]") from error
    return request


FILES_COMMAND = PromptCommand(
    name="\\files",
    arguments="TABLE | PATH [--details] [--rows] [--limit N]",
    help="Show the files of a table: directories, buckets, stripes, rows; or what is in them.",
    run=_show,
    completes=Completes.TABLE,
)
r"""Command ``\files``."""
