"""From a snapshot to a Spark plan: guarded ORC scans, one for each kind of directory, less the
deleted rows. What the guard is for: ``schema.guard``.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeVar

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from acidsql import bridge
from acidsql.format.names import DirectoryKind
from acidsql.format.selection import needs_row_filter
from acidsql.scan.columns import ORDINAL, columns_of_table, partition_values, project, scan_schema
from acidsql.scan.deletes.plan import Deletes, anti_join, bitmap_filter, find_deletes
from acidsql.scan.directories import (
    DataDirectory,
    bucket_files,
    by_columns,
    delete_deltas,
    insert_deltas,
    insert_directories,
    is_raw,
)
from acidsql.scan.metadata_count import count_rows, find_occupied
from acidsql.scan.original_files import OriginalFile, original_events, original_files
from acidsql.scan.required_rows import ALL_ROWS, RequiredRows
from acidsql.scan.search_argument import SearchArgument, compared_types, find_search_argument
from acidsql.scan.snapshot import TableSnapshot
from acidsql.scan.streaming import complete
from acidsql.schema.acid_file import (
    KEYS,
    ROW_ID_COLUMN,
    event_schema,
    guarded_columns,
    padded,
    row_field,
    row_of,
)
from acidsql.schema.columns import data_schema
from acidsql.schema.spark_limits import has_maps_of_nested
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.lexer import quote

# A missing or broken file must fail the query: skipping a delete file would bring deleted rows
# back.
_SCAN_OPTIONS = {"ignoreMissingFiles": "false", "ignoreCorruptFiles": "false"}
# Names of the table's columns beside the five ACID columns, in the events of a compaction.
FIELD = "__field_"
_EVENT_COLUMNS = ("operation", *KEYS, "currentTransaction")

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inserts:
    """Where rows lie: in ACID files, and in files without row ids."""

    directories: tuple[DataDirectory, ...]
    originals: tuple[OriginalFile, ...]

    @property
    def is_empty(self) -> bool:
        """Whether no row can be there."""
        return not self.directories and not self.originals

    def but_of(self, partitions: Container[int]) -> _Inserts:
        """Those of other partitions than these."""
        return _Inserts(
            directories=tuple(d for d in self.directories if d.ordinal not in partitions),
            originals=tuple(f for f in self.originals if f.ordinal not in partitions),
        )

    def split(self, deletes: Deletes) -> tuple[_Inserts, _Inserts]:
        """Those that no delete event can concern, and the others."""
        deleted = deletes.write_ids()

        def concerned(ordinal: int, low: int, high: int) -> bool:
            ranges = deleted.get(ordinal, ())
            return any(own.least <= high and own.greatest >= low for own in ranges)

        untouched, touched = _parted(
            self.directories, lambda data: concerned(data.ordinal, *_write_ids(data))
        )
        clean, dirty = _parted(
            self.originals, lambda file: concerned(file.ordinal, file.write_id, file.write_id)
        )
        return (
            _Inserts(directories=untouched, originals=clean),
            _Inserts(directories=touched, originals=dirty),
        )


def _parted(
    items: Sequence[_T], belongs: Callable[[_T], bool]
) -> tuple[tuple[_T, ...], tuple[_T, ...]]:
    """The items that do not belong, and those that do."""
    parts: tuple[list[_T], list[_T]] = [], []
    for item in items:
        parts[belongs(item)].append(item)
    return tuple(parts[0]), tuple(parts[1])


def _write_ids(data: DataDirectory) -> tuple[int, int]:
    """The least and the greatest that its rows can have."""
    is_delta = data.directory.kind is DirectoryKind.DELTA
    # The base of a table that was compacted before anybody wrote to it holds rows of write id 0.
    return data.directory.min_write_id if is_delta else 0, max(data.directory.max_write_id, 0)


def scan(
    session: AcidSession, snapshot: TableSnapshot, required: RequiredRows = ALL_ROWS
) -> bridge.UnresolvedPlan:
    """The rows of a snapshot: the table's columns in its order, then ``row__id``.

    Args:
        required: rows that are not required may be missing, and so may values.
    """
    inserts, deletes = _events(session, snapshot)
    schema = scan_schema(session.spark, snapshot.table)
    rows = _number_of_rows(session, snapshot, inserts, deletes) if required.count_only else None
    if rows is not None:
        return bridge.count_only_rows(session.spark, rows, schema)
    if not required.distinct_partitions_only:
        return _scanned(session, snapshot, inserts, deletes, required.conditions)
    others = {f.ordinal for f in inserts.originals}
    occupied = find_occupied(session, snapshot, inserts.directories, deletes, others)
    known = [i for i, has_rows in occupied.items() if has_rows]
    values = partition_values(session, snapshot, known, bridge.BARE_NUMBER)
    bare = bridge.count_only_rows(session.spark, len(known), schema, values)
    rest = inserts.but_of(occupied)
    if rest.is_empty:
        return bare
    return bare.union([_scanned(session, snapshot, rest, deletes, required.conditions)])


def _scanned(
    session: AcidSession,
    snapshot: TableSnapshot,
    inserts: _Inserts,
    deletes: Deletes,
    needed: Sequence[Sequence[bridge.Conjunct]],
) -> bridge.UnresolvedPlan:
    """The surviving rows of some insert events.

    Projected below the union, so that Spark prunes the fields of ``row`` in each scan.
    The struct of the row id is made above it: Spark 3.5 fails on a filter whose struct
    has other nullability there. What fails on a deleted row, such as a cast, would be asked of it
    below a join with the delete events, if Spark could push it there.
    """
    filtered, joined = _surviving(session, snapshot, inserts, deletes, needed)
    first, *others = (
        *project(session, snapshot, filtered),
        *(part.pushdown_barrier() for part in project(session, snapshot, joined)),
    )
    table = snapshot.table
    names = [quote(column.name) for column in (*table.columns, *table.partition_columns)]
    row_id = columns_of_table(session, table).row_id
    return first.union(others).select(*names, f"{row_id} AS {ROW_ID_COLUMN}")


def count_rows_from_tails(session: AcidSession, snapshot: TableSnapshot) -> int | None:
    """The number of a snapshot's rows if the tails of its files tell it, else None."""
    return _number_of_rows(session, snapshot, *_events(session, snapshot))


def _events(session: AcidSession, snapshot: TableSnapshot) -> tuple[_Inserts, Deletes]:
    """Where all rows of a snapshot lie, and what deletes some of them."""
    inserts = _inserts(session, snapshot, insert_directories(snapshot), originals=True)
    return inserts, find_deletes(session, snapshot)


def _number_of_rows(
    session: AcidSession, snapshot: TableSnapshot, inserts: _Inserts, deletes: Deletes
) -> int | None:
    if inserts.originals:
        return None
    return count_rows(session, snapshot, inserts.directories, deletes)


def surviving_events(session: AcidSession, snapshot: TableSnapshot) -> DataFrame:
    """The insert events that no delete event meets, as a major compaction takes them: five of the
    ACID columns, then the table's as ``FIELD`` with their positions.
    """
    filtered, joined = _surviving(session, snapshot, *_events(session, snapshot))
    return _flat_union(session, snapshot, [*filtered, *joined])


def all_inserts(
    session: AcidSession, snapshot: TableSnapshot, *, less_deleted: bool = False
) -> DataFrame:
    """All insert events of the deltas, as a minor compaction takes them, in the same columns.

    Args:
        less_deleted: but for those that a delete event meets.
    """
    inserts = _inserts(session, snapshot, insert_deltas(snapshot), originals=False)
    row = data_schema(session.spark, snapshot.table)
    parts = _insert_events(session, snapshot, inserts, row)
    if less_deleted:
        deletes = find_deletes(session, snapshot)
        kept = bitmap_filter(session, snapshot, deletes)
        if kept is not None:
            parts = [kept(part) for part in parts]
        else:
            parts = _joined(session, snapshot, parts, deletes)
    return _flat_union(session, snapshot, parts)


def _flat_union(
    session: AcidSession, snapshot: TableSnapshot, parts: Sequence[bridge.UnresolvedPlan]
) -> DataFrame:
    row = data_schema(session.spark, snapshot.table)
    fields = [row_field(f.name).alias(f"{FIELD}{i}") for i, f in enumerate(row.fields)]
    frames = [part.frame().select(*_EVENT_COLUMNS, *fields) for part in parts]
    return reduce(DataFrame.unionAll, frames)


def _surviving(
    session: AcidSession,
    snapshot: TableSnapshot,
    inserts: _Inserts,
    deletes: Deletes,
    needed: Sequence[Sequence[bridge.Conjunct]] = (),
) -> tuple[list[bridge.UnresolvedPlan], list[bridge.UnresolvedPlan]]:
    """Scans of insert events, those that delete events may concern less what these delete: first
    those that need no join for that, then those with one; one at least.
    """
    clean, dirty = inserts.split(deletes)
    row = data_schema(session.spark, snapshot.table)
    kept = None if dirty.is_empty else bitmap_filter(session, snapshot, deletes)
    if kept is not None:
        filtered = [kept(part) for part in _insert_events(session, snapshot, inserts, row, needed)]
        joined = []
    else:
        filtered = _insert_events(session, snapshot, clean, row, needed)
        touched = _insert_events(session, snapshot, dirty, row, needed)
        joined = _joined(session, snapshot, touched, deletes) if touched else []
    if not filtered and not joined:
        filtered = [_relation(session, snapshot, [], row)]
    return filtered, joined


def _joined(
    session: AcidSession,
    snapshot: TableSnapshot,
    parts: Sequence[bridge.UnresolvedPlan],
    deletes: Deletes,
) -> list[bridge.UnresolvedPlan]:
    """Insert events but for those that a delete event meets, by a join."""
    return anti_join(snapshot, parts, deletes, lambda: _delete_events(session, snapshot))


def _delete_events(session: AcidSession, snapshot: TableSnapshot) -> DataFrame:
    first, *others = _valid_events(session, snapshot, delete_deltas(snapshot), StructType([]))
    return first.union(others).frame()


def _inserts(
    session: AcidSession,
    snapshot: TableSnapshot,
    directories: Sequence[DataDirectory],
    *,
    originals: bool,
) -> _Inserts:
    """Where the rows of some directories lie, and of the originals if these are meant too."""
    acid, raw = _parted(
        directories, lambda d: is_raw(session, snapshot.listings.get(d.path), d.directory)
    )
    has_originals = originals and any(p.state.originals for p in snapshot.partitions)
    files: Sequence[OriginalFile] = ()
    if raw or has_originals:
        files = original_files(session, snapshot, raw, originals=originals)
    return _Inserts(
        directories=tuple(complete(session, snapshot, acid)),
        originals=tuple(files),
    )


def _insert_events(
    session: AcidSession,
    snapshot: TableSnapshot,
    inserts: _Inserts,
    row: StructType,
    needed: Sequence[Sequence[bridge.Conjunct]] = (),
) -> list[bridge.UnresolvedPlan]:
    """Insert events whose ``row`` has the table's columns."""
    parts = []
    compared = compared_types(session, snapshot.table, needed)
    groups = by_columns(session, snapshot, inserts.directories, compared)
    for columns, directories in groups.items():
        search = find_search_argument(session, snapshot.table, columns, needed)
        if columns.names == tuple(row.names):
            parts += _valid_events(session, snapshot, directories, row, search)
            continue
        stored = StructType(
            [StructField(n, f.dataType) for n, f in zip(columns.names, row.fields, strict=False)]
        )
        values = [row_field(name) for name in columns.names]
        for events in _valid_events(session, snapshot, directories, stored, search):
            frame = events.frame().withColumn("row", row_of(row, values))
            parts.append(bridge.UnresolvedPlan.of(frame))
    return parts + original_events(session, inserts.originals, row)


def compaction_deletes(
    session: AcidSession, snapshot: TableSnapshot, *, but_of: int | None
) -> DataFrame:
    """The delete events of a snapshot, each row's once.

    Args:
        but_of: a write id whose rows are left out.
    """
    events = _delete_events(session, snapshot)
    if but_of is not None:
        events = events.where(F.col("originalTransaction") != but_of)
    return events.dropDuplicates(list(KEYS))


def _valid_events(
    session: AcidSession,
    snapshot: TableSnapshot,
    directories: Sequence[DataDirectory],
    row: StructType,
    search: SearchArgument | None = None,
) -> list[bridge.UnresolvedPlan]:
    """The events of some directories, less those of write ids that the snapshot does not see."""
    whole, mixed = _parted(directories, lambda d: needs_row_filter(d.directory, snapshot.write_ids))
    parts = []
    if whole or not mixed:
        parts.append(_relation(session, snapshot, whole, row, search))
    if mixed:
        write_ids = snapshot.write_ids
        current = bridge.no_pushdown(session.spark, F.col("currentTransaction"), nullable=True)
        hidden = [*write_ids.open, *write_ids.aborted]
        condition = (current <= write_ids.high_water_mark) & ~current.isin(hidden)
        parts.append(_relation(session, snapshot, mixed, row, search).where(condition))
    return parts


def _relation(
    session: AcidSession,
    snapshot: TableSnapshot,
    directories: Sequence[DataDirectory],
    row: StructType,
    search: SearchArgument | None = None,
) -> bridge.UnresolvedPlan:
    """One guarded scan.

    Rows that ORC passes over may come all the same, with anything in their other columns: the
    conditions of the search are applied before anything else is made of them.
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
    )
    session.leases.watch(relation.index)
    rows = relation.rows
    if search and search.condition is not None:
        rows = rows.where(search.condition)
    rows = rows.guarded(guarded_columns(row))
    if not partitioned:
        return rows
    return rows.select("*", f"{bridge.FILE_ORDINAL} AS {ORDINAL}")
