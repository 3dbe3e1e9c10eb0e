"""Transactions that this client opened, and their data.

The server expects the client to remember some data: the ids of locks, and the write id of a dynamic
write. The server also does not check everything that the protocol promises. Hive 4 grants locks to
a committed transaction, and Hive 3.1 allocates write ids for a read-only one.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from acidsql.format.valid_lists import ValidTxnList
from acidsql.limits import limits
from acidsql.metastore import failures
from acidsql.metastore.model import Operation, TxnState, TxnType

TableKey = tuple[str, str]


@dataclass(slots=True, kw_only=True)
class OwnTxn:
    """Transaction that this client opened.

    Attributes:
        cause: reason of the abort, if it is known, as a clause that follows "was aborted:".
        write_ids: write ids by (database, table).
        locks: ids of lock requests that are not known to be granted.
        exclusive: tables and partitions on which it requested an EXCLUSIVE lock.
        changes: tables and partitions that it updates or deletes from.
        changing: tables that it locked as a whole to update them or delete from them. The value is
            the operation of a dynamic write, which names its partitions later; None for other
            writes.
        reading: tables registered with the server's cleaner, each with the transactions whose
            compactions are read.
        key_value: parameter that its commit also sets (``hms.CommitTxnKeyValue``), or None.
    """

    txn_id: int
    type: TxnType
    user: str
    host: str
    state: TxnState = TxnState.OPEN
    cause: str = ""
    write_ids: dict[TableKey, int] = field(default_factory=dict)
    locks: list[int] = field(default_factory=list)
    exclusive: set[tuple[TableKey, str | None]] = field(default_factory=set)
    changes: set[tuple[TableKey, str | None]] = field(default_factory=set)
    changing: set[tuple[TableKey, Operation | None]] = field(default_factory=set)
    reading: dict[TableKey, ValidTxnList] = field(default_factory=dict)
    key_value: Any = None

    @property
    def excludes_others(self) -> bool:
        """Return whether it requested an EXCLUSIVE lock on everything that it changes."""
        return all(
            (table, place) in self.exclusive or (table, None) in self.exclusive
            for table, place in self.changes
        )


class OwnTxns:
    """Transactions of one client; any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._txns: OrderedDict[int, OwnTxn] = OrderedDict()

    def opened(self, txn: OwnTxn) -> None:
        """Remember a transaction that was opened."""
        with self._lock:
            self._txns[txn.txn_id] = txn
            while len(self._txns) > limits().remembered_transactions:
                ended = (i for i, t in self._txns.items() if t.state is not TxnState.OPEN)
                del self._txns[next(ended, next(iter(self._txns)))]

    def find(self, txn_id: int) -> OwnTxn | None:
        """Return the transaction if this client opened it, otherwise None."""
        with self._lock:
            return self._txns.get(txn_id)

    def ended(self, txn_id: int, state: TxnState, cause: str = "") -> None:
        """Remember how a transaction ended."""
        txn = self.find(txn_id)
        if txn is not None and txn.state is TxnState.OPEN:
            txn.state, txn.cause = state, cause
            txn.locks.clear()

    def require_open(self, txn_id: int) -> None:
        """Raise TXN_ABORTED or TXN_COMMITTED if the transaction is known to have ended."""
        txn = self.find(txn_id)
        if txn is not None and txn.state is TxnState.ABORTED:
            raise failures.txn_aborted(txn_id, txn.cause or ROLLED_BACK)
        if txn is not None and txn.state is TxnState.COMMITTED:
            raise failures.txn_committed(txn_id)


ROLLED_BACK = "it was rolled back"
LOST = "it sent no heartbeat within the time-out, or somebody aborted it"
CONFLICT = "another transaction had committed a conflicting change"
