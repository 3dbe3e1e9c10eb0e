"""Beginning of a statement that writes: its transaction, locks, write ids and snapshot."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace

from acidsql.deferred_signals import Interruptible
from acidsql.errors import AcidAnalysisError
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.injection_points import Point, reach
from acidsql.metastore import failures
from acidsql.metastore.model import LockRequest, LockState, LockType, Operation
from acidsql.metastore.write_ids_ahead import learn_write_ids
from acidsql.session.acid_session import AcidSession
from acidsql.session.metrics import Phase, phase
from acidsql.session.settings import Isolation, isolation, retries
from acidsql.session.table_owner import check_owner
from acidsql.transactions.current import current_transaction
from acidsql.transactions.transaction import Transaction, transaction
from acidsql.transactions.write_intent import WriteIntent


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """Statement of a transaction that has its locks, its write ids and its snapshot.

    Attributes:
        transaction: transaction of the statement.
        txns: transactions that the statement sees.
        write_ids: write ids of the transaction, by the full name of a table.
        seen: write ids that the statement sees, by the full name of a table; tables are left out if
            their write ids were not fetched.
    """

    transaction: Transaction
    txns: ValidTxnList
    write_ids: Mapping[str, int]
    seen: Mapping[str, ValidWriteIdList]


@contextmanager
def begin(
    session: AcidSession, intents: Sequence[WriteIntent], opened: Transaction | None = None
) -> Iterator[Begun]:
    """Get the locks, write ids and snapshot of a statement; the block commits it.

    The statement belongs to the transaction of several statements that the thread has begun, or it
    gets its own transaction. If its own transaction had to wait for locks, it is aborted and
    replaced by a new one: an UPDATE or DELETE by the transactions that it waited for would make its
    commit a conflict. With exclusive locks this is necessary only on Hive 3.1.

    Args:
        session: the session.
        intents: operations that the statement is going to perform.
        opened: a transaction that is already open, on tables that no other transaction knows; it
            never has to wait.

    Raises:
        LockTimeoutError: LOCK_TIMEOUT.
        TransactionStateError: NOT_ALLOWED_IN_TRANSACTION, READ_ONLY_TRANSACTION, TXN_ABORTED.
        WriteConflictError: CONCURRENT_WRITE, another writer blocks a transaction of several
            statements.
    """
    deadline = time.monotonic() + session.settings.lock_timeout
    while True:
        with _transaction(session, intents, opened) as txn:
            with phase(Phase.BEGIN):
                begun = _attempt(txn, intents, max(0.0, deadline - time.monotonic()))
            if begun is not None:
                reach(Point.BEGUN, txn)
                yield begun
                return
            if opened is not None:
                reason = "somebody else wrote to its new table"
                raise failures.txn_aborted(opened.txn_id, reason)


def _transaction(
    session: AcidSession, intents: Sequence[WriteIntent], opened: Transaction | None
) -> AbstractContextManager[Transaction]:
    """Return the context of the transaction that a statement belongs to."""
    if opened is not None:
        return _interruptible(opened)
    explicit = current_transaction(session)
    return transaction(session) if explicit is None else explicit.statement(intents)


@contextmanager
def _interruptible(opened: Transaction) -> Iterator[Transaction]:
    with Interruptible():
        yield opened


def _attempt(txn: Transaction, intents: Sequence[WriteIntent], timeout: float) -> Begun | None:
    """Get locks, write ids and the snapshot.

    Returns:
        None if the transaction must begin again.
    """
    metastore = txn.session.metastore
    requests = [intent.request() for intent in intents]
    exclusive = any(intent.lock is LockType.EXCLUSIVE for intent in intents)
    if txn.autocommit and not exclusive:
        # A Hive Metastore records the write ids with the lock. Locking first takes one more call.
        write_ids = allocate(txn, intents)
        if txn.wait_for_locks(requests, timeout):
            return None
    else:
        # The write ids are allocated after the wait, which may be long. The wait may also be for
        # an overwrite, and its base must not hide the new rows.
        unreported = [i.request() for i in intents if i.table.full_name not in txn.tables]
        fresh = [request for request in requests if request not in txn.locks]
        acquired = without_operations(txn, fresh, unreported)
        waited = bool(fresh) and txn.wait_for_locks(acquired, timeout)
        changes = any(i.operation in (Operation.UPDATE, Operation.DELETE) for i in intents)
        if waited and txn.autocommit and changes and metastore.waiting_may_conflict:
            return None
        write_ids = allocate(txn, intents)
        report_operations(txn, unreported)
    txn.locks.update(requests)
    if txn.txns is not None:
        return Begun(transaction=txn, txns=txn.txns, write_ids=write_ids, seen={})
    txns = metastore.valid_txns()
    seen = {}
    if not exclusive:
        seen = {
            i.table.full_name: metastore.valid_write_ids(i.table.database, i.table.name, txns)
            for i in intents
        }
    # Hive would not apply delete events to rows of later write ids, and a base with a later write
    # id would hide the new rows.
    if any(_sees_later(seen[name], write_ids[name]) for name in seen):
        return None
    return Begun(transaction=txn, txns=txns, write_ids=write_ids, seen=seen)


def _sees_later(seen: ValidWriteIdList, write_id: int) -> bool:
    return any(seen.is_valid(w) for w in range(write_id + 1, seen.high_water_mark + 1))


def checked_isolation(session: AcidSession) -> Isolation:
    """Return the isolation of a statement.

    This checks all settings that the commit needs before anything is written.

    Raises:
        AcidAnalysisError: INVALID_CONF_VALUE; UNSUPPORTED_FEATURE.SERIALIZABLE, the metastore
            cannot watch tables.
    """
    retries(session.spark)
    requested = isolation(session.spark)
    if requested is Isolation.SERIALIZABLE and not session.metastore.capabilities.compares_rows:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.SERIALIZABLE",
            "spark.acidsql.isolation is serializable, and a Hive Metastore does not report at "
            "a commit what others have changed: set it to snapshot",
        )
    return requested


def without_operations(
    txn: Transaction, requests: Sequence[LockRequest], unreported: Sequence[LockRequest]
) -> Sequence[LockRequest]:
    """Return lock requests without operations for tables where the transaction has no write id.

    A Hive Metastore records an operation together with the write id that the transaction has when
    it requests the lock. ``report_operations`` therefore reports these operations later.

    Args:
        txn: the transaction.
        requests: the requests.
        unreported: requests for tables where the transaction has no write id yet.
    """
    if not txn.session.metastore.capabilities.learns_writes_from_locks:
        return requests
    return [
        replace(r, operation=Operation.SELECT, dynamic_partitions=False) if r in unreported else r
        for r in requests
    ]


def report_operations(txn: Transaction, requests: Sequence[LockRequest]) -> None:
    """Report to a Hive Metastore the operations that a transaction performs under its locks.

    The transaction must have its write ids. The metastore records the operations even if it does
    not grant the request. The request waits if another request waits for this transaction, and is
    then withdrawn.
    """
    metastore = txn.session.metastore
    reported = [replace(r, type=LockType.SHARED_READ) for r in requests if _has_operation(r)]
    if not reported or not metastore.capabilities.learns_writes_from_locks:
        return
    if metastore.lock(txn.txn_id, reported) is LockState.WAITING:
        metastore.withdraw_locks(txn.txn_id)


def _has_operation(request: LockRequest) -> bool:
    return request.operation is not Operation.SELECT or request.dynamic_partitions


def allocate(txn: Transaction, intents: Sequence[WriteIntent]) -> dict[str, int]:
    """Allocate the write ids of a transaction in the tables that it is going to write."""
    session = txn.session
    reach(Point.BEFORE_WRITE_IDS, txn)
    for intent in intents:
        check_owner(session, intent.table)
        learn_write_ids(session, intent.table, intent.partition)
    write_ids: dict[str, int] = {}
    for intent in intents:
        table = intent.table
        write_ids[table.full_name] = session.metastore.allocate_write_id(
            txn.txn_id, table.database, table.name, intent.statement
        )
        txn.tables.setdefault(table.full_name, table)
    return write_ids
