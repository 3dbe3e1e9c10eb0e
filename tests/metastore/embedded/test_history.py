"""History of tables in the embedded metastore."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import WriteConflictError
from acidsql.metastore.catalog_changes import (
    CatalogChange,
    RecordCompaction,
    RecordCounts,
    RenameTable,
)
from acidsql.metastore.embedded import schema
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.history import (
    COMPACT,
    UNCOUNTED,
    HistoryEntry,
    RecordedStatement,
    WriteCounts,
)
from acidsql.metastore.model import (
    CompactionType,
    LockRequest,
    LockType,
    Operation,
    TxnState,
    TxnType,
)
from acidsql.transactions.recorded import cut
from tests.metastore.subjects import START

INSERT = RecordedStatement(operation="INSERT", text="INSERT INTO t VALUES (1)")
THREE = WriteCounts(inserted=3, files=1, size=700)


def begun(store: EmbeddedMetastore, statement: RecordedStatement = INSERT) -> int:
    txn_id = store.open_txn("ann", "north")
    store.allocate_write_id(txn_id, "db", "t", statement)
    return txn_id


def committed(store: EmbeddedMetastore, counts: WriteCounts = THREE) -> int:
    txn_id = begun(store)
    store.prepare_commit(txn_id, [RecordCounts(table=store.table("db", "t"), counts=counts)])
    store.commit_txn(txn_id)
    return txn_id


def history(store: EmbeddedMetastore, limit: int | None = None) -> tuple[HistoryEntry, ...]:
    return store.history("db", "t", limit)


def test_committed_open_and_aborted_newest_first(
    store: EmbeddedMetastore, advance: Callable[[float], None]
) -> None:
    first = begun(store)
    advance(5)
    store.prepare_commit(first, [RecordCounts(table=store.table("db", "t"), counts=THREE)])
    store.commit_txn(first)
    aborted = begun(store, RecordedStatement(operation="DELETE"))
    advance(1)
    store.abort_txn(aborted)
    still_open = begun(store)
    one = HistoryEntry(
        write_id=1,
        first_write_id=1,
        state=TxnState.COMMITTED,
        txn_id=first,
        started=START,
        ended=START + 5,
        user="ann",
        host="north",
        operation="INSERT",
        statement="INSERT INTO t VALUES (1)",
        counts=THREE,
    )
    expected_open = replace(
        one,
        write_id=3,
        first_write_id=3,
        state=TxnState.OPEN,
        txn_id=still_open,
        started=START + 6,
        ended=None,
        counts=UNCOUNTED,
    )
    expected_aborted = replace(
        expected_open,
        write_id=2,
        first_write_id=2,
        state=TxnState.ABORTED,
        txn_id=aborted,
        started=START + 5,
        ended=START + 6,
        operation="DELETE",
        statement=None,
    )
    assert history(store) == (expected_open, expected_aborted, one)
    assert [entry.write_id for entry in history(store, 2)] == [3, 2]
    assert store.history("db", "p", None) == ()


def test_conflict_leaves_no_counts(store: EmbeddedMetastore) -> None:
    request = LockRequest(
        database="db",
        table="t",
        partition=None,
        type=LockType.SHARED_WRITE,
        operation=Operation.UPDATE,
    )
    winner, loser = begun(store), begun(store)
    for txn_id in (winner, loser):
        store.lock(txn_id, [request])
    store.commit_txn(winner)
    store.prepare_commit(loser, [RecordCounts(table=store.table("db", "t"), counts=THREE)])
    with pytest.raises(WriteConflictError):
        store.commit_txn(loser)
    newest = history(store, 1)[0]
    assert (newest.txn_id, newest.state, newest.counts) == (loser, TxnState.ABORTED, UNCOUNTED)


def test_compaction_stands_above_the_highest_write_id_that_it_merged(
    store: EmbeddedMetastore, advance: Callable[[float], None]
) -> None:
    writers = [committed(store), committed(store)]
    compactor = store.open_txn("bob", "south", TxnType.COMPACTION)
    later = committed(store)
    advance(9)
    change = RecordCompaction(
        table=store.table("db", "t"),
        partition="p=1",
        type=CompactionType.MINOR,
        first_write_id=1,
        write_id=2,
        counts=replace(UNCOUNTED, files=2, size=30),
    )
    store.prepare_commit(compactor, [change])
    store.commit_txn(compactor)
    found = history(store)
    assert [entry.txn_id for entry in found] == [later, compactor, *reversed(writers)]
    assert found[1] == HistoryEntry(
        write_id=2,
        first_write_id=1,
        state=TxnState.COMMITTED,
        txn_id=compactor,
        started=START,
        ended=START + 9,
        user="bob",
        host="south",
        operation=COMPACT,
        statement="minor",
        partition="p=1",
        counts=replace(UNCOUNTED, files=2, size=30),
    )


def test_history_follows_a_rename_and_ends_with_the_table(
    store: EmbeddedMetastore, path: str
) -> None:
    txn_id = begun(store, RecordedStatement(operation="RENAME TABLE"))
    table = store.table("db", "t")
    made: list[CatalogChange] = [
        RecordCounts(table=table, counts=WriteCounts(files=0, size=0)),
        RenameTable(table=table, database="db", name="u", location=table.location),
    ]
    store.prepare_commit(txn_id, made)
    store.commit_txn(txn_id)
    (entry,) = store.history("db", "u", None)
    assert (entry.operation, entry.counts) == ("RENAME TABLE", WriteCounts(files=0, size=0))
    store.drop_table("db", "u")
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM history").fetchone() == (0,)
    connection.close()


def test_write_id_of_an_older_acidsql_has_what_is_known(store: EmbeddedMetastore) -> None:
    txn_id = store.open_txn("ann", "north")
    store.allocate_write_id(txn_id, "db", "t")
    (entry,) = history(store)
    assert (entry.operation, entry.user, entry.state) == (None, "ann", TxnState.OPEN)
    store.commit_txn(txn_id)
    (entry,) = history(store)
    assert (entry.operation, entry.user, entry.state) == (None, None, TxnState.COMMITTED)


@pytest.mark.parametrize("kept", [0, 1, 3])
def test_entries_that_are_kept(path: str, store: EmbeddedMetastore, kept: int) -> None:
    bounded = EmbeddedMetastore(path, history_entries=kept)
    for _ in range(5):
        committed(bounded)
    assert [entry.write_id for entry in history(bounded)] == [5, 4, 3, 2, 1][:kept]
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM history").fetchone() == (kept,)
    connection.close()
    # Another session may keep more: it shows time and outcome of the others.
    assert [entry.operation for entry in history(store)] == [
        *["INSERT"] * kept,
        *[None] * (5 - kept),
    ]
    bounded.close()


def test_statement_costs_no_further_transaction_of_the_file(
    store: EmbeddedMetastore, path: str
) -> None:
    def changes(run: Callable[[EmbeddedMetastore], object]) -> int:
        connection = sqlite3.connect(path)
        before = connection.execute("PRAGMA data_version").fetchone()[0]
        run(store)
        after = connection.execute("PRAGMA data_version").fetchone()[0]
        connection.close()
        return int(after != before)

    counts = RecordCounts(table=store.table("db", "t"), counts=THREE)
    txn_id = begun(store)
    assert changes(lambda s: s.prepare_commit(txn_id, [counts])) == 0
    assert changes(lambda s: s.commit_txn(txn_id)) == 1


def test_file_of_an_older_acidsql(tmp_path: Path) -> None:
    path = tmp_path / "older.sqlite"
    older = sqlite3.connect(path)
    for migration in schema.MIGRATIONS[:4]:
        for statement in migration:
            older.execute(statement)
    older.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
    older.execute("PRAGMA user_version = 4")
    older.execute(
        "INSERT INTO tables (database_name, table_name, table_type, columns, partition_columns,"
        " properties, location, owner, created, next_write_id)"
        " VALUES ('default', 't', 'MANAGED_TABLE', '[]', '[]', '{}', 'file:/t', 'ann', 0, 3)"
    )
    older.execute("INSERT INTO write_ids VALUES (1, 1, 7, 'committed', 1, 500.0, 0)")
    older.execute("INSERT INTO write_ids VALUES (1, 2, 9, 'aborted', NULL, 600.0, 1)")
    older.commit()
    older.close()
    store = EmbeddedMetastore(str(path))
    found = store.history("default", "t", None)
    store.close()
    assert [(e.write_id, e.txn_id, e.state.value, e.ended, e.operation) for e in found] == [
        (2, 9, "aborted", 600.0, None),
        (1, 7, "committed", 500.0, None),
    ]


def test_text_that_no_file_can_hold(store: EmbeddedMetastore) -> None:
    text = cut("SELECT '\ud800\x00'", 100)
    begun(store, RecordedStatement(operation="INSERT", text=text))
    assert history(store)[0].statement == "SELECT '?\x00'"


@given(st.text(), st.integers(1, 20))
def test_cut_text(text: str, length: int) -> None:
    found = cut(text, length)
    assert len(found) <= length
    assert found == text if len(text) <= length else text.startswith(found[:-1])
