"""From a snapshot to a Spark DataFrame: one guarded ORC scan per kind of directory, less the
deleted rows. What the guard is for: ``schema.guard``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructType, TimestampType

from acidsql import bridge
from acidsql.format.names import AcidDirectory, is_hidden, parse_bucket_file
from acidsql.format.partitions import DEFAULT_PARTITION
from acidsql.format.selection import needs_row_filter
from acidsql.metastore.protocol import Column as TableColumn
from acidsql.metastore.protocol import Table
from acidsql.scan.snapshot import TableSnapshot
from acidsql.schema import (
    ROW_ID_COLUMN,
    data_schema,
    event_schema,
    guard,
    has_timestamp,
    padded,
    partition_schema,
    row_field,
    schema_of,
)
from acidsql.session import AcidSession
from acidsql.storage.filesystem import child
from acidsql.storage.tails import ORIGINAL_WRITE_ID

# A missing or broken file must fail the query: skipping a delete file would bring deleted rows
# back.
_SCAN_OPTIONS = {"ignoreMissingFiles": "false", "ignoreCorruptFiles": "false"}
# Delete events up to this number are broadcast; more are joined by sorting, which spills.
_BROADCAST_EVENTS = 1_000_000
_ORDINAL = "__partition"
_KEYS = ("originalTransaction", "bucket", "rowId")
# Fields of row__id, with Hive's names, and the columns that they are.
_ROW_ID_FIELDS = dict(zip(("writeid", "bucketid", "rowid"), _KEYS, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Directory:
    """A directory to scan, with the ordinal of its partition."""

    directory: AcidDirectory
    path: str
    ordinal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Deletes:
    """The delete events of a snapshot: how many, and which write ids per
    partition they can concern.
    """

    directories: tuple[_Directory, ...]
    events: int
    ranges: dict[int, tuple[tuple[int, int], ...]]

    def concern(self, data: _Directory) -> bool:
        """Whether any event can delete a row of the directory."""
        low = data.directory.min_write_id if data.directory.kind.value == "delta" else 0
        high = data.directory.max_write_id
        return any(a <= high and b >= low for a, b in self.ranges.get(data.ordinal, ()))


def scan(session: AcidSession, snapshot: TableSnapshot) -> DataFrame:
    """The rows of a snapshot: the table's columns in its order, then ``row__id``.

    Projected below the union, so that Spark prunes the fields of ``row`` in each scan.
    The struct of the row id is made above it: Spark 3.5 fails on a filter whose struct
    has other nullability there.
    """
    parts = _surviving(session, snapshot)
    rows = _union([_project(session, snapshot, part) for part in parts])
    columns = _columns(session, snapshot.table)
    return rows.withColumn(ROW_ID_COLUMN, columns.row_id).drop(*columns.row_id_names)


def surviving_events(session: AcidSession, snapshot: TableSnapshot) -> DataFrame:
    """The insert events that no delete event meets, as a major compaction takes them."""
    return _union(_surviving(session, snapshot))


def all_inserts(session: AcidSession, snapshot: TableSnapshot) -> DataFrame:
    """All insert events of the deltas, as a minor compaction takes them."""
    deltas = [
        _Directory(directory=d, path=p.path(d), ordinal=i)
        for i, p in enumerate(snapshot.partitions)
        for d in p.state.insert_deltas
    ]
    row = data_schema(session.spark, snapshot.table)
    return _union(_valid_events(session, snapshot, deltas, row))


def _surviving(session: AcidSession, snapshot: TableSnapshot) -> list[DataFrame]:
    """Scans of insert events, those that delete events may concern less what these delete."""
    inserts = [
        _Directory(directory=d, path=p.path(d), ordinal=i)
        for i, p in enumerate(snapshot.partitions)
        for d in [*([p.state.base] if p.state.base else []), *p.state.insert_deltas]
    ]
    deletes = _deletes(session, snapshot)
    row = data_schema(session.spark, snapshot.table)
    dirty = [d for d in inserts if deletes.concern(d)]
    clean = [d for d in inserts if d not in dirty] if dirty else inserts
    parts = _valid_events(session, snapshot, clean, row) if clean or not dirty else []
    if dirty:
        keys = [*_KEYS, _ORDINAL] if snapshot.table.partition_columns else list(_KEYS)
        events = _union(_valid_events(session, snapshot, deletes.directories, StructType([])))
        events = events.select(*[F.col(k).alias(f"__d_{k}") for k in keys])
        small = deletes.events <= _BROADCAST_EVENTS
        events = F.broadcast(events) if small else events.hint("merge")
        condition = [F.col(k) == F.col(f"__d_{k}") for k in keys]
        rows = _valid_events(session, snapshot, dirty, row)
        parts += [part.join(events, condition, "left_anti") for part in rows]
    return parts


def _union(parts: Sequence[DataFrame]) -> DataFrame:
    return reduce(DataFrame.unionAll, parts)


def compaction_deletes(session: AcidSession, snapshot: TableSnapshot) -> DataFrame:
    """The delete events of a snapshot, each row's once."""
    directories = [
        _Directory(directory=d, path=p.path(d), ordinal=i)
        for i, p in enumerate(snapshot.partitions)
        for d in p.state.delete_deltas
    ]
    events = _union(_valid_events(session, snapshot, directories, StructType([])))
    return events.dropDuplicates(list(_KEYS))


def _deletes(session: AcidSession, snapshot: TableSnapshot) -> _Deletes:
    """Look into the tails of the delete files: how many events, and of which write ids."""
    directories, events = [], 0
    ranges: dict[int, list[tuple[int, int]]] = {}
    for ordinal, partition in enumerate(snapshot.partitions):
        for delta in partition.state.delete_deltas:
            path = partition.path(delta)
            directories.append(_Directory(directory=delta, path=path, ordinal=ordinal))
            versions = session.files.versions(snapshot.listings.get(path))
            for name in bucket_files(list(versions)):
                tail = session.tails.tail(child(path, name), versions[name])
                events += tail.rows
                statistics = tail.file_int_stats(ORIGINAL_WRITE_ID)
                reach = (statistics[0], statistics[1]) if statistics else (0, delta.max_write_id)
                if tail.rows:
                    ranges.setdefault(ordinal, []).append(reach)
    return _Deletes(
        directories=tuple(directories),
        events=events,
        ranges={ordinal: tuple(r) for ordinal, r in ranges.items()},
    )


def bucket_files(names: Sequence[str]) -> list[str]:
    """The names that readers take from an ACID directory; all others are ignored, as by Hive."""
    return [name for name in names if parse_bucket_file(name)]


def _valid_events(
    session: AcidSession,
    snapshot: TableSnapshot,
    directories: Sequence[_Directory],
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
    directories: Sequence[_Directory],
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
    return frame.select(*frame.columns, ordinal.alias(_ORDINAL))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """What is the same in every scan of a table: PySpark takes a while to make a column.

    Attributes:
        data: the columns that are stored in files, of events.
        ids: the fields of ``row__id``, of events, under ``row_id_names``.
        row_id: ``row__id`` of these.
    """

    data: tuple[Column, ...]
    ids: tuple[Column, ...]
    row_id_names: tuple[str, ...]
    row_id: Column


def _columns(session: AcidSession, table: Table) -> _Columns:
    if bridge.aliases_are_fresh(session.spark):
        return _known_columns(session, table.columns, table.partition_columns)
    return _made_columns(session, table.columns, table.partition_columns)


def _made_columns(
    session: AcidSession,
    columns: tuple[TableColumn, ...],
    partition_columns: tuple[TableColumn, ...],
) -> _Columns:
    spark = session.spark
    data = []
    for field in schema_of(spark, columns).fields:
        value = bridge.opaque(spark, row_field(field.name), nullable=field.nullable)
        value = to_session_zone(session, value, field.dataType)
        data.append(value.alias(field.name, metadata=field.metadata))
    taken = {c.name.lower() for c in (*columns, *partition_columns)}
    prefix = ROW_ID_COLUMN
    while any(name.startswith(prefix) for name in taken):
        prefix += "_"
    names = {field: f"{prefix}_{field}" for field in _ROW_ID_FIELDS}
    return _Columns(
        data=tuple(data),
        ids=tuple(F.col(key).alias(names[field]) for field, key in _ROW_ID_FIELDS.items()),
        row_id_names=tuple(names.values()),
        row_id=F.struct(*[F.col(name).alias(field) for field, name in names.items()]),
    )


_known_columns = lru_cache(maxsize=256)(_made_columns)


def _project(session: AcidSession, snapshot: TableSnapshot, events: DataFrame) -> DataFrame:
    table = snapshot.table
    columns = _columns(session, table)
    partitions = []
    for i, field in enumerate(partition_schema(session.spark, table).fields):
        values = [partition.values[i] for partition in snapshot.partitions]
        value = _partition_value(values, field.dataType)
        partitions.append(value.alias(field.name, metadata=field.metadata))
    return events.select(*columns.data, *partitions, *columns.ids)


def _partition_value(values: Sequence[str], data_type: DataType) -> Column:
    """The value of a partition column by ordinal: a constant array, so that Spark
    prunes files by it.
    """
    texts = [None if v == DEFAULT_PARTITION else v for v in values]
    array = F.from_json(F.lit(json.dumps(texts)), ArrayType(StringType())).cast(
        ArrayType(data_type)
    )
    return F.get(array, F.col(_ORDINAL))


def to_session_zone(session: AcidSession, value: Column, data_type: DataType) -> Column:
    """A value read from a file, so that the session sees the wall clock that
    the file's writer meant.
    """
    return _shifted(value, data_type, session.jvm_time_zone, session.time_zone)


def to_file_zone(session: AcidSession, value: Column, data_type: DataType) -> Column:
    """A value to be written, so that the file keeps the wall clock that the session sees."""
    return _shifted(value, data_type, session.time_zone, session.jvm_time_zone)


def _shifted(value: Column, data_type: DataType, source: str, target: str) -> Column:
    """Move instants so that their wall clock in ``target`` is what it was in ``source``."""
    if source == target or not has_timestamp(data_type):
        return value
    if isinstance(data_type, TimestampType):
        return F.to_utc_timestamp(F.from_utc_timestamp(value, source), target)
    if isinstance(data_type, ArrayType):
        element = data_type.elementType
        return F.transform(value, lambda e: _shifted(e, element, source, target))
    if isinstance(data_type, MapType):
        keys, items = data_type.keyType, data_type.valueType
        moved = F.transform_keys(value, lambda k, _: _shifted(k, keys, source, target))
        return F.transform_values(moved, lambda _, v: _shifted(v, items, source, target))
    if isinstance(data_type, StructType):
        fields = [
            _shifted(value.getField(f.name), f.dataType, source, target).alias(f.name)
            for f in data_type.fields
        ]
        return F.when(value.isNotNull(), F.struct(*fields))
    return value
