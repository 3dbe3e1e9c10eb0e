"""The catalog of the embedded metastore: databases, tables and partitions, without transactions.

Before a method looks up tables or partitions, it executes the pending file operations of
transactions that have ended (``journal``).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from acidsql.metastore.embedded import catalog, databases, statistics, write_ids
from acidsql.metastore.embedded import partitions as embedded_partitions
from acidsql.metastore.embedded.database import Database
from acidsql.metastore.embedded.journal import Journal
from acidsql.metastore.model import RESERVED_WRITE_IDS, Partition, PlainTable, Table, TableOwner
from acidsql.metastore.partition_filter import PartitionFilter
from acidsql.metastore.table_statistics import Statistics


class CatalogStore:
    """Part of ``EmbeddedMetastore`` that needs no transactions.

    Args:
        database: the metastore's file.
        journal: journal of the same file.
    """

    def __init__(self, database: Database, journal: Journal) -> None:
        self.database = database
        self._journal = journal

    def create_database(
        self,
        name: str,
        location: str,
        comment: str | None = None,
        properties: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        with self.database.write() as connection:
            databases.create_database(connection, name, location, comment, properties)

    def database_properties(self, name: str) -> Mapping[str, str]:
        with self.database.read() as connection:
            return databases.database_properties(connection, name)

    def change_database_properties(self, name: str, changes: Mapping[str, str | None]) -> None:
        """See ``Metastore``."""
        with self.database.write() as connection:
            databases.change_database_properties(connection, name, changes)

    def drop_database(self, name: str) -> None:
        """See ``Metastore``; ``default`` cannot be dropped."""
        with self.database.write() as connection:
            databases.drop_database(connection, name)

    def databases(self) -> tuple[str, ...]:
        return self._journal.read(databases.databases)

    def database_location(self, name: str) -> str:
        with self.database.read() as connection:
            return databases.database_location(connection, name)

    def check_table(self, table: Table) -> None:
        """See ``Metastore``; it can store every definition that Spark allows."""

    def alter_table(self, table: Table) -> None:
        with self.database.write() as connection:
            catalog.alter_table(connection, table)

    def reserve_ordinals(self, database: str, table: str, count: int) -> int:
        with self.database.write() as connection:
            return catalog.reserve_ordinals(connection, database, table, count)

    def rename_table(self, database: str, name: str, new_database: str, new_name: str) -> None:
        with self.database.write() as connection:
            catalog.rename_table(connection, database, name, new_database, new_name)

    def table(self, database: str, name: str) -> Table:
        return self._journal.read(
            lambda connection: catalog.table(connection, database, name), _location
        )

    def find_table(self, database: str, name: str) -> Table | None:
        return self._journal.read(
            lambda connection: catalog.find_table(connection, database, name), _location
        )

    def plain_table(self, database: str, name: str) -> PlainTable | None:  # noqa: ARG002
        """See ``Metastore``; returns None, because every table is transactional."""
        return None

    def convert_table(self, plain: PlainTable) -> None:
        table = plain.table
        with self.database.write() as connection:
            catalog.create_table(connection, table)
            embedded_partitions.add(connection, table.database, table.name, plain.partitions)
            reserved = RESERVED_WRITE_IDS + 1
            write_ids.seed(connection, table.database, table.name, reserved, by_others=False)

    def statistics(
        self, table: Table, partition: tuple[str, ...] | None, columns: Sequence[str] = ()
    ) -> Statistics | None:
        with self.database.read() as connection:
            table_id = catalog.table_id(connection, table.database, table.name)
            stored = statistics.find(connection, table_id, partition)
        if stored is None:
            return None
        return replace(stored, columns=tuple(c for c in stored.columns if c.name in columns))

    def table_owner(self, database: str, table: str) -> TableOwner:
        with self.database.read() as connection:
            return TableOwner(
                metastore_id=catalog.metastore_id(connection),
                file=os.path.realpath(self.database.path),
                table_id=catalog.table_id(connection, database, table),
            )

    def table_identity(self, database: str, table: str) -> str:
        owner = self.table_owner(database, table)
        return f"{owner.metastore_id}/{owner.table_id}"

    def has_dropped(self, owner: TableOwner) -> bool:
        with self.database.read() as connection:
            is_mine = (owner.metastore_id, owner.file) == (
                catalog.metastore_id(connection),
                os.path.realpath(self.database.path),
            )
            return is_mine and not catalog.has_table_id(connection, owner.table_id)

    def tables(self, database: str) -> tuple[str, ...]:
        return self._journal.read(lambda connection: catalog.tables(connection, database))

    def table_at(self, location: str, database: str) -> Table | None:  # noqa: ARG002
        """See ``Metastore``; searches all databases."""
        return self._journal.read(lambda connection: catalog.table_at(connection, location))

    def add_partitions(self, database: str, table: str, partitions: Iterable[Partition]) -> None:
        with self.database.write() as connection:
            embedded_partitions.add(connection, database, table, partitions)

    def drop_partitions(self, database: str, table: str, values: Iterable[tuple[str, ...]]) -> None:
        """See ``Metastore``; drop nothing if one of the partitions does not exist."""
        with self.database.write() as connection:
            embedded_partitions.drop(connection, database, table, values)

    def alter_partitions(self, database: str, table: str, partitions: Iterable[Partition]) -> None:
        """See ``Metastore``; alter nothing if one of the partitions does not exist."""
        with self.database.write() as connection:
            embedded_partitions.alter(connection, database, table, partitions)

    def rename_partition(
        self, database: str, table: str, values: tuple[str, ...], renamed: Partition
    ) -> None:
        with self.database.write() as connection:
            embedded_partitions.rename(connection, database, table, values, renamed)

    def partition_values(
        self, database: str, table: str, accepted: PartitionFilter = ()
    ) -> tuple[tuple[str, ...], ...]:
        return self._journal.read(
            lambda connection: embedded_partitions.values_of(connection, database, table, accepted)
        )

    def partitions(
        self, database: str, table: str, values: Iterable[tuple[str, ...]] | None = None
    ) -> tuple[Partition, ...]:
        wanted = None if values is None else tuple(values)
        return self._journal.read(
            lambda connection: embedded_partitions.partitions(connection, database, table, wanted),
            lambda answer: [partition.location for partition in answer],
        )


def _location(table: Table | None) -> tuple[str, ...]:
    """Return the directory of a table; empty if the table is missing or has no directory."""
    return (table.location,) if table is not None and table.location else ()
