"""Options of commands that start Spark."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from acidsql.repl.ingest_command import INTERRUPTED
from acidsql.repl.printer import summary
from acidsql.repl.session import start_session

_Command = TypeVar("_Command", bound=Callable[..., Any])


def spark_options(command: _Command) -> _Command:
    """Add the options that ``start_spark`` needs."""
    for option in (
        click.option(
            "--warehouse",
            type=click.Path(file_okay=False, path_type=Path),
            help="Directory of tables; the metastore file is beside it.",
        ),
        click.option(
            "--conf",
            "conf",
            multiple=True,
            metavar="KEY=VALUE",
            help="Spark option; may be repeated.",
        ),
        click.option("--master", help="Spark master URL, such as local[4] or yarn."),
    ):
        command = option(command)
    return command


def start_spark(master: str | None, warehouse: Path | None, conf: tuple[str, ...]) -> SparkSession:
    """Start Spark with the options of the command line; exit if Spark does not start."""
    options = key_values(conf, "--conf")
    try:
        return start_session(master=master, warehouse=warehouse, conf=options)
    except (PySparkException, OSError) as error:
        raise click.ClickException(f"Spark did not start: {summary(error)}") from error
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def key_values(conf: tuple[str, ...], option: str) -> dict[str, str]:
    """Parse the values ``KEY=VALUE`` of an option.

    Raises:
        BadParameter: a value does not have this form.
    """
    options: dict[str, str] = {}
    for item in conf:
        key, equals, value = item.partition("=")
        if not (key.strip() and equals):
            raise click.BadParameter(f"{item!r} is not KEY=VALUE", param_hint=option)
        options[key.strip()] = value
    return options
