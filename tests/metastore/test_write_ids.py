from __future__ import annotations

from collections.abc import Callable

import pytest

from acidsql.errors import AcidLookupError, TransactionStateError
from acidsql.format.valid_lists import ValidWriteIdList
from acidsql.metastore.model import CompactionType, TxnType
from acidsql.metastore.protocol import Metastore
from tests.metastore.subjects import EMBEDDED, only

pytestmark = pytest.mark.usefixtures("tables")


def opened(metastore: Metastore) -> int:
    return metastore.open_txn("ann", "host")


def written(metastore: Metastore, table: str = "t") -> tuple[int, int]:
    txn_id = opened(metastore)
    return txn_id, metastore.allocate_write_id(txn_id, "db", table)


def seen(metastore: Metastore, txn_id: int | None = None, table: str = "t") -> ValidWriteIdList:
    return metastore.valid_write_ids("db", table, metastore.valid_txns(txn_id))


def test_write_ids_are_contiguous_per_table(metastore: Metastore) -> None:
    assert [written(metastore)[1] for _ in range(3)] == [1, 2, 3]
    assert [written(metastore, "p")[1] for _ in range(2)] == [1, 2]
    assert metastore.next_write_id("DB", "T") == 4


def test_transaction_keeps_its_write_id(metastore: Metastore) -> None:
    txn_id, write_id = written(metastore)
    written(metastore)
    assert metastore.allocate_write_id(txn_id, "Db", "T") == write_id
    assert metastore.next_write_id("db", "t") == 3


def test_write_ids_of_a_batch_have_no_gaps(metastore: Metastore) -> None:
    written(metastore)
    txn_ids = metastore.open_batch("ann", "host", 3)
    assert list(txn_ids) == sorted(set(txn_ids))
    written(metastore)
    assert metastore.allocate_write_ids(txn_ids, "DB", "T") == (3, 4, 5)
    assert metastore.heartbeat(txn_ids) == ()
    assert metastore.allocate_write_id(txn_ids[1], "db", "t") == 4
    metastore.commit_txn(txn_ids[1])
    metastore.abort_txn(txn_ids[0])
    ids = seen(metastore)
    assert [ids.is_valid(w) for w in (3, 4, 5)] == [False, True, False]
    assert metastore.open_batch("ann", "host", 1)[0] > txn_ids[-1]


def test_a_batch_gets_no_write_ids_after_an_abort(metastore: Metastore) -> None:
    txn_ids = metastore.open_batch("ann", "host", 2)
    metastore.abort_txn(txn_ids[1])
    with pytest.raises(TransactionStateError):
        metastore.allocate_write_ids(txn_ids, "db", "t")


def test_aborted_write_id_is_not_given_again(metastore: Metastore) -> None:
    txn_id, write_id = written(metastore)
    metastore.abort_txn(txn_id)
    assert written(metastore)[1] == write_id + 1


def test_only_open_writers_get_write_ids(metastore: Metastore) -> None:
    reader = metastore.open_txn("ann", "host", TxnType.READ_ONLY)
    committed, aborted = opened(metastore), opened(metastore)
    metastore.commit_txn(committed)
    metastore.abort_txn(aborted)
    for txn_id, reason in ((reader, "read-only"), (committed, "committed"), (aborted, "aborted")):
        with pytest.raises(
            TransactionStateError, match=rf"\[WRITE_ID_REFUSED\] transaction {txn_id} .*{reason}"
        ):
            metastore.allocate_write_id(txn_id, "db", "t")
    with pytest.raises(TransactionStateError, match="NO_SUCH_TXN"):
        metastore.allocate_write_id(aborted + 1, "db", "t")
    assert metastore.next_write_id("db", "t") == 1


def test_unknown_table(metastore: Metastore) -> None:
    txn_id = opened(metastore)
    with pytest.raises(AcidLookupError):
        metastore.allocate_write_id(txn_id, "db", "nope")
    with pytest.raises(AcidLookupError):
        metastore.valid_write_ids("db", "nope", metastore.valid_txns())
    with pytest.raises(AcidLookupError):
        metastore.seed_write_id("db", "nope", 5)


def test_snapshot_of_a_table_never_written(metastore: Metastore) -> None:
    assert seen(metastore).to_string() == "db.t:0:9223372036854775807::"


def test_snapshot_after_committed_writes(metastore: Metastore) -> None:
    for _ in range(3):
        metastore.commit_txn(written(metastore)[0])
    reader = opened(metastore)
    text = metastore.valid_write_ids("DB", "T", metastore.valid_txns(reader)).to_string()
    assert text == "db.t:3:9223372036854775807::"


def test_open_and_aborted_write_ids_are_exceptions(metastore: Metastore) -> None:
    committed, still_open, aborted, last = (written(metastore)[0] for _ in range(4))
    metastore.commit_txn(committed)
    metastore.abort_txn(aborted)
    metastore.commit_txn(last)
    assert seen(metastore) == ValidWriteIdList(
        table="db.t", high_water_mark=4, open=frozenset({2}), aborted=frozenset({3})
    )
    assert seen(metastore).to_string() == "db.t:4:2:2:3"
    metastore.commit_txn(still_open)
    assert seen(metastore).to_string() == "db.t:4:9223372036854775807::3"


def test_own_write_id_is_valid(metastore: Metastore) -> None:
    other, _ = written(metastore)
    own, own_write_id = written(metastore)
    snapshot = seen(metastore, own)
    assert snapshot.is_valid(own_write_id)
    assert snapshot == ValidWriteIdList(table="db.t", high_water_mark=2, open=frozenset({1}))
    assert not seen(metastore, other).is_valid(own_write_id)


def test_writers_that_came_after_the_snapshot_are_not_seen(metastore: Metastore) -> None:
    metastore.commit_txn(written(metastore)[0])
    reader = opened(metastore)
    snapshot = metastore.valid_txns(reader)
    metastore.commit_txn(written(metastore)[0])
    after = metastore.valid_write_ids("db", "t", snapshot)
    assert [w for w in range(1, 4) if after.is_valid(w)] == [1]


def test_write_ids_may_be_in_another_order_than_transactions(metastore: Metastore) -> None:
    older, reader = opened(metastore), opened(metastore)
    snapshot = metastore.valid_txns(reader)
    younger, first = written(metastore)
    second = metastore.allocate_write_id(older, "db", "t")
    assert (first, second) == (1, 2)
    metastore.commit_txn(younger)
    metastore.commit_txn(older)
    own = metastore.valid_write_ids("db", "t", snapshot)
    assert not own.is_valid(first)  # its transaction came after the snapshot
    assert not own.is_valid(second)  # its transaction was open
    now = seen(metastore)
    assert now.is_valid(first)
    assert now.is_valid(second)


def test_old_snapshot_stays_right_when_others_have_long_committed(metastore: Metastore) -> None:
    """As long as its reader is open; a server forgets what only others need."""
    before = [written(metastore)[0] for _ in range(2)]
    metastore.commit_txn(before[0])
    reader = opened(metastore)
    snapshot = metastore.valid_txns(reader)
    metastore.commit_txn(before[1])
    for _ in range(5):
        metastore.commit_txn(written(metastore)[0])
    after = metastore.valid_write_ids("db", "t", snapshot)
    assert [w for w in range(1, 8) if after.is_valid(w)] == [1]


def test_seeded_write_ids_count_as_committed(metastore: Metastore) -> None:
    metastore.seed_write_id("DB", "T", 11)
    assert metastore.next_write_id("db", "t") == 11
    assert seen(metastore).to_string() == "db.t:10:9223372036854775807::"
    _, write_id = written(metastore)
    assert write_id == 11
    assert seen(metastore).is_valid(10)
    assert not seen(metastore).is_valid(11)


def test_seed_keeps_what_is_known_and_never_goes_back(metastore: Metastore) -> None:
    still_open, first = written(metastore)
    metastore.seed_write_id("db", "t", 5)
    metastore.seed_write_id("db", "t", 3)
    assert metastore.next_write_id("db", "t") == 5
    assert seen(metastore).to_string() == "db.t:4:1:1:"
    metastore.commit_txn(still_open)
    assert first == 1
    assert seen(metastore).to_string() == "db.t:4:9223372036854775807::"


def test_write_ids_that_were_given_since(metastore: Metastore) -> None:
    ids = [written(metastore) for _ in range(4)]
    metastore.commit_txn(ids[1][0])
    metastore.abort_txn(ids[2][0])
    written(metastore, "p")
    assert metastore.write_ids_after("DB", "T", 1) == {2, 3, 4}
    assert metastore.write_ids_after("db", "t", 4) == frozenset()


@only(*EMBEDDED)  # a server gives those too
def test_seeded_write_ids_were_not_given(metastore: Metastore) -> None:
    written(metastore)
    metastore.seed_write_id("db", "t", 6)
    assert written(metastore)[1] == 6
    assert metastore.write_ids_after("db", "t", 0) == {1, 6}


@only(*EMBEDDED)  # a server forgets them by and by, in a thread of its own
def test_cleaned_aborts_are_forgotten_without_lowering_the_mark(
    metastore: Metastore, advance: Callable[[float], None]
) -> None:
    metastore.commit_txn(written(metastore)[0])
    aborted, _ = written(metastore)
    metastore.abort_txn(aborted)
    entry = metastore.request_compaction("db", "t", None, CompactionType.MAJOR)
    assert metastore.next_compaction("worker") is not None
    compactor = metastore.open_txn("ann", "host", TxnType.COMPACTION)
    metastore.compaction_started(entry.compaction_id, compactor, 2)
    metastore.compaction_done(entry.compaction_id)
    metastore.commit_txn(compactor)
    metastore.compaction_cleaned(entry.compaction_id, 2)
    advance(metastore.txn_timeout + 1)
    metastore.reap()

    snapshot = seen(metastore)
    assert snapshot.high_water_mark == 2
    assert aborted not in metastore.valid_txns().aborted
    with pytest.raises(TransactionStateError, match="TXN_ABORTED"):
        metastore.commit_txn(aborted)
    metastore.abort_txn(aborted)
    assert metastore.heartbeat([aborted]) == (aborted,)
    assert written(metastore)[1] == 3


@only(*EMBEDDED)  # the same
def test_aborts_without_writes_are_forgotten_after_the_time_out(
    metastore: Metastore, advance: Callable[[float], None]
) -> None:
    empty = opened(metastore)
    writer, _ = written(metastore)
    compactor = metastore.open_txn("ann", "host", TxnType.COMPACTION)
    for txn_id in (empty, writer, compactor):
        metastore.abort_txn(txn_id)
    metastore.reap()
    assert metastore.valid_txns().aborted == {empty, writer, compactor}
    advance(metastore.txn_timeout + 1)
    metastore.reap()
    assert metastore.valid_txns().aborted == {writer, compactor}
