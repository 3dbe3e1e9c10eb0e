"""Worker: takes a compaction from the queue and merges the directories of a partition.

The result is one pair of deltas (minor) or one base (major, rebalance). Except in a rebalance, rows
keep their row ids, so a compaction does not conflict with other transactions. The worker allocates
no write id. The names of the new directories contain the id of the worker's transaction (``_v``),
so they become visible when this transaction commits.
"""

from __future__ import annotations

import logging
import os
import uuid
from functools import partial

from pyspark.errors import PySparkException

from acidsql import bridge
from acidsql.compaction.leftovers import try_remove_leftovers
from acidsql.compaction.merging import write_merged
from acidsql.deferred_signals import DeferredSignals
from acidsql.errors import AcidSqlError, FormatError, TransactionStateError
from acidsql.format.names import STAGING_PREFIX
from acidsql.format.partitions import parse_partition_name
from acidsql.format.selection import AcidState
from acidsql.format.valid_lists import compactor_write_ids
from acidsql.injection_points import Point, reach
from acidsql.metastore.catalog_changes import RecordCompaction
from acidsql.metastore.history import UNCOUNTED, WriteCounts
from acidsql.metastore.model import (
    NO_LIMITS,
    Compaction,
    CompactionType,
    LockRequest,
    LockType,
    Operation,
    Partition,
    Table,
    TxnType,
    WorkerLimits,
)
from acidsql.metastore.names import object_name
from acidsql.metastore.protocol import Metastore
from acidsql.scan.snapshot import (
    PartitionSnapshot,
    TableSnapshot,
    check_is_complete,
    check_is_there,
    state_of,
    with_nested_originals,
)
from acidsql.schema.columns import data_schema
from acidsql.schema.spark_limits import is_written_by_spark, why_not_written
from acidsql.session.acid_session import AcidSession
from acidsql.session.metrics import current
from acidsql.session.table_owner import check_owner, check_partition
from acidsql.storage.filesystem import child
from acidsql.storage.listings import Listings
from acidsql.storage.publication import Publication, sync_all
from acidsql.transactions.recorded import with_files
from acidsql.transactions.transaction import Status, Transaction, transaction

logger = logging.getLogger(__name__)

_INSERT_ONLY = "an insert-only table has major compactions only"
_NO_TABLE = "the table does not exist any more"
_REPLACED = "the table was replaced by another one meanwhile"
_BUCKETED = "the rows of a bucketed table are in the file of their bucket, and cannot be rebalanced"
_WRITERS = "a transaction that writes to the table is open: request the compaction again after it"
_OURS = (CompactionType.MINOR, CompactionType.MAJOR, CompactionType.REBALANCE)
_NOT_ENOUGH = "there is nothing to merge: none of the compaction thresholds is met"


def worker_name(session: AcidSession) -> str:
    """Return a unique name for a worker: host, process and a random number."""
    return f"{session.host}-{os.getpid()}-{uuid.uuid4().hex[:8]}"


def run_next(session: AcidSession) -> int | None:
    """Run the oldest compaction that is not reserved for a worker, such as a request of Hive.

    Returns:
        The id of the compaction; None if the queue has none.
    """
    with DeferredSignals():
        taken = session.metastore.next_compaction(worker_name(session))
        if taken is None:
            return None
        compact(session, taken)
        return taken.compaction_id


def try_next(session: AcidSession, chosen: WorkerLimits = NO_LIMITS) -> Compaction | None:
    """Run the oldest compaction that a worker may take, and log a failure.

    Returns:
        Its queue entry at the time when it was taken; None if the queue has none.
    """
    with DeferredSignals():
        taken = session.metastore.next_compaction(worker_name(session), None, chosen)
        if taken is None:
            return None
        try:
            compact(session, taken)
        except (AcidSqlError, OSError, bridge.JavaError, PySparkException):
            logger.exception(
                "compaction %s of %s failed",
                taken.compaction_id,
                object_name(taken.database, taken.table, taken.partition),
            )
        return taken


def compact(session: AcidSession, compaction: Compaction) -> None:
    """Run a compaction that was taken from the queue. Record an error there, and raise it."""
    metastore = session.metastore
    opened = None
    try:
        table = metastore.find_table(compaction.database, compaction.table)
        reason = _why_not(session, table, compaction)
        if table is None or reason is not None:
            metastore.compaction_refused(compaction.compaction_id, reason or _NO_TABLE)
            return
        check_owner(session, table)
        with transaction(session, TxnType.COMPACTION, aborts_in_doubt=True) as opened:
            _work(opened, compaction, table)
        if metastore.cleans_compactions:
            # The server's cleaner does not remove what acidsql's dead writers leave.
            try_remove_leftovers(session, table.database, table.name)
    except BaseException as error:
        # The abort comes first. It also ends an entry that already waits for the cleaner: this
        # entry can only fail together with its transaction.
        if opened is None or opened.status in (Status.ABORTED, Status.ROLLED_BACK):
            _record_failure(session, compaction, error)
        raise


def _why_not(session: AcidSession, table: Table | None, compaction: Compaction) -> str | None:
    """Return why acidsql cannot run an entry of a queue that it shares with Hive, or None."""
    if table is None:
        return _NO_TABLE
    if compaction.type not in _OURS:
        return f"acidsql has no compaction of type {compaction.type.value}: leave it to Hive"
    if table.insert_only and compaction.type is not CompactionType.MAJOR:
        return _INSERT_ONLY
    if table.num_buckets and compaction.type is CompactionType.REBALANCE:
        return _BUCKETED
    if compaction.partition is None and table.partition_columns:
        return "a partitioned table is compacted partition by partition: name a partition"
    if is_written_by_spark(table):
        return why_not_written(data_schema(session.spark, table))
    return None


def _work(opened: Transaction, compaction: Compaction, table: Table) -> None:
    session, metastore = opened.session, opened.session.metastore
    staging = child(table.location, f"{STAGING_PREFIX}{opened.txn_id}")
    opened.at_end.callback(session.files.delete, staging)
    is_rebalance = compaction.type is CompactionType.REBALANCE
    lock = LockRequest(
        database=table.database,
        table=table.name,
        partition=compaction.partition,
        type=LockType.EXCL_WRITE if is_rebalance else LockType.SHARED_READ,
        operation=Operation.SELECT,
    )
    opened.wait_for_locks([lock])
    if _is_replaced(metastore, table):
        metastore.compaction_refused(compaction.compaction_id, _REPLACED)
        opened.commit()
        return
    recording = current()
    recording.operation = recording.operation or "COMPACT"
    recording.tables = (table.full_name,)
    snapshot = _snapshot(session, table, compaction, opened.txn_id)
    check_partition(session, table, snapshot.partitions[0].location)
    made: list[RecordCompaction] = []
    metastore.compaction_started(
        compaction.compaction_id, opened.txn_id, snapshot.write_ids.high_water_mark
    )
    state = snapshot.partitions[0].state
    _check_goes_on(session)
    if is_rebalance and not _sees_all(session, snapshot):
        metastore.compaction_refused(compaction.compaction_id, _WRITERS)
    elif is_enough(state, compaction.type):
        publication = Publication(root=table.location)
        opened.reverts.append(partial(publication.undo, session.files))
        merged = write_merged(session, snapshot, compaction, staging, publication, opened.txn_id)
        _check_goes_on(session)
        location = snapshot.partitions[0].location
        targets = [publication.place(session.files, path, location) for path in merged]
        counts = with_files(session.files, UNCOUNTED, targets)
        recording.note_written(len(targets), counts)
        if metastore.capabilities.keeps_history:
            made.append(_recorded(table, compaction, state, counts))
        sync_all(session.files, [publication])
        metastore.compaction_done(compaction.compaction_id)
    elif state.obsolete or state.aborted:
        metastore.compaction_done(compaction.compaction_id)
    else:
        metastore.compaction_refused(compaction.compaction_id, _NOT_ENOUGH)
    opened.commit(made)


def _is_replaced(metastore: Metastore, table: Table) -> bool:
    """Return whether a table was replaced (directory and columns) since it was looked up."""
    if not metastore.capabilities.replaces_tables:
        return False
    return metastore.table(table.database, table.name).replaced_by != table.replaced_by


def _recorded(
    table: Table, compaction: Compaction, state: AcidState, counts: WriteCounts
) -> RecordCompaction:
    """Return the history entry of a compaction."""
    merged = [d for d in state.directories if d.max_write_id > 0]
    return RecordCompaction(
        table=table,
        partition=compaction.partition,
        type=compaction.type,
        # A base contains the rows of all write ids up to the id in its name.
        first_write_id=min((1 if d is state.base else d.min_write_id for d in merged), default=0),
        write_id=max((d.max_write_id for d in merged), default=0),
        counts=counts,
    )


def _sees_all(session: AcidSession, snapshot: TableSnapshot) -> bool:
    """Return whether a compactor's snapshot contains all writes.

    A rebalance assigns new row ids. Delete events that commit later would name the old row ids.
    """
    table = snapshot.table
    seen = session.metastore.valid_write_ids(table.database, table.name, snapshot.txns)
    return not seen.open and snapshot.write_ids.high_water_mark >= seen.high_water_mark


def _check_goes_on(session: AcidSession) -> None:
    """Check that the session is not ending.

    Raises:
        TransactionStateError: COMPACTION_INTERRUPTED.
    """
    if session.interrupted.is_set():
        raise TransactionStateError(
            "COMPACTION_INTERRUPTED",
            "the session of the compaction ends: another one takes its entry from the queue",
        )


def _record_failure(session: AcidSession, compaction: Compaction, error: BaseException) -> None:
    """Record an error, or give an interrupted compaction back to the queue."""
    metastore = session.metastore
    try:
        if session.is_ending or isinstance(error, KeyboardInterrupt):
            metastore.compaction_given_back(compaction.compaction_id)
        else:
            metastore.compaction_failed(compaction.compaction_id, str(error))
    except (AcidSqlError, OSError):
        logger.exception("compaction %s: could not record its failure", compaction.compaction_id)


def partition_of(session: AcidSession, table: Table, name: str | None) -> Partition | None:
    """Find the partition that a queue entry names; return None if it does not exist.

    An entry without a name means a table without partitions, which is returned as a partition.
    """
    if name is None:
        return Partition(values=(), location=table.location)
    values = tuple(value for _, value in parse_partition_name(name))
    partitions = session.metastore.partitions(table.database, table.name, [values])
    return next(iter(partitions), None)


def _snapshot(
    session: AcidSession, table: Table, compaction: Compaction, txn_id: int
) -> TableSnapshot:
    """Take the snapshot that a compactor merges: everything below the lowest open write id.

    Like Hive's compactor, it excludes transactions that opened after the compactor's transaction. A
    reader of Hive that sees the compactor's transaction sees the result of the compaction, and must
    also see every transaction in this result.
    """
    reach(Point.BEFORE_COMPACTING, compaction)
    metastore = session.metastore
    place = partition_of(session, table, compaction.partition)
    if place is None:
        raise FormatError(
            "PARTITION_NOT_FOUND",
            f"{table.full_name} has no partition {compaction.partition} any more: compact another "
            "one",
        )
    txns = metastore.valid_txns(txn_id).up_to(txn_id)
    txns = metastore.hold_back_cleaner(txn_id, table.database, table.name, txns)
    listings = Listings(session.files, txn_id)
    listings.fetch([place.location])
    names = with_nested_originals(session.files, listings, place.location)
    if not session.files.is_object_store(place.location):
        check_is_there(metastore, table, place, listings)
    write_ids = compactor_write_ids(metastore.valid_write_ids(table.database, table.name, txns))
    state = state_of(session.files, place.location, names, write_ids, txns)
    partition = PartitionSnapshot(
        values=place.values, location=place.location, state=state, columns=place.columns
    )
    listings.fetch([partition.path(d) for d in state.directories])
    for directory in state.directories:
        check_is_complete(directory, listings.get(partition.path(directory)))
    return TableSnapshot(
        table=table, txns=txns, write_ids=write_ids, partitions=(partition,), listings=listings
    )


def is_enough(state: AcidState, compaction_type: CompactionType) -> bool:
    """Return whether a merge is worthwhile (Hive: AcidCompactionService.isEnoughToCompact)."""
    deltas = len(state.deltas)
    if compaction_type is CompactionType.REBALANCE:
        return bool(state.directories or state.originals)
    if compaction_type is CompactionType.MAJOR:
        return bool(state.originals) or deltas + (1 if state.base else 0) > 1
    one_pair = deltas == 2 and len(state.insert_deltas) == 1
    return deltas > 1 and not one_pair
