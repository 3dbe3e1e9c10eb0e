"""Acquisition of the locks of a statement."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Sequence

from tenacity import RetryCallState, RetryError, Retrying, retry_if_result, wait_exponential

from acidsql.errors import AcidSqlError, LockTimeoutError, WriteConflictError
from acidsql.format.identifiers import lowered
from acidsql.limits import limits
from acidsql.metastore.model import LockInfo, LockRequest, LockState, LockType
from acidsql.metastore.names import object_name
from acidsql.metastore.protocol import Metastore

logger = logging.getLogger(__name__)


def wait_for_locks(
    metastore: Metastore,
    txn_id: int,
    requests: Sequence[LockRequest],
    timeout: float,
    *,
    check: Callable[[Sequence[LockInfo]], None] | None = None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """Request the locks of a statement, and poll until they are granted.

    Args:
        metastore: metastore where the transaction is open.
        txn_id: the transaction.
        requests: all locks of the statement.
        timeout: longest wait in seconds.
        check: checks the blocking locks before the wait begins; raises if waiting is not allowed.
        sleep: sleeps for a number of seconds.
        clock: returns the seconds of a monotonic clock.

    Returns:
        Whether the transaction had to wait. Another transaction may then have committed a change of
        the same object since this one opened, so that this commit would be a conflict. A statement
        that updates or deletes should then abort and begin again.

    Raises:
        LockTimeoutError: LOCK_TIMEOUT; the requests stay queued until the transaction ends.
        TransactionStateError: TXN_ABORTED, the transaction was aborted in the meantime.
    """
    if metastore.lock(txn_id, requests) is LockState.ACQUIRED:
        return False
    if check is not None:
        check(metastore.blockers(txn_id))
    deadline = clock() + timeout
    back_off = wait_exponential(
        multiplier=limits().first_lock_poll_seconds, max=limits().longest_lock_poll_seconds
    )

    def until_deadline(state: RetryCallState) -> float:
        return max(0.0, min(back_off(state), deadline - clock()))

    polling = Retrying(
        retry=retry_if_result(lambda answer: answer is LockState.WAITING),
        stop=lambda _: clock() >= deadline,
        wait=until_deadline,
        sleep=sleep,
    )
    try:
        polling(metastore.check_lock, txn_id)
    except RetryError as err:
        raise _timeout_error(txn_id, requests, timeout, metastore.blockers(txn_id)) from err
    return True


def check_wait(txn_id: int, held: Collection[LockRequest], blockers: Sequence[LockInfo]) -> None:
    """Check that a transaction of several statements can wait for locks and still commit.

    A writer that excludes others (Hive 3.1) has changed the same table by the time it ends, so the
    commit of this transaction would be a conflict. If another transaction waits for a table that
    this one has locked, it waits for this transaction, which would be a deadlock.

    Args:
        txn_id: the transaction.
        held: locks of the transaction.
        blockers: locks of other transactions that block it.

    Raises:
        WriteConflictError: CONCURRENT_WRITE.
    """
    tables = {(lowered(request.database), lowered(request.table)) for request in held}
    for lock in blockers:
        waits = lock.state is LockState.WAITING
        if lock.type is LockType.SHARED_WRITE:
            reason = "writes to"
        elif waits and (lowered(lock.database), lowered(lock.table)) in tables:
            reason = "waits for this one on"
        else:
            continue
        where = object_name(lock.database, lock.table, lock.partition)
        raise WriteConflictError(
            "CONCURRENT_WRITE",
            f"transaction {txn_id} cannot go on, because transaction {lock.txn_id} of "
            f"{lock.user}@{lock.host} {reason} {where}: ROLLBACK, and run it again",
            {"txnId": str(txn_id), "winnerTxnId": str(lock.txn_id), "object": where},
        )


def withdraw(metastore: Metastore, txn_id: int) -> None:
    """Withdraw the waiting requests of a transaction, and only log errors.

    An exception would hide why the requests are withdrawn. Requests that remain block the next
    statement of the transaction until it ends.
    """
    try:
        metastore.withdraw_locks(txn_id)
    except (AcidSqlError, OSError):
        logger.exception("txn %s: could not withdraw its requests for locks", txn_id)


def _timeout_error(
    txn_id: int, requests: Sequence[LockRequest], timeout: float, blockers: Sequence[LockInfo]
) -> LockTimeoutError:
    wanted = ", ".join(sorted({object_name(r.database, r.table, r.partition) for r in requests}))
    held = "; ".join(map(_description, blockers)) or "released just now"
    return LockTimeoutError(
        "LOCK_TIMEOUT",
        f"transaction {txn_id} did not get its locks on {wanted} within {timeout:g} s; "
        f"in its way: {held}; run the statement again later, see SHOW LOCKS",
        {"txnId": str(txn_id), "object": wanted, "timeout": f"{timeout:g}"},
    )


def _description(lock: LockInfo) -> str:
    return (
        f"{lock.state.value} {lock.type.value} lock on "
        f"{object_name(lock.database, lock.table, lock.partition)} "
        f"by transaction {lock.txn_id} of {lock.user}@{lock.host}"
    )
