"""Commit of the writes of a transaction's statements."""

from __future__ import annotations

from collections.abc import Callable

from acidsql.metastore.catalog_changes import CatalogChange, RecordCounts, ShowTable
from acidsql.metastore.comparison import Compared
from acidsql.metastore.history import WriteCounts
from acidsql.metastore.model import Operation
from acidsql.transactions.comparison import comparison, deleted_rows
from acidsql.transactions.merged_changes import merged, together
from acidsql.transactions.transaction import Transaction
from acidsql.transactions.written import changes_whole_table


def commit_writes(transaction: Transaction) -> None:
    """Commit a transaction and its writes; their files are already on the disk.

    Raises:
        WriteConflictError: another transaction changed the same rows, or on a Hive Metastore rows
            in the same partition, and committed first.
        TransactionStateError: TXN_ABORTED, the transaction was aborted earlier.
        MetastoreError: see ``Transaction.commit``.
    """
    writes = transaction.writes
    whole = {write.intent.request() for write in writes if changes_whole_table(write)}
    if whole and not transaction.autocommit:
        # Later statements have named their partitions, which removed these requests from the write
        # set.
        transaction.session.metastore.lock(transaction.txn_id, tuple(whole))
    contended = [w.table.full_name for w in writes if w.intent.operation is not Operation.INSERT]
    transaction.commit(_changes(transaction), _comparison(transaction), contended)


def _changes(transaction: Transaction) -> list[CatalogChange]:
    """Return the changes of the catalog that the commit makes."""
    changes: list[CatalogChange] = []
    # These come first, because the other changes may rename the table.
    if transaction.session.metastore.capabilities.keeps_history:
        changes += [_counted(transaction, name) for name in transaction.tables]
    changes += merged([change for write in transaction.writes for change in write.changes])
    # ShowTable comes last, because the other changes refer to a new table by its staged name.
    return sorted(changes, key=lambda change: isinstance(change, ShowTable))


def _counted(transaction: Transaction, name: str) -> RecordCounts:
    """Return the history record of the statements that changed a table; there may be none."""
    writes = [write for write in transaction.writes if write.table.full_name == name]
    statement = None
    if writes and not transaction.autocommit:
        statement = together([write.intent.statement for write in writes])
    return RecordCounts(
        table=transaction.tables[name],
        counts=sum((write.counts for write in writes), WriteCounts()),
        statement=statement,
    )


def _comparison(transaction: Transaction) -> Callable[[], Compared] | None:
    """Return the function that compares the rows that all statements have changed.

    See ``comparison.comparison``.
    """
    writes = transaction.writes
    return comparison(
        transaction.session,
        transaction.txn_id,
        [
            deleted_rows(write.table, write.places.touched, write.publication.placed)
            for write in writes
        ],
        [
            *transaction.conflict_checks,
            *(check for write in writes for check in write.conflict_checks),
        ],
    )
