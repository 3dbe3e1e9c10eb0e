"""Write intents: the operation of a statement on a table, and the lock that it takes."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.model import LockRequest, LockType, Operation, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteIntent:
    """Operation that a statement is going to perform on a table.

    Attributes:
        table: the table.
        operation: operation that the metastore records in the write set. Statements that change
            only the catalog have SELECT, which is not recorded.
        lock: type of the lock.
        statement: statement with its whole text, for the history of the table.
        partition: values of the only partition that the statement writes to; None locks the table.
        overwrite: whether the new rows replace all existing rows; they become a base.
        replaces_table: whether the commit gives the table another definition with other partitions,
            which is a change of the whole table.
    """

    table: Table
    operation: Operation
    lock: LockType
    statement: RecordedStatement
    partition: tuple[str, ...] | None = None
    overwrite: bool = False
    replaces_table: bool = False

    @property
    def names_partitions_late(self) -> bool:
        """Whether the partitions are known only after rows are written (dynamic partitions)."""
        changes_rows = self.operation is not Operation.SELECT and not self.replaces_table
        return changes_rows and bool(self.table.partition_columns) and self.partition is None

    @property
    def words(self) -> str:
        """Name of the operation as a statement."""
        return "INSERT OVERWRITE" if self.overwrite else self.operation.name

    def request(self) -> LockRequest:
        """Build the request for the lock."""
        table = self.table
        name = None
        if self.partition is not None:
            name = table.partition_name(self.partition)
        return LockRequest(
            database=table.database,
            table=table.name,
            partition=name,
            type=self.lock,
            operation=self.operation,
            # The partitions of a replaced table are never named, because the statement writes
            # nothing to the old partitions.
            dynamic_partitions=self.names_partitions_late
            or (self.replaces_table and bool(table.partition_columns)),
        )


def insert_intent(
    table: Table,
    statement: RecordedStatement,
    partition: tuple[str, ...] | None = None,
    *,
    overwrite: bool = False,
) -> WriteIntent:
    """Build the intent of INSERT INTO and INSERT OVERWRITE.

    INSERT OVERWRITE locks exclusively (``hive.txn.xlock.iow``). Without this lock, its base would
    hide rows that another transaction inserts with a lower write id and publishes later. It counts
    as an UPDATE, so that it conflicts with transactions that saw the earlier rows.
    """
    return WriteIntent(
        table=table,
        operation=Operation.UPDATE if overwrite else Operation.INSERT,
        lock=LockType.EXCLUSIVE if overwrite else LockType.SHARED_READ,
        statement=statement,
        partition=partition,
        overwrite=overwrite,
    )


def replace_intent(table: Table, statement: RecordedStatement) -> WriteIntent:
    """Build the intent of a statement that gives a table another layout or columns, and new rows.

    It locks like INSERT OVERWRITE, and conflicts with all changes of rows.
    """
    return WriteIntent(
        table=table,
        operation=Operation.UPDATE,
        lock=LockType.EXCLUSIVE,
        statement=statement,
        overwrite=True,
        replaces_table=True,
    )


def change_intent(table: Table, operation: Operation, statement: RecordedStatement) -> WriteIntent:
    """Build the intent of UPDATE, DELETE and MERGE; the commit detects conflicts, not the lock."""
    lock = LockType.SHARED_WRITE
    return WriteIntent(table=table, operation=operation, lock=lock, statement=statement)


def restore_intent(table: Table, statement: RecordedStatement) -> WriteIntent:
    """Build the intent of RESTORE and UNDO WRITE.

    They lock the whole table exclusively, because concurrent changes, in any row, would not belong
    to any version. They count as an UPDATE, so that they conflict with transactions that saw the
    earlier rows.
    """
    operation, lock = Operation.UPDATE, LockType.EXCLUSIVE
    return WriteIntent(table=table, operation=operation, lock=lock, statement=statement)


def alter_intent(table: Table, statement: RecordedStatement) -> WriteIntent:
    """Build the intent of statements that change the catalog.

    These statements lock exclusively, so they wait until no other transaction writes. As in Hive,
    they advance the table's write id, and conflict with no other transaction.
    """
    operation, lock = Operation.SELECT, LockType.EXCLUSIVE
    return WriteIntent(table=table, operation=operation, lock=lock, statement=statement)
