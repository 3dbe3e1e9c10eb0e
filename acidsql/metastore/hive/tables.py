"""Tables of the server, fetched now or taken from the cache."""

from __future__ import annotations

from typing import Any

from acidsql.format.identifiers import lowered
from acidsql.metastore import failures
from acidsql.metastore.hive import catalog
from acidsql.metastore.hive.conversions import change_of
from acidsql.metastore.hive.server import Server
from acidsql.metastore.hive.table_cache import Definitions
from acidsql.metastore.model import Table


class ServerTables:
    """Tables of the server, with a cache of their definitions.

    Attributes:
        definitions: the cache.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self.definitions = Definitions()

    def find(self, database: str, name: str) -> Table | None:
        """Return the definition of a table, or None."""
        key = (lowered(database), lowered(name))
        locked = self.definitions.under_lock(key)
        if locked is not None:
            return locked
        server_table = catalog.fetch_table(self._server, *key)
        if server_table is None:
            self.definitions.forget(key)
            return None
        unchanged = self.definitions.unchanged(server_table)
        self.definitions.fetched(server_table)
        table = (
            catalog.convert_table(self._server, server_table) if unchanged is None else unchanged
        )
        if unchanged is None or self.definitions.under_lock(key) is None:
            self.definitions.converted(key, table)
        return table

    def existing(self, database: str, name: str) -> Any:
        """Fetch the server's table now, and remember it."""
        server_table = catalog.fetch_table(self._server, database, name)
        if server_table is None:
            raise failures.table_not_found(database, name)
        self.definitions.fetched(server_table)
        return server_table

    def to_alter(self, database: str, name: str) -> Any:
        """Fetch the server's table in one consistent state, to send it back altered.

        A database that reads the newest value of each row (Derby, SQL Server) may return some
        properties from before an alteration and others from after it. If the server compares the
        time of change, this method fetches the table until two results have the same time. No
        alteration came between these two. The second result is then consistent, or the server
        refuses it as outdated.
        """
        previous = self.definitions.remembered((lowered(database), lowered(name)))
        while True:
            current = self.existing(database, name)
            if not self._server.compares_before_alter:
                return current
            if previous is not None and change_of(previous) == change_of(current):
                return current
            previous = current

    def remembered(self, database: str, name: str) -> Any:
        """Return the server's table as it was last fetched, or fetch it.

        This checks that the table exists, because most calls of the server do not check names.
        """
        last_fetched = self.definitions.remembered((lowered(database), lowered(name)))
        return last_fetched if last_fetched is not None else self.existing(database, name)

    def forget(self, database: str, name: str) -> None:
        """Forget a table that this client has changed, or that does not exist."""
        self.definitions.forget((lowered(database), lowered(name)))
