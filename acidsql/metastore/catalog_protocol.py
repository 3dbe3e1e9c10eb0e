"""Protocol of a metastore's catalog: databases, tables, partitions and their statistics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from acidsql.metastore.model import Partition, PlainTable, Table
from acidsql.metastore.table_statistics import Statistics


class CatalogProtocol(Protocol):
    """Part of ``Metastore`` that needs no transaction."""

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
        """Return the location URI of a database ('' for ``default`` as long as none was set)."""

    def database_properties(self, name: str) -> Mapping[str, str]:
        """Return the properties of a database (``DBPROPERTIES``)."""

    def change_database_properties(self, name: str, changes: Mapping[str, str | None]) -> None:
        """Set properties of a database; the value None removes one. The others stay."""

    def check_table(self, table: Table) -> None:
        """Check that all of a new definition can be kept, before anything is made; what takes the
        definition does it too.

        Raises:
            AcidAnalysisError: of a server: UNSUPPORTED_FEATURE.TABLE_CONSTRAINT, COMMENT_TOO_LONG,
                INVALID_DEFAULT_VALUE.TOO_LONG, UNSUPPORTED_COLUMN_NAME, UNSUPPORTED_DATATYPE,
                INVALID_CHECK_CONSTRAINT, INVALID_TABLE_PROPERTY.
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
            partitions: its partitions, if its directory has some already.
            highest_write_id: highest write id in the names of its directories; later ones are
                above it.
            highest_txn_id: the same of transaction ids.

        Raises:
            AcidAnalysisError: TABLE_OR_VIEW_ALREADY_EXISTS.
        """

    def stage_table(self, txn_id: int, table: Table, highest_write_id: int = 0) -> Table:
        """Create a table for a transaction; the change ``ShowTable`` of its commit finishes it.

        Nothing is left of it if the transaction does not commit. A server shows it to all clients
        at once, and keeps it then if others have written to it.

        Args:
            txn_id: the transaction.
            table: the table.
            highest_write_id: write id above which those of the table begin.

        Returns:
            Its definition until the commit, perhaps with another name.

        Raises:
            AcidAnalysisError: TABLE_OR_VIEW_ALREADY_EXISTS.
        """

    def delete_if_aborted(self, txn_id: int, location: str) -> None:
        """Have a directory deleted, which does not exist yet, if a transaction does not commit.

        For ``ReplaceTable``; a metastore without that change (``Capabilities.replaces_tables``)
        leaves it to the caller.

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
        """Give ordinals to new rows of a table, for its identity columns.

        They count from 0, and no two calls return the same, whatever becomes of their transactions.

        Args:
            database: of the table.
            table: its name.
            count: number of rows; 0 changes nothing.

        Returns:
            The first of the ordinals.
        """

    def rename_table(self, database: str, name: str, new_database: str, new_name: str) -> None:
        """Rename a table, perhaps into another database; partitions, write ids and history stay.

        A server moves the files of a table that lies in its default place; read the location
        afterwards. Otherwise the caller moves the files.

        Raises:
            AcidAnalysisError: TABLE_OR_VIEW_ALREADY_EXISTS.
        """

    def table(self, database: str, name: str) -> Table:
        """Return a table or view; names are case-insensitive."""

    def find_table(self, database: str, name: str) -> Table | None:
        """Return a table or view, or None if there is none of that name."""

    def plain_table(self, database: str, name: str) -> PlainTable | None:
        """Return the server's table of this name if it is not transactional, else None.

        A metastore without a server has no such tables, and returns None.
        """

    def convert_table(self, plain: PlainTable) -> None:
        """Make a plain table transactional.

        The table is the server's, or, without a server, one that another catalog had until now. Its
        write ids start above those that Hive reserves for the rows that the table has already.
        """

    def tables(self, database: str) -> tuple[str, ...]:
        """Return the names of tables and views of a database, sorted."""

    def table_at(self, location: str, database: str) -> Table | None:
        """Return a managed table whose location equals, contains or lies within a location, or
        None.

        A Hive Metastore has no such call and may have many tables. So only some databases are
        searched: this one, ``default``, and those that the path names (``/sales.db/``).
        """

    def add_partitions(self, database: str, table: str, partitions: Iterable[Partition]) -> None:
        """Add partitions; those that exist already are left unchanged."""

    def drop_partitions(self, database: str, table: str, values: Iterable[tuple[str, ...]]) -> None:
        """Remove partitions from the catalog; their files stay (see ``DropPartitions``)."""

    def alter_partitions(self, database: str, table: str, partitions: Iterable[Partition]) -> None:
        """Replace the location and columns of partitions, found by their values.

        Raises:
            AcidLookupError: PARTITION_NOT_FOUND, one of them does not exist.
        """

    def rename_partition(
        self, database: str, table: str, values: tuple[str, ...], renamed: Partition
    ) -> None:
        """Change the values of a partition, and perhaps its location.

        A server moves the files, if the new location does not exist yet; otherwise the caller does.

        Raises:
            AcidLookupError: PARTITION_NOT_FOUND.
            AcidAnalysisError: PARTITION_ALREADY_EXISTS.
        """

    def partition_values(self, database: str, table: str) -> tuple[tuple[str, ...], ...]:
        """Return the values of all partitions, sorted; cheaper than ``partitions``."""

    def partitions(
        self, database: str, table: str, values: Iterable[tuple[str, ...]] | None = None
    ) -> tuple[Partition, ...]:
        """Return the partitions with these values (by default all), sorted by values.

        Values that no partition has are left out.
        """

    def statistics(
        self, table: Table, partition: tuple[str, ...] | None, columns: Sequence[str] = ()
    ) -> Statistics | None:
        """Return the statistics of a table, or None if there are none; the change
        ``RecordStatistics`` of a commit keeps them.

        Args:
            partition: values of the partition that they are about, None for the whole table.
            columns: names of the columns whose statistics are wanted as well.
        """
