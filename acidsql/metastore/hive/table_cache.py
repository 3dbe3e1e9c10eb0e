"""Cache of the server's tables, and of the definitions made from them."""

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
    """Table as the server has it, and the definition made of it at the time ``converted``."""

    server: Any
    table: Table | None = None
    converted: float = 0.0


class Definitions:
    """Cache of the tables that a client has requested. Any thread may use it.

    While a transaction of the client holds a lock on a table, no other client alters it. Its
    definition is requested only once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[TableKey, _Known] = OrderedDict()
        self._held: dict[int, dict[TableKey, Table | None]] = {}

    def remembered(self, key: TableKey) -> Any:
        """Return the server's table as it was last fetched, or None."""
        with self._lock:
            known = self._known.get(key)
        return None if known is None else known.server

    def under_lock(self, key: TableKey) -> Table | None:
        """Return the table's definition if it was fetched while a transaction here held a lock on
        it.
        """
        with self._lock:
            return next((held[key] for held in self._held.values() if held.get(key)), None)

    def unchanged(self, server_table: Any) -> Table | None:
        """Return the definition made from an equal table of the server within the last two seconds,
        or None.
        """
        with self._lock:
            known = self._known.get((server_table.dbName, server_table.tableName))
        if known is None or known.table is None or known.server != server_table:
            return None
        fresh = time.monotonic() - known.converted < limits().constraint_seconds
        return known.table if fresh else None

    def fetched(self, server_table: Any) -> None:
        """Remember the server's table."""
        key = (server_table.dbName, server_table.tableName)
        with self._lock:
            known = self._known.get(key)
            if known is None or known.server != server_table:
                self._known[key] = _Known(server_table)
            self._known.move_to_end(key)
            if len(self._known) > limits().cached_tables:
                self._known.popitem(last=False)

    def converted(self, key: TableKey, table: Table) -> None:
        """Remember the definition made of a table."""
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                known.table, known.converted = table, time.monotonic()
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
        """Forget a table that was changed here, or is gone."""
        with self._lock:
            self._known.pop(key, None)
            for held in self._held.values():
                if key in held:
                    held[key] = None
