"""Cache of the server's tables, and of the definitions that were converted from them."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from acidsql.limits import limits
from acidsql.metastore.hive.client_transactions import TableKey
from acidsql.metastore.model import Table


@dataclass(slots=True)
class _Known:
    """Table of the server, and the definition converted from it at the time ``converted``."""

    server: Any
    table: Table | None = None
    converted: float = 0.0


class Definitions:
    """Cache of the tables that a client has requested. Any thread may use it.

    While a transaction of the client holds a lock on a table, no other client alters the table, so
    its definition is requested only once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[TableKey, _Known] = OrderedDict()
        self._held: dict[int, dict[TableKey, Table | None]] = {}

    def remembered(self, key: TableKey) -> Any:
        """Return the server's table as it was last fetched, or None."""
        with self._lock:
            entry = self._known.get(key)
        return None if entry is None else entry.server

    def under_lock(self, key: TableKey) -> Table | None:
        """Return the table's definition if this client fetched it under a lock on the table."""
        with self._lock:
            return next((held[key] for held in self._held.values() if held.get(key)), None)

    def unchanged(self, server_table: Any) -> Table | None:
        """Return the definition of an equal table that was converted in the last two seconds.

        None if there is no such definition.
        """
        with self._lock:
            entry = self._known.get((server_table.dbName, server_table.tableName))
        if entry is None or entry.table is None or entry.server != server_table:
            return None
        fresh = time.monotonic() - entry.converted < limits().constraint_seconds
        return entry.table if fresh else None

    def fetched(self, server_table: Any) -> None:
        """Remember the server's table."""
        key = (server_table.dbName, server_table.tableName)
        with self._lock:
            entry = self._known.get(key)
            if entry is None or entry.server != server_table:
                self._known[key] = _Known(server_table)
            self._known.move_to_end(key)
            if len(self._known) > limits().cached_tables:
                self._known.popitem(last=False)

    def converted(self, key: TableKey, table: Table) -> None:
        """Remember the definition that was converted from a table."""
        with self._lock:
            entry = self._known.get(key)
            if entry is not None:
                entry.table, entry.converted = table, time.monotonic()
            for held in self._held.values():
                if key in held:
                    held[key] = table

    def locked(self, txn_id: int, keys: Iterable[TableKey]) -> None:
        """Note that a transaction holds a lock on these tables from now on."""
        with self._lock:
            self._held.setdefault(txn_id, {}).update(dict.fromkeys(keys))

    def released(self, txn_ids: Iterable[int]) -> None:
        """Forget the locks of transactions that have ended."""
        with self._lock:
            for txn_id in txn_ids:
                self._held.pop(txn_id, None)

    def forget(self, key: TableKey) -> None:
        """Forget a table that this client has changed, or that does not exist."""
        with self._lock:
            self._known.pop(key, None)
            for held in self._held.values():
                if key in held:
                    held[key] = None
