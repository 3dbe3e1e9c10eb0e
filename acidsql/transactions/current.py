"""The transaction of several statements that the statements of a thread belong to."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from weakref import WeakSet

from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.errors import TransactionStateError
from acidsql.session.acid_session import AcidSession
from acidsql.session.owner_thread import owner_thread

if TYPE_CHECKING:
    from acidsql.transactions.explicit import ExplicitTransaction

_lock = threading.Lock()
_open: list[ExplicitTransaction] = []
# Sessions that have had a transaction of several statements.
_known: WeakSet[AcidSession] = WeakSet()


def current_transaction(session: AcidSession) -> ExplicitTransaction | None:
    """Return the transaction of several statements that this thread has begun, or None."""
    if not _open:
        return None
    owner = owner_thread()
    return next((t for t in transactions_of(session) if t.owner is owner), None)


def transactions_of(session: AcidSession) -> tuple[ExplicitTransaction, ...]:
    """Return the transactions of several statements of all threads of a session."""
    with _lock:
        return tuple(t for t in _open if t.session is session)


def transaction_mark(spark: SparkSession) -> str:
    """Return the mark of this thread's transaction in a Spark session for a prompt.

    This creates no ``AcidSession``.

    Returns:
        ``*`` for an open transaction, ``!`` for an aborted one that waits for its ROLLBACK, and an
        empty string without a transaction.
    """
    owner = owner_thread()
    with _lock:
        of_thread = [t for t in _open if t.owner is owner]
    key = bridge.session_key(spark) if of_thread else None
    for transaction in of_thread:
        if bridge.session_key(transaction.session.spark) == key:
            return "*" if transaction.is_open else "!"
    return ""


def enter(transaction: ExplicitTransaction) -> bool:
    """Register a transaction as the current one of the thread that owns it.

    Returns:
        Whether it is the first transaction of several statements in its session.
    """
    with _lock:
        _open.append(transaction)
        is_first = transaction.session not in _known
        _known.add(transaction.session)
        return is_first


def leave(transaction: ExplicitTransaction) -> None:
    """Forget a transaction that has ended."""
    with _lock:
        if transaction in _open:
            _open.remove(transaction)


def refuse_in_transaction(session: AcidSession, operation: str) -> None:
    """Refuse an operation in a transaction of several statements (Hive: ``ErrorMsg`` 20007).

    Args:
        session: the session.
        operation: refused operation, in the words of the statement.

    Raises:
        TransactionStateError: NOT_ALLOWED_IN_TRANSACTION, the thread has begun a transaction.
    """
    transaction = current_transaction(session)
    if transaction is not None:
        raise TransactionStateError(
            "NOT_ALLOWED_IN_TRANSACTION",
            f"{operation or 'this operation'} is not allowed in transaction {transaction.txn_id}, "
            "which has several statements: COMMIT it or ROLLBACK first",
            {"operation": operation, "txnId": str(transaction.txn_id)},
        )
