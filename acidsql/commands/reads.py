"""Statements that only read: a block that reads as of a moment may contain no others."""

from __future__ import annotations

from acidsql import bridge
from acidsql.session.acid_session import AcidSession
from acidsql.session.as_of_block import moment_of_block, refuse_in_block
from acidsql.session.metrics import current
from acidsql.syntax import maintenance_statements, show_statements
from acidsql.syntax import statements as ast

_READING = (
    show_statements.Describe,
    show_statements.DescribeDetail,
    show_statements.DescribeHealth,
    show_statements.DescribeHistory,
    show_statements.Explain,
    show_statements.ShowColumns,
    show_statements.ShowCompactions,
    show_statements.ShowCreateTable,
    show_statements.ShowDatabases,
    show_statements.ShowLocks,
    show_statements.ShowPartitions,
    show_statements.ShowTables,
    show_statements.ShowTags,
    show_statements.ShowTblProperties,
    show_statements.ShowTransactions,
    show_statements.ShowViews,
    maintenance_statements.RefreshTable,
    ast.Use,
)


def check_reads(session: AcidSession, statement: ast.Statement | None) -> None:
    """Refuse a statement that does more than read, in a block that reads as of a moment.

    ``check_reads_of_spark`` checks Spark's statements.

    Raises:
        AcidAnalysisError: NOT_ALLOWED_AS_OF.
    """
    if statement is not None and not isinstance(statement, _READING):
        refuse_in_block(session, current().operation)


def check_reads_of_spark(session: AcidSession, plan: bridge.LogicalPlan) -> None:
    """Refuse a statement of Spark's that writes, in a block that reads as of a moment.

    Args:
        session: the session.
        plan: the statement's plan, as Spark has parsed it.

    Raises:
        AcidAnalysisError: NOT_ALLOWED_AS_OF.
    """
    if moment_of_block(session) is None:
        return
    writing = bridge.written_by(session.spark, plan)
    if writing is not None:
        refuse_in_block(session, writing)
