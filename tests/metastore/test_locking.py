from __future__ import annotations

from collections.abc import Callable

import pytest

from acidsql.errors import LockTimeoutError, TransactionStateError
from acidsql.metastore.model import LockRequest, LockState, LockType, Operation
from acidsql.metastore.protocol import Metastore
from acidsql.transactions.locking import wait_for_locks

pytestmark = pytest.mark.usefixtures("tables")

EXCLUSIVE = LockRequest(
    database="db",
    table="p",
    partition="year=1",
    type=LockType.EXCLUSIVE,
    operation=Operation.SELECT,
)


class Time:
    """Clock that only sleeping moves; ``then`` is called once ``after`` seconds have passed."""

    def __init__(
        self, after: float = float("inf"), then: Callable[[], object] | None = None
    ) -> None:
        self.now = 50.0
        self.sleeps: list[float] = []
        self._due = self.now + after
        self._then = then

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds
        if self.now >= self._due and self._then is not None:
            self._then()
            self._then = None


def test_free_locks_are_granted_at_once(metastore: Metastore) -> None:
    time = Time()
    txn_id = metastore.open_txn("ann", "host")
    assert not wait_for_locks(metastore, txn_id, [EXCLUSIVE], 10, sleep=time.sleep, clock=time)
    assert time.sleeps == []
    assert metastore.locks()[0].state is LockState.ACQUIRED


def test_waits_with_growing_pauses(metastore: Metastore) -> None:
    holder, waiting = (metastore.open_txn("ann", "host") for _ in range(2))
    metastore.lock(holder, [EXCLUSIVE])
    time = Time(after=5, then=lambda: metastore.commit_txn(holder))
    assert wait_for_locks(metastore, waiting, [EXCLUSIVE], 10, sleep=time.sleep, clock=time)
    assert time.sleeps[:8] == [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.0]
    assert max(time.sleeps) == 1.0
    assert 5 <= time.now - 50 < 6.1
    assert [(lock.txn_id, lock.state) for lock in metastore.locks()] == [
        (waiting, LockState.ACQUIRED)
    ]


@pytest.mark.parametrize("timeout", [0, 0.05, 3.3])
def test_time_out_names_who_holds_what(metastore: Metastore, timeout: float) -> None:
    time = Time()
    holder = metastore.open_txn("Zoë", "far.example")
    waiting = metastore.open_txn("ann", "host")
    metastore.lock(holder, [EXCLUSIVE])
    with pytest.raises(LockTimeoutError) as caught:
        wait_for_locks(metastore, waiting, [EXCLUSIVE], timeout, sleep=time.sleep, clock=time)
    assert caught.value.condition == "LOCK_TIMEOUT"
    assert (
        f"acquired exclusive lock on db.p/year=1 by transaction {holder} of Zoë@far.example"
        in caught.value.message
    )
    assert f"within {timeout:g} s" in caught.value.message
    assert time.now == pytest.approx(50 + timeout)


def test_transaction_aborted_while_it_waits(metastore: Metastore) -> None:
    holder, waiting = (metastore.open_txn("ann", "host") for _ in range(2))
    metastore.lock(holder, [EXCLUSIVE])
    time = Time(after=1, then=lambda: metastore.abort_txn(waiting))
    with pytest.raises(TransactionStateError, match="TXN_ABORTED"):
        wait_for_locks(metastore, waiting, [EXCLUSIVE], 10, sleep=time.sleep, clock=time)
