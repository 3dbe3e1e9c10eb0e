from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acidsql.errors import TransactionStateError
from acidsql.format.valid_lists import ValidTxnList
from acidsql.metastore.model import (
    LockRequest,
    LockState,
    LockType,
    Operation,
    TxnInfo,
    TxnState,
    TxnType,
)
from acidsql.metastore.protocol import Metastore
from tests.metastore.subjects import EMBEDDED, only


def opened(metastore: Metastore, txn_type: TxnType = TxnType.DEFAULT) -> int:
    return metastore.open_txn("ann", "host", txn_type)


def test_ids_grow_and_are_never_given_twice(metastore: Metastore) -> None:
    first, second = opened(metastore), opened(metastore)
    metastore.commit_txn(first)
    metastore.abort_txn(second)
    third = opened(metastore)
    assert first < second < third


def test_open_txns_lists_open_and_aborted(
    metastore: Metastore, kind: str, advance: Callable[[float], None], at: Callable[[float], Any]
) -> None:
    committed = metastore.open_txn("ann", "here")
    aborted = metastore.open_txn("bob", "there", TxnType.READ_ONLY)
    metastore.commit_txn(committed)
    metastore.abort_txn(aborted)
    advance(10)
    last = metastore.open_txn("Zoë", "here", TxnType.COMPACTION)
    advance(5)
    metastore.heartbeat([last])
    tells_types = kind == "embedded"  # Hive's servers do not
    assert metastore.open_txns() == (
        TxnInfo(
            txn_id=aborted,
            state=TxnState.ABORTED,
            type=TxnType.READ_ONLY if tells_types else TxnType.DEFAULT,
            user="bob",
            host="there",
            started=at(0),
            last_heartbeat=at(0),
        ),
        TxnInfo(
            txn_id=last,
            state=TxnState.OPEN,
            type=TxnType.COMPACTION if tells_types else TxnType.DEFAULT,
            user="Zoë",
            host="here",
            started=at(10),
            last_heartbeat=at(15),
        ),
    )


def test_snapshot_before_the_first_transaction(metastore: Metastore) -> None:
    assert metastore.valid_txns() == ValidTxnList(high_water_mark=0)


def test_snapshot_names_open_and_aborted_transactions(metastore: Metastore) -> None:
    committed, aborted, other, own, later = (opened(metastore) for _ in range(5))
    metastore.commit_txn(committed)
    metastore.abort_txn(aborted)
    assert metastore.valid_txns() == ValidTxnList(
        high_water_mark=later, open=frozenset({other, own, later}), aborted=frozenset({aborted})
    )
    assert metastore.valid_txns(own) == ValidTxnList(
        high_water_mark=later, open=frozenset({other, later}), aborted=frozenset({aborted})
    )


def test_snapshot_sees_every_commit_before_one_that_it_sees(metastore: Metastore) -> None:
    """Of a transaction that opened earlier and one that opened later, the later committed first."""
    earlier, own, later = (opened(metastore) for _ in range(3))
    metastore.commit_txn(later)
    metastore.commit_txn(earlier)
    snapshot = metastore.valid_txns(own)
    assert [snapshot.is_valid(txn_id) for txn_id in (earlier, own, later)] == [True, True, True]


def test_snapshot_text(metastore: Metastore) -> None:
    first, second, third, fourth = (opened(metastore) for _ in range(4))
    metastore.commit_txn(first)
    metastore.abort_txn(third)
    assert metastore.valid_txns(fourth).to_string() == f"{fourth}:{second}:{second}:{third}"


def test_commit_again_does_nothing(metastore: Metastore) -> None:
    txn_id = opened(metastore)
    metastore.commit_txn(txn_id)
    metastore.commit_txn(txn_id)
    opened(metastore)
    metastore.commit_txn(txn_id)
    assert metastore.valid_txns().is_valid(txn_id)


def test_abort_again_does_nothing(metastore: Metastore) -> None:
    txn_id = opened(metastore)
    metastore.abort_txn(txn_id)
    metastore.abort_txn(txn_id)
    assert metastore.valid_txns().is_aborted(txn_id)


def test_aborted_transaction_does_not_commit(metastore: Metastore) -> None:
    txn_id = opened(metastore)
    metastore.abort_txn(txn_id)
    with pytest.raises(TransactionStateError, match=rf"\[TXN_ABORTED\] transaction {txn_id} "):
        metastore.commit_txn(txn_id)
    assert metastore.valid_txns().is_aborted(txn_id)


def test_committed_transaction_does_not_abort(metastore: Metastore) -> None:
    txn_id = opened(metastore)
    metastore.commit_txn(txn_id)
    with pytest.raises(TransactionStateError):
        metastore.abort_txn(txn_id)
    assert metastore.valid_txns().is_valid(txn_id)


@pytest.mark.parametrize("distance", [1, 1000, -1000])
def test_unknown_transaction(metastore: Metastore, distance: int) -> None:
    unknown = opened(metastore) + distance
    with pytest.raises(TransactionStateError, match="NO_SUCH_TXN"):
        metastore.commit_txn(unknown)
    with pytest.raises(TransactionStateError, match="NO_SUCH_TXN"):
        metastore.abort_txn(unknown)
    with pytest.raises(TransactionStateError, match="NO_SUCH_TXN"):
        metastore.check_lock(unknown)
    assert metastore.heartbeat([unknown]) == (unknown,)


def test_heartbeat_tells_which_are_not_open(metastore: Metastore) -> None:
    committed, aborted, still_open = (opened(metastore) for _ in range(3))
    metastore.commit_txn(committed)
    metastore.abort_txn(aborted)
    assert metastore.heartbeat([still_open, aborted, committed]) == (aborted, committed)
    assert metastore.heartbeat([]) == ()


def test_silent_transactions_are_aborted(
    metastore: Metastore, advance: Callable[[float], None], reap: Callable[[], tuple[int, ...]]
) -> None:
    silent, reader, alive = (
        opened(metastore),
        opened(metastore, TxnType.READ_ONLY),
        opened(metastore),
    )
    advance(metastore.txn_timeout - 30)
    metastore.heartbeat([alive])
    assert reap() == ()
    advance(31)
    assert reap() == (silent, reader)
    assert reap() == ()
    assert metastore.heartbeat([alive, silent]) == (silent,)
    metastore.commit_txn(alive)
    with pytest.raises(TransactionStateError, match=r"\[TXN_ABORTED\] .*no heartbeat"):
        metastore.commit_txn(silent)


def test_open_txn_reaps(
    metastore: Metastore,
    kind: str,
    advance: Callable[[float], None],
    reap: Callable[[], tuple[int, ...]],
) -> None:
    silent = opened(metastore)
    advance(metastore.txn_timeout + 1)
    if kind != "embedded":
        reap()  # a server does it when the time has come, whatever is called
    own = opened(metastore)
    assert metastore.valid_txns(own).aborted == {silent}


@pytest.mark.usefixtures("tables")
def test_reaping_frees_locks(
    metastore: Metastore, advance: Callable[[float], None], reap: Callable[[], tuple[int, ...]]
) -> None:
    request = LockRequest(
        database="db",
        table="t",
        partition=None,
        type=LockType.EXCLUSIVE,
        operation=Operation.SELECT,
    )
    silent = opened(metastore)
    metastore.lock(silent, [request])
    advance(metastore.txn_timeout - 30)
    waiting = opened(metastore)
    assert metastore.lock(waiting, [request]) is LockState.WAITING
    advance(31)
    assert reap() == (silent,)
    assert metastore.check_lock(waiting) is LockState.ACQUIRED


@pytest.mark.usefixtures("tables")
def test_lock_reaps_and_tells_its_own_transaction(
    metastore: Metastore,
    kind: str,
    advance: Callable[[float], None],
    reap: Callable[[], tuple[int, ...]],
) -> None:
    request = LockRequest(
        database="db",
        table="t",
        partition=None,
        type=LockType.SHARED_READ,
        operation=Operation.SELECT,
    )
    silent = opened(metastore)
    advance(metastore.txn_timeout + 1)
    if kind != "embedded":
        reap()  # a server does it when the time has come, whatever is called
    with pytest.raises(TransactionStateError, match="TXN_ABORTED"):
        metastore.lock(silent, [request])
    with pytest.raises(TransactionStateError, match="TXN_ABORTED"):
        metastore.check_lock(silent)
    assert metastore.heartbeat([silent]) == (silent,)
    assert metastore.locks() == ()


def test_transactions_of_others_are_aborted_together(metastore: Metastore) -> None:
    first, second, other = (opened(metastore) for _ in range(3))
    metastore.abort_txns([first, second])
    metastore.abort_txns([second])
    metastore.abort_txns([])
    assert metastore.valid_txns().aborted == {first, second}
    assert metastore.heartbeat([first, second, other]) == (first, second)


@only(*EMBEDDED)  # a server aborts one after the other
def test_either_all_transactions_are_aborted_or_none(metastore: Metastore) -> None:
    running, committed = opened(metastore), opened(metastore)
    metastore.commit_txn(committed)
    with pytest.raises(TransactionStateError, match="TXN_COMMITTED"):
        metastore.abort_txns([running, committed])
    with pytest.raises(TransactionStateError, match="NO_SUCH_TXN"):
        metastore.abort_txns([running, committed + 1])
    metastore.require_open(running)


def test_only_open_transactions_pass_for_open(metastore: Metastore) -> None:
    running, committed, aborted, killed = (opened(metastore) for _ in range(4))
    metastore.commit_txn(committed)
    metastore.abort_txn(aborted)
    metastore.abort_txns([killed])
    metastore.require_open(running)
    for txn_id in (aborted, killed):
        with pytest.raises(TransactionStateError, match=rf"TXN_ABORTED\] transaction {txn_id} "):
            metastore.require_open(txn_id)
    with pytest.raises(TransactionStateError, match="TXN_COMMITTED"):
        metastore.require_open(committed)
    with pytest.raises(TransactionStateError, match="NO_SUCH_TXN"):
        metastore.require_open(killed + 1)
