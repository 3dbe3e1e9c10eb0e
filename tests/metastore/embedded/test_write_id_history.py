"""Outcome, commit number and time of each write id in the embedded metastore's file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest

from acidsql.errors import WriteConflictError
from acidsql.metastore.embedded import schema
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import (
    CompactionType,
    LockRequest,
    LockType,
    Operation,
    TxnState,
    TxnType,
)
from tests.metastore.subjects import START

History = list[tuple[int, str | None, int | None, float | None, int]]


def history(path: str, table: str = "t") -> History:
    """Return write id, outcome, commit number, time since the test began, and whether cleaned."""
    connection = sqlite3.connect(path)
    try:
        rows = connection.execute(
            "SELECT write_id, outcome, commit_number, ended - ?, cleaned FROM write_ids"
            " JOIN tables USING (table_id) WHERE table_name = ? ORDER BY write_id",
            (START, table),
        )
        return rows.fetchall()
    finally:
        connection.close()


def written(store: EmbeddedMetastore, *tables: str) -> int:
    txn_id = store.open_txn("ann", "host")
    for table in tables or ("t",):
        store.allocate_write_id(txn_id, "db", table)
    return txn_id


def update_of_t(store: EmbeddedMetastore, txn_id: int) -> None:
    request = LockRequest(
        database="db",
        table="t",
        partition=None,
        type=LockType.SHARED_READ,
        operation=Operation.UPDATE,
    )
    store.lock(txn_id, [request])


def clean(store: EmbeddedMetastore, highest: int) -> None:
    entry = store.request_compaction("db", "t", None, CompactionType.MAJOR)
    store.next_compaction("worker", entry.compaction_id)
    compactor = store.open_txn("ann", "host", TxnType.COMPACTION)
    store.compaction_started(entry.compaction_id, compactor, highest)
    store.compaction_done(entry.compaction_id)
    store.commit_txn(compactor)
    store.compaction_cleaned(entry.compaction_id, highest)


def test_commits_are_numbered_in_their_order(
    store: EmbeddedMetastore, path: str, advance: Callable[[float], None]
) -> None:
    first, second, still_open = (written(store) for _ in range(3))
    both = written(store, "t", "p")
    store.commit_txn(store.open_txn("ann", "host"))  # has written nothing
    for txn_id in (second, both, first):
        advance(10)
        store.commit_txn(txn_id)
        store.commit_txn(txn_id)
    assert history(path) == [
        (1, "committed", 3, 30.0, 0),
        (2, "committed", 1, 10.0, 0),
        (3, None, None, None, 0),
        (4, "committed", 2, 20.0, 0),
    ]
    assert history(path, "p") == [(1, "committed", 2, 20.0, 0)]
    store.require_open(still_open)


def test_numbers_are_not_given_again_after_a_table_was_dropped(
    store: EmbeddedMetastore, path: str
) -> None:
    store.commit_txn(written(store, "p"))
    store.drop_table("db", "p")
    store.commit_txn(written(store))
    assert [row[2] for row in history(path)] == [2]


@pytest.mark.parametrize("cause", ["client", "somebody", "conflict", "time-out"])
def test_aborts_are_recorded(
    store: EmbeddedMetastore, path: str, advance: Callable[[float], None], cause: str
) -> None:
    txn_id = written(store)
    expected: History = [(1, "aborted", None, 10.0, 0)]
    if cause == "conflict":
        winner = written(store)
        for one in (txn_id, winner):
            update_of_t(store, one)
        store.commit_txn(winner)
        expected.append((2, "committed", 1, 0.0, 0))
    advance(10)
    if cause == "client":
        store.abort_txn(txn_id)
    elif cause == "somebody":
        store.abort_txns([txn_id])
    elif cause == "conflict":
        with pytest.raises(WriteConflictError):
            store.commit_txn(txn_id)
    else:
        advance(store.txn_timeout)
        assert store.reap() == (txn_id,)
        expected = [(1, "aborted", None, 10.0 + store.txn_timeout, 0)]
    assert history(path) == expected


def test_an_aborted_write_id_that_was_cleaned_stays_aborted(
    store: EmbeddedMetastore, path: str, advance: Callable[[float], None]
) -> None:
    aborted, committed = written(store), written(store)
    store.abort_txn(aborted)
    store.commit_txn(committed)
    clean(store, 2)
    advance(store.txn_timeout + 1)
    store.reap()
    assert store.valid_txns().aborted == frozenset()
    seen = store.valid_write_ids("db", "t", store.valid_txns())
    assert seen.to_string() == "db.t:2:9223372036854775807::"  # as readers see it
    assert history(path) == [(1, "aborted", None, 0.0, 1), (2, "committed", 1, 0.0, 0)]


def test_a_seeded_write_id_has_no_history(store: EmbeddedMetastore, path: str) -> None:
    store.seed_write_id("db", "t", 6)
    store.commit_txn(written(store))
    assert history(path) == [(6, "committed", 1, 0.0, 0)]


def test_what_an_older_file_knows_is_taken_over(path: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in (*schema.MIGRATIONS[0], *schema.MIGRATIONS[1]):
        connection.execute(statement)
    connection.execute(
        "INSERT INTO tables (database_name, table_name, table_type, columns, partition_columns,"
        " properties, location, owner, created, next_write_id)"
        " VALUES ('default', 't', 'MANAGED_TABLE', '[]', '[]', '{}', '', '', 0, 5)"
    )
    for txn_id, state in ((2, "aborted"), (3, "open"), (4, "committed")):
        connection.execute(
            "INSERT INTO txns (txn_id, state, type, user, host, started, last_heartbeat, ended,"
            " abort_cause) VALUES (?, ?, 'default', 'ann', 'host', 0, 9e9, 0, ?)",
            (txn_id, state, "it was rolled back"),
        )
    for number in (1, 2, 3, 4):
        connection.execute("INSERT INTO write_ids VALUES (1, ?, ?)", (number, number))
    connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
    connection.execute("PRAGMA user_version = 2")
    connection.close()

    store = EmbeddedMetastore(path, clock=lambda: START + 1.0)
    seen = store.valid_write_ids("default", "t", store.valid_txns())
    assert seen.to_string() == "default.t:4:3:3:2"
    store.commit_txn(3)
    assert history(path) == [
        (1, TxnState.COMMITTED, None, None, 0),
        (2, TxnState.ABORTED, None, None, 0),
        (3, TxnState.COMMITTED, 1, 1.0, 0),
        (4, TxnState.COMMITTED, None, None, 0),
    ]
    store.close()
