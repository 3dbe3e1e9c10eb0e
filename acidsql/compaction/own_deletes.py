"""Removal of rows that a transaction of several statements inserted and then deleted.

After a compaction of a single write id, Hive's vectorised reader does not apply delete events to
rows of this write id (``VectorizedOrcAcidRowBatchReader``). So before the transaction commits,
acidsql removes the rows and their delete events from the directories of the transaction. No other
transaction has seen these directories.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow.compute as pc

from acidsql import bridge
from acidsql.compaction.copying import copy_undeleted, merge_few_deletes
from acidsql.compaction.rewriting import write_buckets_of
from acidsql.errors import WriteConflictError
from acidsql.format.bucket_codec import MAX_STATEMENT_ID, decode_statement
from acidsql.format.names import (
    STAGING_PREFIX,
    VERSION_CONTENT,
    VERSION_FILE,
    AcidDirectory,
    DirectoryKind,
    delete_delta_name,
    delta_name,
    parse_bucket_file,
    parse_directory,
)
from acidsql.format.selection import AcidState
from acidsql.format.valid_lists import ValidWriteIdList
from acidsql.limits import limits
from acidsql.metastore import failures
from acidsql.metastore.model import CompactionType, Partition, Table
from acidsql.metastore.names import object_name
from acidsql.scan.directories import DeleteFile, delete_files
from acidsql.scan.plan import all_inserts, compaction_deletes
from acidsql.scan.snapshot import PartitionSnapshot, TableSnapshot
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import child
from acidsql.storage.listings import Listings
from acidsql.storage.publication import sync_all
from acidsql.storage.tails import ORIGINAL_WRITE_ID
from acidsql.transactions.explicit import ExplicitTransaction
from acidsql.transactions.recorded import with_files
from acidsql.transactions.write_transaction import TableWrite
from acidsql.transactions.written import next_statement_id


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedPartition:
    """Directories that a transaction wrote to one partition or to a table without partitions.

    Attributes:
        partition: the partition.
        writes: writes of its statements to this place.
        directories: its directories in this place.
    """

    partition: Partition
    writes: tuple[TableWrite, ...]
    directories: tuple[AcidDirectory, ...]

    @property
    def table(self) -> Table:
        """Table of the place."""
        return self.writes[-1].table

    @property
    def write_id(self) -> int:
        """Write id of the transaction in the table."""
        return self.writes[-1].write_id

    def path(self, directory: AcidDirectory) -> str:
        """Return the path of one of the directories."""
        return child(self.partition.location, directory.name)

    @property
    def has_deletes(self) -> bool:
        """Whether the transaction deleted rows in this place."""
        return any(d.kind is DirectoryKind.DELETE_DELTA for d in self.directories)


def complete(transaction: ExplicitTransaction) -> None:
    """Remove rows that a transaction inserted and deleted from its directories, before it commits.

    Raises:
        WriteConflictError: CONCURRENT_WRITE, a rebalance has given new row ids to rows that the
            transaction deleted.
        FormatError: TOO_MANY_STATEMENTS, SYNC_FAILED.
    """
    places = [place for place in places_of(transaction.transaction.writes) if place.has_deletes]
    if places:
        check_not_rebalanced(transaction, places)
    files = transaction.session.files
    for number, place in enumerate(places):
        # An object store may cache a deleted file, so no path is used twice.
        if _complete(transaction, place, f"complete_{number}"):
            for write in place.writes:
                write.counts = with_files(files, write.counts, write.publication.placed)


def places_of(writes: Sequence[TableWrite]) -> list[CompletedPartition]:
    """Return the places that statements wrote to, by table and partition."""
    places: dict[tuple[str, tuple[str, ...]], CompletedPartition] = {}
    for write in writes:
        for values, partition in write.places.touched.items():
            key = write.table.full_name, values
            location = partition.location.rstrip("/")
            names = [
                p.rpartition("/")[2]
                for p in write.publication.placed
                if p.rpartition("/")[0] == location
            ]
            if not names:
                continue
            earlier = places.get(
                key, CompletedPartition(partition=partition, writes=(), directories=())
            )
            places[key] = replace(
                earlier,
                writes=(*earlier.writes, write),
                directories=(*earlier.directories, *filter(None, map(parse_directory, names))),
            )
    return list(places.values())


def check_not_rebalanced(
    transaction: ExplicitTransaction, places: Sequence[CompletedPartition]
) -> None:
    """Check that rows that a transaction deleted still have the row ids that it saw.

    A rebalance assigns new row ids. Its lock excludes concurrent writers, but the snapshot of a
    transaction of several statements may be older than the transaction's first lock.

    Raises:
        WriteConflictError: CONCURRENT_WRITE.
    """
    names = {(p.table.database, p.table.name, _name(p.table, p.partition)) for p in places}
    for entry in transaction.session.metastore.compactions():
        after = entry.next_txn_id or 0
        key = entry.database, entry.table, entry.partition
        if entry.type is CompactionType.REBALANCE and after > transaction.txn_id and key in names:
            where = object_name(*key)
            raise WriteConflictError(
                "CONCURRENT_WRITE",
                f"transaction {transaction.txn_id} was aborted: it changes rows of {where}, which "
                f"compaction {entry.compaction_id} has rebalanced since the transaction began; run "
                "it again",
                {
                    "txnId": str(transaction.txn_id),
                    "winnerTxnId": str(entry.txn_id or after - 1),
                    "object": where,
                },
            )


def _name(table: Table, partition: Partition) -> str | None:
    return table.partition_name(partition.values) if table.partition_columns else None


def _complete(transaction: ExplicitTransaction, place: CompletedPartition, staged_in: str) -> bool:
    """Rewrite the directories of a place that contain deleted rows, or their delete events.

    Returns:
        Whether there were any of these directories.
    """
    session = transaction.session
    listings = Listings(session.files, transaction.txn_id)
    delete_deltas = {
        d
        for d in place.directories
        if d.kind is DirectoryKind.DELETE_DELTA and _names_own_rows(session, listings, place, d)
    }
    if not delete_deltas:
        return False
    statements = _statements_deleted_from(session, listings, place, delete_deltas)
    replaced = [
        d
        for d in place.directories
        if d in delete_deltas
        or (
            d.kind is DirectoryKind.DELTA
            and (statements is None or (d.statement_id or 0) in statements)
        )
    ]
    snapshot = _snapshot_of(transaction, listings, place, replaced)
    job = f"COMMIT {place.table.full_name}, txn {transaction.txn_id}"
    staging = child(place.table.location, f"{STAGING_PREFIX}{transaction.txn_id}", staged_in)
    number = next_statement_id(d.name for d in place.directories)
    if number > MAX_STATEMENT_ID:
        most = MAX_STATEMENT_ID + 1
        raise failures.too_many_statements(transaction.txn_id, place.table, most)
    names = [
        make(place.write_id, place.write_id, number) for make in (delta_name, delete_delta_name)
    ]
    # The undo of the last statement also deletes the new directories.
    publication = place.writes[-1].publication
    location = place.partition.location
    destination = publication.destination(session.files, location, staging, names)
    staged = [child(destination, name) for name in names]
    with bridge.job_description(session.spark, job):
        _write(session, snapshot, place, staged, child(staging, "rewritten"))
    for path in staged:
        # Spark leaves an empty directory if there is nothing to write.
        if any(map(parse_bucket_file, session.files.names(path))):
            session.files.put(child(path, VERSION_FILE), VERSION_CONTENT)
            publication.place(session.files, path, location)
        else:
            publication.removed(path)
    for directory in replaced:
        path = place.path(directory)
        session.files.delete(path)
        for write in place.writes:
            write.publication.removed(path)
    session.files.delete(staging)
    sync_all(session.files, [write.publication for write in place.writes])
    return True


def _names_own_rows(
    session: AcidSession, listings: Listings, place: CompletedPartition, directory: AcidDirectory
) -> bool:
    """Return whether a directory has delete events for rows of the transaction's write id.

    These events are the last in a file, because a file is sorted by row ids.
    """
    listing = listings.get(place.path(directory))
    for file in delete_files(session, listing):
        write_ids = file.tail.file_int_stats(ORIGINAL_WRITE_ID)
        if write_ids is None or write_ids.maximum >= place.write_id:
            return True
    return False


def _statements_deleted_from(
    session: AcidSession,
    listings: Listings,
    place: CompletedPartition,
    delete_deltas: set[AcidDirectory],
) -> frozenset[int] | None:
    """Return the ids of statements with deleted rows; None if there are too many events to read."""
    files: list[DeleteFile] = [
        file
        for directory in delete_deltas
        for file in delete_files(session, listings.get(place.path(directory)))
    ]
    if sum(file.tail.rows for file in files) > limits().driver_events:
        return None
    statement_ids: set[int] = set()
    for file in files:
        events = session.delete_events.events(file.path, file.version)
        mine = events.filter(pc.field("write_id") == place.write_id)
        statement_ids.update(map(decode_statement, pc.unique(mine["bucket"]).to_pylist()))
    return frozenset(statement_ids)


def _snapshot_of(
    transaction: ExplicitTransaction,
    listings: Listings,
    place: CompletedPartition,
    directories: Sequence[AcidDirectory],
) -> TableSnapshot:
    """Return a snapshot that contains only the given directories of the transaction."""
    listings.fetch(list(map(place.path, directories)))
    partition = PartitionSnapshot(
        values=place.partition.values,
        location=place.partition.location,
        state=AcidState(deltas=tuple(directories)),
        columns=None,
    )
    return TableSnapshot(
        table=place.table,
        txns=transaction.txns,
        write_ids=ValidWriteIdList(table=place.table.full_name, high_water_mark=place.write_id),
        partitions=(partition,),
        listings=listings,
    )


def _write(
    session: AcidSession,
    snapshot: TableSnapshot,
    place: CompletedPartition,
    staged: Sequence[str],
    rewritten: str,
) -> None:
    """Write one insert delta and one delete delta that replace the deltas of a snapshot."""
    inserts, deletes = staged
    if not copy_undeleted(session, snapshot, inserts, rewritten):
        rows = all_inserts(session, snapshot, less_deleted=True)
        write_buckets_of(session, snapshot.table, rows, inserts, rewritten)
    if not merge_few_deletes(session, snapshot, deletes, but_of=place.write_id):
        events = compaction_deletes(session, snapshot, but_of=place.write_id)
        write_buckets_of(session, snapshot.table, events, deletes, rewritten, deletes=True)
