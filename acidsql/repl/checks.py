"""Checks of tables from the command line: ``acidsql check``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from acidsql.metastore.model import TableType
from acidsql.repl.printer import counted, summary
from acidsql.repl.runner import Execute, Result, TerminalBar, fetch, run_statement
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.lexer import quote

# Largest number of problems to show for one table.
_MOST = 100_000


@dataclass(slots=True, kw_only=True)
class Report:
    """Report of the checks of some tables.

    Attributes:
        result: problems of all tables, with the name of the table in the first column; None if no
            table was checked.
        checked: number of tables that were checked.
        failed: whether a table could not be checked.
        cancelled: whether the user cancelled the checks.
    """

    result: Result | None = None
    checked: int = 0
    failed: bool = False
    cancelled: bool = False

    @property
    def exit_code(self) -> int:
        """Exit code of the command.

        It is 0 if no problem is worse than ``info``, otherwise 3. It is 1 if a table could not be
        checked, and 130 if the user cancelled the checks.
        """
        if self.cancelled:
            return 130
        if self.failed:
            return 1
        return 3 if self._serious() else 0

    @property
    def summary(self) -> str:
        """Line with the numbers of checked tables and of problems.

        >>> Report(checked=3).summary
        '3 tables checked, no problems'
        """
        number = 0 if self.result is None else len(self.result.rows)
        problems = counted(number, "problem") if number else "no problems"
        return f"{counted(self.checked, 'table')} checked, {problems}"

    def _serious(self) -> bool:
        if self.result is None:
            return False
        severity = self.result.columns.index("severity")
        done = self.result.columns.index("repaired") if "repaired" in self.result.columns else None
        return any(
            row[severity] != "info" and (done is None or row[done] is not True)
            for row in self.result.rows
        )


def all_tables(spark: SparkSession) -> list[str]:
    """Return the sorted names of all transactional tables in the metastore."""
    metastore = AcidSession.of(spark).metastore
    names = []
    for database in metastore.databases():
        for name in metastore.tables(database):
            table = metastore.find_table(database, name)
            if table is not None and table.table_type is TableType.MANAGED:
                names.append(f"{quote(database)}.{quote(name)}")
    return names


def check_tables(
    spark: SparkSession, execute: Execute, names: Sequence[str], clauses: str, *, progress: bool
) -> Report:
    """Check tables one after the other; continue if one cannot be checked.

    Args:
        spark: the session.
        execute: function that runs one statement of a dialect, like ``acidsql.sql``.
        names: names of the tables, as in SQL.
        clauses: clauses of ``CHECK TABLE`` after the name.
        progress: whether to show a progress bar.
    """
    report = Report()
    for name in names:
        outcome = run_statement(
            spark,
            f"CHECK TABLE {name} {clauses}",
            work=lambda session, text: fetch(execute(session, text, "spark"), _MOST),
            progress=TerminalBar() if progress else None,
        )
        if outcome.error is not None and not outcome.interrupted:
            sys.stderr.write(f"error: {name}: {summary(outcome.error)}\n")
            report.failed = True
        elif outcome.result is None:
            report.cancelled = True
            break
        else:
            report.checked += 1
            _append(report, name, outcome.result)
    return report


def _append(report: Report, name: str, result: Result) -> None:
    with_table = replace(
        result,
        columns=("table", *result.columns),
        numeric=(False, *result.numeric),
        rows=tuple((name.replace("`", ""), *row) for row in result.rows),
    )
    if report.result is not None:
        with_table = replace(with_table, rows=report.result.rows + with_table.rows)
    report.result = with_table
