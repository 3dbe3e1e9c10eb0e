"""Waits of a transaction of several statements for locks."""

from __future__ import annotations

import pytest

from acidsql.errors import WriteConflictError
from acidsql.metastore.model import LockInfo, LockRequest, LockState, LockType, Operation
from acidsql.transactions.locking import check_wait

HELD = LockRequest(
    database="db",
    table="t",
    partition=None,
    type=LockType.SHARED_READ,
    operation=Operation.INSERT,
)


def lock(table: str, lock_type: LockType, state: LockState) -> LockInfo:
    return LockInfo(
        lock_id=1,
        txn_id=7,
        database="db",
        table=table,
        partition=None,
        type=lock_type,
        state=state,
        user="ann",
        host="host",
        acquired=None,
        last_heartbeat=0,
    )


@pytest.mark.parametrize(
    ("blocker", "may_wait"),
    [
        (lock("t", LockType.EXCLUSIVE, LockState.ACQUIRED), True),
        (lock("u", LockType.EXCLUSIVE, LockState.WAITING), True),
        (lock("t", LockType.EXCLUSIVE, LockState.WAITING), False),
        (lock("u", LockType.SHARED_WRITE, LockState.ACQUIRED), False),
        (lock("u", LockType.EXCL_WRITE, LockState.ACQUIRED), True),
    ],
)
def test_it_waits_for_nobody_who_waits_for_it_or_writes(blocker: LockInfo, may_wait: bool) -> None:
    if may_wait:
        check_wait(5, {HELD}, [blocker])
        return
    with pytest.raises(WriteConflictError) as caught:
        check_wait(5, {HELD}, [blocker])
    assert caught.value.getMessageParameters()["winnerTxnId"] == "7"
