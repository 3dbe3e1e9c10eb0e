"""Acquisition of the locks of a statement."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from tenacity import RetryCallState, RetryError, Retrying, retry_if_result, wait_exponential

from acidsql.errors import LockTimeoutError
from acidsql.limits import limits
from acidsql.metastore.model import LockInfo, LockRequest, LockState
from acidsql.metastore.names import object_name
from acidsql.metastore.protocol import Metastore


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
        metastore: where the transaction is open.
        txn_id: the transaction.
        requests: all locks of the statement.
        timeout: longest wait in seconds.
        check: looks at what is in the way before the wait begins; raises if there must be none.
        sleep: sleeps for a number of seconds.
        clock: seconds of a clock that never goes back.

    Returns:
        Whether it had to wait. Another transaction may then have committed a change of the same
        object since this one opened, so that the commit of this one is a conflict: a statement that
        updates or deletes should abort and begin anew.

    Raises:
        LockTimeoutError: LOCK_TIMEOUT; the requests stay queued until the transaction ends.
        TransactionStateError: TXN_ABORTED, the transaction was aborted meanwhile.
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
