"""What a write transaction checks before it publishes: no Spark, a real embedded metastore."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from acidsql.errors import FormatError, TransactionStateError
from acidsql.format.names import OWNER_FILE, delta_name
from acidsql.injection_points import Point, attached
from acidsql.metastore.catalog_changes import AddPartitions
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.model import (
    Column,
    CompactionType,
    LockType,
    Operation,
    Partition,
    Table,
    TxnType,
)
from acidsql.storage.filesystem import child
from acidsql.transactions.write_intent import WriteIntent
from acidsql.transactions.write_transaction import TableWrite, write_transaction
from tests.metastore.local_files import LocalFiles, session_without_spark

Begin = Callable[[Operation], AbstractContextManager[TableWrite]]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The directory of the table ``default.t``."""
    (tmp_path / "t").mkdir()
    return tmp_path / "t"


@pytest.fixture
def metastore(tmp_path: Path, place: Path) -> Iterator[EmbeddedMetastore]:
    store = EmbeddedMetastore(str(tmp_path / "metastore.sqlite"))
    column = Column(name="id", type="int")
    store.create_table(
        Table(database="default", name="t", columns=(column,), location=f"file:{place}")
    )
    yield store
    store.close()


@pytest.fixture
def begin(metastore: EmbeddedMetastore) -> Iterator[Begin]:
    """Return a function that opens a write transaction on the table."""
    session = session_without_spark(metastore, LocalFiles())

    def begun(operation: Operation) -> AbstractContextManager[TableWrite]:
        intent = WriteIntent(
            table=metastore.table("default", "t"),
            operation=operation,
            lock=LockType.SHARED_READ if operation is Operation.INSERT else LockType.SHARED_WRITE,
            statement=RecordedStatement(operation=operation.name),
        )
        return write_transaction(session, intent)

    yield begun
    session.heartbeater.stop()


def publish(write: TableWrite) -> None:
    """Move a delta with one file to its place."""
    staged = child(write.staging.path, "delta")
    write.session.files.write(child(staged, "bucket_00000"), b"rows")
    write.place(staged, (), delta_name(write.write_id, write.write_id, 0))


def write_one(
    begin: Begin,
    operation: Operation,
    before: Callable[[TableWrite], object] = lambda _: None,
) -> TableWrite:
    """Publish and commit a delta, after ``before``."""
    with begin(operation) as write:
        before(write)
        publish(write)
        write.commit([(operation, [()])])
    return write


def names(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir() if path.name != OWNER_FILE)


def committed_ids(store: EmbeddedMetastore) -> set[int]:
    seen = store.valid_write_ids("default", "t", store.valid_txns())
    return {w for w in range(1, seen.high_water_mark + 1) if seen.is_valid(w)}


def clean_up(store: EmbeddedMetastore) -> None:
    """Do what a compaction and the cleaner after it report to the metastore."""
    entry = store.request_compaction("default", "t", None, CompactionType.MAJOR)
    store.next_compaction("worker", entry.compaction_id)
    compactor = store.open_txn("ann", "host", TxnType.COMPACTION)
    highest = store.next_write_id("default", "t") - 1
    store.compaction_started(entry.compaction_id, compactor, highest)
    store.compaction_done(entry.compaction_id)
    store.commit_txn(compactor)
    store.compaction_cleaned(entry.compaction_id, highest)


def test_an_aborted_transaction_publishes_nothing(
    begin: Begin, metastore: EmbeddedMetastore, place: Path
) -> None:
    def abort(write: TableWrite) -> None:
        metastore.abort_txns([write.txn_id])
        clean_up(metastore)

    with pytest.raises(TransactionStateError, match=r"TXN_ABORTED.*somebody aborted it"):
        write_one(begin, Operation.INSERT, abort)
    assert names(place) == []
    assert committed_ids(metastore) == set()


def test_a_transaction_whose_staging_was_cleaned_says_that_it_was_aborted(
    begin: Begin, metastore: EmbeddedMetastore, place: Path
) -> None:
    """Its client is stopped just before the move, and goes on after a cleaner."""

    def clean(write: TableWrite) -> None:
        metastore.abort_txns([write.txn_id])
        write.session.files.delete(write.staging.path)

    with (
        attached(Point.BEFORE_PUBLISHING, clean),
        pytest.raises(TransactionStateError, match=r"TXN_ABORTED.*somebody aborted it"),
    ):
        write_one(begin, Operation.INSERT)
    assert names(place) == []


def test_an_aborted_write_id_never_counts_as_committed(
    begin: Begin, metastore: EmbeddedMetastore, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if its client is stopped between the check and the move, and goes on much later."""
    monkeypatch.setattr(metastore, "require_open", lambda _: None)
    found: list[object] = []

    def run() -> None:
        with begin(Operation.INSERT) as write:
            metastore.abort_txns([write.txn_id])
            clean_up(metastore)
            publish(write)
            found.extend([names(place)[1:], committed_ids(metastore)])
            write.commit([(Operation.INSERT, [()])])

    with pytest.raises(TransactionStateError, match="TXN_ABORTED"):
        run()
    assert found == [["delta_0000001_0000001_0000"], set()]
    assert names(place) == []


def test_a_transaction_is_looked_up_once_however_much_it_publishes(
    begin: Begin, metastore: EmbeddedMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(metastore, "require_open", asked.append)
    with begin(Operation.INSERT) as write:
        for number in range(3):
            staged = child(write.staging.path, "delta")
            write.session.files.write(child(staged, "bucket_00000"), b"rows")
            write.place(staged, (), delta_name(write.write_id, write.write_id, number))
        write.commit([(Operation.INSERT, [()])])
    assert asked == [write.txn_id]


@pytest.mark.parametrize("operation", [Operation.INSERT, Operation.UPDATE, Operation.DELETE])
@pytest.mark.parametrize(
    ("left", "highest"),
    [
        ("base_0000005", 5),
        ("base_0000005_v0000009", 5),
        ("base_0000001", 1),
        ("delta_0000006_0000006_0000", 6),
        ("delta_0000001_0000005_v0000009", 5),
        ("delete_delta_0000007_0000007_0000", 7),
    ],
)
def test_nothing_is_published_below_what_an_older_file_does_not_know(
    begin: Begin,
    metastore: EmbeddedMetastore,
    place: Path,
    left: str,
    highest: int,
    operation: Operation,
) -> None:
    """As if the metastore's file had been restored from before that directory was made."""
    with pytest.raises(FormatError, match=rf"WRITE_ID_IN_USE.*{left} .* gave 1 to .*older than"):
        write_one(begin, operation, lambda _: (place / left).mkdir())
    assert names(place) == [left]
    write = write_one(begin, operation)
    assert write.write_id == highest + 1
    assert write.write_id in committed_ids(metastore)
    assert len(names(place)) == 2


def test_the_first_write_of_a_session_learns_the_ids_of_the_directories(
    begin: Begin, metastore: EmbeddedMetastore, place: Path
) -> None:
    (place / "base_0000005").mkdir()
    write = write_one(begin, Operation.INSERT)
    assert write.write_id == 6
    assert committed_ids(metastore) == {1, 2, 3, 4, 5, 6}


def test_the_highest_of_several_unknown_ids_is_learnt_at_once(
    begin: Begin, metastore: EmbeddedMetastore, place: Path
) -> None:
    def restore(_: TableWrite) -> None:
        for left in ("base_0000003", "delta_0000007_0000007_0000", "delta_0000004_0000004_0000"):
            (place / left).mkdir()

    with pytest.raises(FormatError, match="WRITE_ID_IN_USE"):
        write_one(begin, Operation.INSERT, restore)
    assert metastore.next_write_id("default", "t") == 8


def test_ids_that_were_learnt_meanwhile_are_unknown_too(
    begin: Begin, metastore: EmbeddedMetastore, place: Path
) -> None:
    """A query of somebody else lists the table, and raises the counter."""

    def restore(_: TableWrite) -> None:
        (place / "base_0000005").mkdir()
        metastore.seed_write_id("default", "t", 6)

    with pytest.raises(FormatError, match="WRITE_ID_IN_USE"):
        write_one(begin, Operation.INSERT, restore)
    assert names(place) == ["base_0000005"]


@pytest.mark.parametrize("end", ["open", "committed", "aborted"])
def test_a_transaction_that_began_later_may_publish_earlier(
    begin: Begin, metastore: EmbeddedMetastore, place: Path, end: str
) -> None:
    later = None
    with begin(Operation.INSERT) as write:
        later = metastore.open_txn("bob", "host")
        assert metastore.allocate_write_id(later, "default", "t") == 2
        (place / "delta_0000002_0000002_0000").mkdir()
        if end == "committed":
            metastore.commit_txn(later)
        elif end == "aborted":
            metastore.abort_txn(later)
        publish(write)
        write.commit([(Operation.INSERT, [()])])
    assert 1 in committed_ids(metastore)
    assert names(place) == ["delta_0000001_0000001_0000", "delta_0000002_0000002_0000"]


def test_a_base_of_a_transaction_that_began_later_is_refused(
    begin: Begin, metastore: EmbeddedMetastore, place: Path
) -> None:
    """Locks exclude it; if it is there all the same, it would hide what is written now."""

    def overwrite(_: TableWrite) -> None:
        later = metastore.open_txn("bob", "host")
        metastore.allocate_write_id(later, "default", "t")
        (place / "base_0000002").mkdir()
        metastore.commit_txn(later)

    with pytest.raises(FormatError, match=r"WRITE_ID_IN_USE.*began later has put it there. Run"):
        write_one(begin, Operation.INSERT, overwrite)
    assert names(place) == ["base_0000002"]
    assert write_one(begin, Operation.INSERT).write_id == 3


def test_a_statement_is_undone_to_the_savepoint_before_it(begin: Begin, place: Path) -> None:
    with begin(Operation.INSERT) as write:
        transaction = write.transaction
        transaction.reverts.remove(write.undo)
        start = transaction.savepoint()
        transaction.reverts.append(write.undo)
        publish(write)
        transaction.keep([write])
        first = f"file:{place}/delta_0000001_0000001_0000"
        assert transaction.written["default.t"].directories == {first}
        kept = transaction.savepoint()
        transaction.undo_since(kept)
        assert (transaction.savepoint(), len(names(place))) == (kept, 2)  # with the staging
        transaction.undo_since(start)
        assert (transaction.savepoint(), transaction.writes) == (start, [])
        assert not (place / "delta_0000001_0000001_0000").exists()


def test_undo_leaves_a_later_table_at_the_same_location_alone(
    begin: Begin, metastore: EmbeddedMetastore, place: Path
) -> None:
    """A process that was suspended wakes after its table was dropped and created again."""
    first = metastore.table("default", "t")

    def replace_table(write: TableWrite) -> None:
        publish(write)
        metastore.abort_txns([write.txn_id])
        metastore.drop_table("default", "t")
        shutil.rmtree(place)
        place.mkdir()
        metastore.create_table(first)
        assert write_one(begin, Operation.INSERT).write_id == write.write_id
        write.commit([(Operation.INSERT, [()])])

    with pytest.raises(TransactionStateError, match="TXN_ABORTED"):
        write_one(begin, Operation.INSERT, replace_table)
    assert names(place) == [delta_name(1, 1, 0)]
    assert committed_ids(metastore) == {1}


def test_undo_leaves_a_partition_that_another_transaction_has_added(
    begin: Begin, metastore: EmbeddedMetastore, place: Path
) -> None:
    """Both transactions found no partition and created its directory, which is still empty."""
    old = metastore.table("default", "t")
    metastore.drop_table("default", "t")
    metastore.create_table(replace(old, partition_columns=(Column(name="p", type="int"),)))

    def add_partition(write: TableWrite) -> None:
        write.places.announce(Operation.INSERT, [("7",), ("8",)])
        assert names(place) == ["p=7", "p=8"]
        metastore.abort_txns([write.txn_id])
        added = Partition(values=("7",), location=write.places.location(("7",)))
        with begin(Operation.INSERT) as other:
            other.changes.append(AddPartitions(table=other.table, partitions=(added,)))
            other.commit([])
        write.commit([(Operation.INSERT, [("7",)])])

    with pytest.raises(TransactionStateError, match="TXN_ABORTED"):
        write_one(begin, Operation.INSERT, add_partition)
    assert names(place) == ["p=7"]
    assert metastore.partition_values("default", "t") == (("7",),)
