"""Plan of the scan of a snapshot, and of the rows and events that a compaction reads."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from acidsql import bridge
from acidsql.scan.columns import ORDINAL, partition_values, scan_schema
from acidsql.scan.deletes import NO_DELETES, Deletes, find_deletes
from acidsql.scan.directories import (
    DataDirectory,
    delete_deltas,
    insert_deltas,
    insert_directories,
    is_raw,
)
from acidsql.scan.inserts import Inserts, parted
from acidsql.scan.metadata_count import count_rows, find_occupied
from acidsql.scan.original_files import OriginalFile, original_files
from acidsql.scan.record import ScanRecord
from acidsql.scan.relation import event_relation, projected, row_relation
from acidsql.scan.snapshot import TableSnapshot
from acidsql.scan.streaming import bound_to_complete
from acidsql.schema.acid_file import KEYS, ROW_ID_FIELDS
from acidsql.session.acid_session import AcidSession
from acidsql.storage.relation import ReadOptions, metadata_columns
from acidsql.syntax.lexer import quote

# Prefix of the names of the table's columns in ``surviving_events``, next to the five ACID columns.
FIELD = "__field_"
# Columns that identify a row of a snapshot, even of a snapshot with several partitions.
EVENT_KEYS = (*KEYS, ORDINAL)
# Column of delete events with the write id that deleted the row.
DELETED_BY = "currentTransaction"

Narrow = Callable[[bridge.UnresolvedPlan], bridge.UnresolvedPlan]
"""Leaves out some rows of a scan, by ``row__id`` and the column ``metadata_columns.partition``."""


def scan(
    session: AcidSession, record: ScanRecord, narrow: Narrow | None = None
) -> bridge.UnresolvedPlan:
    """Build the plan of a snapshot's rows.

    The plan has the table's columns in their order, then the virtual columns.

    Args:
        session: the session.
        record: contains the snapshot and the required rows, and gets the facts about the plan. The
            plan may omit other rows, and the values of columns that are not required.
        narrow: leaves out unwanted rows, for a scan of all rows.

    Raises:
        FormatError: a file cannot be read as part of an ACID table.
    """
    snapshot, required = record.snapshot, record.required
    inserts, deletes = record.inserts, record.deletes = places_of(session, snapshot)
    schema = scan_schema(session.spark, snapshot.table)
    rows = _number_of_rows(session, snapshot, inserts, deletes) if required.count_only else None
    if rows is not None:
        record.counted_rows = rows
        return bridge.count_only_rows(session.spark, rows, schema)
    if not required.distinct_partitions_only:
        return _scanned(session, record, inserts, deletes, narrow)
    others = {f.ordinal for f in inserts.originals}
    occupied = find_occupied(session, snapshot, inserts.directories, deletes, others)
    record.known_partitions = len(occupied)
    known = [i for i, has_rows in occupied.items() if has_rows]
    values = partition_values(session, snapshot, known, bridge.BARE_NUMBER)
    bare = bridge.count_only_rows(session.spark, len(known), schema, values)
    rest = inserts.but_of(occupied)
    if rest.is_empty:
        return bare
    return bare.union([_scanned(session, record, rest, deletes)])


def _scanned(
    session: AcidSession,
    record: ScanRecord,
    inserts: Inserts,
    deletes: Deletes,
    narrow: Narrow | None = None,
) -> bridge.UnresolvedPlan:
    """Build the plan of the rows in some places, with deleted rows if the record shows these."""
    table = record.snapshot.table
    shown = bridge.DeletedRowsMode.SHOWN if record.shows_deleted else bridge.DeletedRowsMode.HIDDEN
    is_counted = not record.reads_deletes and not record.shows_deleted
    counter = None
    if is_counted:
        # A plan must not reference the session, which ends when the last reference is gone.
        counter = partial(_counted, weakref.ref(session), record, inserts, deletes)
    reading = ReadOptions(deleted=shown, counter=counter)
    rows = row_relation(session, record, inserts, deletes, reading)
    if narrow is None:
        return projected(session.spark, table, rows)
    keyed = projected(session.spark, table, rows, metadata_columns(table).partition)
    names = [f.name for f in scan_schema(session.spark, table).fields]
    return narrow(keyed).select(*map(quote, names))


def _counted(
    session: weakref.ref[AcidSession], record: ScanRecord, inserts: Inserts, deletes: Deletes
) -> int | None:
    """Count the rows in some places if Spark requires only their number; record the count."""
    open_session = session()
    if open_session is None:
        return None
    rows = _number_of_rows(open_session, record.snapshot, inserts, deletes)
    if rows is not None:
        record.counted_rows, record.files, record.bytes = rows, 0, 0
    return rows


def count_rows_from_tails(session: AcidSession, snapshot: TableSnapshot) -> int | None:
    """Count the rows of a snapshot from the tails of its files.

    Returns:
        None if the tails do not suffice.
    """
    return _number_of_rows(session, snapshot, *places_of(session, snapshot))


def places_of(session: AcidSession, snapshot: TableSnapshot) -> tuple[Inserts, Deletes]:
    """Find all places of a snapshot's rows, and its delete events."""
    inserts = find_inserts(session, snapshot, insert_directories(snapshot), originals=True)
    return inserts, find_deletes(session, snapshot)


def _number_of_rows(
    session: AcidSession, snapshot: TableSnapshot, inserts: Inserts, deletes: Deletes
) -> int | None:
    if inserts.originals:
        return None
    return count_rows(session, snapshot, inserts.directories, deletes)


def find_inserts(
    session: AcidSession,
    snapshot: TableSnapshot,
    directories: Sequence[DataDirectory],
    *,
    originals: bool,
) -> Inserts:
    """Find the places of the rows in some directories, and of the original files if requested."""
    acid, raw = parted(
        directories, lambda d: is_raw(session, snapshot.listings.get(d.path), d.directory)
    )
    has_originals = originals and any(p.state.originals for p in snapshot.partitions)
    files: Sequence[OriginalFile] = ()
    if raw or has_originals:
        files = original_files(session, snapshot, raw, originals=originals)
    bound_to_complete(session, snapshot, acid)
    return Inserts(directories=tuple(acid), originals=tuple(files))


def row_keys(session: AcidSession, snapshot: TableSnapshot) -> DataFrame:
    """Build the ``EVENT_KEYS`` of a snapshot's rows."""
    return keys_of_rows(session, snapshot, *places_of(session, snapshot))


def keys_of_rows(
    session: AcidSession,
    snapshot: TableSnapshot,
    inserts: Inserts,
    deletes: Deletes = NO_DELETES,
) -> DataFrame:
    """Build the ``EVENT_KEYS`` of the rows in some places that are not deleted."""
    rows = row_relation(session, ScanRecord(snapshot=snapshot), inserts, deletes)
    return rows.select(*_keys(snapshot)).frame()


def delete_events(
    session: AcidSession,
    snapshot: TableSnapshot,
    directories: Sequence[DataDirectory] | None = None,
) -> DataFrame:
    """Build the delete events that a snapshot sees: ``EVENT_KEYS`` of rows, and ``DELETED_BY``.

    Args:
        session: the session.
        snapshot: the snapshot.
        directories: delete deltas of the snapshot to read; None for all.
    """
    wanted = delete_deltas(snapshot) if directories is None else directories
    events = event_relation(session, snapshot, wanted)
    write_id = metadata_columns(snapshot.table).write_id
    return events.select(*_keys(snapshot), f"{write_id} AS {DELETED_BY}").frame()


def _keys(snapshot: TableSnapshot) -> list[str]:
    """Return the SQL of the columns that identify a row of a relation, named as in events."""
    names = metadata_columns(snapshot.table)
    fields = zip(ROW_ID_FIELDS, KEYS, strict=True)
    keys = [f"{names.row_id}.{field} AS {key}" for field, key in fields]
    return [*keys, f"{names.partition} AS {ORDINAL}"]


def surviving_events(session: AcidSession, snapshot: TableSnapshot) -> DataFrame:
    """Build the insert events that are not deleted, for a major compaction.

    Returns:
        The five ACID columns, then the table's columns. The name of such a column is ``FIELD`` and
        its position.
    """
    return _events(session, snapshot, *places_of(session, snapshot))


def all_inserts(
    session: AcidSession, snapshot: TableSnapshot, *, less_deleted: bool = False
) -> DataFrame:
    """Build the insert events of the deltas for a minor compaction.

    The columns are the same as in ``surviving_events``.

    Args:
        session: the session.
        snapshot: the snapshot.
        less_deleted: whether to leave out the events of deleted rows.
    """
    inserts = find_inserts(session, snapshot, insert_deltas(snapshot), originals=False)
    deletes = find_deletes(session, snapshot) if less_deleted else NO_DELETES
    return _events(session, snapshot, inserts, deletes)


def _events(
    session: AcidSession, snapshot: TableSnapshot, inserts: Inserts, deletes: Deletes
) -> DataFrame:
    """Build the insert events in some places that are not deleted.

    Timestamps are converted in the JVM's time zone, because the writer uses local times of that
    zone.
    """
    table = snapshot.table
    record, reading = ScanRecord(snapshot=snapshot), ReadOptions(zone=session.jvm_time_zone)
    rows = row_relation(session, record, inserts, deletes, reading)
    *keys, _ = _keys(snapshot)
    row_id = metadata_columns(table).row_id
    fields = [f"{quote(c.name)} AS {FIELD}{i}" for i, c in enumerate(table.columns)]
    written = f"{row_id}.writeid AS currentTransaction"
    return rows.select("0 AS operation", *keys, written, *fields).frame()


def compaction_deletes(
    session: AcidSession, snapshot: TableSnapshot, *, but_of: int | None
) -> DataFrame:
    """Build the delete events of a snapshot, one for each deleted row, in the five ACID columns.

    Args:
        session: the session.
        snapshot: the snapshot.
        but_of: write id; delete events of its rows are left out. None keeps all events.
    """
    events = delete_events(session, snapshot)
    if but_of is not None:
        events = events.where(F.col("originalTransaction") != but_of)
    unique = events.dropDuplicates(list(KEYS))
    return unique.select(F.lit(2).alias("operation"), *KEYS, DELETED_BY)
