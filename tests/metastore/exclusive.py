"""EXCLUSIVE locks, as statements that change the catalog hold them."""

from __future__ import annotations

from acidsql.metastore.model import LockRequest, LockType, Operation, Table
from acidsql.metastore.protocol import Metastore


def lock_table(metastore: Metastore, txn_id: int, table: Table) -> None:
    """Lock a table for a transaction."""
    request = LockRequest(
        database=table.database,
        table=table.name,
        partition=None,
        type=LockType.EXCLUSIVE,
        operation=Operation.SELECT,
    )
    metastore.lock(txn_id, [request])
