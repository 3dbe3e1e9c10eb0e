"""Tests of requests, workers and cleaners; Hive 3.1 accepts requests and does the work itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from acidsql.errors import AcidLookupError, AcidSqlError
from acidsql.metastore.model import Compaction, CompactionState, CompactionType, TxnType
from acidsql.metastore.protocol import Metastore
from tests.metastore.subjects import EMBEDDED, WITH_WORKERS, only

pytestmark = pytest.mark.usefixtures("tables")

workers = only(*WITH_WORKERS)

MINOR, MAJOR = CompactionType.MINOR, CompactionType.MAJOR
INITIATED, WORKING, READY, SUCCEEDED, FAILED, REFUSED, *_ = CompactionState


def requested(
    metastore: Metastore,
    table: str = "t",
    partition: str | None = None,
    kind: CompactionType = MAJOR,
) -> int:
    """Request a compaction for one worker; return its id."""
    worker = worker_of(table, partition)
    entry = metastore.request_compaction("db", table, partition, kind, worker)
    assert entry.state is INITIATED
    return entry.compaction_id


def worker_of(table: str, partition: str | None) -> str:
    return f"worker-{table}-{partition}"


def taken(metastore: Metastore, compaction_id: int) -> None:
    entry = entry_of(metastore, compaction_id)
    entry_taken = metastore.next_compaction(worker_of(entry.table, entry.partition), compaction_id)
    assert entry_taken is not None
    assert entry_taken.compaction_id == compaction_id


def running(
    metastore: Metastore, table: str = "t", partition: str | None = None
) -> tuple[int, int]:
    """Start a compaction by a worker with an open transaction; return both ids."""
    compaction_id = requested(metastore, table, partition)
    taken(metastore, compaction_id)
    txn_id = metastore.open_txn("ann", "host", TxnType.COMPACTION)
    metastore.compaction_started(compaction_id, txn_id, 1)
    return compaction_id, txn_id


def finished(metastore: Metastore, table: str = "t", partition: str | None = None) -> int:
    compaction_id, txn_id = running(metastore, table, partition)
    metastore.compaction_done(compaction_id)
    metastore.commit_txn(txn_id)
    return compaction_id


def entry_of(metastore: Metastore, compaction_id: int) -> Compaction:
    (entry,) = (c for c in metastore.compactions() if c.compaction_id == compaction_id)
    return entry


def ready(metastore: Metastore) -> list[int]:
    return [entry.compaction_id for entry in metastore.ready_to_clean()]


def shown(entry: Compaction, kind: str, **changes: Any) -> Compaction:
    """Return an entry as the metastore shows it: servers do not show every field."""
    entry = replace(entry, **changes)
    if kind == "embedded":
        return entry
    finished = entry.state not in (INITIATED, WORKING)
    return replace(entry, highest_write_id=None, worker=None if finished else entry.worker)


@workers
def test_life_of_a_compaction(
    metastore: Metastore, kind: str, advance: Callable[[float], None], at: Callable[[float], Any]
) -> None:
    entry = metastore.request_compaction("DB", "P", "Year=1", MINOR)
    assert entry == Compaction(
        compaction_id=entry.compaction_id,
        database="db",
        table="p",
        partition="year=1",
        type=MINOR,
        state=INITIATED,
        enqueued=at(0),
    )
    assert metastore.compactions() == (entry,)

    advance(10)
    entry = replace(entry, enqueued=at(0), state=WORKING, worker="worker-1", started=at(10))
    assert metastore.next_compaction("worker-1") == entry
    txn_id = metastore.open_txn("ann", "host", TxnType.COMPACTION)
    metastore.compaction_started(entry.compaction_id, txn_id, 42)
    entry = replace(entry, txn_id=txn_id, highest_write_id=42)
    assert metastore.compactions() == (shown(entry, kind),)

    metastore.compaction_done(entry.compaction_id)
    assert metastore.compactions() == (shown(entry, kind, state=READY),)
    assert metastore.ready_to_clean() == ()  # not committed yet
    metastore.commit_txn(txn_id)
    visible = {"done": at(10)} if kind == "embedded" else {}
    entry = replace(entry, state=READY, next_txn_id=txn_id + 1, **visible)
    assert metastore.ready_to_clean() == (shown(entry, kind),)

    advance(10)
    metastore.compaction_cleaned(entry.compaction_id, 42)
    assert metastore.ready_to_clean() == ()
    times = {"enqueued": at(0), "started": at(10), "ended": at(20)}
    assert metastore.compactions() == (shown(entry, kind, state=SUCCEEDED, **times),)


@only("3.1.3")
def test_hive_3_only_takes_requests(metastore: Metastore) -> None:
    compaction_id = requested(metastore, "p", "year=1", MINOR)
    assert metastore.next_compaction("worker") is None
    assert metastore.next_compaction(worker_of("p", "year=1"), compaction_id) is None
    assert metastore.ready_to_clean() == ()
    (entry,) = metastore.compactions()
    assert (entry.compaction_id, entry.partition, entry.type, entry.state) == (
        compaction_id, "year=1", MINOR, INITIATED,
    )  # fmt: skip


@workers
def test_oldest_entry_is_taken_first_and_once(metastore: Metastore) -> None:
    first, second = (
        metastore.request_compaction("db", "p", f"year={y}", MAJOR).compaction_id for y in "21"
    )
    taken_ids = [metastore.next_compaction(f"worker-{i}") for i in range(3)]
    assert [c and c.compaction_id for c in taken_ids] == [first, second, None]
    assert [c and c.worker for c in taken_ids] == ["worker-0", "worker-1", None]


@workers
def test_one_entry_is_asked_for(metastore: Metastore) -> None:
    requested(metastore, "p", "year=1")
    second = requested(metastore, "p", "year=2")
    taken(metastore, second)
    assert metastore.next_compaction(worker_of("p", "year=2"), second) is None
    assert metastore.next_compaction("other", second) is None
    assert metastore.next_compaction("other", second + 100) is None


@only("4.1.0", "4.0.1")
def test_entry_that_is_left_to_one_worker_is_not_given_to_others(metastore: Metastore) -> None:
    compaction_id = requested(metastore, "p", "year=1")
    assert metastore.next_compaction("other") is None
    taken(metastore, compaction_id)


def test_newest_is_listed_first(metastore: Metastore) -> None:
    ids = [requested(metastore, "p", f"year={year}") for year in range(3)]
    assert [c.compaction_id for c in metastore.compactions()] == ids[::-1]


@workers
@pytest.mark.parametrize("state", [INITIATED, WORKING])
@pytest.mark.parametrize("wanted", [MINOR, MAJOR])
def test_same_object_is_not_queued_twice(
    metastore: Metastore, state: CompactionState, wanted: CompactionType
) -> None:
    compaction_id = requested(metastore, "p", "year=1")
    if state is WORKING:
        taken(metastore, compaction_id)
    answer = metastore.request_compaction("db", "p", "YEAR=1", wanted)
    assert answer.state is REFUSED
    assert answer.error == (
        f"Compaction is already scheduled with state='{state.value}' and id={compaction_id}"
    )
    assert [c.compaction_id for c in metastore.compactions()] == [compaction_id]
    requested(metastore, "p", "year=2")
    requested(metastore, "t")


@workers
def test_nothing_new_to_compact_is_refused_before_cleaning(metastore: Metastore) -> None:
    first, second = metastore.open_txn("ann", "host"), metastore.open_txn("ann", "host")
    metastore.allocate_write_id(first, "db", "t")
    metastore.commit_txn(first)
    compaction_id = finished(metastore)
    answer = metastore.request_compaction("db", "t", None, MAJOR)
    assert answer.state is REFUSED
    assert answer.error is not None
    assert f"'ready for cleaning' and id={compaction_id}" in answer.error
    metastore.allocate_write_id(second, "db", "t")
    assert metastore.request_compaction("db", "t", None, MAJOR).state is REFUSED
    metastore.commit_txn(second)
    assert metastore.request_compaction("db", "t", None, MAJOR).state is INITIATED


@workers
def test_object_may_be_compacted_again_after_cleaning(metastore: Metastore) -> None:
    metastore.compaction_cleaned(finished(metastore), 1)
    requested(metastore)


@workers
def test_cleaning_waits_for_older_transactions(metastore: Metastore) -> None:
    compaction_id, txn_id = running(metastore)
    reader = metastore.open_txn("ann", "host", TxnType.READ_ONLY)
    metastore.compaction_done(compaction_id)
    metastore.commit_txn(txn_id)
    later = metastore.open_txn("ann", "host", TxnType.READ_ONLY)
    assert ready(metastore) == []
    metastore.commit_txn(reader)
    assert ready(metastore) == [compaction_id]
    metastore.commit_txn(later)
    assert ready(metastore) == [compaction_id]


@only(*EMBEDDED)  # a server's cleaner counts from the commit
def test_worker_may_commit_before_it_says_done(metastore: Metastore) -> None:
    compaction_id, txn_id = running(metastore)
    metastore.commit_txn(txn_id)
    reader = metastore.open_txn("ann", "host", TxnType.READ_ONLY)
    metastore.compaction_done(compaction_id)
    assert ready(metastore) == []
    metastore.commit_txn(reader)
    assert ready(metastore) == [compaction_id]


@workers
def test_entry_without_a_transaction_only_cleans(metastore: Metastore, kind: str) -> None:
    compaction_id = requested(metastore)
    taken(metastore, compaction_id)
    reader = metastore.open_txn("ann", "host", TxnType.READ_ONLY)
    metastore.compaction_done(compaction_id)
    if kind == "embedded":
        assert ready(metastore) == []
    else:
        # It may be cleaned at once, of what not even the reader needs.
        assert [c.next_txn_id for c in metastore.ready_to_clean()] == [reader]
    metastore.commit_txn(reader)
    assert ready(metastore) == [compaction_id]
    metastore.compaction_cleaned(compaction_id, 1)
    assert entry_of(metastore, compaction_id).state is SUCCEEDED


@workers
def test_failed_and_refused_are_kept_with_their_reason(metastore: Metastore) -> None:
    failed, refused = requested(metastore, "t"), requested(metastore, "p", "year=1")
    taken(metastore, failed)
    taken(metastore, refused)
    metastore.compaction_failed(failed, "disk full: /data/ä")
    metastore.compaction_refused(refused, "not enough deltas")
    assert [(c.state, c.error) for c in metastore.compactions()] == [
        (REFUSED, "not enough deltas"),
        (FAILED, "disk full: /data/ä"),
    ]
    requested(metastore, "t")


@workers
def test_abort_of_the_compactor_fails_its_entry(metastore: Metastore, kind: str) -> None:
    compaction_id, txn_id = running(metastore)
    metastore.compaction_done(compaction_id)
    assert ready(metastore) == []
    metastore.abort_txn(txn_id)
    if kind != "embedded":
        assert ready(metastore) == [compaction_id]  # of a server the worker must say so
        metastore.compaction_failed(compaction_id, "aborted")
    assert entry_of(metastore, compaction_id).state is FAILED
    assert ready(metastore) == []


@workers
def test_worker_may_abort_before_it_says_failed(metastore: Metastore) -> None:
    compaction_id, txn_id = running(metastore)
    metastore.abort_txn(txn_id)
    metastore.compaction_failed(compaction_id, "out of memory")
    entry = entry_of(metastore, compaction_id)
    assert (entry.state, entry.error) == (FAILED, "out of memory")


@workers
def test_dead_compactor_is_reaped(
    metastore: Metastore,
    kind: str,
    advance: Callable[[float], None],
    reap: Callable[[], tuple[int, ...]],
) -> None:
    compaction_id, txn_id = running(metastore)
    advance(metastore.txn_timeout + 1)
    assert reap() == (txn_id,)
    if kind != "embedded":
        # A server would not take another request for a day; we look what became of the worker.
        assert entry_of(metastore, compaction_id).state is WORKING
        requested(metastore)
        entry = entry_of(metastore, compaction_id)
        assert entry.state is FAILED
        assert entry.error is not None
        assert f"transaction {txn_id} was aborted" in entry.error
    with pytest.raises(AcidSqlError):
        metastore.compaction_done(compaction_id)


@only(*EMBEDDED)
def test_entry_of_a_dead_compactor_goes_back_to_the_queue_twice(
    metastore: Metastore, advance: Callable[[float], None], reap: Callable[[], tuple[int, ...]]
) -> None:
    compaction_id = requested(metastore)
    for attempt in range(3):
        assert entry_of(metastore, compaction_id).state is INITIATED
        taken(metastore, compaction_id)
        txn_id = metastore.open_txn("ann", "host", TxnType.COMPACTION)
        metastore.compaction_started(compaction_id, txn_id, 1)
        if attempt == 1:
            metastore.compaction_done(compaction_id)  # and no commit follows
        advance(metastore.txn_timeout + 1)
        assert reap() == (txn_id,)
    entry = entry_of(metastore, compaction_id)
    assert (entry.state, entry.txn_id) == (FAILED, txn_id)
    assert entry.error is not None
    assert f"transaction {txn_id} was aborted: it sent no heartbeat" in entry.error


@only(*EMBEDDED)  # a server waits for a day
def test_entry_of_a_worker_that_never_began_is_queued_again(
    metastore: Metastore, advance: Callable[[float], None]
) -> None:
    compaction_id = requested(metastore)
    taken(metastore, compaction_id)
    advance(metastore.txn_timeout - 1)
    metastore.reap()
    assert entry_of(metastore, compaction_id).state is WORKING
    advance(2)
    metastore.reap()
    taken(metastore, compaction_id)


@only(*EMBEDDED)  # a server does it by and by, in a thread of its own
@pytest.mark.parametrize("table", ["t", "p"])
def test_history_keeps_three_of_each_end(metastore: Metastore, table: str) -> None:
    partition = None if table == "t" else "year=1"
    ids: dict[CompactionState, list[int]] = {SUCCEEDED: [], FAILED: [], REFUSED: []}
    for _ in range(5):
        ids[SUCCEEDED].append(finished(metastore, table, partition))
        metastore.compaction_cleaned(ids[SUCCEEDED][-1], 1)
        ids[FAILED].append(running(metastore, table, partition)[0])
        metastore.compaction_failed(ids[FAILED][-1], "why")
        ids[REFUSED].append(requested(metastore, table, partition))
        taken(metastore, ids[REFUSED][-1])
        metastore.compaction_refused(ids[REFUSED][-1], "why")
    other = requested(metastore, "p", "year=2")
    taken(metastore, other)
    metastore.compaction_failed(other, "why")
    kept = {c.compaction_id for c in metastore.compactions()}
    assert kept == {other}.union(*(of_state[-3:] for of_state in ids.values()))


def test_unknown_and_illegal_moves(metastore: Metastore) -> None:
    compaction_id = requested(metastore)
    moves: tuple[Callable[[int], None], ...] = (
        metastore.compaction_done,
        lambda number: metastore.compaction_cleaned(number, 1),
    )
    for move in moves:
        with pytest.raises(AcidSqlError, match="'initiated'"):
            move(compaction_id)
        with pytest.raises(AcidLookupError, match="COMPACTION_NOT_FOUND"):
            move(compaction_id + 1)
    with pytest.raises(AcidLookupError, match="TABLE_OR_VIEW_NOT_FOUND"):
        metastore.request_compaction("db", "nope", None, MAJOR)
    assert entry_of(metastore, compaction_id).state is INITIATED
