"""What statements that write are going to do to a table, and the locks that this takes."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.metastore.model import LockRequest, LockType, Operation, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteIntent:
    """What a statement is going to do to a table.

    Attributes:
        operation: entered in the write set; SELECT enters nothing, as statements that change the
            catalog alone do.
        lock: its strength.
        partition: the values of the one partition that the statement touches; None stands for the
            table, or for partitions that are named at the commit.
        overwrite: rows replace all that was there; they become a base.
    """

    table: Table
    operation: Operation
    lock: LockType
    partition: tuple[str, ...] | None = None
    overwrite: bool = False

    @property
    def names_partitions_late(self) -> bool:
        """Whether only the commit can say in which partitions rows were changed."""
        changes_rows = self.operation is not Operation.SELECT
        return changes_rows and bool(self.table.partition_columns) and self.partition is None

    def request(self) -> LockRequest:
        """The lock to ask for."""
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
            dynamic_partitions=self.names_partitions_late,
        )


def insert_intent(
    table: Table, partition: tuple[str, ...] | None = None, *, overwrite: bool = False
) -> WriteIntent:
    """What INSERT INTO and INSERT OVERWRITE are going to do.

    The latter keeps all others away (``hive.txn.xlock.iow``): rows that were inserted with a lower
    write id, and published later, would be lost below its base. It counts as an UPDATE, so that
    transactions that saw the rows before conflict with it.
    """
    return WriteIntent(
        table=table,
        operation=Operation.UPDATE if overwrite else Operation.INSERT,
        lock=LockType.EXCLUSIVE if overwrite else LockType.SHARED_READ,
        partition=partition,
        overwrite=overwrite,
    )


def change_intent(table: Table, operation: Operation) -> WriteIntent:
    """What UPDATE, DELETE and MERGE are going to do: the commit finds conflicts, not the lock."""
    return WriteIntent(table=table, operation=operation, lock=LockType.SHARED_WRITE)


def alter_intent(table: Table) -> WriteIntent:
    """What statements are going to do that change the catalog. They advance the table's write id,
    as Hive's do, and conflict with nobody: they wait until nobody writes.
    """
    return WriteIntent(table=table, operation=Operation.SELECT, lock=LockType.EXCLUSIVE)
