from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acidsql.errors import TransactionStateError
from acidsql.metastore.model import LockInfo, LockRequest, LockState, LockType, Operation
from acidsql.metastore.protocol import Metastore
from tests.metastore.subjects import EMBEDDED, only

pytestmark = pytest.mark.usefixtures("tables")

SR, SW, EW, EX = (
    LockType.SHARED_READ,
    LockType.SHARED_WRITE,
    LockType.EXCL_WRITE,
    LockType.EXCLUSIVE,
)
ACQUIRED, WAITING = LockState.ACQUIRED, LockState.WAITING

# CheckLockFunction: what a request does when the other lock is there.
COMPATIBILITY = {
    (SR, SR): ACQUIRED,
    (SR, SW): ACQUIRED,
    (SR, EW): ACQUIRED,
    (SR, EX): WAITING,
    (SW, SR): ACQUIRED,
    (SW, SW): ACQUIRED,
    (SW, EW): WAITING,
    (SW, EX): WAITING,
    (EW, SR): ACQUIRED,
    (EW, SW): WAITING,
    (EW, EW): WAITING,
    (EW, EX): WAITING,
    (EX, SR): WAITING,
    (EX, SW): WAITING,
    (EX, EW): WAITING,
    (EX, EX): WAITING,
}


def wants(
    lock_type: LockType, partition: str | None = None, table: str = "t", database: str = "db"
) -> LockRequest:
    return LockRequest(
        database=database,
        table=table,
        partition=partition,
        type=lock_type,
        operation=Operation.SELECT,
    )


def opened(metastore: Metastore) -> int:
    return metastore.open_txn("ann", "host")


@pytest.mark.parametrize(("requested", "existing"), COMPATIBILITY)
def test_compatibility(
    metastore: Metastore, kind: str, requested: LockType, existing: LockType
) -> None:
    holder, other = opened(metastore), opened(metastore)
    assert metastore.lock(holder, [wants(existing)]) is ACQUIRED
    expected = COMPATIBILITY[requested, existing]
    if kind == "3.1.3" and (requested, existing) == (SW, SW):
        expected = WAITING  # Hive 3.1 has one lock of writers, which excludes its like
    assert metastore.lock(other, [wants(requested)]) is expected
    assert metastore.check_lock(other) is expected
    metastore.commit_txn(holder)
    assert metastore.check_lock(other) is ACQUIRED


@pytest.mark.parametrize(
    ("held", "wanted", "expected"),
    [
        (wants(EX, "year=1", "p"), wants(EX, "year=2", "p"), ACQUIRED),
        (wants(EX, "year=1", "p"), wants(EX, "year=1", "p"), WAITING),
        (wants(EX, "year=1", "p"), wants(EX, "YEAR=1", "P"), WAITING),
        (wants(EX, "year=a", "p"), wants(EX, "year=A", "p"), ACQUIRED),
        (wants(EX, None, "p"), wants(EX, "year=1", "p"), WAITING),
        (wants(EX, "year=1", "p"), wants(EX, None, "p"), WAITING),
        (wants(EX, None, "p"), wants(EX, None, "t"), ACQUIRED),
        (wants(EX, None, "t", "DB"), wants(EX, None, "T"), WAITING),
    ],
)
def test_what_meets_what(
    metastore: Metastore, kind: str, held: LockRequest, wanted: LockRequest, expected: LockState
) -> None:
    if kind == "3.1.3" and wanted.partition == "year=A":
        expected = WAITING  # Hive 3.1 makes no difference between "a" and "A"
    metastore.lock(opened(metastore), [held])
    assert metastore.lock(opened(metastore), [wanted]) is expected


def test_own_locks_are_never_in_the_way(metastore: Metastore) -> None:
    own = opened(metastore)
    for lock_type in (SR, EX, SW, EX, EW):
        assert metastore.lock(own, [wants(lock_type)]) is ACQUIRED


def test_all_locks_of_a_statement_or_none(metastore: Metastore) -> None:
    holder, both, third = opened(metastore), opened(metastore), opened(metastore)
    metastore.lock(holder, [wants(EX, table="t")])
    assert metastore.lock(both, [wants(EX, table="p"), wants(SR, table="t")]) is WAITING
    assert [lock.state for lock in metastore.locks()] == [ACQUIRED, WAITING, WAITING]
    assert metastore.lock(third, [wants(EX, table="p")]) is WAITING
    metastore.commit_txn(holder)
    assert metastore.check_lock(third) is WAITING
    assert metastore.check_lock(both) is ACQUIRED
    metastore.abort_txn(both)
    assert metastore.check_lock(third) is ACQUIRED


def test_first_come_first_served(metastore: Metastore) -> None:
    reader, writer, late_reader = opened(metastore), opened(metastore), opened(metastore)
    assert metastore.lock(reader, [wants(SR)]) is ACQUIRED
    assert metastore.lock(writer, [wants(EX)]) is WAITING
    # Compatible with what is granted, but it must not overtake.
    assert metastore.lock(late_reader, [wants(SR)]) is WAITING
    assert metastore.check_lock(late_reader) is WAITING
    metastore.commit_txn(reader)
    assert metastore.check_lock(late_reader) is WAITING
    assert metastore.check_lock(writer) is ACQUIRED
    assert metastore.check_lock(late_reader) is WAITING
    metastore.commit_txn(writer)
    assert metastore.check_lock(late_reader) is ACQUIRED


def test_lock_granted_stays_granted_beside_later_requests(metastore: Metastore) -> None:
    reader, writer = opened(metastore), opened(metastore)
    metastore.lock(reader, [wants(SR)])
    metastore.lock(writer, [wants(EX)])
    assert metastore.check_lock(reader) is ACQUIRED


@pytest.mark.parametrize("end", ["commit_txn", "abort_txn"])
def test_end_of_transaction_releases_locks(metastore: Metastore, end: str) -> None:
    holder, waiting = opened(metastore), opened(metastore)
    metastore.lock(holder, [wants(EX), wants(EX, "year=1", "p")])
    metastore.lock(waiting, [wants(EX)])
    getattr(metastore, end)(holder)
    assert [lock.txn_id for lock in metastore.locks()] == [waiting]
    getattr(metastore, end)(waiting)
    assert metastore.locks() == ()


def test_locks_and_blockers_tell_who_and_what(
    metastore: Metastore, advance: Callable[[float], None], at: Callable[[float], Any]
) -> None:
    holder = metastore.open_txn("Zoë", "far")
    metastore.lock(holder, [wants(SW, "year=1", "p"), wants(SR)])
    advance(7)
    waiting = metastore.open_txn("ann", "near")
    metastore.lock(waiting, [wants(EW, None, "P")])
    granted, other, queued = metastore.locks()
    assert granted == LockInfo(
        lock_id=granted.lock_id,
        txn_id=holder,
        database="db",
        table="p",
        partition="year=1",
        type=SW,
        state=ACQUIRED,
        user="Zoë",
        host="far",
        acquired=at(0),
        last_heartbeat=at(0),
    )
    assert (other.table, other.partition) == ("t", None)
    assert (queued.txn_id, queued.state, queued.acquired) == (waiting, WAITING, None)
    # The locks of one request may share an id.
    assert granted.lock_id <= other.lock_id < queued.lock_id
    assert metastore.blockers(waiting) == (granted,)
    assert metastore.blockers(holder) == ()


def test_blockers_include_waiting_requests(metastore: Metastore) -> None:
    first, second, third = opened(metastore), opened(metastore), opened(metastore)
    metastore.lock(first, [wants(SR)])
    metastore.lock(second, [wants(EX)])
    metastore.lock(third, [wants(SR)])
    assert [lock.txn_id for lock in metastore.blockers(third)] == [second]
    assert [lock.txn_id for lock in metastore.blockers(second)] == [first]


def test_check_lock_is_a_heartbeat(
    metastore: Metastore, advance: Callable[[float], None], reap: Callable[[], tuple[int, ...]]
) -> None:
    holder, waiting = opened(metastore), opened(metastore)
    metastore.lock(holder, [wants(EX)])
    metastore.lock(waiting, [wants(EX)])
    for _ in range(3):
        advance(metastore.txn_timeout * 0.6)
        metastore.heartbeat([holder])
        assert metastore.check_lock(waiting) is WAITING
    assert reap() == ()


def test_ended_transactions_get_no_locks(metastore: Metastore) -> None:
    aborted, committed = opened(metastore), opened(metastore)
    metastore.abort_txn(aborted)
    metastore.commit_txn(committed)
    with pytest.raises(TransactionStateError, match="TXN_ABORTED"):
        metastore.lock(aborted, [wants(SR)])
    with pytest.raises(TransactionStateError):
        metastore.lock(committed, [wants(SR)])
    assert metastore.locks() == ()


def test_no_locks_wanted(metastore: Metastore) -> None:
    own = opened(metastore)
    assert metastore.lock(own, []) is ACQUIRED
    assert metastore.check_lock(own) is ACQUIRED


@only(*EMBEDDED)  # a server lets both wait
def test_who_waits_for_a_transaction_is_not_in_its_way(metastore: Metastore) -> None:
    mine, other = opened(metastore), opened(metastore)
    assert metastore.lock(mine, [wants(SR)]) is ACQUIRED
    assert metastore.lock(other, [wants(EX), wants(EX, table="p")]) is WAITING
    assert metastore.lock(mine, [wants(SW)]) is ACQUIRED
    assert metastore.lock(mine, [wants(SR, table="p")]) is ACQUIRED
    assert metastore.check_lock(other) is WAITING
    metastore.commit_txn(mine)
    assert metastore.check_lock(other) is ACQUIRED


def test_requests_that_wait_can_be_withdrawn(metastore: Metastore) -> None:
    mine, other = opened(metastore), opened(metastore)
    assert metastore.lock(other, [wants(EX)]) is ACQUIRED
    assert metastore.lock(mine, [wants(SR, table="p")]) is ACQUIRED
    assert metastore.lock(mine, [wants(SR)]) is WAITING
    metastore.withdraw_locks(mine)
    assert metastore.check_lock(mine) is ACQUIRED
    assert {(lock.txn_id, lock.table) for lock in metastore.locks()} == {(other, "t"), (mine, "p")}
    metastore.withdraw_locks(mine)
    metastore.commit_txn(mine)
    metastore.commit_txn(other)
