"""Shell, which runs statements one after the other and shows their results."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from pyspark.sql import SparkSession

from acidsql.dialects import lexis_of
from acidsql.repl.answers import concise
from acidsql.repl.catalog_names import CatalogNames
from acidsql.repl.destructive import warning_of
from acidsql.repl.export import Export
from acidsql.repl.hints import page_hint, table_hint
from acidsql.repl.machine_formats import MACHINE_FORMATS
from acidsql.repl.output import Output
from acidsql.repl.printer import SCREEN_FORMATS, error_text, shown_text
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

_EXIT_WORDS = frozenset({"exit", "quit"})
# Largest number of names that completion offers.
_MOST_NAMES = 10_000


class Ending(Enum):
    """Ending of a piece of input."""

    DONE = "all statements ran"
    FAILED = "a statement failed; the ones after it did not run"
    CANCELLED = "a statement was cancelled; the ones after it did not run"
    EXIT = "the user asked to leave"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellSettings:
    """Settings of the shell.

    Attributes:
        format_name: one of ``printer.FORMATS``.
        limit: largest number of rows of a result to write to any destination; None for no limit.
        shown: largest number of rows to show on a terminal in a format for people, if there is no
            limit.
        timing: whether to show how long a statement took.
        progress: whether to draw a progress bar.
        tracebacks: whether to show Python's traceback after an error.
        dialect: dialect of the statements, one of ``dialects.DIALECTS``.
        expanded: one of ``printer.EXPANSIONS``.
        pager: command for results that are larger than the terminal; None for no pager.
        warned_of: names of the ``destructive.DANGERS`` that the user must confirm.
    """

    format_name: str
    limit: int | None
    timing: bool
    progress: bool
    tracebacks: bool
    shown: int = 1000
    dialect: str = "spark"
    expanded: str = "off"
    pager: str | None = None
    warned_of: tuple[str, ...] = ()


class Shell:
    """Shell of one session, which runs statements and prints their results.

    Args:
        spark: the session.
        execute: function that runs one statement of a dialect, like ``acidsql.sql``.
        settings: initial settings, which commands can change.
        output: destination of results; by default standard output.
        confirm: function that asks the user a yes-or-no question. It is None if there is no user to
            ask; a statement that needs a confirmation is then refused.
    """

    def __init__(
        self,
        *,
        spark: SparkSession,
        execute: Execute,
        settings: ShellSettings,
        output: Output | None = None,
        confirm: Callable[[str], bool] | None = None,
    ) -> None:
        self.spark = spark
        self.settings = settings
        self.output = output or Output()
        self.names = CatalogNames(
            lambda text: fetch(self._execute(spark, text, "spark"), _MOST_NAMES)
        )
        self._execute = execute
        self._confirm = confirm

    def leave(self) -> None:
        """Roll back the open transaction, if there is one, and print a warning."""
        if transaction_mark(self.spark):
            outcome = run_statement(self.spark, "ROLLBACK", work=self._rows, progress=None)
            said = "was rolled back: it was not committed before the end"
            if outcome.error is not None:
                said = f"could not be rolled back, and ends by its time-out: {outcome.error}"
            sys.stderr.write(f"warning: the open transaction {said}\n")

    def run_batch(self, text: str, source: str | None = None) -> Ending:
        """Run statements one after the other until one fails.

        Args:
            text: the statements, separated by semicolons.
            source: name of the file of the statements, which is shown with errors.
        """
        for statement in split(text, lexis_of(self.settings.dialect)):
            ending = self.run_one(statement, source)
            if ending is not Ending.DONE:
                return ending
        return Ending.DONE

    def query(self, text: str) -> Result | None:
        """Return the rows of a statement of Spark's dialect; report its error and return None."""
        statement = Statement(text=text, line=1)
        outcome = self._outcome(statement, self._spark_rows)
        self._report(outcome, statement, None)
        return outcome.result

    def show(self, results: Sequence[tuple[str, Result]], expanded: str | None = None) -> None:
        """Show several results in one output.

        Args:
            results: headings and results. A heading can be empty, and formats for programs omit it.
            expanded: one of ``printer.EXPANSIONS``, which overrides the setting.
        """
        settings = self.settings
        has_headings = settings.format_name in SCREEN_FORMATS
        texts = []
        for heading, result in results:
            text = shown_text(
                result,
                settings.format_name,
                expanded=expanded or settings.expanded,
                columns=self.output.columns,
            )
            texts.append(f"{heading}\n{text}" if heading and has_headings else text)
        self.output.write("".join(texts), settings.pager)

    def run_one(self, statement: Statement, source: str | None) -> Ending:
        """Run a statement, or leave if it is ``exit`` or ``quit``."""
        if statement.text.lower() in _EXIT_WORDS:
            return Ending.EXIT
        if not self._is_wanted(statement, source):
            return Ending.FAILED
        run = self._export if self.settings.format_name in MACHINE_FORMATS else self._show
        ending, seconds = run(statement, source)
        # The statement may have created or dropped a table or a function.
        self.names.forget(functions="function" in statement.text.lower())
        if self.settings.timing:
            sys.stderr.write(f"{seconds:.2f} s\n")
        return ending

    def _show(self, statement: Statement, source: str | None) -> tuple[Ending, float]:
        """Run a statement and show its rows; return its ending and its seconds."""
        outcome = self._outcome(statement, self._rows)
        if outcome.result is not None:
            try:
                self.show([("", concise(outcome.result, statement.text))])
            except BrokenPipeError:
                raise
            except OSError as error:  # for example, the disk is full
                outcome = replace(outcome, result=None, error=error)
        return self._report(outcome, statement, source), outcome.seconds

    def _export(self, statement: Statement, source: str | None) -> tuple[Ending, float]:
        """Run a statement and write its rows as they arrive."""
        progress = TerminalBar() if self.settings.progress else None
        export = Export(
            self.output,
            format_name=self.settings.format_name,
            limit=self.settings.limit,
            pager=self.settings.pager,
            progress=progress,
        )
        outcome = run_statement(
            self.spark,
            statement.text,
            work=lambda spark, text: export.write(
                self._execute(spark, text, self.settings.dialect)
            ),
            progress=progress,
        )
        export.stop()
        if isinstance(outcome.error, BrokenPipeError):
            raise outcome.error
        ending = self._report(outcome, statement, source)
        if ending is not Ending.DONE and export.rows > 0:
            sys.stderr.write(f"the result is cut short: it ends after {export.rows} rows\n")
        return ending, outcome.seconds

    def _is_wanted(self, statement: Statement, source: str | None) -> bool:
        """Return whether to run a statement; ask the user if it is dangerous."""
        warning = warning_of(
            statement.text, self.settings.warned_of, lexis_of(self.settings.dialect)
        )
        if warning is None:
            return True
        if self._confirm is None:
            place = f"{source}:{statement.line}: " if source else ""
            sys.stderr.write(f"{place}error: not run: {warning}, and no user can be asked\n")
            return False
        wanted = self._confirm(f"{warning}. Run it?")
        if not wanted:
            sys.stderr.write("not run\n")
        return wanted

    def _outcome(
        self, statement: Statement, work: Callable[[SparkSession, str], Result]
    ) -> Outcome[Result]:
        progress = TerminalBar() if self.settings.progress else None
        return run_statement(self.spark, statement.text, work=work, progress=progress)

    def _rows(self, spark: SparkSession, text: str) -> Result:
        return fetch(self._execute(spark, text, self.settings.dialect), self._limit())

    def _spark_rows(self, spark: SparkSession, text: str) -> Result:
        return fetch(self._execute(spark, text, "spark"), self._limit())

    def _limit(self) -> int | None:
        """Return the largest number of rows to show in a format for people; None for all."""
        if self.settings.limit is not None or self.output.columns is None:
            return self.settings.limit
        return self.settings.shown

    def _report(self, outcome: Outcome[Any], statement: Statement, source: str | None) -> Ending:
        if outcome.result is not None:
            return Ending.DONE
        if outcome.error is None:
            sys.stderr.write(f"{LEFT_RUNNING}\n")
            return Ending.CANCELLED
        if outcome.cancelled:
            sys.stderr.write("cancelled\n")
            return Ending.CANCELLED
        sys.stderr.write(error_text(outcome.error, statement, source))
        hint = table_hint(outcome.error, self.names.tables)
        if hint is not None:
            sys.stderr.write(f"{hint}\n")
        see = page_hint(outcome.error) if sys.stderr.isatty() else None
        if see is not None:
            sys.stderr.write(f"{see}\n")
        if self.settings.tracebacks:
            sys.stderr.write("".join(traceback.format_exception(outcome.error)))
        return Ending.CANCELLED if outcome.interrupted else Ending.FAILED
