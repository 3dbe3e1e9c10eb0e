"""Shell: reads, runs and prints, statement after statement."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from prompt_toolkit import PromptSession
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from acidsql.dialects import DIALECTS, lexis_of
from acidsql.repl.completer import StatementCompleter
from acidsql.repl.printer import FORMATS, error_text, result_text
from acidsql.repl.prompt import make_prompt
from acidsql.repl.runner import (
    LEFT_RUNNING,
    Execute,
    Outcome,
    Result,
    TerminalBar,
    fetch,
    run_statement,
)
from acidsql.repl.statements import Statement, split
from acidsql.transactions.current import transaction_mark

_GREETING = 'acidsql on Spark {version}. Statements end with ";", \\? shows the commands.\n'
_EXIT_WORDS = frozenset({"exit", "quit"})


class Ending(Enum):
    """Ending of a piece of input."""

    DONE = "all statements ran"
    FAILED = "a statement failed; the ones after it did not run"
    CANCELLED = "a statement was cancelled; the ones after it did not run"
    EXIT = "the user asked to leave"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the shell.

    Attributes:
        format_name: one of ``printer.FORMATS``.
        limit: most rows of a result to fetch.
        timing: whether to show how long a statement took.
        progress: whether to draw a progress bar.
        tracebacks: whether to show Python's traceback after an error.
        dialect: dialect of the statements, one of ``dialects.DIALECTS``.
    """

    format_name: str
    limit: int
    timing: bool
    progress: bool
    tracebacks: bool
    dialect: str = "spark"


class Shell:
    """Shell of one session, which runs statements and prints their results.

    Args:
        spark: session to run in.
        execute: runs one statement of a dialect, as ``acidsql.sql`` does.
        settings: initial settings; commands change them.
    """

    def __init__(self, *, spark: SparkSession, execute: Execute, settings: Settings) -> None:
        self.settings = settings
        self._spark = spark
        self._execute = execute
        self._tables: tuple[str, ...] | None = None

    def interact(self, history: Path) -> None:
        """Read from a terminal until the user leaves."""
        prompt = make_prompt(
            history=history,
            completer=self._completer(),
            lexis=lambda: lexis_of(self.settings.dialect),
            mark=lambda: transaction_mark(self._spark),
        )
        sys.stdout.write(_GREETING.format(version=self._spark.version))
        while True:
            try:
                text = _read(prompt)
                if text is None or self.run_input(text) is Ending.EXIT:
                    return
            except KeyboardInterrupt:  # between two statements
                continue

    def leave(self) -> None:
        """Roll back the transaction that is open, if there is one, and say so."""
        if transaction_mark(self._spark):
            outcome = run_statement(self._spark, "ROLLBACK", work=self._rows, progress=None)
            said = "was rolled back: it was not committed before the end"
            if outcome.error is not None:
                said = f"could not be rolled back, and ends by its time-out: {outcome.error}"
            sys.stderr.write(f"warning: the open transaction {said}\n")

    def run_input(self, text: str) -> Ending:
        """Run what was typed at the prompt: a command or statements."""
        words = text.split()
        if words and words[0].startswith("\\"):
            return self._run_command(words)
        return self.run_batch(text)

    def run_batch(self, text: str, source: str | None = None) -> Ending:
        """Run statements one after the other until one fails.

        Args:
            text: the statements, separated by semicolons.
            source: name of the file they come from, to be shown with errors.
        """
        for statement in split(text, lexis_of(self.settings.dialect)):
            if statement.text.lower() in _EXIT_WORDS:
                return Ending.EXIT
            ending = self._run_statement(statement, source)
            if ending is not Ending.DONE:
                return ending
        return Ending.DONE

    def _run_statement(self, statement: Statement, source: str | None) -> Ending:
        outcome = run_statement(
            self._spark,
            statement.text,
            work=self._rows,
            progress=TerminalBar() if self.settings.progress else None,
        )
        self._tables = None  # the statement may have made or dropped one
        if outcome.result is not None:
            sys.stdout.write(result_text(outcome.result, self.settings.format_name))
            sys.stdout.flush()
        ending = self._report(outcome, statement, source)
        if self.settings.timing:
            sys.stderr.write(f"{outcome.seconds:.2f} s\n")
        return ending

    def _rows(self, spark: SparkSession, text: str) -> Result:
        return fetch(self._execute(spark, text, self.settings.dialect), self.settings.limit)

    def _report(self, outcome: Outcome[Result], statement: Statement, source: str | None) -> Ending:
        if outcome.result is not None:
            return Ending.DONE
        if outcome.error is None:
            sys.stderr.write(f"{LEFT_RUNNING}\n")
            return Ending.CANCELLED
        if outcome.cancelled:
            sys.stderr.write("cancelled\n")
            return Ending.CANCELLED
        sys.stderr.write(error_text(outcome.error, statement, source))
        if self.settings.tracebacks:
            sys.stderr.write("".join(traceback.format_exception(outcome.error)))
        return Ending.CANCELLED if outcome.interrupted else Ending.FAILED

    def _run_command(self, words: list[str]) -> Ending:
        command = _COMMANDS.get(words[0].rstrip(";"))
        if command is None:
            sys.stderr.write(f"error: no such command: {words[0]} (\\? shows them)\n")
            return Ending.FAILED
        return command(self, [word.rstrip(";") for word in words[1:]])

    def _completer(self) -> StatementCompleter:
        rows = self._spark.sql("SELECT keyword FROM sql_keywords()").collect()
        keywords = {row[0] for row in rows} | {"COMPACTIONS", "HISTORY", "HEALTH", "ROW__ID"}
        return StatementCompleter(
            keywords=keywords, commands=_COMMANDS, table_names=self._table_names
        )

    def _table_names(self) -> tuple[str, ...]:
        """Return the tables and views of the current database, fetched once per statement."""
        if self._tables is None:
            try:
                result = fetch(self._execute(self._spark, "SHOW TABLES", "spark"), limit=10_000)
            except (PySparkException, ValueError, RuntimeError):
                # The database may be gone; the next statement will report it.
                self._tables = ()
            else:
                name = result.columns.index("tableName")
                self._tables = tuple(str(row[name]) for row in result.rows)
        return self._tables


def _read(prompt: PromptSession[str]) -> str | None:
    """Return the next input, or None at its end."""
    while True:
        try:
            return prompt.prompt()
        except KeyboardInterrupt:  # Ctrl-C drops what was typed
            continue
        except EOFError:
            return None


_Command = Callable[[Shell, list[str]], Ending]
_COMMANDS: dict[str, _Command] = {}


def _command(name: str) -> Callable[[_Command], _Command]:
    def register(function: _Command) -> _Command:
        _COMMANDS[name] = function
        return function

    return register


@_command("\\q")
def _quit(_shell: Shell, _arguments: list[str]) -> Ending:
    """Leave (also: exit; quit; Ctrl-D)."""
    return Ending.EXIT


@_command("\\?")
def _help(_shell: Shell, _arguments: list[str]) -> Ending:
    """Show the commands."""
    for name, function in sorted(_COMMANDS.items()):
        sys.stdout.write(f"{name:<10}{function.__doc__}\n")
    sys.stdout.write('Everything else is SQL and ends with ";". Ctrl-C cancels a statement.\n')
    return Ending.DONE


@_command("\\timing")
def _timing(shell: Shell, _arguments: list[str]) -> Ending:
    """Switch the time of every statement on or off."""
    shell.settings = replace(shell.settings, timing=not shell.settings.timing)
    sys.stdout.write(f"timing is {'on' if shell.settings.timing else 'off'}\n")
    return Ending.DONE


@_command("\\format")
def _format(shell: Shell, arguments: list[str]) -> Ending:
    """Show or set the format of results."""
    names = ", ".join(FORMATS)
    if not arguments:
        sys.stdout.write(f"format is {shell.settings.format_name} (of {names})\n")
    elif arguments[0] in FORMATS:
        shell.settings = replace(shell.settings, format_name=arguments[0])
    else:
        sys.stderr.write(f"error: no such format: {arguments[0]} (there are {names})\n")
        return Ending.FAILED
    return Ending.DONE


@_command("\\dialect")
def _dialect(shell: Shell, arguments: list[str]) -> Ending:
    """Show or set the dialect of statements."""
    names = ", ".join(DIALECTS)
    if not arguments:
        sys.stdout.write(f"dialect is {shell.settings.dialect} (of {names})\n")
    elif arguments[0].lower() in DIALECTS:
        shell.settings = replace(shell.settings, dialect=arguments[0].lower())
    else:
        sys.stderr.write(f"error: no such dialect: {arguments[0]} (there are {names})\n")
        return Ending.FAILED
    return Ending.DONE
