"""``WithoutHistory``: methods of ``Metastore`` for what a Hive Metastore does not record."""

from __future__ import annotations

from collections.abc import Collection

from acidsql.metastore.comparison import ConcurrentWrite
from acidsql.metastore.history import HistoryEntry
from acidsql.metastore.model import TableOwner
from acidsql.metastore.moments import Moment, TableVersion
from acidsql.metastore.tags import Tag, tags_unsupported


class WithoutHistory:
    """Part of ``HiveMetastore``: a server records no history, no tags and no owners of tables."""

    def delete_if_aborted(self, txn_id: int, location: str) -> None:
        """See ``Metastore``; it does nothing."""

    def concurrent_writes(self, txn_id: int) -> tuple[ConcurrentWrite, ...]:
        """See ``Metastore``; the server compares only partitions."""
        del txn_id
        return ()

    def history(self, database: str, table: str, limit: int | None) -> tuple[HistoryEntry, ...]:
        """See ``Metastore``; there are no entries."""
        del database, table, limit
        return ()

    def hold_history(self, txn_id: int, database: str, table: str, version: TableVersion) -> None:
        """See ``Metastore``; the directories that the server's cleaner has removed are unknown."""

    def start_removal(
        self,
        database: str,
        table: str,
        partition: str | None,
        write_id: int,
        tags: Collection[int] = (),
    ) -> bool:
        """See ``Metastore``; it records nothing, and allows the removal."""
        del database, table, partition, write_id, tags
        return True

    def create_tag(
        self, database: str, table: str, name: str, moment: Moment | None, retain: float | None
    ) -> Tag:
        """See ``Metastore``; it is refused."""
        del name, moment, retain
        raise tags_unsupported(f"{database}.{table}")

    def drop_tag(self, database: str, table: str, name: str) -> None:
        """See ``Metastore``; it is refused."""
        del name
        raise tags_unsupported(f"{database}.{table}")

    def tags(self, database: str, table: str) -> tuple[Tag, ...]:
        """See ``Metastore``; a server has no tags."""
        del database, table
        return ()

    def oldest_version(self, database: str, table: str, write_id: int) -> int | None:
        """See ``Metastore``; the result is the version of that write id."""
        del database, table
        return write_id

    def table_owner(self, database: str, table: str) -> None:
        """See ``Metastore``; None, because no other metastore can claim the server's tables."""

    def has_dropped(self, owner: TableOwner) -> bool:  # noqa: ARG002
        """See ``Metastore``; False, because a server's tables have no ``TableOwner``."""
        return False
