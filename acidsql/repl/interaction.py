"""Interaction, which reads input from a terminal and runs it until the user leaves."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer, PathCompleter, WordCompleter

from acidsql.dialects import lexis_of
from acidsql.repl.commands import COMMANDS, run_input
from acidsql.repl.completer import StatementCompleter
from acidsql.repl.config import Config
from acidsql.repl.console import Completes, Console, PromptCommand
from acidsql.repl.favourites import FavouriteError, read_favourites
from acidsql.repl.keywords import MORE_KEYWORDS
from acidsql.repl.program import show_error
from acidsql.repl.prompt import make_prompt
from acidsql.repl.shell import Ending, Shell
from acidsql.repl.syntax_help import topics
from acidsql.transactions.current import transaction_mark

_GREETING = 'acidsql on Spark {version}. Statements end with ";", \\? shows the commands.\n'


def make_console(shell: Shell, favourites: Path) -> Console:
    """Return the console of a shell, with the user's editor and favourites."""
    return Console(shell=shell, favourites=favourites, edit=_edit, edit_file=_edit_file)


def interact(console: Console, config: Config, *, history: Path) -> None:
    """Read from a terminal until the user leaves.

    Args:
        console: console that runs the input.
        config: settings of the prompt.
        history: file with the earlier input.
    """
    shell = console.shell
    console.history = history
    prompt = make_prompt(
        history=history,
        completer=_completer(console, config.keyword_casing),
        lexis=lambda: lexis_of(shell.settings.dialect),
        mark=lambda: transaction_mark(shell.spark),
        vi_keys=config.key_bindings == "vi",
        syntax_style=config.syntax_style,
    )
    sys.stdout.write(_GREETING.format(version=shell.spark.version))
    while True:
        draft, console.draft = console.draft, ""
        try:
            text = _read(prompt, draft)
            if text is None or run_input(console, text) is Ending.EXIT:
                return
        except KeyboardInterrupt:  # between two statements
            continue
        except click.ClickException as error:  # raised for the editor
            show_error(error)


def ask(question: str) -> bool:
    """Ask the user a yes-or-no question on the terminal, and return the answer."""
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        sys.stderr.write("\n")
        return False


def argument_completer(
    command: PromptCommand,
    *,
    tables: Callable[[], Sequence[str]],
    databases: Callable[[], Sequence[str]],
    favourites: Callable[[], list[str]],
) -> Completer | None:
    """Return the completer of a command's argument; None to complete it like a statement.

    Args:
        command: the command.
        tables: function that returns the names of tables.
        databases: function that returns the names of databases.
        favourites: function that returns the names of the favourites.
    """
    match command.completes:
        case Completes.CHOICE:
            return WordCompleter(list(command.choices))
        case Completes.TABLE:
            return WordCompleter(lambda: list(tables()), ignore_case=True)
        case Completes.DATABASE:
            return WordCompleter(lambda: list(databases()), ignore_case=True)
        case Completes.SYNTAX:
            return WordCompleter(_beginnings, ignore_case=True, sentence=True)
        case Completes.FILE:
            return PathCompleter(expanduser=True)
        case Completes.FAVOURITE:
            return WordCompleter(favourites, WORD=True)
        case Completes.STATEMENT:
            return None


def _beginnings() -> list[str]:
    return sorted({name for topic in topics() for name in topic.beginnings})


def _completer(console: Console, casing: str) -> StatementCompleter:
    shell = console.shell
    rows = shell.spark.sql("SELECT keyword FROM sql_keywords()").collect()

    def favourites() -> list[str]:
        try:
            return sorted(read_favourites(console.favourites))
        except FavouriteError:  # the command itself reports the error
            return []

    return StatementCompleter(
        keywords={row[0] for row in rows} | MORE_KEYWORDS,
        commands={
            command.name: argument_completer(
                command,
                tables=shell.names.tables,
                databases=shell.names.databases,
                favourites=favourites,
            )
            for command in COMMANDS
        },
        names=shell.names,
        lexis=lambda: lexis_of(shell.settings.dialect),
        casing=casing,
    )


def _read(prompt: PromptSession[str], draft: str) -> str | None:
    """Return the next input, which begins with a draft; None at the end of the input."""
    while True:
        try:
            return prompt.prompt(default=draft)
        except KeyboardInterrupt:  # Ctrl-C discards the typed text
            draft = ""
        except EOFError:
            return None


def _edit(text: str) -> str | None:
    return click.edit(text, extension=".sql")


def _edit_file(file: Path) -> None:
    click.edit(filename=str(file))
