"""Checks of tables for the command line: ``acidsql check``."""

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

# Problems of one table that are shown.
_MOST = 100_000


@dataclass(slots=True, kw_only=True)
class Report:
    """Report of the checks of some tables.

    Attributes:
        result: the problems of all tables, with the name of the table in the first column; None
            if no table was checked.
        checked: number of tables that were checked.
        failed: whether a check could not be done.
        cancelled: whether the user cancelled it.
    """

    result: Result | None = None
    checked: int = 0
    failed: bool = False
    cancelled: bool = False

    @property
    def exit_code(self) -> int:
        """Exit code: 0 if nothing is worse than ``info``, 3 if something is, 1 if a table could not
        be checked, 130 if the checks were cancelled.
        """
        if self.cancelled:
            return 130
        if self.failed:
            return 1
        return 3 if self._serious() else 0

    @property
    def summary(self) -> str:
        """Line that says what was checked and found.

        >>> Report(checked=3).summary
        '3 tables checked, no problems'
        """
        found = 0 if self.result is None else len(self.result.rows)
        problems = counted(found, "problem") if found else "no problems"
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
    """Return the names of all transactional tables of the metastore, sorted."""
    metastore = AcidSession.of(spark).metastore
    found = []
    for database in metastore.databases():
        for name in metastore.tables(database):
            table = metastore.find_table(database, name)
            if table is not None and table.table_type is TableType.MANAGED:
                found.append(f"{quote(database)}.{quote(name)}")
    return found


def check_tables(
    spark: SparkSession, execute: Execute, names: Sequence[str], clauses: str, *, progress: bool
) -> Report:
    """Check tables one after the other; one that cannot be checked does not stop the others.

    Args:
        execute: runs one statement of a dialect, as ``acidsql.sql`` does.
        names: of the tables, as in SQL.
        clauses: of ``CHECK TABLE``, after the name.
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


def _append(report: Report, name: str, found: Result) -> None:
    own = replace(
        found,
        columns=("table", *found.columns),
        numeric=(False, *found.numeric),
        rows=tuple((name.replace("`", ""), *row) for row in found.rows),
    )
    if report.result is not None:
        own = replace(own, rows=report.result.rows + own.rows)
    report.result = own
