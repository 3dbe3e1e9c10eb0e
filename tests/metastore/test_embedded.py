"""What only the embedded metastore promises: its file, its errors, its stricter rules, its size."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from acidsql.errors import (
    AcidLookupError,
    MetastoreError,
    TransactionStateError,
    WriteConflictError,
)
from acidsql.metastore import database, schema
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.metastore.model import (
    Column,
    CompactionState,
    CompactionType,
    LockRequest,
    LockState,
    LockType,
    Operation,
    Table,
    TxnState,
    TxnType,
)
from acidsql.metastore.protocol import Metastore
from tests.metastore.subjects import Subject, embedded_subject


@pytest.fixture
def subject(tmp_path: Path) -> Iterator[Subject]:
    """The embedded store alone."""
    with embedded_subject(tmp_path / "metastore.db") as embedded:
        yield embedded


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "metastore.db")


@pytest.fixture
def store(metastore: Metastore, tables: None) -> EmbeddedMetastore:  # noqa: ARG001
    assert isinstance(metastore, EmbeddedMetastore)
    return metastore


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


def rows(path: str, table: str) -> int:
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    finally:
        connection.close()


# -- the file ---------------------------------------------------------------------------------


def test_is_a_metastore(path: str) -> None:
    store: Metastore = EmbeddedMetastore(path, txn_timeout=12.5)
    assert store.txn_timeout == 12.5
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
    with store._database.read() as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2  # FULL


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
    assert rows(path, "notes") == 1


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
    assert rows(path, "notes") == 1


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
    assert rows(other, "mine") == 0


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
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.01)
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


def test_error_inside_a_method_undoes_all_of_it(store: EmbeddedMetastore) -> None:
    txn_id = store.open_txn("ann", "host")
    with pytest.raises(AcidLookupError):
        store.lock(txn_id, [request(), request(table="nope")])
    assert store.locks() == ()


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
    assert store.valid_txns(early).high_water_mark == early
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
    for _ in range(3):
        txn_id = store.open_txn("ann", "host")
        store.allocate_write_id(txn_id, "db", "t")
        store.commit_txn(txn_id)
    snapshot = store.valid_write_ids("db", "t", store.valid_txns(2))
    assert snapshot.to_string() == "db.t:2:9223372036854775807::"


# -- what is kept -----------------------------------------------------------------------------


def test_committed_transactions_are_pruned(store: EmbeddedMetastore, path: str) -> None:
    for _ in range(10):
        txn_id = store.open_txn("ann", "host")
        store.allocate_write_id(txn_id, "db", "t")
        store.lock(txn_id, [request(LockType.SHARED_WRITE, Operation.UPDATE)])
        store.commit_txn(txn_id)
    assert [rows(path, table) for table in ("txns", "write_set", "locks")] == [0, 0, 0]


def test_long_reader_keeps_only_what_it_may_conflict_with(
    store: EmbeddedMetastore, path: str
) -> None:
    reader = store.open_txn("ann", "host", TxnType.READ_ONLY)
    for operation in (Operation.INSERT, Operation.UPDATE, Operation.SELECT):
        txn_id = store.open_txn("ann", "host")
        store.lock(txn_id, [request(operation=operation)])
        store.commit_txn(txn_id)
    assert (rows(path, "txns"), rows(path, "write_set")) == (2, 1)
    store.commit_txn(reader)
    assert (rows(path, "txns"), rows(path, "write_set")) == (0, 0)


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
    unknown = aborted_write(store)
    above = aborted_write(store, "year=1")

    def aborted() -> frozenset[int]:
        advance(store.txn_timeout + 1)
        store.reap()
        return store.valid_txns().aborted

    clean(store, "year=1", highest_write_id=2)
    assert aborted() == {both, unknown, above}
    clean(store, "year=2", highest_write_id=2)
    assert aborted() == {unknown, above}
    clean(store, "year=1", highest_write_id=3)
    assert aborted() == {unknown}
    snapshot = store.valid_write_ids("db", "p", store.valid_txns())
    assert snapshot.to_string() == "db.p:3:9223372036854775807::2"


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
