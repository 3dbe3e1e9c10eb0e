"""Plan of the scan of a snapshot: guarded ORC relations, from which deleted rows are removed.

Directories of different kinds have a relation each. ``schema.acid_file.guarded_columns`` says what
the guard is for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from acidsql import bridge
from acidsql.format.changed_write_ids import ChangedWriteIds
from acidsql.format.selection import needs_row_filter
from acidsql.limits import limits
from acidsql.scan.columns import (
    ORDINAL,
    columns_of_table,
    partition_values,
    project,
    scan_schema,
    virtual_columns,
)
from acidsql.scan.deletes.plan import (
    IS_DELETED,
    DeleteJoin,
    Deletes,
    anti_join,
    bitmap_filter,
    delete_join,
    deleter_join,
    find_deletes,
    with_deleters,
)
from acidsql.scan.directories import (
    DataDirectory,
    bucket_files,
    by_columns,
    delete_deltas,
    insert_deltas,
    insert_directories,
    is_raw,
)
from acidsql.scan.inserts import Inserts, parted
from acidsql.scan.metadata_count import count_rows, find_occupied
from acidsql.scan.original_events import original_events
from acidsql.scan.original_files import OriginalFile, original_files
from acidsql.scan.own_scan import own_scan
from acidsql.scan.record import Removal, ScanRecord
from acidsql.scan.search_argument import SearchArgument, compared_types, find_search_argument
from acidsql.scan.snapshot import TableSnapshot
from acidsql.scan.statistics import Usage, usage_of
from acidsql.scan.streaming import complete
from acidsql.schema.acid_file import (
    IS_DELETED_COLUMN,
    KEYS,
    ROW_ID_COLUMN,
    event_schema,
    guarded_columns,
    padded,
    row_field,
    row_of,
)
from acidsql.schema.columns import file_schema
from acidsql.schema.spark_limits import has_maps_of_nested
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.lexer import quote

# A missing or broken file must fail the query: skipping a delete file would bring deleted rows
# back.
_SCAN_OPTIONS = {"ignoreMissingFiles": "false", "ignoreCorruptFiles": "false"}
# Prefix of the names of the table's columns, beside the five ACID columns, in ``surviving_events``.
FIELD = "__field_"
_EVENT_COLUMNS = ("operation", *KEYS, "currentTransaction")


Narrow = Callable[[bridge.UnresolvedPlan], bridge.UnresolvedPlan]
"""Leaves out some insert events of a scan, by the columns ``key_columns``."""


def key_columns(snapshot: TableSnapshot) -> list[str]:
    """Return the names of the columns of events that identify a row of a snapshot."""
    return [*([ORDINAL] if snapshot.table.partition_columns else []), *KEYS]


def scan(
    session: AcidSession, record: ScanRecord, narrow: Narrow | None = None
) -> bridge.UnresolvedPlan:
    """Build the plan of a snapshot's rows: the table's columns in their order, then the virtual
    columns.

    Args:
        session: the session.
        record: says of which snapshot, and which rows are required: the plan may omit others, and
            the values of columns that are not required. What the plan does is noted in it.
        narrow: leaves out rows that are not wanted, for a scan of all rows.

    Raises:
        FormatError: a file cannot be read as part of an ACID table.
    """
    snapshot, required = record.snapshot, record.required
    inserts, deletes = record.inserts, record.deletes = _events(session, snapshot)
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
    """Build the plan of the rows in some places that are not deleted, or of all of them if the
    deleted ones are wanted too.

    Each relation is projected below the union, so that Spark prunes the fields of ``row`` in each.
    The struct ``row__id`` is built above the union: Spark 3.5 fails if a filter is pushed through a
    union of structs with different nullability. Above a join with delete events there is a pushdown
    barrier, or a condition that fails for a deleted row, such as a cast, could be evaluated below
    the join.
    """
    snapshot = record.snapshot
    table = snapshot.table
    if limits().own_reader and narrow is None:
        return own_scan(session, record, inserts, deletes)
    known, is_deleted = columns_of_table(session, table), "false"
    if record.shows_deleted:
        first, *others = _all_rows(session, record, inserts, deletes)
        is_deleted = quote(known.is_deleted)
    else:
        filtered, joined = surviving_parts(session, record, inserts, deletes)
        if narrow is not None:
            filtered, joined = list(map(narrow, filtered)), list(map(narrow, joined))
        first, *others = (
            *project(session, snapshot, filtered),
            *(part.pushdown_barrier() for part in project(session, snapshot, joined)),
        )
    names = [quote(column.name) for column in (*table.columns, *table.partition_columns)]
    values = {ROW_ID_COLUMN: known.row_id, IS_DELETED_COLUMN: is_deleted}
    virtual = [f"{values[name]} AS {name}" for name in virtual_columns(table)]
    return first.union(others).select(*names, *virtual)


def _all_rows(
    session: AcidSession, record: ScanRecord, inserts: Inserts, deletes: Deletes
) -> list[bridge.UnresolvedPlan]:
    """Build projected scans of the rows in some places, with whether each was deleted."""
    snapshot = record.snapshot
    clean, dirty = inserts.split(deletes)
    row = file_schema(session.spark, snapshot.table)
    used = usage_of(session, snapshot, inserts.directories, 0, record.required.columns)
    live = insert_events(session, record, clean, row, used)
    touched = insert_events(session, record, dirty, row, used)
    if not live and not touched:
        live = [_relation(session, snapshot, [], row)]
    name = columns_of_table(session, snapshot.table).is_deleted
    parts = project(session, snapshot, live, F.lit(False).alias(name))
    if touched:
        record.removal = way = deleter_join(snapshot, deletes)
        events = delete_events(session, snapshot)
        marked = with_deleters(session, snapshot, touched, way, events)
        parts += project(session, snapshot, marked, F.col(IS_DELETED).alias(name))
    return parts


def count_rows_from_tails(session: AcidSession, snapshot: TableSnapshot) -> int | None:
    """Count the rows of a snapshot from the tails of its files; return None if these do not
    tell.
    """
    return _number_of_rows(session, snapshot, *_events(session, snapshot))


def _events(session: AcidSession, snapshot: TableSnapshot) -> tuple[Inserts, Deletes]:
    """Find all places of a snapshot's rows, and its delete events."""
    inserts = find_inserts(session, snapshot, insert_directories(snapshot), originals=True)
    return inserts, find_deletes(session, snapshot)


def _number_of_rows(
    session: AcidSession, snapshot: TableSnapshot, inserts: Inserts, deletes: Deletes
) -> int | None:
    if inserts.originals:
        return None
    return count_rows(session, snapshot, inserts.directories, deletes)


def row_keys(session: AcidSession, snapshot: TableSnapshot) -> DataFrame:
    """Build the ``key_columns`` of a snapshot's rows."""
    record = ScanRecord(snapshot=snapshot)
    filtered, joined = surviving_parts(session, record, *_events(session, snapshot))
    columns = key_columns(snapshot)
    frames = [part.frame().select(*columns) for part in (*filtered, *joined)]
    return reduce(DataFrame.unionAll, frames)


def surviving_events(session: AcidSession, snapshot: TableSnapshot) -> DataFrame:
    """Build the insert events that are not deleted, for a major compaction.

    Returns:
        The five ACID columns beside ``row``, then the fields of ``row`` as ``FIELD`` and their
        position.
    """
    record = ScanRecord(snapshot=snapshot)
    filtered, joined = surviving_parts(session, record, *_events(session, snapshot))
    return _flat_union(session, snapshot, [*filtered, *joined])


def all_inserts(
    session: AcidSession, snapshot: TableSnapshot, *, less_deleted: bool = False
) -> DataFrame:
    """Build the insert events of the deltas, for a minor compaction, in the columns of
    ``surviving_events``.

    Args:
        less_deleted: whether to leave out the deleted ones.
    """
    inserts = find_inserts(session, snapshot, insert_deltas(snapshot), originals=False)
    row = file_schema(session.spark, snapshot.table)
    parts = insert_events(session, ScanRecord(snapshot=snapshot), inserts, row)
    if less_deleted:
        deletes = find_deletes(session, snapshot)
        kept = bitmap_filter(session, snapshot, deletes)
        if kept is not None:
            parts = [kept(part) for part in parts]
        else:
            parts = without_deleted(session, snapshot, parts, delete_join(snapshot, deletes))
    return _flat_union(session, snapshot, parts)


def _flat_union(
    session: AcidSession, snapshot: TableSnapshot, parts: Sequence[bridge.UnresolvedPlan]
) -> DataFrame:
    row = file_schema(session.spark, snapshot.table)
    fields = [row_field(f.name).alias(f"{FIELD}{i}") for i, f in enumerate(row.fields)]
    frames = [part.frame().select(*_EVENT_COLUMNS, *fields) for part in parts]
    return reduce(DataFrame.unionAll, frames)


def surviving_parts(
    session: AcidSession, record: ScanRecord, inserts: Inserts, deletes: Deletes
) -> tuple[list[bridge.UnresolvedPlan], list[bridge.UnresolvedPlan]]:
    """Build scans of the insert events in some places that are not deleted: those without a join,
    and those with one; at least one in all.
    """
    snapshot = record.snapshot
    clean, dirty = inserts.split(deletes)
    row = file_schema(session.spark, snapshot.table)
    columns = record.required.columns
    used = usage_of(session, snapshot, inserts.directories, deletes.events, columns)
    by_join = dirty.is_empty or record.reads_deletes
    kept = None if by_join else bitmap_filter(session, snapshot, deletes)
    joined: list[bridge.UnresolvedPlan] = []
    if kept is not None:
        record.removal = Removal.BITMAP
        events = insert_events(session, record, inserts, row, used)
        filtered = [kept(part) for part in events]
    else:
        filtered = insert_events(session, record, clean, row, used)
        touched = insert_events(session, record, dirty, row, used)
        if touched:
            record.removal = way = delete_join(snapshot, deletes)
            joined = without_deleted(session, snapshot, touched, way)
    if not filtered and not joined:
        filtered = [_relation(session, snapshot, [], row)]
    return filtered, joined


def without_deleted(
    session: AcidSession,
    snapshot: TableSnapshot,
    parts: Sequence[bridge.UnresolvedPlan],
    way: DeleteJoin,
) -> list[bridge.UnresolvedPlan]:
    """Remove deleted rows from scans of insert events by a join."""
    events = delete_events(session, snapshot)
    return anti_join(snapshot, parts, way, events)


def delete_events(session: AcidSession, snapshot: TableSnapshot) -> DataFrame:
    """Build the delete events that a snapshot sees."""
    first, *others = valid_events(session, snapshot, delete_deltas(snapshot), StructType([]))
    return first.union(others).frame()


def find_inserts(
    session: AcidSession,
    snapshot: TableSnapshot,
    directories: Sequence[DataDirectory],
    *,
    originals: bool,
) -> Inserts:
    """Find the places of the rows in some directories, and of the originals if these are wanted."""
    acid, raw = parted(
        directories, lambda d: is_raw(session, snapshot.listings.get(d.path), d.directory)
    )
    has_originals = originals and any(p.state.originals for p in snapshot.partitions)
    files: Sequence[OriginalFile] = ()
    if raw or has_originals:
        files = original_files(session, snapshot, raw, originals=originals)
    return Inserts(
        directories=tuple(complete(session, snapshot, acid)),
        originals=tuple(files),
    )


def insert_events(
    session: AcidSession,
    record: ScanRecord,
    inserts: Inserts,
    row: StructType,
    used: Usage | None = None,
) -> list[bridge.UnresolvedPlan]:
    """Build scans of insert events, in which ``row`` has the table's columns.

    Args:
        used: part of the files that the plan uses, None for no statistics.
    """
    snapshot, needed = record.snapshot, record.required.conditions
    parts = []
    compared = compared_types(session, snapshot.table, needed)
    groups = by_columns(session, snapshot, inserts.directories, compared)
    for columns, directories in groups.items():
        search = find_search_argument(session, snapshot.table, columns, needed)
        record.note(directories, search)
        if columns.names == tuple(row.names):
            parts += valid_events(session, snapshot, directories, row, search, used)
            continue
        stored = StructType(
            [StructField(n, f.dataType) for n, f in zip(columns.names, row.fields, strict=False)]
        )
        values = [row_field(name) for name in columns.names]
        for events in valid_events(session, snapshot, directories, stored, search, used):
            frame = events.frame().withColumn("row", row_of(row, values))
            parts.append(bridge.UnresolvedPlan.of(frame))
    record.note_originals(inserts.originals)
    return parts + original_events(session, inserts.originals, row)


def compaction_deletes(
    session: AcidSession, snapshot: TableSnapshot, *, but_of: int | None
) -> DataFrame:
    """Build the delete events of a snapshot, one for each deleted row.

    Args:
        but_of: write id whose rows' delete events are left out, None for none.
    """
    events = delete_events(session, snapshot)
    if but_of is not None:
        events = events.where(F.col("originalTransaction") != but_of)
    return events.dropDuplicates(list(KEYS))


def valid_events(
    session: AcidSession,
    snapshot: TableSnapshot,
    directories: Sequence[DataDirectory],
    row: StructType,
    search: SearchArgument | None = None,
    used: Usage | None = None,
) -> list[bridge.UnresolvedPlan]:
    """Build scans of some directories without the events of write ids that the snapshot does not
    see.
    """
    whole, mixed = parted(directories, lambda d: needs_row_filter(d.directory, snapshot.write_ids))
    parts = []
    if whole or not mixed:
        parts.append(_relation(session, snapshot, whole, row, search, used))
    if mixed:
        write_ids = snapshot.write_ids
        current = bridge.no_pushdown(session.spark, F.col("currentTransaction"), nullable=True)
        hidden = [*write_ids.open, *write_ids.aborted]
        condition = (current <= write_ids.high_water_mark) & ~current.isin(hidden)
        if isinstance(write_ids, ChangedWriteIds):
            earlier = current.isin([*write_ids.earlier])
            condition = ((current > write_ids.above) & condition) | earlier
        parts.append(_relation(session, snapshot, mixed, row, search, used).where(condition))
    return parts


def _relation(
    session: AcidSession,
    snapshot: TableSnapshot,
    directories: Sequence[DataDirectory],
    row: StructType,
    search: SearchArgument | None = None,
    used: Usage | None = None,
) -> bridge.UnresolvedPlan:
    """Build one guarded scan of the files in some directories.

    ORC may return rows that the search argument excludes, with wrong values in the columns that it
    did not compare. So the search argument's condition is the first filter above the scan.
    """
    partitioned = bool(snapshot.table.partition_columns)
    scanned = [
        listing.scanned(name, directory.ordinal)
        for directory in directories
        for listing in [snapshot.listings.get(directory.path)]
        for name in bucket_files(listing)
    ]
    batches = True if search and search.rows else None
    if has_maps_of_nested(row):
        batches = False
    relation = bridge.orc_relation(
        session.spark,
        scanned,
        event_schema(padded(row), deletes=not row.names),
        {**_SCAN_OPTIONS, **(search.options if search else {})},
        batches=batches,
        statistics=None if used is None else used.of(scanned),
    )
    session.leases.watch(relation.index)
    rows = relation.rows
    if search and search.condition is not None:
        rows = rows.where(search.condition)
    rows = rows.guarded(guarded_columns(row))
    if not partitioned:
        return rows
    return rows.select("*", f"{bridge.FILE_ORDINAL} AS {ORDINAL}")
