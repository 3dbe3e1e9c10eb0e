"""Protocol of a metastore's catalog: databases, tables, partitions and their statistics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from acidsql.metastore.model import Partition, PlainTable, Table
from acidsql.metastore.partition_filter import PartitionFilter
from acidsql.metastore.table_statistics import Statistics


class CatalogProtocol(Protocol):
    """Part of ``Metastore`` with the methods that need no transaction."""

    def create_database(
        self,
        name: str,
        location: str,
        comment: str | None = None,
        properties: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Create a database.

        Raises:
            AcidAnalysisError: SCHEMA_ALREADY_EXISTS.
        """

    def drop_database(self, name: str) -> None:
        """Drop an empty database.

        Raises:
            AcidAnalysisError: SCHEMA_NOT_EMPTY.
        """

    def databases(self) -> tuple[str, ...]:
        """Return the names of all databases, sorted; ``default`` always exists."""

    def database_location(self, name: str) -> str:
        """Return the location URI of a database ('' for ``default`` if it has none)."""

    def database_properties(self, name: str) -> Mapping[str, str]:
        """Return the properties of a database (``DBPROPERTIES``)."""

    def change_database_properties(self, name: str, changes: Mapping[str, str | None]) -> None:
        """Set properties of a database; the value None removes a property. Others do not change."""

    def check_table(self, table: Table) -> None:
        """Check that the metastore can store a new definition, before anything is created.

        The methods that store a definition check it too.

        Raises:
            AcidAnalysisError: with a server: UNSUPPORTED_FEATURE.TABLE_CONSTRAINT,
                COMMENT_TOO_LONG, INVALID_DEFAULT_VALUE.TOO_LONG, UNSUPPORTED_COLUMN_NAME,
                UNSUPPORTED_DATATYPE, INVALID_CHECK_CONSTRAINT, INVALID_TABLE_PROPERTY.
        """

    def create_table(
        self,
        table: Table,
        partitions: Iterable[Partition] = (),
        highest_write_id: int = 0,
        highest_txn_id: int = 0,
    ) -> None:
        """Create a table or view.

        Args:
            table: the table.
            partitions: its partitions, if its directory already contains some.
            highest_write_id: highest write id in the names of its directories; the table's first
                allocated write id is above it.
            highest_txn_id: highest transaction id in these names; the next one is above it.

        Raises:
            AcidAnalysisError: TABLE_OR_VIEW_ALREADY_EXISTS.
        """

    def stage_table(self, txn_id: int, table: Table, highest_write_id: int = 0) -> Table:
        """Create a table for a transaction, which its commit finishes with ``ShowTable``.

        If the transaction does not commit, the table disappears. A server shows the table to all
        clients immediately. If others have written to such a table, it stays after an abort.

        Args:
            txn_id: the transaction.
            table: the table.
            highest_write_id: write ids of the table begin above this one.

        Returns:
            Its definition until the commit, possibly with another name.

        Raises:
            AcidAnalysisError: TABLE_OR_VIEW_ALREADY_EXISTS.
        """

    def delete_if_aborted(self, txn_id: int, location: str) -> None:
        """Register a directory, which does not exist yet, to delete it if a transaction aborts.

        ``ReplaceTable`` needs this. A metastore without that change
        (``Capabilities.replaces_tables``) leaves the deletion to the caller.

        Args:
            txn_id: the transaction.
            location: the directory.
        """

    def drop_table(self, database: str, name: str) -> None:
        """Remove a table from the catalog, with its partitions, write ids, locks and queue entries.

        Its files stay; the change ``DropTable`` of a commit deletes them too.
        """

    def alter_table(self, table: Table) -> None:
        """Replace the definition of the table that has the same name."""

    def reserve_ordinals(self, database: str, table: str, count: int) -> int:
        """Reserve ordinals for new rows of a table, for its identity columns.

        Ordinals start at 0. No ordinal is reserved twice, even if a transaction aborts.

        Args:
            database: database of the table.
            table: its name.
            count: number of rows; 0 changes nothing.

        Returns:
            The first of the ordinals.
        """

    def rename_table(self, database: str, name: str, new_database: str, new_name: str) -> None:
        """Rename a table, possibly into another database; it keeps partitions, write ids, history.

        If the table is in its default location, a server moves the files, and the caller must read
        the new location afterwards. Otherwise the caller moves the files.

        Raises:
            AcidAnalysisError: TABLE_OR_VIEW_ALREADY_EXISTS.
        """

    def table(self, database: str, name: str) -> Table:
        """Return a table or view; names are case-insensitive."""

    def find_table(self, database: str, name: str) -> Table | None:
        """Return a table or view, or None if there is no table or view of that name."""

    def plain_table(self, database: str, name: str) -> PlainTable | None:
        """Return the server's table of this name if it is not transactional, otherwise None.

        A metastore without a server has only transactional tables, and returns None.
        """

    def convert_table(self, plain: PlainTable) -> None:
        """Make a plain table transactional.

        With a server, the server already has the table. Otherwise the table comes from another
        catalog. Its write ids start above those that Hive reserves for the table's existing rows.
        """

    def tables(self, database: str) -> tuple[str, ...]:
        """Return the sorted names of the tables and views of a database."""

    def table_at(self, location: str, database: str) -> Table | None:
        """Return a managed table whose location overlaps a location, or None.

        Two locations overlap if they are equal or if one contains the other. A Hive Metastore
        cannot search by location and may have many tables. Therefore only these databases are
        searched: ``database``, ``default``, and the databases that the path names (``/sales.db/``).
        """

    def add_partitions(self, database: str, table: str, partitions: Iterable[Partition]) -> None:
        """Add partitions; partitions that exist already do not change."""

    def drop_partitions(self, database: str, table: str, values: Iterable[tuple[str, ...]]) -> None:
        """Remove partitions from the catalog; their files stay (see ``DropPartitions``)."""

    def alter_partitions(self, database: str, table: str, partitions: Iterable[Partition]) -> None:
        """Replace the location and columns of partitions, found by their values.

        Raises:
            AcidLookupError: PARTITION_NOT_FOUND, one of the partitions does not exist.
        """

    def rename_partition(
        self, database: str, table: str, values: tuple[str, ...], renamed: Partition
    ) -> None:
        """Change the values of a partition, and possibly its location.

        A server moves the files if the new location does not exist yet. Otherwise the caller moves
        them.

        Raises:
            AcidLookupError: PARTITION_NOT_FOUND.
            AcidAnalysisError: PARTITION_ALREADY_EXISTS.
        """

    def partition_values(
        self, database: str, table: str, accepted: PartitionFilter = ()
    ) -> tuple[tuple[str, ...], ...]:
        """Return the sorted values of partitions; cheaper than ``partitions``.

        Args:
            database: name of the database.
            table: name of the table.
            accepted: restricts the result. It contains all partitions that meet the filter, and
                possibly others. By default it contains all partitions.
        """

    def partitions(
        self, database: str, table: str, values: Iterable[tuple[str, ...]] | None = None
    ) -> tuple[Partition, ...]:
        """Return the partitions with these values (by default all), sorted by values.

        The result skips values that no partition has.
        """

    def statistics(
        self, table: Table, partition: tuple[str, ...] | None, columns: Sequence[str] = ()
    ) -> Statistics | None:
        """Return the statistics of a table or partition, or None if there are none.

        The change ``RecordStatistics`` of a commit stores them.

        Args:
            partition: values of the partition, None for the whole table.
            columns: names of the columns whose statistics the result must contain.
        """
