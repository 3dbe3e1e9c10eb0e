"""DESCRIBE HEALTH: content of a table's directories, transactions that block cleaning, advice."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from pyspark.sql import DataFrame

from acidsql.commands import result
from acidsql.commands.partitions import named_partitions
from acidsql.compaction.initiator import zorder_of
from acidsql.format.health import Health, OpenTransaction, advice, thresholds
from acidsql.metastore.model import Compaction, CompactionState, Table, TxnState, TxnType
from acidsql.scan.clustering import point_read_shares
from acidsql.scan.health import measured
from acidsql.scan.snapshot import TableSnapshot, take_snapshot
from acidsql.session.acid_session import AcidSession
from acidsql.storage.listings import Listings
from acidsql.syntax.lexer import quote
from acidsql.syntax.literals import quoted_string
from acidsql.syntax.nodes import PartitionSpec
from acidsql.syntax.show_statements import DescribeHealth
from acidsql.transactions.transaction import transaction

_COLUMNS = (
    ("partition", "STRING"),
    ("base", "STRING"),
    ("baseBytes", "BIGINT"),
    ("numDeltas", "BIGINT"),
    ("numDeleteDeltas", "BIGINT"),
    ("deltaBytes", "BIGINT"),
    ("numOriginalFiles", "BIGINT"),
    ("numStoredRows", "BIGINT"),
    ("numDeleteEvents", "BIGINT"),
    ("deletedShare", "DOUBLE"),
    ("numFiles", "BIGINT"),
    ("numSmallFiles", "BIGINT"),
    ("sizeInBytes", "BIGINT"),
    ("numObsoleteDirectories", "BIGINT"),
    ("numAbortedDirectories", "BIGINT"),
    ("numOpenWriteIds", "BIGINT"),
    ("oldestTransaction", "BIGINT"),
    ("oldestTransactionUser", "STRING"),
    ("oldestTransactionHost", "STRING"),
    ("oldestTransactionStartedAt", "TIMESTAMP"),
    ("numPendingCompactions", "BIGINT"),
    ("numUncleanedCompactions", "BIGINT"),
    ("numHeldBackCompactions", "BIGINT"),
    ("lastFailure", "STRING"),
    ("pointReadShares", "MAP<STRING,DOUBLE>"),
    ("advice", "ARRAY<STRING>"),
)


def describe_health(session: AcidSession, table: Table, statement: DescribeHealth) -> DataFrame:
    """Run DESCRIBE HEALTH: return a row for each partition, or for an unpartitioned table."""
    healths = health(session, table, statement.partition)
    return result.table(session.spark, _COLUMNS, [_row(one) for one in healths])


def health(
    session: AcidSession, table: Table, spec: PartitionSpec | None = None
) -> tuple[Health, ...]:
    """Return the health of a table without partitions, or of its partitions.

    Args:
        session: the session.
        table: the table.
        spec: partitions to measure, by default all.

    Raises:
        AcidLookupError: PARTITIONS_NOT_FOUND.
        AcidAnalysisError: INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY.
    """
    named = named_partitions(session, table, spec)
    wanted = None if named is None else [p.values for p in named]
    queue = [
        c
        for c in session.metastore.compactions()
        if (c.database, c.table) == (table.database, table.name)
    ]
    # Determined before the snapshot, because the snapshot's own transaction does not count.
    oldest = _oldest(session)
    with snapshot_of(session, table, wanted) as snapshot:
        measures = measured(session, snapshot)
        columns = zorder_of(session, table)
        shares = [
            tuple(point_read_shares(session, snapshot, partition, columns).items())
            for partition in snapshot.partitions
        ]
    shared = len(snapshot.write_ids.open)
    limits, now = thresholds(table.properties), time.time()
    cleans = session.metastore.cleans_compactions
    healths = []
    for partition, one, read in zip(snapshot.partitions, measures, shares, strict=True):
        of_partition = [c for c in queue if c.partition == one.partition]
        whole = replace(
            _with_queue(one, of_partition, oldest), open_write_ids=shared, point_read_shares=read
        )
        target = _target(table, partition.values)
        sentences = advice(
            whole, limits, target, now, minor=not table.insert_only, server_cleans=cleans
        )
        healths.append(replace(whole, advice=sentences))
    return tuple(healths)


@contextmanager
def snapshot_of(
    session: AcidSession, table: Table, wanted: Sequence[tuple[str, ...]] | None = None
) -> Iterator[TableSnapshot]:
    """Take a snapshot of a table; its files are retained until the block ends.

    Args:
        session: the session.
        table: the table.
        wanted: values of the partitions to include, None for all.
    """
    with transaction(session, TxnType.READ_ONLY) as opened:
        txns = session.metastore.valid_txns(opened.txn_id)
        listings = Listings(session.files, opened.txn_id)
        yield take_snapshot(session.files, session.metastore, table, txns, listings, wanted)
        opened.commit()


def _oldest(session: AcidSession) -> OpenTransaction | None:
    """Return the oldest open transaction of the metastore."""
    session.leases.prune()
    opened = [t for t in session.metastore.open_txns() if t.state is TxnState.OPEN]
    if not opened:
        return None
    first = min(opened, key=lambda t: t.txn_id)
    return OpenTransaction(
        txn_id=first.txn_id, user=first.user, host=first.host, started=first.started
    )


def _with_queue(one: Health, queue: Sequence[Compaction], oldest: OpenTransaction | None) -> Health:
    """Add information from the compaction queue to the health of a partition.

    Args:
        one: health of the partition.
        queue: compactions of the partition, newest first.
        oldest: the oldest open transaction.
    """
    pending = [c for c in queue if c.state in (CompactionState.INITIATED, CompactionState.WORKING)]
    uncleaned = [c for c in queue if c.state is CompactionState.READY_FOR_CLEANING]
    held_back = [
        c
        for c in uncleaned
        if oldest is not None and (c.next_txn_id is None or oldest.txn_id < c.next_txn_id)
    ]
    failed = queue and queue[0].state is CompactionState.FAILED
    return replace(
        one,
        oldest=oldest,
        pending=len(pending),
        uncleaned=len(uncleaned),
        held_back=len(held_back),
        failure=(queue[0].error or "no reason is known") if failed else None,
    )


def _target(table: Table, values: Sequence[str]) -> str:
    """Return the name of a table or partition as ALTER TABLE writes it."""
    name = f"{_plain_or_quoted(table.database)}.{_plain_or_quoted(table.name)}"
    if not values:
        return name
    pairs = zip(table.partition_columns, values, strict=True)
    named = ", ".join(f"{_plain_or_quoted(c.name)} = {quoted_string(v)}" for c, v in pairs)
    return f"{name} PARTITION ({named})"


def _plain_or_quoted(name: str) -> str:
    """Put backticks around a name that is not a plain identifier."""
    return name if name.isidentifier() else quote(name)


def _row(one: Health) -> tuple[object, ...]:
    oldest = one.oldest
    return (
        one.partition,
        one.base,
        one.base_bytes,
        one.deltas,
        one.delete_deltas,
        one.delta_bytes,
        one.originals,
        one.stored_rows,
        one.delete_events,
        one.deleted_share,
        one.files,
        one.small_files,
        one.size,
        one.obsolete,
        one.aborted,
        one.open_write_ids,
        oldest and oldest.txn_id,
        oldest and oldest.user,
        oldest and oldest.host,
        oldest and oldest.started,
        one.pending,
        one.uncleaned,
        one.held_back,
        one.failure,
        dict(one.point_read_shares),
        one.advice,
    )
