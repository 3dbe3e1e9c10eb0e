"""Magics, which run the statements of a cell and show the rows of the last one, or an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import no_var_expand
from pyspark.sql import DataFrame, SparkSession

from acidsql.api import sql
from acidsql.notebook.cell import Cell, parse_cell
from acidsql.notebook.progress import progress_of
from acidsql.notebook.table import ResultTable
from acidsql.repl.printer import error_text
from acidsql.repl.runner import LEFT_RUNNING, fetch, run_statement
from acidsql.repl.session import error_loggers, silence
from acidsql.repl.statements import Statement
from acidsql.syntax.parameters import names_of

_NAME = "acidsql"

_Answer = TypeVar("_Answer")
_Error = TypeVar("_Error", bound=BaseException)


def register(shell: InteractiveShell) -> None:
    """Register the magics ``%acidsql`` and ``%%acidsql`` in a shell."""

    def acidsql(line: str, cell: str | None = None) -> ResultTable | None:
        """Run SQL on Hive ACID tables, and show the rows of the last statement.

        In a line, and in a cell with several statements::

            %acidsql SELECT * FROM pet

            %%acidsql --limit 20
            UPDATE pet SET name = 'Felix' WHERE id = 2;
            SELECT * FROM pet

        `:name` is the value of a variable of the notebook.
        `name << SELECT …` keeps the last statement's DataFrame in a variable, and shows nothing.
        The session is the variable `spark`, or else Spark's active session.

        Options, before the SQL:

        --dialect NAME  the dialect of the SQL: spark (the default), hive or trino
        --limit N       rows to show at most (100)
        --spark NAME    the variable that has the session
        """
        return _run(shell, parse_cell(line, cell))

    # Without no_var_expand, IPython would replace {…} and $… in SQL by values of variables.
    shell.register_magic_function(no_var_expand(acidsql), "line_cell", _NAME)


def unregister(shell: InteractiveShell) -> None:
    """Remove the magics from a shell."""
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop(_NAME, None)


def _run(shell: InteractiveShell, cell: Cell) -> ResultTable | None:
    spark = _session(shell, cell.spark)

    variables = _variables(shell, cell)

    def frame(session: SparkSession, text: str) -> DataFrame:
        args = {name: variables[name] for name in names_of(text)}
        return sql(session, text, args or None, dialect=cell.dialect)

    def rows(session: SparkSession, text: str) -> ResultTable:
        return ResultTable(fetch(frame(session, text), cell.limit))

    *others, last = cell.statements
    with _without_stack_traces():
        for statement in others:
            _answer(shell, spark, statement, rows)
        if cell.variable is None:
            return _answer(shell, spark, last, rows)
        shell.user_ns[cell.variable] = _answer(shell, spark, last, frame)
    return None


def _variables(shell: InteractiveShell, cell: Cell) -> dict[str, Any]:
    """Return the values of the variables that the statements use as parameters, ``:name``."""
    names = {name for statement in cell.statements for name in names_of(statement.text)}
    missing = sorted(names - shell.user_ns.keys())
    if missing:
        raise UsageError(
            f"there is no variable {missing[0]} for the parameter :{missing[0]} of the statement"
        )
    return {name: shell.user_ns[name] for name in names}


def _session(shell: InteractiveShell, variable: str | None) -> SparkSession:
    """Return the session of a variable; by default that of ``spark``, otherwise the active one."""
    value = shell.user_ns.get(variable or "spark")
    if isinstance(value, SparkSession):
        return value
    if variable is not None:
        raise UsageError(f"--spark {variable}: there is no Spark session in this variable")
    active = SparkSession.getActiveSession()
    if active is None:
        raise UsageError(
            "there is no Spark session: make one, as with "
            "spark = SparkSession.builder.getOrCreate(), or name its variable with --spark"
        )
    return active


def _answer(
    shell: InteractiveShell,
    spark: SparkSession,
    statement: Statement,
    work: Callable[[SparkSession, str], _Answer],
) -> _Answer:
    """Run a statement; its error ends the cell, and IPython shows it in a few lines."""
    outcome = run_statement(spark, statement.text, work=work, progress=progress_of(shell))
    if outcome.result is not None:
        return outcome.result
    if outcome.error is None:
        raise _shown_as(KeyboardInterrupt(), LEFT_RUNNING)
    if outcome.cancelled:
        raise _shown_as(KeyboardInterrupt(), "cancelled") from outcome.error
    raise _shown_as(outcome.error, error_text(outcome.error, statement).rstrip("\n"))


def _shown_as(error: _Error, text: str) -> _Error:
    """Make IPython show a text instead of the traceback of an error."""
    error._render_traceback_ = text.splitlines  # type: ignore[attr-defined] # IPython asks for it
    return error


@contextmanager
def _without_stack_traces() -> Iterator[None]:
    """Prevent PySpark from writing a report of each error below the cell."""
    levels = {logger: logger.level for logger in error_loggers()}
    for logger in levels:
        silence(logger)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)
