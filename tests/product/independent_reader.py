"""Reader of tables without Spark: snapshots of the metastore, files as pyorc reads them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyorc

from acidsql.format.bucket_codec import encode
from acidsql.format.names import AcidDirectory, DirectoryKind, is_original_file, parse_bucket_file
from acidsql.format.valid_lists import ValidWriteIdList
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import Table
from acidsql.scan.snapshot import PartitionSnapshot, take_snapshot
from acidsql.storage.filesystem import FileSystem
from acidsql.storage.listings import Listings
from acidsql.storage.sync import SyncedFiles

Row = tuple[Any, ...]
Tables = dict[str, tuple[Row, ...]]
_Key = tuple[int, int, int]


def read_tables(files: FileSystem, metastore: bytes, before: Path, now: Path) -> Tables:
    """Read all tables of the database ``default``, each sorted.

    Args:
        metastore: content of the SQLite file; the tables lie below ``before`` there.
        now: where they lie.
    """
    file = now.with_suffix(".sqlite")
    file.write_bytes(metastore)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("PRAGMA synchronous = OFF")
        for table in ("tables", "partitions"):
            connection.execute(
                f"UPDATE {table} SET location = replace(location, ?, ?)", (f"{before}/", f"{now}/")
            )
        connection.execute(
            "UPDATE file_operations SET operation = replace(operation, ?, ?)",
            (f"{before}/", f"{now}/"),
        )
    store = EmbeddedMetastore(
        str(file), txn_timeout=1e9, synchronous=False, files=SyncedFiles(files)
    )
    try:
        return {
            name: tuple(sorted(read_rows(files, store, store.table("default", name)), key=repr))
            for name in sorted(store.tables("default"))
        }
    finally:
        store.close()


def read_rows(files: FileSystem, store: EmbeddedMetastore, table: Table) -> Iterator[Row]:
    """Read a table; files without its last columns have no values for them."""
    snapshot = take_snapshot(files, store, table, store.valid_txns(), Listings(files, None))
    for partition in snapshot.partitions:
        rows: dict[_Key, Row] = {}
        deleted = set()
        for directory in partition.state.directories:
            for key, _, row in events_of(files, partition, directory, snapshot.write_ids):
                if directory.kind is DirectoryKind.DELETE_DELTA:
                    deleted.add(key)
                else:
                    assert key not in rows, f"{table.name} has two rows {key}"
                    rows[key] = row
        for key, row in rows.items():
            if key not in deleted:
                missing = (None,) * (len(table.columns) - len(row))
                yield row + missing + partition.values


def events_of(
    files: FileSystem,
    partition: PartitionSnapshot,
    directory: AcidDirectory,
    write_ids: ValidWriteIdList,
    columns: Sequence[int] | None = None,
) -> Iterator[tuple[_Key, int, Row]]:
    """Yield key, write id and row of the visible events in a directory.

    ``columns`` are numbers of an ACID file's columns; without number 5 the rows are empty.
    """
    path = files.local(partition.path(directory))
    assert path is not None
    for file in sorted(path.iterdir()):
        original = is_original_file(file.name)
        if not original and not parse_bucket_file(file.name):
            continue
        with file.open("rb") as stream:
            selected = None if original else columns
            for number, found in enumerate(pyorc.Reader(stream, column_indices=selected)):
                if original:
                    bucket = encode(int(file.name[:6]), directory.statement_id or 0)
                    write_id = directory.min_write_id
                    yield (write_id, bucket, number), write_id, tuple(found)
                elif write_ids.is_valid(found[4]):
                    yield found[1:4], found[4], tuple(found[5] or ()) if len(found) > 5 else ()
