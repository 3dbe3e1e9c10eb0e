"""From a snapshot to a Spark DataFrame: guarded ORC scans, one for each kind of directory, less the
deleted rows. What the guard is for: ``schema.guard``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from acidsql import bridge
from acidsql.format.names import DirectoryKind, is_hidden
from acidsql.format.selection import needs_row_filter
from acidsql.scan.columns import KEYS, ORDINAL, columns_of_table, project
from acidsql.scan.directories import (
    DataDirectory,
    bucket_files,
    by_columns,
    delete_deltas,
    insert_deltas,
    insert_directories,
    is_raw,
)
from acidsql.scan.originals import OriginalFile, original_events, original_files
from acidsql.scan.snapshot import TableSnapshot
from acidsql.schema import (
    ROW_ID_COLUMN,
    data_schema,
    event_schema,
    guard,
    padded,
    row_field,
    row_of,
)
from acidsql.session import AcidSession
from acidsql.storage.filesystem import child
from acidsql.storage.tails import ORIGINAL_WRITE_ID

# A missing or broken file must fail the query: skipping a delete file would bring deleted rows
# back.
_SCAN_OPTIONS = {"ignoreMissingFiles": "false", "ignoreCorruptFiles": "false"}
# Delete events up to this number are broadcast; more are joined by sorting, which spills.
_BROADCAST_EVENTS = 1_000_000
# Names of the table's columns beside the five ACID columns, in the events of a compaction.
FIELD = "__field_"
_EVENT_COLUMNS = ("operation", *KEYS, "currentTransaction")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Deletes:
    """The delete events of a snapshot: how many, and which write ids per
    partition they can concern.
    """

    directories: tuple[DataDirectory, ...]
    events: int
    ranges: dict[int, tuple[tuple[int, int], ...]]

    def concern(self, ordinal: int, low: int, high: int) -> bool:
        """Whether any event can delete a row of these write ids in a partition."""
        return any(a <= high and b >= low for a, b in self.ranges.get(ordinal, ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inserts:
    """Where rows lie: in ACID files, and in files without row ids."""

    directories: tuple[DataDirectory, ...]
    originals: tuple[OriginalFile, ...]

    def split(self, deletes: _Deletes) -> tuple[_Inserts, _Inserts]:
        """Those that no delete event can concern, and the others."""
        dirty = _Inserts(
            directories=tuple(d for d in self.directories if _concerns(deletes, d)),
            originals=tuple(
                f for f in self.originals if deletes.concern(f.ordinal, f.write_id, f.write_id)
            ),
        )
        clean = _Inserts(
            directories=tuple(d for d in self.directories if d not in dirty.directories),
            originals=tuple(f for f in self.originals if f not in dirty.originals),
        )
        return clean, dirty


def _concerns(deletes: _Deletes, data: DataDirectory) -> bool:
    is_delta = data.directory.kind is DirectoryKind.DELTA
    low = data.directory.min_write_id if is_delta else 0
    # The base of a table that was compacted before anybody wrote to it holds rows of write id 0.
    return deletes.concern(data.ordinal, low, max(data.directory.max_write_id, 0))


def scan(session: AcidSession, snapshot: TableSnapshot) -> DataFrame:
    """The rows of a snapshot: the table's columns in its order, then ``row__id``.

    Projected below the union, so that Spark prunes the fields of ``row`` in each scan.
    The struct of the row id is made above it: Spark 3.5 fails on a filter whose struct
    has other nullability there.
    """
    parts = _surviving(session, snapshot)
    rows = _union([project(session, snapshot, part) for part in parts])
    columns = columns_of_table(session, snapshot.table)
    return rows.withColumn(ROW_ID_COLUMN, columns.row_id).drop(*columns.row_id_names)


def surviving_events(session: AcidSession, snapshot: TableSnapshot) -> DataFrame:
    """The insert events that no delete event meets, as a major compaction takes them: five of the
    ACID columns, then the table's as ``FIELD`` with their positions.
    """
    return _flat_union(session, snapshot, _surviving(session, snapshot))


def all_inserts(session: AcidSession, snapshot: TableSnapshot) -> DataFrame:
    """All insert events of the deltas, as a minor compaction takes them, in the same columns."""
    inserts = _inserts(session, snapshot, insert_deltas(snapshot), originals=False)
    row = data_schema(session.spark, snapshot.table)
    return _flat_union(session, snapshot, _insert_events(session, snapshot, inserts, row))


def _flat_union(
    session: AcidSession, snapshot: TableSnapshot, parts: Sequence[DataFrame]
) -> DataFrame:
    row = data_schema(session.spark, snapshot.table)
    fields = [row_field(f.name).alias(f"{FIELD}{i}") for i, f in enumerate(row.fields)]
    return _union([part.select(*_EVENT_COLUMNS, *fields) for part in parts])


def _surviving(session: AcidSession, snapshot: TableSnapshot) -> list[DataFrame]:
    """Scans of insert events, those that delete events may concern less what these delete."""
    deletes = _deletes(session, snapshot)
    inserts = _inserts(session, snapshot, insert_directories(snapshot), originals=True)
    clean, dirty = inserts.split(deletes)
    row = data_schema(session.spark, snapshot.table)
    parts = _insert_events(session, snapshot, clean, row)
    touched = _insert_events(session, snapshot, dirty, row)
    if touched:
        keys = [*KEYS, ORDINAL] if snapshot.table.partition_columns else list(KEYS)
        events = _union(_valid_events(session, snapshot, deletes.directories, StructType([])))
        events = events.select(*[F.col(k).alias(f"__d_{k}") for k in keys])
        small = deletes.events <= _BROADCAST_EVENTS
        events = F.broadcast(events) if small else events.hint("merge")
        condition = [F.col(k) == F.col(f"__d_{k}") for k in keys]
        parts += [part.join(events, condition, "left_anti") for part in touched]
    return parts or [_relation(session, snapshot, [], row)]


def _union(parts: Sequence[DataFrame]) -> DataFrame:
    return reduce(DataFrame.unionAll, parts)


def _inserts(
    session: AcidSession,
    snapshot: TableSnapshot,
    directories: Sequence[DataDirectory],
    *,
    originals: bool,
) -> _Inserts:
    """Where the rows of some directories lie, and of the originals if these are meant too."""
    raw = [d for d in directories if is_raw(session, snapshot.listings.get(d.path), d.directory)]
    has_originals = originals and any(p.state.originals for p in snapshot.partitions)
    files: Sequence[OriginalFile] = ()
    if raw or has_originals:
        files = original_files(session, snapshot, raw, originals=originals)
    return _Inserts(
        directories=tuple(d for d in directories if d not in raw) if raw else tuple(directories),
        originals=tuple(files),
    )


def _insert_events(
    session: AcidSession, snapshot: TableSnapshot, inserts: _Inserts, row: StructType
) -> list[DataFrame]:
    """Insert events whose ``row`` has the table's columns."""
    parts = []
    for names, directories in by_columns(session, snapshot, inserts.directories).items():
        if names == tuple(row.names):
            parts += _valid_events(session, snapshot, directories, row)
            continue
        stored = StructType(
            [StructField(n, f.dataType) for n, f in zip(names, row.fields, strict=False)]
        )
        values = [row_field(name) for name in names]
        parts += [
            events.withColumn("row", row_of(row, values))
            for events in _valid_events(session, snapshot, directories, stored)
        ]
    return parts + original_events(session, inserts.originals, row)


def compaction_deletes(session: AcidSession, snapshot: TableSnapshot) -> DataFrame:
    """The delete events of a snapshot, each row's once."""
    directories = delete_deltas(snapshot)
    events = _union(_valid_events(session, snapshot, directories, StructType([])))
    return events.dropDuplicates(list(KEYS))


def _deletes(session: AcidSession, snapshot: TableSnapshot) -> _Deletes:
    """Look into the tails of the delete files: how many events, and of which write ids."""
    directories, events = delete_deltas(snapshot), 0
    ranges: dict[int, list[tuple[int, int]]] = {}
    for data in directories:
        versions = session.files.versions(snapshot.listings.get(data.path))
        for name in bucket_files(list(versions)):
            tail = session.tails.tail(child(data.path, name), versions[name])
            events += tail.rows
            statistics = tail.file_int_stats(ORIGINAL_WRITE_ID)
            highest = data.directory.max_write_id
            reach = (statistics[0], statistics[1]) if statistics else (0, highest)
            if tail.rows:
                ranges.setdefault(data.ordinal, []).append(reach)
    return _Deletes(
        directories=tuple(directories),
        events=events,
        ranges={ordinal: tuple(r) for ordinal, r in ranges.items()},
    )


def _valid_events(
    session: AcidSession,
    snapshot: TableSnapshot,
    directories: Sequence[DataDirectory],
    row: StructType,
) -> list[DataFrame]:
    """The events of some directories, less those of write ids that the snapshot does not see."""
    mixed = [d for d in directories if needs_row_filter(d.directory, snapshot.write_ids)]
    whole = [d for d in directories if d not in mixed] if mixed else list(directories)
    parts = []
    if whole or not mixed:
        parts.append(_relation(session, snapshot, whole, row))
    if mixed:
        write_ids = snapshot.write_ids
        current = F.col("currentTransaction")
        hidden = [*write_ids.open, *write_ids.aborted]
        condition = (current <= write_ids.high_water_mark) & ~current.isin(hidden)
        parts.append(_relation(session, snapshot, mixed, row).where(condition))
    return parts


def _relation(
    session: AcidSession,
    snapshot: TableSnapshot,
    directories: Sequence[DataDirectory],
    row: StructType,
) -> DataFrame:
    """One guarded scan."""
    partitioned = bool(snapshot.table.partition_columns)
    scanned = []
    for directory in directories:
        listing = snapshot.listings.get(directory.path)
        if listing.java_statuses is None:
            continue
        chosen = bucket_files(listing.names)
        strangers = [n for n in listing.names if n not in chosen and not is_hidden(n)]
        scanned.append(
            bridge.ScanDirectory(
                path=listing.java_path,
                statuses=listing.java_statuses,
                files=tuple(chosen) if strangers or partitioned else None,
                ordinal=directory.ordinal if partitioned else None,
            )
        )
    relation = bridge.orc_relation(
        session.spark, scanned, event_schema(padded(row), deletes=not row.names), _SCAN_OPTIONS
    )
    session.leases.watch(relation.index)
    frame = relation.frame.where(guard(session.spark, row))
    if not partitioned:
        return frame
    ordinal = F.unix_millis(F.col("_metadata.file_modification_time")).cast("int")
    return frame.select(*frame.columns, ordinal.alias(ORDINAL))
