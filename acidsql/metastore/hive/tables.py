"""Tables of the server: fetched now, or as they were last fetched."""

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
        held = self.definitions.under_lock(key)
        if held is not None:
            return held
        found = catalog.fetch_table(self._server, *key)
        if found is None:
            self.definitions.forget(key)
            return None
        known = self.definitions.unchanged(found)
        self.definitions.fetched(found)
        table = catalog.convert_table(self._server, found) if known is None else known
        if known is None or self.definitions.under_lock(key) is None:
            self.definitions.converted(key, table)
        return table

    def existing(self, database: str, name: str) -> Any:
        """Fetch the server's table now, and remember it."""
        found = catalog.fetch_table(self._server, database, name)
        if found is None:
            raise failures.table_not_found(database, name)
        self.definitions.fetched(found)
        return found

    def to_alter(self, database: str, name: str) -> Any:
        """Fetch the server's table to send it back altered: everything in it is of one moment.

        A database that gives each row of a query its newest value (Derby, SQL Server) may return
        some properties from before an alteration and others from after it. Where the server
        compares the time of change, two tables with the same one were fetched with no alteration
        between them. So the second is whole, or older than the server's table and refused.
        """
        known = self.definitions.remembered((lowered(database), lowered(name)))
        while True:
            found = self.existing(database, name)
            if not self._server.compares_before_alter:
                return found
            if known is not None and change_of(known) == change_of(found):
                return found
            known = found

    def remembered(self, database: str, name: str) -> Any:
        """Return the server's table as it was last fetched: most calls of the server do not check
        names.
        """
        known = self.definitions.remembered((lowered(database), lowered(name)))
        return known if known is not None else self.existing(database, name)

    def forget(self, database: str, name: str) -> None:
        """Forget a table that was changed here, or is gone."""
        self.definitions.forget((lowered(database), lowered(name)))
