"""Recorder: notes what statements of this process see and write.

It looks at the snapshots that acidsql takes, and at the directories that it has moved to their
places just before a commit. These are read by pyorc, not by acidsql.
"""

from __future__ import annotations

import io
import sqlite3
import threading
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any
from unittest import mock
from urllib.parse import urlparse

import pyorc
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import acidsql
from acidsql.format.names import DirectoryKind, parse_bucket_file, parse_directory
from acidsql.format.valid_lists import ValidWriteIdList
from acidsql.injection_points import Point, attached
from acidsql.planning import statement as planning
from acidsql.scan.snapshot import TableSnapshot, take_snapshot
from acidsql.transactions.transaction import Transaction
from tests.concurrency.changes import Fail
from tests.concurrency.histories import (
    Change,
    Commit,
    RowId,
    Snapshot,
    Statement,
    Values,
    Write,
)
from tests.concurrency.several import Several
from tests.concurrency.warehouses import Warehouse

_DELETE = 2  # operation of a delete event


@dataclass(slots=True)
class Notes:
    """What a statement of this thread has seen and written so far."""

    txn_id: int | None = None
    snapshots: list[tuple[str, Snapshot]] = field(default_factory=list)
    writes: dict[str, Write] = field(default_factory=dict)
    last_seen: dict[str, Counter[Values]] = field(default_factory=dict)

    def seen_of_others(self, own: Mapping[str, int]) -> tuple[tuple[str, Snapshot], ...]:
        """Return the snapshots without what the transaction saw of its own.

        Args:
            own: its write ids, by table, also of tables where its statements failed.
        """
        hidden = {table: {write_id} for table, write_id in own.items()}
        return tuple(
            dict.fromkeys(
                (table, replace(seen, hidden=seen.hidden | hidden.get(table, set())))
                for table, seen in self.snapshots
            )
        )


class _Local(threading.local):
    notes: Notes | None = None


_local = _Local()


@contextmanager
def recording(warehouse: Warehouse) -> Iterator[None]:
    """Let this process's statements be recorded in the block.

    Args:
        warehouse: of their tables.
    """

    def take(*args: Any, **kwargs: Any) -> TableSnapshot:
        taken = take_snapshot(*args, **kwargs)
        if _local.notes is not None:
            _local.notes.snapshots.append((taken.table.name, _snapshot(taken.write_ids)))
        return taken

    def record(transaction: Transaction) -> None:
        if _local.notes is not None:
            _note(_local.notes, transaction, warehouse)

    with (
        mock.patch.object(planning, "take_snapshot", take),
        attached(Point.BEFORE_COMMIT, record),
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
    """Run a statement that writes, or a transaction of several."""
    began, failure = last_commit(metastore), None
    with noted() as notes:
        try:
            if isinstance(change, Several):
                _run_several(spark, change, notes)
            else:
                acidsql.sql(spark, change.sql)
        except Exception as error:  # noqa: BLE001 - the checker reports it
            failure = condition(error)
    own = _write_ids(metastore, notes.txn_id)
    return Statement(
        by=by,
        change=change,
        began=began,
        ended=last_commit(metastore),
        # Without a write id, the commit leaves nothing to compare with.
        txn_id=notes.txn_id if own else None,
        snapshots=notes.seen_of_others(own),
        writes=notes.writes,
        last_seen=notes.last_seen,
        failure=failure,
    )


def _run_several(spark: SparkSession, change: Several, notes: Notes) -> None:
    """Run a transaction; a statement in it that has to fail takes back only itself."""
    with acidsql.transaction(spark) as transaction:
        for part in change.parts:
            try:
                transaction.sql(part.sql)
            except PySparkException as error:
                if not isinstance(part, Fail) or condition(error) != "CAST_INVALID_INPUT":
                    raise
        for table in change.read:
            partition = "p" if table.partitioned else "0"
            frame = transaction.sql(f"SELECT id, v, {partition} FROM {table.name}")
            notes.last_seen[table.name] = Counter(tuple(row) for row in frame.collect())


def condition(error: Exception) -> str:
    """Return the condition of an error, or the error as text if it has none."""
    known = None
    if isinstance(error, PySparkException):
        # PySpark 3.5 has only the older name.
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


def _write_ids(metastore: Path, txn_id: int | None) -> dict[str, int]:
    """Return the write ids of a transaction, by table."""
    with closing(_connect(metastore)) as connection:
        rows = connection.execute(
            "SELECT table_name, write_id FROM write_ids JOIN tables"
            " ON tables.table_id = write_ids.table_id WHERE txn_id = ?",
            (txn_id,),
        )
        return dict(rows.fetchall())


def _connect(metastore: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{metastore}?mode=ro", uri=True, timeout=60)


def _snapshot(write_ids: ValidWriteIdList) -> Snapshot:
    return Snapshot(
        high=write_ids.high_water_mark, hidden=frozenset(write_ids.open | write_ids.aborted)
    )


def _note(notes: Notes, transaction: Transaction, warehouse: Warehouse) -> None:
    """Note what a transaction is about to commit; its directories are in their places."""
    metastore = transaction.session.metastore
    placed: dict[str, list[str]] = {}
    for write in transaction.writes:
        table = write.table
        seen = write.seen
        if seen is None:
            seen = metastore.valid_write_ids(table.database, table.name, write.txns)
        notes.snapshots.append((table.name, _snapshot(seen)))
        placed.setdefault(table.name, []).extend(write.publication.placed)
        notes.writes[table.name] = _written(write.write_id, placed[table.name], warehouse)
    notes.txn_id = transaction.txn_id


def _written(write_id: int, places: Collection[str], warehouse: Warehouse) -> Write:
    """Read the directories that a transaction has moved to their places."""
    inserted: dict[RowId, Values] = {}
    deleted: list[tuple[int, RowId]] = []
    replaced: set[int] = set()
    for placed in places:
        directory = PurePosixPath(urlparse(placed).path)
        parent = directory.parent.name
        partition = int(parent.removeprefix("p=")) if parent.startswith("p=") else 0
        parsed = parse_directory(directory.name)
        if parsed is not None and parsed.kind is DirectoryKind.BASE:
            replaced.add(partition)
        for name, content in warehouse.files(placed):
            if parse_bucket_file(name) is None or not content:
                continue
            for operation, first, bucket, number, _, row in pyorc.Reader(io.BytesIO(content)):
                if operation == _DELETE:
                    deleted.append((partition, (first, bucket, number)))
                else:
                    inserted[first, bucket, number] = (*row, partition)
    if len(deleted) > len(set(deleted)):
        raise AssertionError(f"{places} delete a row twice: {sorted(deleted)}")
    return Write(
        write_id=write_id,
        inserted=inserted,
        deleted=frozenset(deleted),
        replaced=frozenset(replaced),
    )
