"""Beginning of a statement that writes: its transaction, locks, write ids and snapshot."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace

from acidsql.deferred_signals import Interruptible
from acidsql.errors import AcidAnalysisError
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore import failures
from acidsql.metastore.model import LockRequest, LockState, LockType, Operation
from acidsql.metastore.write_ids_ahead import learn_write_ids
from acidsql.session.acid_session import AcidSession
from acidsql.session.metrics import Phase, phase
from acidsql.session.settings import Isolation, isolation, retries
from acidsql.session.table_owner import check_owner
from acidsql.transactions.current import current_transaction
from acidsql.transactions.injection_points import Point, reach
from acidsql.transactions.transaction import Transaction, transaction
from acidsql.transactions.write_intent import WriteIntent


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """Statement whose transaction has its locks, its write ids and its snapshot.

    Attributes:
        txns: transactions that it sees.
        write_ids: its own, by the full name of a table.
        seen: write ids that it sees, by the full name of a table; only those that were fetched.
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

    It is one of the transaction of several statements that the thread has begun, or a transaction
    of its own. If the latter had to wait for locks, it is aborted and another one is opened. An
    UPDATE or DELETE by the transactions that it waited for would make its commit a conflict. With
    exclusive locks that is necessary only on Hive 3.1.

    Args:
        session: the session.
        intents: what the statement is going to do.
        opened: a transaction that is open already, on tables that no other one knows; it never has
            to wait.

    Raises:
        LockTimeoutError: LOCK_TIMEOUT.
        TransactionStateError: NOT_ALLOWED_IN_TRANSACTION, READ_ONLY_TRANSACTION, TXN_ABORTED.
        WriteConflictError: CONCURRENT_WRITE, another writer is in the way of a transaction of
            several statements.
    """
    deadline = time.monotonic() + session.settings.lock_timeout
    while True:
        with _transaction(session, intents, opened) as own:
            with phase(Phase.BEGIN):
                begun = _attempt(own, intents, max(0.0, deadline - time.monotonic()))
            if begun is not None:
                reach(Point.BEGUN, own)
                yield begun
                return
            if opened is not None:
                reason = "somebody else wrote to its new table"
                raise failures.txn_aborted(opened.txn_id, reason)


def _transaction(
    session: AcidSession, intents: Sequence[WriteIntent], opened: Transaction | None
) -> AbstractContextManager[Transaction]:
    """Return the context of the transaction to which a statement belongs."""
    if opened is not None:
        return _interruptible(opened)
    explicit = current_transaction(session)
    return transaction(session) if explicit is None else explicit.statement(intents)


@contextmanager
def _interruptible(opened: Transaction) -> Iterator[Transaction]:
    with Interruptible():
        yield opened


def _attempt(own: Transaction, intents: Sequence[WriteIntent], timeout: float) -> Begun | None:
    """Get locks, write ids and the snapshot.

    Returns:
        None if the transaction must begin again.
    """
    metastore = own.session.metastore
    requests = [intent.request() for intent in intents]
    exclusive = any(intent.lock is LockType.EXCLUSIVE for intent in intents)
    if own.autocommit and not exclusive:
        # A Hive Metastore records the write ids with the lock; the other order takes one more call.
        write_ids = allocate(own, intents)
        if own.wait_for_locks(requests, timeout):
            return None
    else:
        # The wait may be long, or for an overwrite: its base must not hide what is written now.
        untold = [i.request() for i in intents if i.table.full_name not in own.tables]
        fresh = [request for request in requests if request not in own.locks]
        waited = bool(fresh) and own.wait_for_locks(without_operations(own, fresh, untold), timeout)
        changes = any(i.operation in (Operation.UPDATE, Operation.DELETE) for i in intents)
        if waited and own.autocommit and changes and metastore.waiting_may_conflict:
            return None
        write_ids = allocate(own, intents)
        tell_operations(own, untold)
    own.locks.update(requests)
    if own.txns is not None:
        return Begun(transaction=own, txns=own.txns, write_ids=write_ids, seen={})
    txns = metastore.valid_txns()
    seen = {}
    if not exclusive:
        seen = {
            i.table.full_name: metastore.valid_write_ids(i.table.database, i.table.name, txns)
            for i in intents
        }
    # Hive would not apply delete events to rows of later write ids, and a base of such a one would
    # hide what is written now.
    if any(_sees_later(seen[name], write_ids[name]) for name in seen):
        return None
    return Begun(transaction=own, txns=txns, write_ids=write_ids, seen=seen)


def _sees_later(seen: ValidWriteIdList, write_id: int) -> bool:
    return any(seen.is_valid(w) for w in range(write_id + 1, seen.high_water_mark + 1))


def checked_isolation(session: AcidSession) -> Isolation:
    """Return the isolation of a statement, whose settings that matter at the commit are checked
    before anything is written.

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
    own: Transaction, requests: Sequence[LockRequest], untold: Sequence[LockRequest]
) -> Sequence[LockRequest]:
    """Return requests for locks to acquire, some before the transaction has write ids.

    A Hive Metastore records an operation together with the write id that the transaction has when
    it requests the lock. So it learns the operations later, by ``tell_operations``.

    Args:
        own: the transaction.
        requests: the requests.
        untold: those in tables where it has no write id yet.
    """
    if not own.session.metastore.capabilities.learns_writes_from_locks:
        return requests
    return [
        replace(r, operation=Operation.SELECT, dynamic_partitions=False) if r in untold else r
        for r in requests
    ]


def tell_operations(own: Transaction, requests: Sequence[LockRequest]) -> None:
    """Report to a Hive Metastore what a transaction does under the locks that it holds, now that it
    has its write ids.

    The request counts, whether it is granted or not. It waits if another one waits for this
    transaction, and is withdrawn then.
    """
    metastore = own.session.metastore
    reported = [replace(r, type=LockType.SHARED_READ) for r in requests if _has_operation(r)]
    if not reported or not metastore.capabilities.learns_writes_from_locks:
        return
    if metastore.lock(own.txn_id, reported) is LockState.WAITING:
        metastore.withdraw_locks(own.txn_id)


def _has_operation(request: LockRequest) -> bool:
    return request.operation is not Operation.SELECT or request.dynamic_partitions


def allocate(own: Transaction, intents: Sequence[WriteIntent]) -> dict[str, int]:
    """Allocate the write ids of a transaction in the tables that it is going to write."""
    session = own.session
    reach(Point.BEFORE_WRITE_IDS, own)
    for intent in intents:
        check_owner(session, intent.table)
        learn_write_ids(session, intent.table, intent.partition)
    write_ids: dict[str, int] = {}
    for intent in intents:
        table = intent.table
        write_ids[table.full_name] = session.metastore.allocate_write_id(
            own.txn_id, table.database, table.name, intent.statement
        )
        own.tables.setdefault(table.full_name, table)
    return write_ids
