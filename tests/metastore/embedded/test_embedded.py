"""Tests of promises of only the embedded metastore: its errors, stricter rules and size."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from acidsql.errors import (
    AcidLookupError,
    TransactionStateError,
    WriteConflictError,
)
from acidsql.format.valid_lists import ValidTxnList
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import (
    CompactionState,
    CompactionType,
    LockRequest,
    LockState,
    LockType,
    Operation,
    TxnState,
    TxnType,
)
from tests.metastore.subjects import stored_rows


def request(
    lock_type: LockType = LockType.SHARED_READ,
    operation: Operation = Operation.SELECT,
    table: str = "t",
    partition: str | None = None,
    *,
    dynamic: bool = False,
) -> LockRequest:
    return LockRequest(
        database="db",
        table=table,
        partition=partition,
        type=lock_type,
        operation=operation,
        dynamic_partitions=dynamic,
    )


def test_error_inside_a_method_undoes_all_of_it(store: EmbeddedMetastore) -> None:
    txn_id = store.open_txn("ann", "host")
    with pytest.raises(AcidLookupError):
        store.lock(txn_id, [request(), request(table="nope")])
    assert store.locks() == ()


# -- stricter than Hive -----------------------------------------------------------------------


def test_lock_needs_a_table(store: EmbeddedMetastore) -> None:
    with pytest.raises(AcidLookupError, match="TABLE_OR_VIEW_NOT_FOUND"):
        store.lock(store.open_txn("ann", "host"), [request(table="nope")])


def test_placeholders_of_other_operations_stay(store: EmbeddedMetastore) -> None:
    loser, winner = store.open_txn("ann", "host"), store.open_txn("ann", "host")
    for txn_id in (loser, winner):
        store.lock(
            txn_id,
            [
                request(operation=operation, table="p", dynamic=True)
                for operation in (Operation.UPDATE, Operation.DELETE)
            ],
        )
        store.add_dynamic_partitions(txn_id, "db", "p", [], Operation.UPDATE)
    store.commit_txn(winner)
    with pytest.raises(WriteConflictError, match="delete"):
        store.commit_txn(loser)


def test_drop_aborts_who_writes_or_waits(store: EmbeddedMetastore) -> None:
    writer, reader, dropper, waiting, bystander = (store.open_txn("ann", "host") for _ in range(5))
    store.allocate_write_id(writer, "db", "t")
    store.allocate_write_id(bystander, "db", "p")
    assert store.lock(dropper, [request(LockType.EXCLUSIVE)]) is LockState.ACQUIRED
    assert store.lock(waiting, [request()]) is LockState.WAITING
    store.drop_table("db", "t")
    for txn_id in (writer, waiting):
        with pytest.raises(TransactionStateError, match=r"TXN_ABORTED.*dropped"):
            store.check_lock(txn_id)
    for txn_id in (reader, dropper, bystander):
        store.commit_txn(txn_id)


def test_major_compaction_may_follow_a_minor_one_at_once(store: EmbeddedMetastore) -> None:
    minor = store.request_compaction("db", "t", None, CompactionType.MINOR)
    store.next_compaction("worker")
    compactor = store.open_txn("ann", "host", TxnType.COMPACTION)
    store.compaction_started(minor.compaction_id, compactor, 0)
    store.compaction_done(minor.compaction_id)
    store.commit_txn(compactor)
    again = store.request_compaction("db", "t", None, CompactionType.MINOR)
    assert (again.state, again.compaction_id) == (CompactionState.REFUSED, minor.compaction_id)
    major = store.request_compaction("db", "t", None, CompactionType.MAJOR)
    assert major.state is CompactionState.INITIATED


def test_seeded_transaction_ids_count_as_committed(store: EmbeddedMetastore) -> None:
    early = store.open_txn("ann", "host")
    store.seed_txn_id(1001)
    store.seed_txn_id(5)
    assert store.valid_txns().high_water_mark == 1000
    assert store.valid_txns().open == {early}
    assert store.valid_txns(early) == ValidTxnList(high_water_mark=1000)
    assert store.open_txn("ann", "host") == 1001
    assert store.valid_txns(1001).is_valid(1000)


def test_seeding_before_the_first_transaction(path: str) -> None:
    store = EmbeddedMetastore(path)
    store.seed_txn_id(1)
    store.seed_txn_id(51)
    assert store.open_txn("ann", "host") == 51
    store.close()


def test_dynamic_write_below_a_given_partition_is_of_the_whole_table(
    store: EmbeddedMetastore,
) -> None:
    dynamic, static = store.open_txn("ann", "host"), store.open_txn("ann", "host")
    update = Operation.UPDATE
    store.lock(dynamic, [request(LockType.EXCL_WRITE, update, "p", "year=1", dynamic=True)])
    other = request(LockType.EXCL_WRITE, update, "p", "year=1/month=2")
    assert store.lock(static, [other]) is LockState.WAITING
    store.commit_txn(dynamic)
    with pytest.raises(WriteConflictError):
        store.commit_txn(static)


def test_high_water_mark_is_that_of_the_snapshot(store: EmbeddedMetastore) -> None:
    for number in range(3):
        txn_id = store.open_txn("ann", "host")
        store.allocate_write_id(txn_id, "db", "t")
        store.commit_txn(txn_id)
        if number == 1:
            txns = store.valid_txns()
    snapshot = store.valid_write_ids("db", "t", txns)
    assert snapshot.to_string() == "db.t:2:9223372036854775807::"


def test_a_snapshot_stays_right_after_its_reader_has_ended(store: EmbeddedMetastore) -> None:
    writers = [store.open_txn("ann", "host") for _ in range(2)]
    for txn_id in writers:
        store.allocate_write_id(txn_id, "db", "t")
    store.commit_txn(writers[0])
    reader = store.open_txn("ann", "host", TxnType.READ_ONLY)
    txns = store.valid_txns(reader)
    store.commit_txn(reader)
    store.commit_txn(writers[1])
    for _ in range(5):
        txn_id = store.open_txn("ann", "host")
        store.allocate_write_id(txn_id, "db", "t")
        store.commit_txn(txn_id)
    seen = store.valid_write_ids("db", "t", txns)
    assert [w for w in range(1, 8) if seen.is_valid(w)] == [1]


# -- what is kept -----------------------------------------------------------------------------


def test_committed_transactions_are_pruned(store: EmbeddedMetastore, path: str) -> None:
    for _ in range(10):
        txn_id = store.open_txn("ann", "host")
        store.allocate_write_id(txn_id, "db", "t")
        store.lock(txn_id, [request(LockType.SHARED_WRITE, Operation.UPDATE)])
        store.commit_txn(txn_id)
    assert [stored_rows(path, table) for table in ("txns", "write_set", "locks")] == [0, 0, 0]


def test_long_reader_keeps_only_what_it_may_conflict_with(
    store: EmbeddedMetastore, path: str
) -> None:
    reader = store.open_txn("ann", "host", TxnType.READ_ONLY)
    for operation in (Operation.INSERT, Operation.UPDATE, Operation.SELECT):
        txn_id = store.open_txn("ann", "host")
        store.lock(txn_id, [request(operation=operation)])
        store.commit_txn(txn_id)
    assert (stored_rows(path, "txns"), stored_rows(path, "write_set")) == (2, 1)
    store.commit_txn(reader)
    assert (stored_rows(path, "txns"), stored_rows(path, "write_set")) == (0, 0)


def aborted_write(store: EmbeddedMetastore, *partitions: str) -> int:
    txn_id = store.open_txn("ann", "host")
    store.allocate_write_id(txn_id, "db", "p")
    store.lock(
        txn_id, [request(operation=Operation.INSERT, table="p", partition=p) for p in partitions]
    )
    store.abort_txn(txn_id)
    return txn_id


def clean(store: EmbeddedMetastore, partition: str, highest_write_id: int) -> None:
    entry = store.request_compaction("db", "p", partition, CompactionType.MAJOR)
    store.next_compaction("worker")
    compactor = store.open_txn("ann", "host", TxnType.COMPACTION)
    store.compaction_started(entry.compaction_id, compactor, highest_write_id)
    store.compaction_done(entry.compaction_id)
    store.commit_txn(compactor)
    store.compaction_cleaned(entry.compaction_id, highest_write_id)


def test_aborts_of_a_partitioned_table_stay_until_all_partitions_are_clean(
    store: EmbeddedMetastore, advance: Callable[[float], None]
) -> None:
    both = aborted_write(store, "year=1", "year=2")
    above = aborted_write(store, "year=1")

    def aborted() -> frozenset[int]:
        advance(store.txn_timeout + 1)
        store.reap()
        return store.valid_txns().aborted

    clean(store, "year=1", highest_write_id=1)
    assert aborted() == {both, above}
    clean(store, "year=2", highest_write_id=1)
    assert aborted() == {above}
    clean(store, "year=1", highest_write_id=2)
    assert aborted() == frozenset()
    snapshot = store.valid_write_ids("db", "p", store.valid_txns())
    assert snapshot.to_string() == "db.p:2:9223372036854775807::"


def test_aborts_that_named_no_partition_have_written_nothing(
    store: EmbeddedMetastore, advance: Callable[[float], None]
) -> None:
    """A statement that fails before it writes must not burden snapshots for good."""
    aborted_write(store)
    for named in ([], ["year=2"]):
        txn_id = store.open_txn("ann", "host")
        store.allocate_write_id(txn_id, "db", "p")
        store.lock(txn_id, [request(operation=Operation.UPDATE, table="p", dynamic=True)])
        # Of a MERGE that did not get to its updates.
        store.add_dynamic_partitions(txn_id, "db", "p", named, Operation.INSERT)
        store.abort_txn(txn_id)
    clean(store, "year=1", highest_write_id=3)
    advance(store.txn_timeout + 1)
    store.reap()
    assert store.valid_txns().aborted == {txn_id}
    clean(store, "year=2", highest_write_id=3)
    advance(store.txn_timeout + 1)
    store.reap()
    assert store.valid_txns().aborted == frozenset()


def test_writers_that_somebody_else_aborted_are_never_forgotten(
    store: EmbeddedMetastore, advance: Callable[[float], None]
) -> None:
    killed = store.open_txn("ann", "host")
    store.allocate_write_id(killed, "db", "p")
    store.lock(killed, [request(operation=Operation.INSERT, table="p", partition="year=1")])
    store.abort_txns([killed])
    with pytest.raises(TransactionStateError, match=r"TXN_ABORTED.*: somebody aborted it; nothing"):
        store.commit_txn(killed)
    clean(store, "year=1", highest_write_id=1)
    advance(store.txn_timeout + 1)
    store.reap()
    assert [(t.txn_id, t.state) for t in store.open_txns()] == [(killed, TxnState.ABORTED)]
    assert store.valid_write_ids("db", "p", store.valid_txns()).is_aborted(1)


def test_timed_out_writers_are_never_forgotten(
    store: EmbeddedMetastore, advance: Callable[[float], None]
) -> None:
    zombie = store.open_txn("ann", "host")
    store.allocate_write_id(zombie, "db", "p")
    store.lock(zombie, [request(operation=Operation.INSERT, table="p", partition="year=1")])
    advance(store.txn_timeout + 1)
    assert store.reap() == (zombie,)
    clean(store, "year=1", highest_write_id=1)
    advance(store.txn_timeout + 1)
    store.reap()
    assert [(t.txn_id, t.state) for t in store.open_txns()] == [(zombie, TxnState.ABORTED)]
    assert store.valid_write_ids("db", "p", store.valid_txns()).is_aborted(1)
