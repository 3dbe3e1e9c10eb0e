"""Commit of what the statements of a transaction wrote."""

from __future__ import annotations

from collections.abc import Callable

from acidsql.metastore.changes import CatalogChange, RecordCounts, ShowTable
from acidsql.metastore.comparison import Compared
from acidsql.metastore.history import WriteCounts
from acidsql.metastore.model import Operation
from acidsql.transactions.comparison import comparison, deleted_rows
from acidsql.transactions.merged_changes import merged, together
from acidsql.transactions.transaction import Transaction
from acidsql.transactions.written import changes_whole_table


def commit_writes(transaction: Transaction) -> None:
    """Commit a transaction with its writes, whose files are on the disk.

    Raises:
        WriteConflictError: another transaction changed the same rows, or on a Hive Metastore rows
            in the same partition, and committed first.
        TransactionStateError: TXN_ABORTED, it was aborted earlier.
        MetastoreError: see ``Transaction.commit``.
    """
    writes = transaction.writes
    whole = {write.intent.request() for write in writes if changes_whole_table(write)}
    if whole and not transaction.autocommit:
        # Later statements, which named their partitions, have removed them from the write set.
        transaction.session.metastore.lock(transaction.txn_id, tuple(whole))
    contended = [w.table.full_name for w in writes if w.intent.operation is not Operation.INSERT]
    transaction.commit(_changes(transaction), _comparison(transaction), contended)


def _changes(transaction: Transaction) -> list[CatalogChange]:
    """Return the changes of the catalog that the commit makes."""
    changes: list[CatalogChange] = []
    # First: the other changes may give the table another name.
    if transaction.session.metastore.capabilities.keeps_history:
        changes += [_counted(transaction, name) for name in transaction.tables]
    changes += merged([change for write in transaction.writes for change in write.changes])
    # Last: the other changes know a new table by its name until then.
    return sorted(changes, key=lambda change: isinstance(change, ShowTable))


def _counted(transaction: Transaction, name: str) -> RecordCounts:
    """Return what the history keeps of the statements that changed a table; none may have."""
    own = [write for write in transaction.writes if write.table.full_name == name]
    statement = None
    if own and not transaction.autocommit:
        statement = together([write.intent.statement for write in own])
    return RecordCounts(
        table=transaction.tables[name],
        counts=sum((write.counts for write in own), WriteCounts()),
        statement=statement,
    )


def _comparison(transaction: Transaction) -> Callable[[], Compared] | None:
    """Return what compares the rows that all statements have changed; see ``comparison``."""
    writes = transaction.writes
    return comparison(
        transaction.session,
        transaction.txn_id,
        [
            deleted_rows(write.table, write.places.touched, write.publication.placed)
            for write in writes
        ],
        [*transaction.watches, *(watch for write in writes for watch in write.watches)],
    )
