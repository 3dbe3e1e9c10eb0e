"""Options of ``acidsql convert`` and ``acidsql export``; ``copies`` implements the commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])
_BYTES = {"k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


def size(text: str) -> int:
    """Parse a number of bytes with an optional suffix k, m, g or t.

    Raises:
        BadParameter: the text is not a number of this form.

    >>> size("2g")
    2147483648
    """
    number, factor = text.strip().lower().removesuffix("b"), 1
    if number[-1:] in _BYTES:
        number, factor = number[:-1], _BYTES[number[-1:]]
    if not number.isdecimal() or not int(number):
        raise click.BadParameter(f"{text!r} is no size such as 512m or 4g")
    return int(number) * factor


def _all(options: tuple[Callable[[_Command], _Command], ...], command: _Command) -> _Command:
    for option in reversed(options):
        command = option(command)
    return command


_writer_option = click.option(
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    help="Option of Spark's reader or writer of the format, such as header=true; may be repeated.",
)
_partition_option = click.option(
    "--partition-by",
    metavar="COLUMNS",
    help="Partition columns of the target, separated by commas; by default those of the source.",
)


def convert_options(command: _Command) -> _Command:
    """Add the options of ``acidsql convert``."""
    return _all(
        (
            click.option(
                "--from",
                "source",
                required=True,
                metavar="FORMAT:PATH",
                help="parquet:PATH, csv:PATH, json:PATH, orc:PATH, delta:PATH, iceberg:PATH, "
                "iceberg:NAME, or the name of a table that Spark knows.",
            ),
            click.option(
                "--to", "target", required=True, metavar="TABLE", help="The ACID table: DB.NAME."
            ),
            click.option("--schema", help="Columns of files, as in CREATE TABLE."),
            click.option(
                "--select",
                multiple=True,
                metavar="EXPRESSION",
                help="A column of the target, over those of the source; may be repeated. By "
                "default all columns as they are.",
            ),
            _partition_option,
            click.option(
                "--property",
                "properties",
                multiple=True,
                metavar="KEY=VALUE",
                help="Property of the target; may be repeated.",
            ),
            _writer_option,
            click.option(
                "--batch-bytes",
                callback=lambda _context, _option, text: size(text),
                default="4g",
                show_default=True,
                help="Size of the files that are copied in a transaction.",
            ),
            click.option(
                "--batch-rows",
                type=click.IntRange(min=1),
                default=20_000_000,
                show_default=True,
                help="Rows of the partitions of a table that are copied in a transaction.",
            ),
            click.option("--dry-run", is_flag=True, help="Only show how each column is converted."),
        ),
        command,
    )


def export_options(command: _Command) -> _Command:
    """Add the options of ``acidsql export``."""
    return _all(
        (
            click.option("--table", required=True, help="The ACID table: DB.NAME."),
            click.option(
                "--to",
                "target",
                required=True,
                metavar="FORMAT:PATH",
                help="parquet:PATH, delta:PATH, iceberg:PATH or iceberg:NAME.",
            ),
            click.option("--version", help="Export this version, a write id."),
            click.option("--timestamp", help="Export the version of this time."),
            _partition_option,
            _writer_option,
        ),
        command,
    )
