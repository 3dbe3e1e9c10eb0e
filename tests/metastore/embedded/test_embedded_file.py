"""Tests of the embedded metastore's file: opening, migration and sharing."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from acidsql.errors import MetastoreError
from acidsql.metastore.embedded import schema
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import Column, Table
from acidsql.metastore.protocol import Metastore
from acidsql.repl.metastore_files import back_up
from tests.limits import set_limits
from tests.metastore.subjects import stored_rows


def test_is_a_metastore(path: str) -> None:
    store: Metastore = EmbeddedMetastore(path, txn_timeout=12.5)
    assert store.txn_timeout == 12.5
    store.close()


def test_the_file_and_copies_of_it_are_private(tmp_path: Path) -> None:
    file, copy = tmp_path / "metastore.db", tmp_path / "copy.db"
    store = EmbeddedMetastore(str(file))
    store.open_txn("ann", "host")
    back_up(file, copy)
    with_log = ("metastore.db", "metastore.db-shm", "metastore.db-wal")
    for name in (*with_log, "copy.db"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    store.close()
    file.chmod(0o640)
    store = EmbeddedMetastore(str(file))
    store.open_txn("ann", "host")
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in with_log} == {0o640}
    store.close()


def test_what_is_written_is_there_after_reopening(tmp_path: Path) -> None:
    path = str(tmp_path / "new" / "Pfad mit ä" / "metastore.db")
    store = EmbeddedMetastore(path)
    store.create_table(Table(database="default", name="t", columns=(Column(name="a", type="int"),)))
    committed, aborted = store.open_txn("ann", "host"), store.open_txn("ann", "host")
    store.allocate_write_id(committed, "default", "t")
    store.allocate_write_id(aborted, "default", "t")
    store.commit_txn(committed)
    store.abort_txn(aborted)
    store.close()

    again = EmbeddedMetastore(path)
    snapshot = again.valid_write_ids("default", "t", again.valid_txns())
    assert snapshot.to_string() == "default.t:2:9223372036854775807::2"
    assert again.open_txn("ann", "host") == 3
    again.close()


def test_commits_are_durable(store: EmbeddedMetastore) -> None:
    with store.database.read() as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2  # FULL


def test_commits_need_not_be_durable(path: str) -> None:
    store = EmbeddedMetastore(path, synchronous=False)
    with store.database.read() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == 0  # OFF
    store.close()


def test_newer_schema_is_refused(path: str) -> None:
    EmbeddedMetastore(path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")
    connection.close()
    with pytest.raises(
        MetastoreError,
        match=rf"\[METASTORE_VERSION\].* version {schema.SCHEMA_VERSION + 1}, .*upgrade acidsql",
    ):
        EmbeddedMetastore(path)


def test_older_schema_is_migrated(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    EmbeddedMetastore(path).close()
    migration = ("CREATE TABLE notes (text TEXT)", "INSERT INTO notes VALUES ('migrated')")
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, migration))
    monkeypatch.setattr(schema, "SCHEMA_VERSION", schema.SCHEMA_VERSION + 1)
    EmbeddedMetastore(path).close()
    EmbeddedMetastore(path).close()
    assert stored_rows(path, "notes") == 1


def test_file_is_migrated_once_by_two_openers(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    EmbeddedMetastore(path).close()
    migration = ("CREATE TABLE notes (text TEXT)", "INSERT INTO notes VALUES ('migrated')")
    migrating = threading.Event()
    transaction = schema.transaction

    def spy(connection: sqlite3.Connection, begin: str) -> AbstractContextManager[None]:
        if begin == "BEGIN IMMEDIATE":
            migrating.set()
        return transaction(connection, begin)

    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, migration))
    monkeypatch.setattr(schema, "SCHEMA_VERSION", schema.SCHEMA_VERSION + 1)
    monkeypatch.setattr(schema, "transaction", spy)
    first = sqlite3.connect(path, isolation_level=None)
    first.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(EmbeddedMetastore, path)
        # The second opener has seen the old version and now waits for the first.
        assert migrating.wait(30)
        for statement in migration:
            first.execute(statement)
        first.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION}")
        first.execute("COMMIT")
        first.close()
        second.result().close()
    assert stored_rows(path, "notes") == 1


def test_failed_migration_leaves_the_file_as_it_was(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    EmbeddedMetastore(path).close()
    with monkeypatch.context() as patch:
        migration = ("CREATE TABLE notes (text TEXT)", "INSERT INTO nowhere VALUES (1)")
        patch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, migration))
        patch.setattr(schema, "SCHEMA_VERSION", schema.SCHEMA_VERSION + 1)
        with pytest.raises(MetastoreError, match="nowhere"):
            EmbeddedMetastore(path)
    store = EmbeddedMetastore(path)
    assert store.databases() == ("default",)
    store.close()


def test_other_files_are_refused_and_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"no database at all " * 100)
    with pytest.raises(MetastoreError, match="METASTORE_UNAVAILABLE") as caught:
        EmbeddedMetastore(str(text))
    assert isinstance(caught.value.__cause__, sqlite3.Error)
    assert text.read_bytes() == b"no database at all " * 100

    other = str(tmp_path / "other.db")
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE mine (a)")
    connection.close()
    with pytest.raises(MetastoreError, match="not an acidsql metastore"):
        EmbeddedMetastore(other)
    assert stored_rows(other, "mine") == 0


def test_places_that_cannot_hold_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MetastoreError, match="METASTORE_UNAVAILABLE"):
        EmbeddedMetastore(str(tmp_path / "file" / "metastore.db"))
    with pytest.raises(MetastoreError, match="METASTORE_UNAVAILABLE"):
        EmbeddedMetastore(str(tmp_path))
    with pytest.raises(MetastoreError, match="WAL"):
        EmbeddedMetastore(":memory:")


def test_closed_metastore_says_so(path: str) -> None:
    store = EmbeddedMetastore(path)
    store.close()
    store.close()
    with pytest.raises(MetastoreError, match="closed"):
        store.databases()


def test_busy_file(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, sqlite_busy_seconds=0.01)
    store = EmbeddedMetastore(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(MetastoreError, match="METASTORE_BUSY") as caught:
        store.open_txn("ann", "host")
    assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
    assert store.databases() == ("default",)  # readers are not held up
    other.execute("ROLLBACK")
    other.close()
    assert store.open_txn("ann", "host") == 1
    store.close()


def test_threads_share_one_store(store: EmbeddedMetastore) -> None:
    barrier = threading.Barrier(4)

    def work(_: int) -> list[tuple[int, int]]:
        barrier.wait()
        pairs = []
        for _ in range(5):
            txn_id = store.open_txn("ann", "host")
            pairs.append((txn_id, store.allocate_write_id(txn_id, "db", "t")))
            store.commit_txn(txn_id)
        return pairs

    with ThreadPoolExecutor(4) as pool:
        pairs = [pair for part in pool.map(work, range(4)) for pair in part]
    assert sorted(txn_id for txn_id, _ in pairs) == list(range(1, 21))
    assert sorted(write_id for _, write_id in pairs) == list(range(1, 21))
