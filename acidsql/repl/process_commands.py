r"""Commands of the environment: ``\c``, ``\conninfo``, ``\set``, ``\echo``, ``\s``, ``\!``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from prompt_toolkit.history import FileHistory
from pyspark.errors import PySparkException

from acidsql.repl.catalog_commands import checked_name
from acidsql.repl.console import CommandError, Completes, Console, PromptCommand, say
from acidsql.repl.printer import summary
from acidsql.repl.runner import Result
from acidsql.repl.shell import Ending
from acidsql.repl.statement_commands import file_of
from acidsql.session.acid_session import AcidSession

_ASSIGNMENT = re.compile(r"(?P<name>[\w.-]+)(?:\s+(?P<value>.*))?", re.DOTALL)
_VARIABLE = re.compile(r"\$\{([\w.-]+)\}")


def _connect(console: Console, argument: str) -> Ending:
    name = argument.rstrip("; ")
    shell = console.shell
    if name:
        if shell.query(f"USE {checked_name(name)}") is None:
            return Ending.FAILED
        shell.names.forget()
    current = shell.query("SELECT current_database()")
    if current is None:
        return Ending.FAILED
    return say(console, f"the database is {current.rows[0][0]}")


def _connection(console: Console, _argument: str) -> Ending:
    spark = console.shell.spark
    context = spark.sparkContext
    try:
        metastore = AcidSession.of(spark).settings.metastore
        values = {
            "spark": spark.version,
            "master": context.master,
            "application": context.applicationId,
            "user": context.sparkUser(),
            "database": spark.catalog.currentDatabase(),
            "warehouse": spark.conf.get("spark.sql.warehouse.dir"),
            "metastore": metastore,
            "dialect": console.shell.settings.dialect,
        }
    except PySparkException as error:
        raise CommandError(summary(error)) from error
    result = Result(
        columns=tuple(values),
        numeric=(False,) * len(values),
        rows=(tuple(str(value) for value in values.values()),),
        truncated=False,
    )
    console.shell.show([("", result)], expanded="on")
    return Ending.DONE


def _set(console: Console, argument: str) -> Ending:
    if not argument.strip("; "):
        lines = [f"{name} = {value}" for name, value in sorted(console.variables.items())]
        return say(console, "\n".join(lines)) if lines else Ending.DONE
    assignment = _ASSIGNMENT.fullmatch(argument)
    if assignment is None:
        raise CommandError("name it: \\set NAME VALUE")
    value = (assignment["value"] or "").strip()
    try:
        console.shell.spark.conf.set(assignment["name"], value)
    except PySparkException as error:
        raise CommandError(summary(error)) from error
    console.variables[assignment["name"]] = value
    return Ending.DONE


def _unset(console: Console, argument: str) -> Ending:
    name = argument.rstrip("; ")
    if name not in console.variables:
        raise CommandError(f"there is no variable {name}" if name else "name it: \\unset NAME")
    console.shell.spark.conf.unset(name)
    del console.variables[name]
    return Ending.DONE


def _echo(console: Console, argument: str) -> Ending:
    def value(match: re.Match[str]) -> str:
        return console.variables.get(match[1], match[0])

    sys.stdout.write(f"{_VARIABLE.sub(value, argument)}\n")
    sys.stdout.flush()
    return Ending.DONE


def _history(console: Console, argument: str) -> Ending:
    if console.history is None:
        raise CommandError("only a prompt has a history")
    typed = FileHistory(str(console.history)).load_history_strings()
    text = "".join(f"{one}\n" for one in reversed(list(typed)))
    file = file_of(argument)
    if file is None:
        console.shell.output.write(text, console.shell.settings.pager)
        return Ending.DONE
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(str(error)) from error
    return say(console, f"the history is in {file}")


def _shell(_console: Console, argument: str) -> Ending:
    sys.stdout.flush()
    command = argument or os.environ.get("SHELL", "/bin/sh")
    done = subprocess.run(command, shell=True, check=False)
    if done.returncode:
        raise CommandError(f"{command} ended with {done.returncode}")
    return Ending.DONE


PROCESS_COMMANDS = (
    PromptCommand(
        name="\\c",
        arguments="[DATABASE]",
        aliases=("\\connect",),
        help="Make a database the current one, or show which one is.",
        run=_connect,
        completes=Completes.DATABASE,
    ),
    PromptCommand(
        name="\\conninfo",
        help="Show Spark, the database, the warehouse and the metastore.",
        run=_connection,
    ),
    PromptCommand(
        name="\\set",
        arguments="[NAME VALUE]",
        help="Set a variable of the statements, ${NAME}, or list them.",
        run=_set,
    ),
    PromptCommand(name="\\unset", arguments="NAME", help="Remove a variable.", run=_unset),
    PromptCommand(
        name="\\echo",
        arguments="[TEXT]",
        help="Write a text to standard output, with the values of variables.",
        run=_echo,
    ),
    PromptCommand(
        name="\\s",
        arguments="[FILE]",
        help="Show what was typed before, or write it to a file.",
        run=_history,
        completes=Completes.FILE,
    ),
    PromptCommand(
        name="\\!",
        arguments="[COMMAND]",
        help="Run a command of the system, or its shell.",
        run=_shell,
    ),
)
"""Commands of the environment."""
