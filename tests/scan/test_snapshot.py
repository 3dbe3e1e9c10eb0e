"""Snapshots of readers that were suspended: a real embedded metastore, no Spark."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.errors import TransactionStateError
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import Column, Table, TxnType
from acidsql.metastore.protocol import Metastore
from acidsql.scan.snapshot import TableSnapshot, take_snapshot
from acidsql.storage.listings import Listings
from tests.metastore.local_files import LocalFiles

TIMEOUT = 300.0


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The directory of the table ``default.t``."""
    return tmp_path / "t"


@pytest.fixture
def metastore(tmp_path: Path, place: Path) -> Iterator[EmbeddedMetastore]:
    """A metastore whose table has a row in a delta."""
    store = EmbeddedMetastore(str(tmp_path / "metastore.sqlite"), txn_timeout=TIMEOUT)
    column = Column(name="id", type="int")
    store.create_table(
        Table(database="default", name="t", columns=(column,), location=f"file:{place}")
    )
    write(store, place, "delta_0000001_0000001_0000")
    yield store
    store.close()


def write(store: Metastore, place: Path, directory: str) -> None:
    txn_id = store.open_txn("ann", "host")
    store.allocate_write_id(txn_id, "default", "t")
    (place / directory).mkdir(parents=True)
    (place / directory / "bucket_00000").write_bytes(b"rows")
    store.commit_txn(txn_id)


def snapshot(store: Metastore, reader: int, opened_at: float) -> TableSnapshot:
    files = LocalFiles()
    listings = Listings(files, reader, opened_at=opened_at)
    table, txns = store.table("default", "t"), store.valid_txns(reader)
    return take_snapshot(files, store, table, txns, listings)


def test_a_reader_that_was_suspended_does_not_take_an_overwritten_table_for_an_empty_one(
    metastore: EmbeddedMetastore, place: Path
) -> None:
    """INSERT OVERWRITE writes a base, which does not show that an older delta was removed."""
    reader = metastore.open_txn("ann", "host", TxnType.READ_ONLY)
    txns = metastore.valid_txns(reader)
    metastore.abort_txns([reader])  # as its time-out does
    write(metastore, place, "base_0000002")
    shutil.rmtree(place / "delta_0000001_0000001_0000")
    long_ago = Listings(LocalFiles(), reader, opened_at=time.time() - TIMEOUT)
    with pytest.raises(TransactionStateError, match="TXN_ABORTED"):
        take_snapshot(LocalFiles(), metastore, metastore.table("default", "t"), txns, long_ago)


@pytest.mark.parametrize("seconds", [0, TIMEOUT, -TIMEOUT])
def test_a_reader_that_is_open_sees_the_rows(metastore: EmbeddedMetastore, seconds: float) -> None:
    reader = metastore.open_txn("ann", "host", TxnType.READ_ONLY)
    seen = snapshot(metastore, reader, time.time() - seconds)
    names = [directory.name for p in seen.partitions for directory in p.state.directories]
    assert names == ["delta_0000001_0000001_0000"]
