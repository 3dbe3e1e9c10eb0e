"""The catalog of a Hive Metastore: databases, tables and partitions, without transactions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from acidsql.metastore import failures
from acidsql.metastore.hive import alterations, catalog, server_limits
from acidsql.metastore.hive import partitions as hive_partitions
from acidsql.metastore.hive.conversions import is_plain, plain_from_hive
from acidsql.metastore.hive.queue_store import QueueStore
from acidsql.metastore.model import Partition, PlainTable, Table
from acidsql.metastore.partition_filter import PartitionFilter


class CatalogStore(QueueStore):
    """Part of ``HiveMetastore`` with the catalog."""

    def create_database(
        self,
        name: str,
        location: str,
        comment: str | None = None,
        properties: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """See ``Metastore``; without a location the server chooses one."""
        server_limits.check_database(name, comment, properties)
        catalog.create_database(self.server, name, location, comment, properties)

    def database_properties(self, name: str) -> Mapping[str, str]:
        return catalog.database_properties(self.server, name)

    def change_database_properties(self, name: str, changes: Mapping[str, str | None]) -> None:
        """See ``Metastore``; a change by another client at the same moment may be lost."""
        server_limits.check_database_properties(name, changes)
        catalog.change_database_properties(self.server, name, changes)

    def drop_database(self, name: str) -> None:
        """See ``Metastore``; ``default`` cannot be dropped."""
        catalog.drop_database(self.server, name)

    def databases(self) -> tuple[str, ...]:
        return catalog.databases(self.server)

    def database_location(self, name: str) -> str:
        return catalog.database_location(self.server, name)

    def check_table(self, table: Table) -> None:
        server_limits.check_table(table)

    def drop_table(self, database: str, name: str) -> None:
        self._tables.existing(database, name)
        catalog.drop_table(self.server, database, name)
        self._tables.forget(database, name)

    def alter_table(self, table: Table) -> None:
        existing = self._tables.to_alter(table.database, table.name)
        alterations.alter_table(self.server, existing, table)
        self._tables.forget(table.database, table.name)

    def rename_table(self, database: str, name: str, new_database: str, new_name: str) -> None:
        existing = self._tables.to_alter(database, name)
        alterations.rename_table(self.server, existing, new_database, new_name)
        self._tables.forget(database, name)

    def table(self, database: str, name: str) -> Table:
        definition = self.find_table(database, name)
        if definition is None:
            raise failures.table_not_found(database, name)
        return definition

    def find_table(self, database: str, name: str) -> Table | None:
        return self._tables.find(database, name)

    def plain_table(self, database: str, name: str) -> PlainTable | None:
        existing = catalog.fetch_any(self.server, database, name)
        if existing is None or not is_plain(existing):
            return None
        partitions: tuple[Partition, ...] = ()
        if existing.partitionKeys:
            partitions = hive_partitions.partitions(self.server, existing, None)
        return plain_from_hive(existing, partitions)

    def tables(self, database: str) -> tuple[str, ...]:
        return catalog.tables(self.server, database)

    def table_at(self, location: str, database: str) -> Table | None:
        return catalog.table_at(self.server, location, database)

    def add_partitions(self, database: str, table: str, partitions: Iterable[Partition]) -> None:
        hive_partitions.add(self.server, self._tables.remembered(database, table), partitions)

    def drop_partitions(self, database: str, table: str, values: Iterable[tuple[str, ...]]) -> None:
        """See ``Metastore``; drop nothing if one of the partitions does not exist."""
        hive_partitions.drop(self.server, self._tables.remembered(database, table), values)

    def alter_partitions(self, database: str, table: str, partitions: Iterable[Partition]) -> None:
        """See ``Metastore``; alter nothing if one of the partitions does not exist."""
        hive_partitions.alter(self.server, self._tables.existing(database, table), partitions)

    def rename_partition(
        self, database: str, table: str, values: tuple[str, ...], renamed: Partition
    ) -> None:
        hive_partitions.rename(self.server, self._tables.existing(database, table), values, renamed)

    def partition_values(
        self, database: str, table: str, accepted: PartitionFilter = ()
    ) -> tuple[tuple[str, ...], ...]:
        return hive_partitions.values_of(
            self.server, self._tables.remembered(database, table), accepted
        )

    def partitions(
        self, database: str, table: str, values: Iterable[tuple[str, ...]] | None = None
    ) -> tuple[Partition, ...]:
        return hive_partitions.partitions(
            self.server, self._tables.remembered(database, table), values
        )
