"""Recorder: notes what statements of this process see and write.

It looks at the snapshots that acidsql takes, and at the directories that it has moved to their
places just before a commit. These are read by pyorc, not by acidsql.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import urlparse

import pyorc
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import acidsql
from acidsql.format.names import DirectoryKind, parse_bucket_file, parse_directory
from acidsql.format.valid_lists import ValidWriteIdList
from acidsql.planning import statement as planning
from acidsql.scan.snapshot import TableSnapshot, take_snapshot
from acidsql.transactions.write_transaction import WriteTransaction
from tests.concurrency.histories import (
    Change,
    Commit,
    RowId,
    Snapshot,
    Statement,
    Values,
    Write,
)

_DELETE = 2  # operation of a delete event


@dataclass(slots=True)
class Notes:
    """What a statement of this thread has seen and written so far."""

    txn_id: int | None = None
    snapshots: list[tuple[str, Snapshot]] = field(default_factory=list)
    writes: dict[str, Write] = field(default_factory=dict)


class _Local(threading.local):
    notes: Notes | None = None


_local = _Local()


@contextmanager
def recording() -> Iterator[None]:
    """Let this process's statements be recorded in the block."""
    record = WriteTransaction.record

    def take(*args: Any, **kwargs: Any) -> TableSnapshot:
        taken = take_snapshot(*args, **kwargs)
        if _local.notes is not None:
            _local.notes.snapshots.append((taken.table.name, _snapshot(taken.write_ids)))
        return taken

    def record_write(write: WriteTransaction, changed: Any) -> None:
        record(write, changed)
        if _local.notes is not None:
            _note(_local.notes, write)

    with (
        mock.patch.object(planning, "take_snapshot", take),
        mock.patch.object(WriteTransaction, "record", record_write),
    ):
        yield


@contextmanager
def noted() -> Iterator[Notes]:
    """Note what the statement in the block sees and writes."""
    _local.notes = Notes()
    try:
        yield _local.notes
    finally:
        _local.notes = None


def run(spark: SparkSession, by: str, change: Change, metastore: Path) -> Statement:
    """Run a statement that writes."""
    began, failure = last_commit(metastore), None
    with noted() as notes:
        try:
            acidsql.sql(spark, change.sql)
        except Exception as error:  # noqa: BLE001 - the checker reports it
            failure = condition(error)
    return Statement(
        by=by,
        change=change,
        began=began,
        ended=last_commit(metastore),
        txn_id=notes.txn_id,
        snapshots=tuple(dict.fromkeys(notes.snapshots)),
        writes=notes.writes,
        failure=failure,
    )


def condition(error: Exception) -> str:
    """Return the condition of an error, or the error as text if it has none."""
    known = None
    if isinstance(error, PySparkException):
        # PySpark 3.5 has the older name alone.
        ask = getattr(error, "getCondition", None) or error.getErrorClass
        known = ask()
    return str(known or repr(error))


def rows_of(frame: DataFrame) -> dict[str, dict[RowId, Values]]:
    """Evaluate a DataFrame of ``query``."""
    found: dict[str, dict[RowId, Values]] = {}
    for table, row_id, key, value, partition in frame.collect():
        of_table = found.setdefault(table, {})
        name = tuple(row_id)
        # A row that is there twice must not hide behind its double.
        while name in of_table:
            name = (*name, -1)
        of_table[name] = (key, value, partition)
    return found


def last_commit(metastore: Path) -> int:
    """Return the number of the last commit in an embedded metastore."""
    with closing(_connect(metastore)) as connection:
        query = "SELECT value FROM counters WHERE name = 'commit_number'"
        return int(connection.execute(query).fetchone()[0])


def commits_after(metastore: Path, number: int) -> tuple[Commit, ...]:
    """Return the commits after the one with a number."""
    found: dict[tuple[int, int], dict[str, int]] = {}
    with closing(_connect(metastore)) as connection:
        rows = connection.execute(
            "SELECT commit_number, txn_id, table_name, write_id FROM write_ids JOIN tables"
            " ON tables.table_id = write_ids.table_id WHERE commit_number > ?",
            (number,),
        )
        for at, txn_id, table, write_id in rows:
            found.setdefault((at, txn_id), {})[table] = write_id
    return tuple(
        Commit(number=at, txn_id=txn_id, write_ids=write_ids)
        for (at, txn_id), write_ids in sorted(found.items())
    )


def _connect(metastore: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{metastore}?mode=ro", uri=True, timeout=60)


def _snapshot(write_ids: ValidWriteIdList) -> Snapshot:
    return Snapshot(
        high=write_ids.high_water_mark, hidden=frozenset(write_ids.open | write_ids.aborted)
    )


def _note(notes: Notes, write: WriteTransaction) -> None:
    table = write.table
    seen = write.seen
    if seen is None:
        metastore = write.session.metastore
        seen = metastore.valid_write_ids(table.database, table.name, write.txns)
    notes.txn_id = write.txn_id
    notes.snapshots.append((table.name, _snapshot(seen)))
    notes.writes[table.name] = _written(write)


def _written(write: WriteTransaction) -> Write:
    """Read the directories that a transaction has moved to their places."""
    inserted: dict[RowId, Values] = {}
    deleted: list[tuple[int, RowId]] = []
    replaced: set[int] = set()
    for placed in write.placed:
        directory = Path(urlparse(placed).path)
        parent = directory.parent.name
        partition = int(parent.removeprefix("p=")) if parent.startswith("p=") else 0
        parsed = parse_directory(directory.name)
        if parsed is not None and parsed.kind is DirectoryKind.BASE:
            replaced.add(partition)
        for file in directory.iterdir():
            if parse_bucket_file(file.name) is None or file.stat().st_size == 0:
                continue
            with file.open("rb") as stream:
                for operation, first, bucket, number, _, row in pyorc.Reader(stream):
                    if operation == _DELETE:
                        deleted.append((partition, (first, bucket, number)))
                    else:
                        inserted[first, bucket, number] = (*row, partition)
    if len(deleted) > len(set(deleted)):
        raise AssertionError(f"{write.placed} delete a row twice: {sorted(deleted)}")
    return Write(
        write_id=write.write_id,
        inserted=inserted,
        deleted=frozenset(deleted),
        replaced=frozenset(replaced),
    )
