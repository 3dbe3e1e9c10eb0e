"""Plan of the scan of a snapshot by acidsql's own reader, which leaves out deleted rows itself."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from acidsql import bridge
from acidsql.format.partitions import DEFAULT_PARTITION
from acidsql.format.selection import needs_row_filter
from acidsql.metastore.model import Column, Table
from acidsql.scan.columns import virtual_columns
from acidsql.scan.deletes.plan import Deletes
from acidsql.scan.directories import DataDirectory, bucket_files, by_columns, visible_columns
from acidsql.scan.inserts import Inserts, write_ids_of
from acidsql.scan.original_files import OriginalFile
from acidsql.scan.record import Removal, ScanRecord
from acidsql.scan.snapshot import TableSnapshot
from acidsql.scan.splits import (
    DataFile,
    DeleteFile,
    FileKind,
    RowIds,
    encode,
    encode_partitions,
    plan_tasks,
    split_size,
)
from acidsql.scan.statistics import usage_of
from acidsql.schema.columns import partition_schema, schema_of
from acidsql.session.acid_session import AcidSession
from acidsql.storage.directory import child
from acidsql.syntax.lexer import quote

# Size of parts of files in bytes, larger than any file.
_UNCUT = 1 << 62


def own_scan(
    session: AcidSession, record: ScanRecord, inserts: Inserts, deletes: Deletes
) -> bridge.UnresolvedPlan:
    """Build the plan of the rows in some places, with the columns of ``scan.plan.scan``.

    Args:
        session: the session.
        record: of the scan; what the plan does is noted in it.
        inserts: places of the rows.
        deletes: delete events of the snapshot.

    Raises:
        FormatError: a file cannot be read as part of an ACID table.
    """
    snapshot = record.snapshot
    for directories in by_columns(session, snapshot, inserts.directories, {}).values():
        record.note(directories, None)
    record.note_originals(inserts.originals)
    record.removal = Removal.BITMAP if deletes.events else Removal.NONE
    files = data_files(snapshot, inserts, deletes)
    used = usage_of(session, snapshot, inserts.directories, deletes.events, None)
    size = sum(file.length for file in files) * used.kept
    return own_relation(
        session,
        record,
        files,
        zone=session.time_zone,
        statistics=(max(1, round(size)), max(1, round(size * used.rows_per_byte))),
    )


def own_relation(
    session: AcidSession,
    record: ScanRecord,
    files: Sequence[DataFile],
    *,
    zone: str,
    statistics: tuple[int, int],
) -> bridge.UnresolvedPlan:
    """Build the plan of the rows of some files, with the columns of ``scan.plan.scan``.

    Args:
        session: the session.
        record: of the scan.
        files: those that are read.
        zone: in which the local times of the files are moments.
        statistics: bytes and rows for Spark's optimiser; -1 for a number of rows that is not known.
    """
    snapshot = record.snapshot
    table, spark = snapshot.table, session.spark
    keeps_deletes = not record.reads_deletes
    values = partition_texts(snapshot)
    whole = encode(plan_tasks(files, _UNCUT, 0), keeps_deletes=keeps_deletes)
    described = "\0".join((table.full_name, zone, str(record.shows_deleted), str(table.columns)))
    digest = hashlib.blake2b(described.encode() + whole + values, digest_size=16)
    relation, java = bridge.acid_relation(
        spark,
        bridge.AcidTable(
            name=table.full_name,
            key=digest.hexdigest(),
            declared=declared_columns(spark, table.columns),
            partition_schema=_plain(partition_schema(spark, table)),
            partitions=values,
            virtual_columns=len(virtual_columns(table)),
            planner=_planner(session, files, keeps_deletes=keeps_deletes),
            size=statistics[0],
            rows=statistics[1],
            zone=zone,
            shows_deleted=record.shows_deleted,
        ),
    )
    session.leases.watch(java)
    return relation.project([_columns(spark, table)])


def plain_files(snapshot: TableSnapshot, scanned: Sequence[bridge.ScanFile]) -> list[DataFile]:
    """Return files of an insert-only table, which have no row ids."""
    return [
        DataFile(
            kind=FileKind.PLAIN,
            path=file.path,
            length=file.size,
            columns=len(snapshot.table.columns),
            ordinal=file.ordinal,
        )
        for file in scanned
    ]


def _columns(spark: SparkSession, table: Table) -> bridge.NamedColumns:
    """Return the columns of a scan, each under its name and with the metadata of the table's."""
    fields = [
        *schema_of(spark, table.columns).fields,
        *partition_schema(spark, table).fields,
    ]
    columns = [F.col(quote(f.name)).alias(f.name, metadata=f.metadata) for f in fields]
    columns += [F.col(name).alias(name) for name in virtual_columns(table)]
    return bridge.named_columns(spark, columns)


@bridge.cached_per_session(256)
def declared_columns(spark: SparkSession, columns: tuple[Column, ...]) -> StructType:
    """Return the columns of files with the types that the metastore has, CHAR and VARCHAR too."""
    return StructType(
        [StructField(c.name, bridge.parse_type(spark, c.type), c.nullable) for c in columns]
    )


def _plain(schema: StructType) -> StructType:
    return StructType([StructField(f.name, f.dataType, f.nullable) for f in schema.fields])


def partition_texts(snapshot: TableSnapshot) -> bytes:
    """Encode the values of a snapshot's partitions."""
    return encode_partitions(
        [
            [None if value == DEFAULT_PARTITION else value for value in partition.values]
            for partition in snapshot.partitions
        ]
    )


def data_files(snapshot: TableSnapshot, inserts: Inserts, deletes: Deletes) -> list[DataFile]:
    """Return the files with the rows in some places."""
    return [
        *(f for data in inserts.directories for f in _event_files(snapshot, data, deletes)),
        *(_original_file(snapshot, file, deletes) for file in inserts.originals),
    ]


def _event_files(
    snapshot: TableSnapshot, data: DataDirectory, deletes: Deletes
) -> Iterator[DataFile]:
    listing = snapshot.listings.get(data.path)
    is_mixed = needs_row_filter(data.directory, snapshot.write_ids)
    concerned = _deletes_of(deletes, data.ordinal, *write_ids_of(data))
    for name in bucket_files(listing):
        yield DataFile(
            kind=FileKind.EVENTS,
            path=child(listing.path, name),
            length=listing.files[name].size,
            columns=visible_columns(snapshot, data.ordinal),
            ordinal=data.ordinal,
            visible=snapshot.write_ids if is_mixed else None,
            deletes=concerned,
            deleters=snapshot.write_ids if concerned else None,
        )


def _original_file(snapshot: TableSnapshot, file: OriginalFile, deletes: Deletes) -> DataFile:
    concerned = _deletes_of(deletes, file.ordinal, file.write_id, file.write_id)
    return DataFile(
        kind=FileKind.ORIGINAL,
        path=child(file.listing.path, file.name),
        length=file.listing.files[file.name].size,
        columns=len(file.columns),
        ordinal=file.ordinal,
        deletes=concerned,
        deleters=snapshot.write_ids if concerned else None,
        row_ids=RowIds(write_id=file.write_id, bucket=file.bucket, first=file.first_row[0]),
    )


def _deletes_of(deletes: Deletes, ordinal: int, low: int, high: int) -> tuple[DeleteFile, ...]:
    """Return the delete files of a partition whose events may name rows of some write ids."""
    return tuple(
        DeleteFile(
            path=file.path,
            length=file.version.size,
            modified=file.version.modified,
            events=file.events,
            bounds=() if file.keys is None else tuple(n for r in file.keys for n in r),
        )
        for file in deletes.files
        if file.ordinal == ordinal
        and file.write_ids.least <= high
        and file.write_ids.greatest >= low
    )


def _planner(
    session: AcidSession, files: Sequence[DataFile], *, keeps_deletes: bool
) -> bridge.Planner:
    settings = bridge.split_settings(session.spark, [file.length for file in files])
    by_partition: Mapping[int, list[DataFile]] = defaultdict(list)
    for file in files:
        by_partition[file.ordinal].append(file)

    def plan(kept: Sequence[int] | None, predicates: Sequence[str]) -> bytes:
        del predicates  # the partitions that they leave are known
        read = files if kept is None else [f for o in kept for f in by_partition.get(o, ())]
        size = settings.share or split_size(
            [file.length for file in read],
            tasks=settings.tasks,
            most=settings.most_bytes,
            open_cost=settings.open_cost,
        )
        return encode(plan_tasks(read, size, settings.open_cost), keeps_deletes=keeps_deletes)

    return plan
