"""SERIALIZABLE: rows that a statement has read must not have changed when it commits.

acidsql first compares the partitions of the required rows. It then checks the conditions that all
required rows meet on the rows that other transactions have inserted and deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from acidsql import bridge
from acidsql.errors import WriteConflictError
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.limits import limits
from acidsql.metastore.comparison import TableName
from acidsql.metastore.model import Partition, Table
from acidsql.planning.changes_since import (
    PartitionChanges,
    changes_of,
    committed_since,
    deleted_row_ids,
    inserted_rows,
    rows_before,
)
from acidsql.planning.statement import StatementSnapshot
from acidsql.scan.record import ScanRecord
from acidsql.schema.acid_file import ROW_ID_COLUMN
from acidsql.session.acid_session import AcidSession
from acidsql.session.settings import Isolation, isolation
from acidsql.syntax.lexer import quote
from acidsql.transactions.current import current_transaction

_KEY = StructType(
    [
        StructField("__write_id", LongType()),
        StructField("__bucket", IntegerType()),
        StructField("__row_id", LongType()),
    ]
)


def check_query_at_commit(
    session: AcidSession, snapshot: StatementSnapshot, requested: Isolation | None = None
) -> None:
    """Check the tables that the next query reads when a transaction of several statements commits.

    This has an effect only if the transaction writes and the isolation is SERIALIZABLE. A
    metastore that cannot watch tables compares nothing.

    Args:
        requested: isolation of the query; by default the isolation of the session.
    """
    transaction = current_transaction(session)
    if transaction is None or transaction.read_only:
        return
    if (requested or isolation(session.spark)) is Isolation.SERIALIZABLE:
        snapshot.finds_rows = True
        reads = UnchangedReads(txn_id=transaction.txn_id, snapshot=snapshot)
        transaction.transaction.conflict_checks.append(reads)


@dataclass(slots=True, kw_only=True)
class UnchangedReads:
    """Conflict check of the tables that a statement has read.

    Attributes:
        txn_id: transaction of the statement.
        snapshot: snapshot that the statement has read.
        compared: write ids that were compared already, by table.
    """

    txn_id: int
    snapshot: StatementSnapshot
    compared: dict[TableName, ValidWriteIdList] = field(default_factory=dict)

    def compare(self) -> Mapping[TableName, ValidWriteIdList]:
        """Implement ``ConflictCheck``; raise CONCURRENT_WRITE if required rows have changed."""
        session = self.snapshot.session
        txns = session.metastore.valid_txns()
        watched: dict[TableName, ValidWriteIdList] = {}
        for record in self.snapshot.scans:
            table = record.snapshot.table
            if table.as_of is not None or table.changes is not None:
                continue  # committed versions and changes do not change
            write_ids = self._committed(table, record.snapshot.write_ids, txns, watched)
            if write_ids and _Reading(session, record, write_ids, txns).has_changed():
                raise self._conflict(table)
        for table, seen in self.snapshot.changes.growing():
            write_ids = self._committed(table, seen, txns, watched)
            if write_ids and changes_of(session, _partitions(session, table), write_ids):
                raise self._conflict(table)
        self.compared = watched
        return watched

    def _committed(
        self,
        table: Table,
        seen: ValidWriteIdList,
        txns: ValidTxnList,
        watched: dict[TableName, ValidWriteIdList],
    ) -> frozenset[int]:
        """Return the write ids that other transactions have committed to a table.

        Only write ids count that were committed since the statement read the table or since the
        last comparison.
        """
        metastore, name = self.snapshot.session.metastore, (table.database, table.name)
        if name not in watched:
            latest = metastore.find_table(*name)
            if latest is None or latest.replaced_by != table.replaced_by:
                raise self._conflict(table)
            # Fetched before the directories are listed. The next comparison covers transactions
            # that commit during the listing.
            watched[name] = metastore.valid_write_ids(*name, txns)
        return committed_since(self.compared.get(name, seen), watched[name])

    def _conflict(self, table: Table) -> WriteConflictError:
        return WriteConflictError(
            "CONCURRENT_WRITE",
            f"transaction {self.txn_id} was aborted: what it had read of {table.full_name} has "
            "changed, and may not before it commits (SERIALIZABLE); run the statement "
            "again, or have that done more often (spark.acidsql.retries)",
            {"txnId": str(self.txn_id), "winnerTxnId": "", "object": table.full_name},
        )


@dataclass(frozen=True, slots=True)
class _Reading:
    """Scan of a table, with the write ids that other transactions have committed since."""

    session: AcidSession
    record: ScanRecord
    write_ids: Collection[int]
    txns: ValidTxnList

    def has_changed(self) -> bool:
        """Return whether required rows were inserted or deleted, or may have been."""
        read = {p.values: p for p in self.record.snapshot.partitions}
        now = _partitions(self.session, self.record.snapshot.table)
        if read.keys() - {p.values for p in now}:
            return True  # dropped, or renamed
        required = self.record.required
        relevant = [
            c
            for c in changes_of(self.session, now, self.write_ids)
            # A partition that was not read was not required, unless it is new.
            if c.partition.values in read or required.partitions is None or c.is_new
        ]
        if not relevant:
            return False
        condition = self._condition()
        if condition is None or any(c.replaced for c in relevant):
            return True
        return self._has_inserted(relevant, condition) or any(
            self._has_deleted(c, condition)
            for c in relevant
            if c.deletes and c.partition.values in read
        )

    def _condition(self) -> Column | None:
        """Return a condition that all required rows meet; None if only true is such a condition."""
        required, table = self.record.required, self.record.snapshot.table
        if table.insert_only:
            return None
        if required.partitions is not None and not required.partition_conditions:
            return None
        names = {c.name: quote(c.name) for c in (*table.columns, *table.partition_columns)}
        names[ROW_ID_COLUMN] = ROW_ID_COLUMN
        both = [c for c in (required.partition_conditions, required.conditions) if c]
        spark = self.session.spark
        conditions = [bridge.condition_of(spark, each, names) for each in both]
        return reduce(and_, conditions) if conditions else None

    def _has_inserted(self, changes: Sequence[PartitionChanges], condition: Column) -> bool:
        if not any(c.inserts for c in changes):
            return False
        snapshot = self.record.snapshot
        rows = inserted_rows(
            self.session, snapshot.table, changes, self.write_ids, self.txns, snapshot.listings
        )
        return _has_rows(rows.where(condition))

    def _has_deleted(self, changes: PartitionChanges, condition: Column) -> bool:
        """Return whether required rows were deleted in a partition."""
        keys = deleted_row_ids(self.session, changes, limits().watched_events)
        if keys is None:
            return True
        values = changes.partition.values
        before = rows_before(
            self.session, self.record.snapshot, values, self.record.required
        ).where(condition)
        gone = self.session.spark.createDataFrame(keys, _KEY)
        key = [f"{ROW_ID_COLUMN}.{part}" for part in ("writeid", "bucketid", "rowid")]
        same = [before[k] == gone[name] for k, name in zip(key, _KEY.names, strict=True)]
        return _has_rows(before.join(gone, reduce(and_, same), "left_semi"))


def _partitions(session: AcidSession, table: Table) -> Sequence[Partition]:
    """Return the partitions that a table has now."""
    if not table.partition_columns:
        return [Partition(values=(), location=table.location)]
    return session.metastore.partitions(table.database, table.name)


def _has_rows(frame: DataFrame) -> bool:
    return bool(frame.limit(1).count())
