"""Statements that are analysed before their transaction begins.

A statement that cannot be parsed or resolved therefore takes no lock and no write id. The analysis
uses placeholders. Scans of the transaction's snapshot replace them later, so that nothing is
analysed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from acidsql import bridge
from acidsql.metastore.model import Table, TableType
from acidsql.planning.name_resolution import CATALOG
from acidsql.planning.parsed_statement import ParsedStatement, parse_and_resolve
from acidsql.planning.placeholder_relations import Occurrence, PlaceholderPass, fill
from acidsql.planning.statement import StatementSnapshot
from acidsql.planning.statement_snapshots import latest_snapshot
from acidsql.session.acid_session import AcidSession
from acidsql.session.metrics import Phase, phase

Analysis = Callable[[bridge.LogicalPlan], bridge.LogicalPlan]
"""Analyses a plan over placeholders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Analysed statement that writes into a table.

    Attributes:
        target: the table, as it was at the analysis.
        parsed: the statement with the tables that it refers to.
        plan: analysed plan over placeholders.
        placeholders: table of each placeholder.
    """

    target: Table
    parsed: ParsedStatement
    plan: bridge.LogicalPlan
    placeholders: Mapping[Occurrence, Table]

    def is_current(self, session: AcidSession, target: Table) -> bool:
        """Return whether an analysis would give the same result now.

        The result is False if this is unknown: for views, whose tables may have changed, and for
        versions and changes of tables, which depend on the time of the statement.

        Args:
            target: the table as it is now.
        """
        if target != self.target:
            return False
        if any(t.table_type is TableType.VIEW for t in self.parsed.tables.values()):
            return False
        if any(t.as_of is not None or t.changes is not None for t in self.placeholders.values()):
            return False
        others = [t for t in self.parsed.tables.values() if t != target]
        return all(session.metastore.find_table(t.database, t.name) == t for t in others)


def prepare(
    session: AcidSession,
    target: Table,
    text: str,
    analysis: Analysis,
    snapshot: StatementSnapshot | None = None,
    *,
    changes_columns: bool = False,
) -> Prepared:
    """Parse and analyse a statement; this reads only the definitions of tables in the metastore.

    Args:
        session: the session.
        target: the table that the statement writes, with the columns that it is going to have.
        text: text of the statement.
        analysis: analyses the plan of the statement.
        snapshot: snapshot that the statement reads once its transaction is open.
        changes_columns: whether the first reference of the statement is to the target with these
            columns. The metastore may lack some of these columns.

    Raises:
        AnalysisException: Spark cannot parse or resolve the statement.
    """
    with phase(Phase.PLAN):
        parsed = parse_and_resolve(session, text)
        if changes_columns:
            parsed = replace(parsed, target=target)
        placeholders = PlaceholderPass(session.spark)
        plan = parsed.plan
        if parsed.tables:
            if snapshot is None:
                snapshot = latest_snapshot(session)
                snapshot.changed = frozenset({target.full_name})
            plan = snapshot.plan_over(parsed, placeholders)
        with bridge.naming_table(session.spark, (CATALOG, target.database, target.name)):
            plan = analysis(plan)
        return Prepared(target=target, parsed=parsed, plan=plan, placeholders=placeholders.tables)


def over_scans(
    snapshot: StatementSnapshot,
    prepared: Prepared,
    requested: Analysis,
    *,
    whole_rows: bool,
) -> bridge.LogicalPlan:
    """Return the analysed plan of a statement over scans of the rows that it requires.

    Args:
        snapshot: snapshot that the statement reads.
        prepared: the statement.
        requested: converts the plan over placeholders to the plan whose required rows are found.
        whole_rows: whether the statement uses more columns than that plan.
    """
    if not prepared.placeholders:
        return prepared.plan
    scans = snapshot.required_scans(
        prepared.parsed,
        prepared.placeholders,
        lambda: requested(prepared.plan),
        whole_rows=whole_rows,
    )
    return fill(snapshot.session.spark, prepared.plan, scans)
