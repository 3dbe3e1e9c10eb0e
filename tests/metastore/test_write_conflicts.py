from __future__ import annotations

from dataclasses import replace

import pytest

from acidsql.errors import TransactionStateError, WriteConflictError
from acidsql.metastore.model import LockRequest, LockState, LockType, Operation
from acidsql.metastore.protocol import Metastore

pytestmark = pytest.mark.usefixtures("tables")

S, I, U, D = Operation.SELECT, Operation.INSERT, Operation.UPDATE, Operation.DELETE  # noqa: E741
YEAR_1, YEAR_2 = "year=1", "year=2"


def change(
    operation: Operation, partition: str | None = None, table: str = "t", *, dynamic: bool = False
) -> LockRequest:
    return LockRequest(
        database="db",
        table=table,
        partition=partition,
        # Readers' locks let both transactions run; only the write set is looked at here.
        type=LockType.SHARED_READ,
        operation=operation,
        dynamic_partitions=dynamic,
    )


def opened(metastore: Metastore) -> int:
    return metastore.open_txn("ann", "host")


def conflicts(metastore: Metastore, winner: LockRequest, loser: LockRequest) -> bool:
    """Let two transactions overlap; whether the later committer is turned away."""
    first, second = opened(metastore), opened(metastore)
    metastore.lock(second, [loser])
    metastore.lock(first, [winner])
    metastore.commit_txn(first)
    try:
        metastore.commit_txn(second)
    except WriteConflictError:
        assert metastore.valid_txns().is_aborted(second)
        return True
    assert metastore.valid_txns().is_valid(second)
    return False


@pytest.mark.parametrize("second", [S, I, U, D])
@pytest.mark.parametrize("first", [S, I, U, D])
def test_operations(metastore: Metastore, first: Operation, second: Operation) -> None:
    expected = {first, second} <= {U, D}
    assert conflicts(metastore, change(first), change(second)) is expected
    assert conflicts(metastore, change(first, YEAR_1, "p"), change(second, YEAR_1, "p")) is expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (change(U, YEAR_1, "p"), change(U, YEAR_2, "p"), False),
        (change(U, YEAR_1, "p"), change(D, "YEAR=1", "P"), True),
        (change(U, None, "p"), change(U, YEAR_1, "p"), True),
        (change(D, YEAR_1, "p"), change(U, None, "p"), True),
        (change(U, None, "p"), change(U, None, "t"), False),
    ],
)
def test_objects(
    metastore: Metastore, first: LockRequest, second: LockRequest, expected: bool
) -> None:
    assert conflicts(metastore, first, second) is expected


def test_message_names_both_transactions_and_the_object(metastore: Metastore) -> None:
    loser, winner = opened(metastore), opened(metastore)
    metastore.lock(loser, [change(D, YEAR_1, "p")])
    metastore.lock(winner, [change(U, YEAR_1, "p")])
    metastore.commit_txn(winner)
    with pytest.raises(
        WriteConflictError,
        match=rf"\[CONCURRENT_WRITE\] transaction {loser} .*db\.p/year=1 .*transaction {winner}\b"
        r".*run the statement again",
    ) as caught:
        metastore.commit_txn(loser)
    assert caught.value.condition == "CONCURRENT_WRITE"


def test_loser_is_aborted_for_good(metastore: Metastore) -> None:
    loser, winner = opened(metastore), opened(metastore)
    write_id = metastore.allocate_write_id(loser, "db", "t")
    for txn_id in (loser, winner):
        metastore.lock(txn_id, [change(U)])
    metastore.commit_txn(winner)
    with pytest.raises(WriteConflictError):
        metastore.commit_txn(loser)
    with pytest.raises(TransactionStateError, match=r"\[TXN_ABORTED\].*conflicting"):
        metastore.commit_txn(loser)
    metastore.abort_txn(loser)
    assert metastore.locks() == ()
    assert metastore.valid_write_ids("db", "t", metastore.valid_txns()).is_aborted(write_id)


def test_transactions_one_after_the_other_do_not_conflict(metastore: Metastore) -> None:
    for _ in range(3):
        txn_id = opened(metastore)
        metastore.lock(txn_id, [change(U)])
        metastore.commit_txn(txn_id)


def test_what_counts_is_opening_not_locking(metastore: Metastore) -> None:
    early, winner = opened(metastore), opened(metastore)
    metastore.lock(winner, [change(U)])
    metastore.commit_txn(winner)
    metastore.lock(early, [change(U)])
    with pytest.raises(WriteConflictError):
        metastore.commit_txn(early)


def test_younger_transaction_that_commits_first_wins(metastore: Metastore) -> None:
    older = opened(metastore)
    metastore.lock(older, [change(U)])
    younger = opened(metastore)
    metastore.lock(younger, [change(U)])
    metastore.commit_txn(younger)
    with pytest.raises(WriteConflictError):
        metastore.commit_txn(older)


def test_winner_is_remembered_as_long_as_somebody_may_conflict(metastore: Metastore) -> None:
    old, winner = opened(metastore), opened(metastore)
    metastore.lock(winner, [change(U)])
    metastore.commit_txn(winner)
    for _ in range(3):
        other = opened(metastore)
        metastore.lock(other, [change(U, table="p")])
        metastore.commit_txn(other)
    metastore.lock(old, [change(D)])
    with pytest.raises(WriteConflictError, match=rf"transaction {winner}\b"):
        metastore.commit_txn(old)


def test_rolled_back_change_does_not_conflict(metastore: Metastore) -> None:
    first, second = opened(metastore), opened(metastore)
    for txn_id in (first, second):
        metastore.lock(txn_id, [change(U)])
    metastore.abort_txn(first)
    metastore.commit_txn(second)


def test_transaction_does_not_conflict_with_itself(metastore: Metastore) -> None:
    txn_id = opened(metastore)
    metastore.lock(txn_id, [change(U), change(D), change(I)])
    metastore.lock(txn_id, [change(U, YEAR_1, "p"), change(U, None, "p")])
    metastore.commit_txn(txn_id)


def test_any_of_several_changes_conflicts(metastore: Metastore) -> None:
    first, second = opened(metastore), opened(metastore)
    metastore.lock(first, [change(I, YEAR_2, "p"), change(D, YEAR_1, "p")])
    metastore.lock(second, [change(U), change(I, YEAR_1, "p"), change(U, YEAR_1, "p")])
    metastore.commit_txn(first)
    with pytest.raises(WriteConflictError, match=r"db\.p/year=1"):
        metastore.commit_txn(second)


def dynamic(metastore: Metastore, operation: Operation, partitions: list[str] | None) -> int:
    """Open a transaction that writes dynamic partitions; None never names them."""
    txn_id = opened(metastore)
    metastore.lock(txn_id, [change(operation, None, "p", dynamic=True)])
    if partitions is not None:
        metastore.add_dynamic_partitions(txn_id, "Db", "P", partitions, operation)
    return txn_id


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((U, None), (U, None), True),
        ((U, None), (D, [YEAR_1]), True),
        ((D, [YEAR_1]), (U, None), True),
        ((U, [YEAR_1]), (D, [YEAR_1, YEAR_2]), True),
        ((U, [YEAR_1]), (U, [YEAR_2]), False),
        ((U, []), (U, []), False),
        ((U, []), (U, None), False),
        ((I, None), (U, None), False),
        ((I, [YEAR_1]), (U, [YEAR_1]), False),
    ],
)
def test_dynamic_partitions(
    metastore: Metastore,
    first: tuple[Operation, list[str] | None],
    second: tuple[Operation, list[str] | None],
    expected: bool,
) -> None:
    winner, loser = dynamic(metastore, *first), dynamic(metastore, *second)
    metastore.commit_txn(winner)
    if expected:
        with pytest.raises(WriteConflictError, match=r"db\.p"):
            metastore.commit_txn(loser)
    else:
        metastore.commit_txn(loser)


def test_dynamic_against_static_partition(metastore: Metastore) -> None:
    winner = dynamic(metastore, U, ["Year=1"])
    loser, other = opened(metastore), opened(metastore)
    metastore.lock(loser, [change(U, YEAR_1, "p")])
    metastore.lock(other, [change(U, YEAR_2, "p")])
    metastore.commit_txn(winner)
    metastore.commit_txn(other)
    with pytest.raises(WriteConflictError):
        metastore.commit_txn(loser)


def test_merge_says_for_each_operation_what_it_wrote(metastore: Metastore) -> None:
    merges = [opened(metastore), opened(metastore)]
    for txn_id, updated in zip(merges, (YEAR_1, YEAR_2), strict=True):
        metastore.lock(txn_id, [change(o, None, "p", dynamic=True) for o in (U, D, I)])
        metastore.add_dynamic_partitions(txn_id, "db", "p", [updated], U)
        metastore.add_dynamic_partitions(txn_id, "db", "p", [], D)
        metastore.add_dynamic_partitions(txn_id, "db", "p", [YEAR_1, YEAR_2], I)
    for txn_id in merges:
        metastore.commit_txn(txn_id)


def test_ended_transaction_adds_no_partitions(metastore: Metastore) -> None:
    txn_id = dynamic(metastore, U, None)
    metastore.abort_txn(txn_id)
    with pytest.raises(TransactionStateError, match="TXN_ABORTED"):
        metastore.add_dynamic_partitions(txn_id, "db", "p", [YEAR_1], U)


@pytest.mark.parametrize("partition", [None, YEAR_1])
def test_what_is_held_exclusively_was_seen(
    metastore: Metastore, kind: str, partition: str | None
) -> None:
    table = "t" if partition is None else "p"
    exclusive = replace(change(U, partition, table), type=LockType.EXCLUSIVE)
    shared = replace(change(U, partition, table), type=LockType.SHARED_WRITE)
    first, second, third = opened(metastore), opened(metastore), opened(metastore)
    assert metastore.lock(first, [shared]) is LockState.ACQUIRED
    assert metastore.lock(second, [exclusive]) is LockState.WAITING
    assert metastore.lock(third, [shared]) is LockState.WAITING
    metastore.commit_txn(first)
    assert metastore.check_lock(second) is LockState.ACQUIRED
    assert metastore.valid_txns().is_valid(first)
    assert metastore.waiting_may_conflict is (kind == "3.1.3")
    if metastore.waiting_may_conflict:
        with pytest.raises(WriteConflictError):
            metastore.commit_txn(second)
    else:
        metastore.commit_txn(second)
    assert metastore.check_lock(third) is LockState.ACQUIRED
    with pytest.raises(WriteConflictError):
        metastore.commit_txn(third)


def test_an_exclusive_lock_covers_its_own_partition_alone(metastore: Metastore) -> None:
    first, second = opened(metastore), opened(metastore)
    other_partition = replace(change(U, YEAR_2, "p"), type=LockType.EXCLUSIVE)
    metastore.lock(second, [other_partition, change(U, YEAR_1, "p")])
    metastore.lock(first, [change(U, YEAR_1, "p")])
    metastore.commit_txn(first)
    with pytest.raises(WriteConflictError):
        metastore.commit_txn(second)
