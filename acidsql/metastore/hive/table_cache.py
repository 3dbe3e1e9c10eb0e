"""What a client remembers of tables, and for how long it may."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from acidsql.metastore.hive.client_transactions import TableKey
from acidsql.metastore.model import Table

_MOST_REMEMBERED = 1000
# The constraints of a table are no part of it. Those of a table that has not changed for so long
# are not asked for again: a statement looks before its lock and after.
_CONSTRAINT_SECONDS = 2.0


@dataclass(slots=True)
class _Known:
    """A table as the server has it, and as ours once that was asked for, at a time."""

    server: Any
    table: Table | None = None
    converted: float = 0.0


class Definitions:
    """The tables that a client has asked for.

    While a transaction of the client holds a lock on a table, nobody alters it: then its definition
    is not asked for twice.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[TableKey, _Known] = OrderedDict()
        self._held: dict[int, dict[TableKey, Table | None]] = {}

    def remembered(self, key: TableKey) -> Any:
        """The server's table as it was last, or None."""
        with self._lock:
            known = self._known.get(key)
        return None if known is None else known.server

    def under_lock(self, key: TableKey) -> Table | None:
        """The table, if it was asked for since a transaction here has a lock on it."""
        with self._lock:
            return next((held[key] for held in self._held.values() if held.get(key)), None)

    def unchanged(self, server_table: Any) -> Table | None:
        """The table that was made a moment ago of the same one of the server, or None."""
        with self._lock:
            known = self._known.get((server_table.dbName, server_table.tableName))
        if known is None or known.table is None or known.server != server_table:
            return None
        fresh = time.monotonic() - known.converted < _CONSTRAINT_SECONDS
        return known.table if fresh else None

    def fetched(self, server_table: Any) -> None:
        """Remember what the server has."""
        key = (server_table.dbName, server_table.tableName)
        with self._lock:
            known = self._known.get(key)
            if known is None or known.server != server_table:
                self._known[key] = _Known(server_table)
            self._known.move_to_end(key)
            if len(self._known) > _MOST_REMEMBERED:
                self._known.popitem(last=False)

    def converted(self, key: TableKey, table: Table) -> None:
        """Remember what was made of it."""
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                known.table, known.converted = table, time.monotonic()
            for held in self._held.values():
                if key in held:
                    held[key] = table

    def locked(self, txn_id: int, keys: Iterable[TableKey]) -> None:
        """A transaction has a lock on these tables, from now on."""
        with self._lock:
            self._held.setdefault(txn_id, {}).update(dict.fromkeys(keys))

    def released(self, txn_ids: Iterable[int]) -> None:
        """Transactions have ended."""
        with self._lock:
            for txn_id in txn_ids:
                self._held.pop(txn_id, None)

    def forget(self, key: TableKey) -> None:
        """A table has changed here, or is gone."""
        with self._lock:
            self._known.pop(key, None)
            for held in self._held.values():
                if key in held:
                    held[key] = None
