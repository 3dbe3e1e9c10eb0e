"""START TRANSACTION, COMMIT and ROLLBACK, and the statements that are refused between them."""

from __future__ import annotations

from pyspark.sql import DataFrame

from acidsql import bridge
from acidsql.commands import result
from acidsql.compaction import own_deletes
from acidsql.errors import TransactionStateError
from acidsql.session.acid_session import AcidSession
from acidsql.session.metrics import current
from acidsql.syntax import maintenance_statements, show_statements
from acidsql.syntax import statements as ast
from acidsql.transactions.current import current_transaction, refuse_in_transaction
from acidsql.transactions.explicit import ExplicitTransaction
from acidsql.transactions.start import roll_back_abandoned
from acidsql.transactions.start import start as begin

# Statements that change only rows, or nothing.
_ALLOWED = (
    maintenance_statements.AbortTransactions,
    ast.CacheTable,
    ast.ClearCache,
    ast.Commit,
    ast.Delete,
    show_statements.Describe,
    show_statements.DescribeDetail,
    show_statements.DescribeHealth,
    show_statements.DescribeHistory,
    show_statements.Explain,
    ast.Merge,
    maintenance_statements.RefreshTable,
    ast.Rollback,
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
    ast.Update,
    ast.Use,
)


def start(session: AcidSession, statement: ast.StartTransaction) -> DataFrame:
    """Run START TRANSACTION: this thread's statements belong to the transaction until it ends.

    Raises:
        TransactionStateError: NOT_ALLOWED_IN_TRANSACTION, the thread has an open transaction.
    """
    begin(session, read_only=statement.read_only)
    return result.nothing(session.spark)


def commit(session: AcidSession) -> DataFrame:
    """Run COMMIT.

    Raises:
        TransactionStateError: NO_ACTIVE_TRANSACTION, TXN_ABORTED.
        WriteConflictError: CONCURRENT_WRITE; everything is rolled back.
    """
    commit_transaction(_required(session, "COMMIT"))
    return result.nothing(session.spark)


def commit_transaction(transaction: ExplicitTransaction) -> None:
    """Commit a transaction of several statements, or roll it back."""
    transaction.commit(own_deletes.complete)


def rollback(session: AcidSession) -> DataFrame:
    """Run ROLLBACK.

    Raises:
        TransactionStateError: NO_ACTIVE_TRANSACTION.
    """
    _required(session, "ROLLBACK").rollback()
    return result.nothing(session.spark)


def _required(session: AcidSession, word: str) -> ExplicitTransaction:
    transaction = current_transaction(session)
    if transaction is None:
        raise TransactionStateError(
            "NO_ACTIVE_TRANSACTION",
            f"there is nothing to {word}: this thread has begun no transaction. Begin one with "
            "START TRANSACTION; a statement outside one commits by itself",
        )
    return transaction


def check_statement(session: AcidSession, statement: ast.Statement | None) -> None:
    """Refuse a statement that a transaction of several statements cannot contain, before it runs.

    ``check_of_spark`` checks Spark's statements.

    Raises:
        TransactionStateError: NOT_ALLOWED_IN_TRANSACTION.
    """
    roll_back_abandoned(session)
    if current_transaction(session) is None or _is_allowed(statement):
        return
    refuse_in_transaction(session, current().operation)


def _is_allowed(statement: ast.Statement | None) -> bool:
    match statement:
        case None:
            return True
        case ast.Insert():
            return not statement.overwrite
        case ast.MultiInsert():
            # Each branch is checked later, when its intent is known.
            return True
        case maintenance_statements.CheckTable():
            return not statement.repair or statement.dry_run
        case ast.CreateView():
            return statement.temporary or statement.global_temporary
        case _:
            return isinstance(statement, _ALLOWED)


def check_of_spark(session: AcidSession, plan: bridge.LogicalPlan) -> None:
    """Refuse a statement of Spark's that writes, because ROLLBACK cannot undo it.

    Args:
        session: the session.
        plan: the statement's plan, as Spark has parsed it.

    Raises:
        TransactionStateError: NOT_ALLOWED_IN_TRANSACTION.
    """
    if current_transaction(session) is None:
        return
    writing = bridge.written_by(session.spark, plan)
    if writing is not None:
        refuse_writing_of_spark(session, writing)


def refuse_writing_of_spark(session: AcidSession, writing: str) -> None:
    """Refuse a write of Spark's in a transaction of several statements.

    ROLLBACK cannot undo it.

    Args:
        session: the session.
        writing: words of the statement or the method, for the error.

    Raises:
        TransactionStateError: NOT_ALLOWED_IN_TRANSACTION.
    """
    refuse_in_transaction(session, f"{writing} outside of transactional tables")
