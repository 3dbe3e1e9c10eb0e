"""Relations of rows and of delete events over the files of a snapshot (``bridge/orc``)."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.format.selection import needs_row_filter
from acidsql.metastore.model import Column, Table
from acidsql.scan.columns import virtual_columns
from acidsql.scan.deletes import NO_DELETES, Deletes
from acidsql.scan.directories import DataDirectory, bucket_files, check_files, visible_columns
from acidsql.scan.inserts import Inserts, write_ids_of
from acidsql.scan.original_files import OriginalFile
from acidsql.scan.record import ScanRecord
from acidsql.scan.snapshot import PartitionSnapshot, TableSnapshot
from acidsql.scan.statistics import analyzed_columns, statistics_of
from acidsql.schema.columns import schema_of
from acidsql.session.acid_session import AcidSession
from acidsql.storage import relation
from acidsql.storage.directory import child
from acidsql.storage.relation import ReadOptions
from acidsql.storage.splits import DataFile, DeleteFile, FileKind, RowIds

AS_THEY_ARE = ReadOptions()


def row_relation(
    session: AcidSession,
    record: ScanRecord,
    inserts: Inserts,
    deletes: Deletes,
    reading: ReadOptions = AS_THEY_ARE,
) -> bridge.UnresolvedPlan:
    """Build the relation of the rows in some places.

    Args:
        session: the session.
        record: record of the scan, which gets the number and size of the files.
        inserts: places of the rows.
        deletes: delete events.
        reading: how the files are read.

    Returns:
        A relation with the columns of the table, then its partition columns, and with
        ``metadata_columns``.

    Raises:
        FormatError: a file cannot be read as part of an ACID table.
    """
    snapshot = record.snapshot
    check_files(session, snapshot, inserts.directories)
    record.note(inserts)
    files = data_files(snapshot, inserts, deletes)
    if reading.deleted is bridge.DeletedRowsMode.ONLY:
        files = [file for file in files if file.deletes]
    known = statistics_of(session, snapshot, inserts.directories, deletes.events)
    size = sum(file.length for file in files) * known.kept
    return file_relation(
        session,
        snapshot.table,
        snapshot.partitions,
        files,
        replace(
            reading,
            keeps_deletes=not record.reads_deletes,
            # A plan must not reference the session, which ends when the last reference is gone.
            analyzed=partial(analyzed_columns, weakref.ref(session), snapshot.table),
        ),
        statistics=(max(1, round(size)), max(1, round(size * known.rows_per_byte))),
    )


def event_relation(
    session: AcidSession, snapshot: TableSnapshot, directories: Sequence[DataDirectory]
) -> bridge.UnresolvedPlan:
    """Build the relation of the delete events in some directories that a snapshot sees.

    The row id is the id of the deleted row. The relation has only the partition columns and
    ``metadata_columns``.
    """
    files = [
        replace(file, columns=0)
        for data in directories
        for file in _event_files(snapshot, data, NO_DELETES)
    ]
    size = sum(file.length for file in files)
    return file_relation(
        session,
        replace(snapshot.table, columns=()),
        snapshot.partitions,
        files,
        statistics=(max(1, size), -1),
    )


def file_relation(
    session: AcidSession,
    table: Table,
    partitions: Sequence[PartitionSnapshot],
    files: Sequence[DataFile],
    reading: ReadOptions = AS_THEY_ARE,
    *,
    statistics: tuple[int, int],
) -> bridge.UnresolvedPlan:
    """Build the relation of the rows of some files; its plans hold back the cleaner.

    See ``storage.relation.file_relation`` for the arguments.
    """
    values = [partition.values for partition in partitions]
    rows, java = relation.file_relation(
        session.spark,
        table,
        values,
        files,
        reading,
        zone=session.time_zone,
        statistics=statistics,
    )
    session.leases.watch(java)
    return rows


def projected(
    spark: SparkSession, table: Table, rows: bridge.UnresolvedPlan, *others: str
) -> bridge.UnresolvedPlan:
    """Project a relation to the columns of ``scan.columns.scan_schema`` and to ``others``.

    The columns get the metadata of the table's columns.
    """
    fields = _java_schema(spark, (*table.columns, *table.partition_columns))
    return rows.described(fields, (*virtual_columns(table), *others))


@bridge.cached_per_session(256)
def _java_schema(spark: SparkSession, columns: tuple[Column, ...]) -> bridge.JavaObject:
    return bridge.java_type(spark, schema_of(spark, columns))


def plain_files(snapshot: TableSnapshot, scanned: Sequence[bridge.ScanFile]) -> list[DataFile]:
    """Convert files of an insert-only table, which have no row ids, to ``DataFile``s."""
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


def data_files(snapshot: TableSnapshot, inserts: Inserts, deletes: Deletes) -> list[DataFile]:
    """Return the files with the rows in some places, see ``row_relation``."""
    files = [
        *(file for data in inserts.directories for file in _event_files(snapshot, data, deletes)),
        *(_original_file(file, deletes) for file in inserts.originals),
    ]
    deleters = deletes.deleters or snapshot.write_ids
    return [
        replace(file, deleters=deleters, own_rows_only=deletes.own_rows_only)
        if file.deletes
        else file
        for file in files
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
        )


def _original_file(file: OriginalFile, deletes: Deletes) -> DataFile:
    concerned = _deletes_of(deletes, file.ordinal, file.write_id, file.write_id)
    return DataFile(
        kind=FileKind.ORIGINAL,
        path=child(file.listing.path, file.name),
        length=file.listing.files[file.name].size,
        columns=len(file.columns),
        ordinal=file.ordinal,
        deletes=concerned,
        row_ids=RowIds(write_id=file.write_id, bucket=file.bucket, first=file.first_row),
    )


def _deletes_of(deletes: Deletes, ordinal: int, low: int, high: int) -> tuple[DeleteFile, ...]:
    """Return the delete files of a partition with events that can name rows of some write ids."""
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
