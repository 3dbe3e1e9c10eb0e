"""Beginning of a write transaction: its locks, write ids and snapshot."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from acidsql.errors import AcidAnalysisError
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore import failures
from acidsql.metastore.model import LockRequest, LockState, LockType, Operation
from acidsql.metastore.write_ids_ahead import learn_write_ids
from acidsql.session.acid_session import AcidSession
from acidsql.session.as_of_block import refuse_in_block
from acidsql.session.metrics import Phase, phase
from acidsql.session.settings import Isolation, isolation, retries
from acidsql.session.table_owner import check_owner
from acidsql.transactions.injection_points import Point, reach
from acidsql.transactions.recorded import recorded
from acidsql.transactions.transaction import Transaction, transaction
from acidsql.transactions.write_intent import WriteIntent
from acidsql.transactions.written import Written

if TYPE_CHECKING:
    from acidsql.transactions.write_transaction import WriteTransaction


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedTransaction:
    """Transaction that has its locks, its write ids and its snapshot.

    Attributes:
        txns: transactions that it sees.
        write_ids: its own, by the full name of a table.
        seen: write ids that it sees, by the full name of a table; only those that were asked for.
        isolation: of the statement.
        number: of the statement in a transaction of several, else None.
        earlier: what earlier statements of such a transaction wrote, by the full name of a table.
        writes: what the statement does to each table.
    """

    transaction: Transaction
    txns: ValidTxnList
    write_ids: Mapping[str, int]
    seen: Mapping[str, ValidWriteIdList]
    isolation: Isolation = Isolation.SNAPSHOT
    number: int | None = None
    earlier: Mapping[str, Written] | None = None
    writes: list[WriteTransaction] = field(default_factory=list)


@contextmanager
def begin(
    session: AcidSession, intents: Sequence[WriteIntent], opened: Transaction | None = None
) -> Iterator[OpenedTransaction]:
    """Open a transaction, and get its locks, write ids and snapshot; the block commits it.

    If it had to wait for locks, it is aborted and another one opened: an UPDATE or DELETE by the
    transactions that it waited for would make its commit a conflict. With exclusive locks that is
    necessary on Hive 3.1 alone.

    Args:
        session: the session.
        intents: what the transaction is going to do.
        opened: a transaction that is open already, on tables that nobody else knows; it never has
            to wait.

    Raises:
        AcidAnalysisError: INVALID_CONF_VALUE.
        LockTimeoutError: LOCK_TIMEOUT.
        TransactionStateError: TXN_ABORTED.
    """
    refuse_in_block(session, intents[0].statement.operation if intents else "")
    asked = checked_isolation(session)
    intents = [replace(i, statement=recorded(session, i.statement)) for i in intents]
    deadline = time.monotonic() + session.settings.lock_timeout
    attempt = _begin_exclusive if _is_exclusive(intents) else _begin_shared
    if opened is not None:
        with phase(Phase.BEGIN):
            begun = attempt(opened, intents, session.settings.lock_timeout)
        if begun is None:
            raise failures.txn_aborted(opened.txn_id, "somebody else wrote to its new table")
        yield replace(begun, isolation=asked)
        return
    while True:
        with transaction(session) as fresh:
            with phase(Phase.BEGIN):
                begun = attempt(fresh, intents, max(0.0, deadline - time.monotonic()))
            if begun is not None:
                reach(Point.BEGUN, fresh)
                yield replace(begun, isolation=asked)
                return


def checked_isolation(session: AcidSession) -> Isolation:
    """Return the isolation of a statement, whose settings that matter at the commit are checked
    before anything is written.

    Raises:
        AcidAnalysisError: INVALID_CONF_VALUE; UNSUPPORTED_FEATURE.SERIALIZABLE, the metastore
            cannot watch tables.
    """
    retries(session.spark)
    asked = isolation(session.spark)
    if asked is Isolation.SERIALIZABLE and not session.metastore.capabilities.compares_rows:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.SERIALIZABLE",
            "spark.acidsql.isolation is serializable, and a Hive Metastore does not tell at a "
            "commit what others have changed: set it to snapshot",
        )
    return asked


def _is_exclusive(intents: Sequence[WriteIntent]) -> bool:
    return any(intent.lock is LockType.EXCLUSIVE for intent in intents)


def _begin_shared(
    opened: Transaction, intents: Sequence[WriteIntent], timeout: float
) -> OpenedTransaction | None:
    """Get write ids, then shared locks, then the snapshot.

    Write ids come first because a Hive Metastore records them with the lock, and needs them to
    clean up. The snapshot is taken under the lock and sees all that has committed by then, also by
    transactions that opened later. It must have no write id above that of this transaction: Hive
    would not apply delete events to such rows, and a base would hide what is written now.

    Returns:
        None if the transaction must begin anew.
    """
    metastore = opened.session.metastore
    write_ids = allocate(opened, intents)
    if opened.wait_for_locks([i.request() for i in intents], timeout):
        return None
    txns = metastore.valid_txns()
    seen = {
        i.table.full_name: metastore.valid_write_ids(i.table.database, i.table.name, txns)
        for i in intents
    }
    if any(_sees_later(seen[name], write_ids[name]) for name in seen):
        return None
    return OpenedTransaction(transaction=opened, txns=txns, write_ids=write_ids, seen=seen)


def _sees_later(seen: ValidWriteIdList, write_id: int) -> bool:
    return any(seen.is_valid(w) for w in range(write_id + 1, seen.high_water_mark + 1))


def _begin_exclusive(
    opened: Transaction, intents: Sequence[WriteIntent], timeout: float
) -> OpenedTransaction | None:
    """Get exclusive locks, then the snapshot, then write ids.

    Locks come first because the wait may be long: the write ids are then above those of every
    earlier writer.

    Returns:
        None if the transaction must begin anew.
    """
    metastore = opened.session.metastore
    requests = [i.request() for i in intents]
    waited = opened.wait_for_locks(without_operations(opened, requests), timeout)
    changes = any(i.operation in (Operation.UPDATE, Operation.DELETE) for i in intents)
    if waited and changes and metastore.waiting_may_conflict:
        return None
    txns = metastore.valid_txns()
    write_ids = allocate(opened, intents)
    tell_operations(opened, requests)
    return OpenedTransaction(transaction=opened, txns=txns, write_ids=write_ids, seen={})


def without_operations(
    opened: Transaction, requests: Sequence[LockRequest]
) -> Sequence[LockRequest]:
    """Return requests for locks to acquire before the transaction has write ids.

    A Hive Metastore records an operation together with the write id that the transaction has when
    it requests the lock. So it learns the operations later, by ``tell_operations``.
    """
    if not opened.session.metastore.capabilities.learns_writes_from_locks:
        return requests
    return [replace(r, operation=Operation.SELECT, dynamic_partitions=False) for r in requests]


def tell_operations(opened: Transaction, requests: Sequence[LockRequest]) -> None:
    """Tell a Hive Metastore what a transaction does under locks that it holds, now that it has its
    write ids.

    The request counts, whether it is granted or not. It waits if somebody waits for this
    transaction, and is withdrawn then.
    """
    metastore = opened.session.metastore
    told = [replace(r, type=LockType.SHARED_READ) for r in requests if _has_operation(r)]
    if not told or not metastore.capabilities.learns_writes_from_locks:
        return
    if metastore.lock(opened.txn_id, told) is LockState.WAITING:
        metastore.withdraw_locks(opened.txn_id)


def _has_operation(request: LockRequest) -> bool:
    return request.operation is not Operation.SELECT or request.dynamic_partitions


def allocate(opened: Transaction, intents: Sequence[WriteIntent]) -> dict[str, int]:
    """Allocate the write ids of a transaction in the tables that it is going to write."""
    reach(Point.BEFORE_WRITE_IDS, opened)
    allocate_one = opened.session.metastore.allocate_write_id
    for intent in intents:
        check_owner(opened.session, intent.table)
        learn_write_ids(opened.session, intent.table, intent.partition)
    return {
        i.table.full_name: allocate_one(opened.txn_id, i.table.database, i.table.name, i.statement)
        for i in intents
    }
