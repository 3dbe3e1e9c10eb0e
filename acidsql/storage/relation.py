"""Relations over given files of a table, read by acidsql's own reader (``bridge/orc``)."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass

from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

from acidsql import bridge
from acidsql.format.partitions import DEFAULT_PARTITION
from acidsql.metastore.model import Column, Table
from acidsql.schema.acid_file import IS_DELETED_COLUMN, ROW_ID_COLUMN
from acidsql.schema.columns import has_instant, schema_of
from acidsql.storage.directory import Listing, child
from acidsql.storage.splits import (
    DataFile,
    FileKind,
    encode,
    encode_partitions,
    plan_tasks,
    split_size,
)

# Size of parts of files in bytes, larger than any file.
_UNCUT = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataColumns:
    """Names of the metadata columns of a relation; none of them is a column of the table.

    Attributes:
        row_id: row id, a struct of ``writeid``, ``bucketid`` and ``rowid``.
        is_deleted: whether the row was deleted.
        partition: index of the row's partition in the snapshot.
        write_id: write id of the row's last event, which inserted or deleted the row.
        operation: operation of the event that is read, 0 for the insertion of a row.
    """

    row_id: str
    is_deleted: str
    partition: str
    write_id: str
    operation: str


def metadata_columns(table: Table) -> MetadataColumns:
    """Return names for the metadata columns of a table's rows."""
    taken = {column.key for column in (*table.columns, *table.partition_columns)}

    def free(name: str) -> str:
        while name in taken:
            name += "_"
        return name

    return MetadataColumns(
        row_id=ROW_ID_COLUMN,
        is_deleted=free(IS_DELETED_COLUMN),
        partition=free("__partition"),
        write_id=free("__write_id"),
        operation=free("__operation"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Options for reading the rows of files.

    Attributes:
        deleted: treatment of rows that the delete files name.
        keeps_deletes: whether executors may keep delete events for other tasks.
        counter: see ``bridge.AcidRelation``.
        zone: time zone of the local times in the files; None for the session's time zone.
        analyzed: see ``bridge.AcidRelation``.
    """

    deleted: bridge.DeletedRowsMode = bridge.DeletedRowsMode.HIDDEN
    keeps_deletes: bool = True
    counter: Callable[[], int | None] | None = None
    zone: str | None = None
    analyzed: Callable[[], Sequence[bridge.AnalyzedColumn]] = tuple


def file_relation(
    spark: SparkSession,
    table: Table,
    partitions: Sequence[Sequence[str]],
    files: Sequence[DataFile],
    reading: ReadOptions,
    *,
    zone: str,
    statistics: tuple[int, int],
) -> tuple[bridge.UnresolvedPlan, bridge.JavaObject]:
    """Build the relation of the rows of some files.

    Args:
        spark: the session.
        table: table whose columns the files have.
        partitions: values of each partition; the ordinals of the files are indexes of this
            sequence.
        files: files to read.
        reading: options for reading them.
        zone: time zone of the session.
        statistics: bytes and rows for Spark's optimiser; -1 for an unknown number of rows.

    Returns:
        The relation, and the Java object that a plan references while it can run. The relation has
        the columns of the table, its partition columns, and ``metadata_columns``.
    """
    values = _partition_texts(partitions)
    keeps_deletes, zone = reading.keeps_deletes, reading.zone or zone
    whole = encode(plan_tasks(files, _UNCUT, 0), keeps_deletes=keeps_deletes)
    described = "\0".join((table.full_name, zone, str(int(reading.deleted)), str(table.columns)))
    digest = hashlib.blake2b(described.encode() + whole + values, digest_size=16)
    return bridge.acid_relation(
        spark,
        bridge.AcidRelation(
            name=table.full_name,
            key=digest.hexdigest(),
            declared=_declared_columns(spark, table.columns),
            initial=_initial_values(table.columns),
            partition_schema=_partition_columns(spark, table.partition_columns),
            partitions=values if table.partition_columns else None,
            metadata_columns=astuple(metadata_columns(table)),
            planner=_planner(files, keeps_deletes=keeps_deletes),
            counter=reading.counter,
            size=statistics[0],
            rows=statistics[1],
            zone=zone,
            deleted_rows=reading.deleted,
            is_whole=all(file.visible is None and not file.deletes for file in files),
            analyzed=reading.analyzed,
        ),
    )


def event_file(listing: Listing, name: str, ordinal: int) -> DataFile:
    """Return the ``DataFile`` to read all events of a file, without columns of the table."""
    return DataFile(
        kind=FileKind.EVENTS,
        path=child(listing.path, name),
        length=listing.files[name].size,
        columns=0,
        ordinal=ordinal,
    )


# Metadata of a column whose TIMESTAMPs are instants in the files (``ReadPlan.INSTANTS``).
_INSTANTS = {"acidsql.instants": "true"}


@bridge.cached_per_session(256)
def _declared_columns(spark: SparkSession, columns: tuple[Column, ...]) -> bridge.JavaObject:
    """Return the columns of files with the metastore's types, including CHAR and VARCHAR."""
    fields = [
        StructField(
            c.name,
            bridge.parse_type(spark, c.type),
            c.nullable,
            _INSTANTS if has_instant(c) else None,
        )
        for c in columns
    ]
    return bridge.java_type(spark, StructType(fields))


@bridge.cached_per_session(256)
def _partition_columns(spark: SparkSession, columns: tuple[Column, ...]) -> bridge.JavaObject:
    """Return partition columns without metadata."""
    fields = schema_of(spark, columns).fields
    plain = StructType([StructField(f.name, f.dataType, f.nullable) for f in fields])
    return bridge.java_type(spark, plain)


def _initial_values(columns: Sequence[Column]) -> bytes | None:
    """Encode the values of columns in files that are older than the columns.

    Returns:
        None if all values are NULL.
    """
    values = [column.initial for column in columns]
    return None if values.count(None) == len(values) else encode_partitions([values])


def _partition_texts(partitions: Sequence[Sequence[str]]) -> bytes:
    """Encode the values of partitions."""
    return encode_partitions(
        [
            [None if value == DEFAULT_PARTITION else value for value in values]
            for values in partitions
        ]
    )


def _planner(files: Sequence[DataFile], *, keeps_deletes: bool) -> bridge.Planner:
    by_partition: Mapping[int, list[DataFile]] = defaultdict(list)
    for file in files:
        by_partition[file.ordinal].append(file)

    def plan(settings: bridge.SplitSettings, kept: Sequence[int] | None) -> bytes:
        read = files if kept is None else [f for o in kept for f in by_partition.get(o, ())]
        tasks, most, cost = settings.tasks, settings.most_bytes, settings.open_cost
        lengths = [file.length for file in read]
        size = bridge.share_of_task(lengths, tasks=tasks, most=most, open_cost=cost) or split_size(
            lengths, tasks=tasks, most=most, open_cost=cost
        )
        return encode(plan_tasks(read, size, settings.open_cost), keeps_deletes=keeps_deletes)

    return plan
