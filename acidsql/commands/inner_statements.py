"""EXECUTE IMMEDIATE, scripts and SQL functions that use ACID tables."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame

from acidsql import bridge
from acidsql.commands import result
from acidsql.errors import AcidAnalysisError
from acidsql.planning.name_resolution import find
from acidsql.planning.parsed_statement import refers_to_acid
from acidsql.session.acid_session import AcidSession
from acidsql.syntax import bind, parse
from acidsql.syntax.statements import MultiInsert
from acidsql.transactions.current import current_transaction, refuse_in_transaction


def refuse_inner(session: AcidSession, plan: bridge.LogicalPlan) -> None:
    """Refuse a script that changes ACID tables, and an SQL function that reads them.

    Spark runs the statements of both without acidsql.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.SQL_SCRIPT, UNSUPPORTED_FEATURE.SQL_FUNCTION.
    """
    for name in bridge.written_in_script(plan):
        if find(session, name) is not None:
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.SQL_SCRIPT",
                f"a script (BEGIN … END) cannot change the transactional table {'.'.join(name)}: "
                "run its statements one by one; START TRANSACTION … COMMIT makes one change of "
                "several",
            )
    text = bridge.function_text(session.spark, plan)
    if text is not None and refers_to_acid(session, text):
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.SQL_FUNCTION",
            "an SQL function cannot read transactional tables: make a view of its query",
        )


def execute_immediate(
    session: AcidSession, plan: bridge.LogicalPlan, run: Callable[[str], DataFrame]
) -> DataFrame | None:
    """Run EXECUTE IMMEDIATE if its statement uses ACID tables.

    Args:
        session: the session.
        plan: the statement's plan, as Spark has parsed it.
        run: runs a statement.

    Returns:
        None if the plan is another statement, or uses no ACID table.

    Raises:
        AcidAnalysisError: ROW_SUBQUERY_TOO_MANY_ROWS, INTO gets more than one row.
        TransactionStateError: NOT_ALLOWED_IN_TRANSACTION.
    """
    immediate = bridge.execute_immediate(session.spark, plan)
    if immediate is None or not _is_ours(session, immediate.text):
        return None
    if current_transaction(session) is not None:
        refuse_in_transaction(session, "EXECUTE IMMEDIATE")
    values = [bridge.literal_sql(session.spark, value) for value in immediate.values]
    names = [name for name in immediate.names if name is not None]
    arguments = dict(zip(names, values, strict=True)) if names else values
    frame = run(bind(immediate.text, arguments or None))
    if not immediate.targets:
        return frame
    rows = frame.take(2)
    if len(rows) > 1:
        raise AcidAnalysisError(
            "ROW_SUBQUERY_TOO_MANY_ROWS",
            "the query of EXECUTE IMMEDIATE … INTO has more than one row: add a condition, or "
            "LIMIT 1",
        )
    row = list(rows[0]) if rows else [None] * len(immediate.targets)
    given = ", ".join(bridge.literal_sql(session.spark, value) for value in row)
    session.spark.sql(f"SET VARIABLE ({', '.join(immediate.targets)}) = (SELECT {given})")
    return result.nothing(session.spark)


def _is_ours(session: AcidSession, text: str) -> bool:
    """Return whether a statement reads or writes ACID tables."""
    statement = parse(text)
    names = (
        [branch.name for branch in statement.branches]
        if (isinstance(statement, MultiInsert))
        else [getattr(statement, "name", None)]
    )
    if any(name is not None and find(session, name) is not None for name in names):
        return True
    return refers_to_acid(session, text)
