"""Reading by ``format("acidsql")``: the tasks read the stripes of one snapshot."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.arrow_reader.cached_files import CachedFiles, local_source
from acidsql.arrow_reader.data_files import ArrowDataFile, data_files
from acidsql.arrow_reader.deleted_rows import DeletedRows
from acidsql.arrow_reader.reading import (
    check_readable,
    read_transaction,
    wanted_of,
    wanted_partitions,
)
from acidsql.arrow_reader.rows import FileStripe, RowReader, Wanted, partitions_of, stripes_of
from acidsql.datasource.options import SourceOptions
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.limits import limits
from acidsql.metastore.model import Table
from acidsql.metastore.moments import Moment
from acidsql.scan.snapshot import PartitionSnapshot, TableSnapshot, take_snapshot
from acidsql.scan.versions import at_moment, hold_version
from acidsql.storage.listings import Listings
from acidsql.storage.weighted_groups import weighted_groups
from acidsql.streaming.client import Client


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    """Some stripes of a file: the number of each, and how many rows of the file precede it."""

    file: ArrowDataFile
    stripes: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPart:
    """Part of a snapshot that one task reads.

    Attributes:
        table: definition of the table.
        names: names of the columns that are read.
        rows: filter of the rows; None for all rows.
        txns: transactions that are visible.
        write_ids: write ids that are visible.
        partitions: partitions of the files, in the order of their ordinals.
        files: the files, each with its stripes to read.
    """

    table: Table
    names: tuple[str, ...]
    rows: pc.Expression | None
    txns: ValidTxnList
    write_ids: ValidWriteIdList
    partitions: tuple[PartitionSnapshot, ...]
    files: tuple[FilePart, ...]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows; each stripe with matching rows gives one batch.

        Raises:
            FormatError: FAILED_READ_FILE, a file may have been removed after the snapshot;
                UNSUPPORTED_FEATURE.ARROW_TYPE_CHANGE, UNSUPPORTED_FEATURE.ARROW_VALUE.
        """
        source = local_source()
        wanted = wanted_of(self.table, self.names, self.rows)
        snapshot = TableSnapshot(
            table=self.table,
            txns=self.txns,
            write_ids=self.write_ids,
            partitions=self.partitions,
            listings=Listings(source.files, None),
        )
        reader = RowReader(
            source=source,
            wanted=wanted,
            deleted=DeletedRows(source, snapshot),
            write_ids=self.write_ids,
            partitions=partitions_of(snapshot, wanted),
        )
        for part in self.files:
            for number, first_row in part.stripes:
                batch = reader.read(FileStripe(part.file, number, first_row))
                if batch is not None:
                    yield batch


def plan_tasks(
    options: SourceOptions, names: Sequence[str], rows: pc.Expression | None
) -> list[TaskPart]:
    """Take a snapshot, and divide its stripes among tasks.

    Args:
        options: the table and its version.
        names: names of the columns that are read.
        rows: filter of the rows; None for all rows.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.ARROW_TABLE, COLUMN_NOT_FOUND,
            HISTORY_NOT_AVAILABLE, VERSION_NOT_FOUND.
        AcidLookupError: TABLE_OR_VIEW_NOT_FOUND.
        FormatError: a file cannot be read as part of the table.
    """
    with _planned(options, names, rows) as tasks:
        return list(tasks)


def read_now(options: SourceOptions, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Take a snapshot and read it; hold back cleaners until the end.

    Args:
        options: see ``plan_tasks``.
        names: see there.

    Raises:
        AcidSqlError: see there, and ``TaskPart.batches``.
    """
    with _planned(options, names, None) as tasks:
        for task in tasks:
            yield from task.batches()


@contextmanager
def _planned(
    options: SourceOptions, names: Sequence[str], rows: pc.Expression | None
) -> Iterator[Iterator[TaskPart]]:
    """Yield the tasks of a snapshot; its files are retained until the block ends."""
    source = local_source()
    with options.client() as client:
        table = client.table(options.table)
        check_readable(table)
        table = at_moment(client.metastore, table, options.moment)
        wanted = wanted_of(table, names, rows)
        opened_at = time.time()
        with read_transaction(client) as txn_id:
            listings = Listings(source.files, txn_id, opened_at=opened_at)
            snapshot = _snapshot(client, source, table, wanted, options.moment, listings)
            groups = _groups(source, snapshot, wanted)
            yield (_task(snapshot, tuple(names), rows, group) for group in groups)


def _snapshot(
    client: Client,
    source: CachedFiles,
    table: Table,
    wanted: Wanted,
    moment: Moment | None,
    listings: Listings,
) -> TableSnapshot:
    """Take a snapshot of the current or an earlier state, under a read transaction."""
    metastore, txn_id = client.metastore, listings.txn_id
    held = None if moment is None else hold_version(metastore, table, moment, txn_id)
    return take_snapshot(
        source.files,
        metastore,
        table,
        metastore.valid_txns(txn_id),
        listings,
        wanted_partitions(client, table, wanted),
        held,
    )


def _groups(
    source: CachedFiles, snapshot: TableSnapshot, wanted: Wanted
) -> Iterator[list[FileStripe]]:
    """Yield the stripes of a snapshot that can have matching rows, in one group for each task."""
    files = data_files(source, snapshot)
    stripes = stripes_of(files, wanted, partitions_of(snapshot, wanted))
    return weighted_groups(stripes, stripe_bytes, limits().task_stripe_bytes)


def stripe_bytes(stripe: FileStripe) -> int:
    """Return the size of a stripe in its file."""
    extent = stripe.file.known.tail.stripes[stripe.number]
    return extent.index_length + extent.data_length + extent.footer_length


def _task(
    snapshot: TableSnapshot,
    names: tuple[str, ...],
    rows: pc.Expression | None,
    stripes: Sequence[FileStripe],
) -> TaskPart:
    """Return a task that contains only the partitions that it needs."""
    ordinals, files = file_parts(stripes)
    return TaskPart(
        table=snapshot.table,
        names=names,
        rows=rows,
        txns=snapshot.txns,
        write_ids=snapshot.write_ids,
        partitions=tuple(snapshot.partitions[ordinal] for ordinal in ordinals),
        files=files,
    )


def file_parts(stripes: Sequence[FileStripe]) -> tuple[list[int], tuple[FilePart, ...]]:
    """Group stripes by file, and return the ordinals of their partitions.

    Each file refers to its partition by an index into these ordinals.
    """
    ordinals = sorted({stripe.file.ordinal for stripe in stripes})
    places = {ordinal: place for place, ordinal in enumerate(ordinals)}
    files = []
    for _, group in groupby(stripes, key=lambda stripe: id(stripe.file)):
        in_file = list(group)
        file = replace(in_file[0].file, ordinal=places[in_file[0].file.ordinal])
        files.append(FilePart(file=file, stripes=tuple((s.number, s.first_row) for s in in_file)))
    return ordinals, tuple(files)
