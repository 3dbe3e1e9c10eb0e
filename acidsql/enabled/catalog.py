"""``spark.catalog`` of enabled sessions: the methods that every supported Spark release has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.catalog import Catalog, Column, Database
from pyspark.sql.catalog import Table as ListedTable

from acidsql import api
from acidsql.commands.cache_table import is_cached, keep
from acidsql.commands.describe import described
from acidsql.commands.protect_acid_tables import refuse_location
from acidsql.commands.show import name_pattern
from acidsql.commands.transactions import refuse_writing_of_spark
from acidsql.enabled.routing import is_routed, name_parts, named, named_table
from acidsql.enabled.writer_settings import is_acid, is_transactional
from acidsql.errors import AcidAnalysisError
from acidsql.format.identifiers import lowered
from acidsql.metastore.model import Table, TableType
from acidsql.metastore.names import is_temporary_table
from acidsql.planning.name_resolution import CATALOG, already_exists, qualified
from acidsql.session.acid_session import AcidSession, mirror_database
from acidsql.syntax.lexer import quote


class AcidCatalog(Catalog):  # type: ignore[misc]  # PySpark is untyped here
    """PySpark's catalog with the tables, views and databases of the metastore.

    Spark keeps all temporary views, including those over ACID tables.
    """

    @contextmanager
    def _working(self) -> Iterator[AcidSession | None]:
        """Yield the session's ``AcidSession`` while acidsql works; None if no longer enabled."""
        if not is_routed(self._sparkSession):
            yield None
            return
        with api.working(self._sparkSession) as session:
            yield session

    def _named(self, name: str, database: str | None = None) -> Table | None:
        """Find a table or view of the metastore; return None if a temporary view has the name."""
        with self._working() as session:
            if session is None:
                return None
            if database is not None:
                return session.metastore.find_table(lowered(database), lowered(name))
            table = named(session, name)
            return table if table is not None and table.database else None

    def _run(self, table: Table, text: str) -> DataFrame:
        """Run a statement on a table.

        Args:
            text: the statement, with ``{}`` in place of the table's name.
        """
        name = f"{CATALOG}.{quote(table.database)}.{quote(table.name)}"
        return api.run(self._sparkSession, text.format(name), None, {})

    def _mirror(self, name: str) -> str | None:
        """Create a metastore database in Spark too; return its name, or None if it is missing."""
        with self._working() as session:
            parts = name_parts(self._sparkSession, name) if session is not None else None
            place = qualified(session, (*parts, "t")) if session is not None and parts else None
            if session is None or place is None or not session.has_database(place[0]):
                return None
            mirror_database(session, place[0])
            return place[0]

    def listDatabases(self, pattern: str | None = None) -> list[Database]:  # noqa: N802
        """List databases, including those that only the metastore has."""
        with self._working() as session:
            if session is not None and self.currentCatalog() == CATALOG:
                for name in session.metastore.databases():
                    mirror_database(session, name)
        return list(super().listDatabases(pattern))

    def getDatabase(self, dbName: str) -> Database:  # noqa: N802, N803
        """See PySpark."""
        self._mirror(dbName)
        return super().getDatabase(dbName)

    def databaseExists(self, dbName: str) -> bool:  # noqa: N802, N803
        """See PySpark."""
        return self._mirror(dbName) is not None or super().databaseExists(dbName)

    def setCurrentDatabase(self, dbName: str) -> None:  # noqa: N802, N803
        """See PySpark."""
        self._mirror(dbName)
        super().setCurrentDatabase(dbName)

    def tableExists(self, tableName: str, dbName: str | None = None) -> bool:  # noqa: N802, N803
        """See PySpark."""
        exists = self._named(tableName, dbName) is not None
        return exists or super().tableExists(tableName, dbName)

    def listTables(  # noqa: N802
        self,
        dbName: str | None = None,  # noqa: N803
        pattern: str | None = None,
    ) -> list[ListedTable]:
        """List tables and views of Spark and of the metastore, temporary views last."""
        listed = self._listed(dbName, pattern)
        taken = {lowered(table.name) for table in listed}
        others = [
            table
            for table in super().listTables(dbName, pattern)
            if table.isTemporary or lowered(table.name) not in taken
        ]
        return sorted([*listed, *others], key=lambda table: (table.isTemporary, table.name))

    def _listed(
        self, database: str | None, pattern: str | None, kind: TableType | None = None
    ) -> list[ListedTable]:
        """List the metastore's tables and views of a database, by default the current one."""
        name = self._mirror(quote(self.currentDatabase()) if database is None else database)
        with self._working() as session:
            if session is None or name is None:
                return []
            wanted = name_pattern(pattern)
            tables = [
                session.metastore.find_table(name, table)
                for table in session.metastore.tables(name)
                if wanted.fullmatch(table) and not is_temporary_table(table)
            ]
            return [_listed(t) for t in tables if t and (kind is None or t.table_type is kind)]

    def getTable(self, tableName: str) -> ListedTable:  # noqa: N802, N803
        """See PySpark."""
        table = self._named(tableName)
        if table is None or is_temporary_table(table.name):
            return super().getTable(tableName)
        return _listed(table)

    def listColumns(self, tableName: str, dbName: str | None = None) -> list[Column]:  # noqa: N802, N803
        """See PySpark."""
        table = self._named(tableName, dbName)
        with self._working() as session:
            if session is not None and table is not None:
                return _columns(session, table)
        return list(super().listColumns(tableName, dbName))

    def createTable(  # noqa: N802
        self,
        tableName: str,  # noqa: N803
        path: str | None = None,
        source: str | None = None,
        schema: Any = None,
        description: str | None = None,
        **options: str,
    ) -> DataFrame:
        """Create a table in Spark's catalog.

        Raises:
            AcidAnalysisError: TABLE_OR_VIEW_ALREADY_EXISTS, the metastore has a table of this name;
                LOCATION_IN_USE, the directory belongs to an ACID table;
                UNSUPPORTED_FEATURE.CREATE_TABLE, the new table would be transactional.
        """
        with self._working() as session:
            if session is not None:
                _check_new(session, tableName, path, source, options)
                refuse_writing_of_spark(session, "createTable")
        return super().createTable(tableName, path, source, schema, description, **options)

    def isCached(self, tableName: str) -> bool:  # noqa: N802, N803
        """See PySpark."""
        table = self._named(tableName)
        if table is None:
            return bool(super().isCached(tableName))
        with self._working() as session:
            return session is not None and is_cached(session, table)

    def cacheTable(self, tableName: str, storageLevel: Any = None) -> None:  # noqa: N802, N803
        """See PySpark; queries read current rows even if older rows are cached."""
        table = self._named(tableName)
        if table is None:
            super().cacheTable(tableName, storageLevel)
        else:
            with self._working() as session:
                assert session is not None  # otherwise no table would have been found
                keep(session, table, storageLevel)

    def uncacheTable(self, tableName: str) -> None:  # noqa: N802, N803
        """See PySpark."""
        table = self._named(tableName)
        if table is not None:
            self._run(table, "UNCACHE TABLE {}")
        else:
            super().uncacheTable(tableName)

    def refreshTable(self, tableName: str) -> None:  # noqa: N802, N803
        """See PySpark; do nothing for an ACID table, because every query lists its files again."""
        if self._named(tableName) is None:
            super().refreshTable(tableName)

    def recoverPartitions(self, tableName: str) -> None:  # noqa: N802, N803
        """See PySpark; on an ACID table, run MSCK REPAIR TABLE."""
        table = self._named(tableName)
        if table is not None:
            self._run(table, "MSCK REPAIR TABLE {}")
        else:
            super().recoverPartitions(tableName)


def _check_new(
    session: AcidSession,
    name: str,
    path: str | None,
    source: str | None,
    options: Mapping[str, str],
) -> None:
    if named_table(session, name) is not None:
        raise already_exists([name])
    if is_transactional(options) or is_acid(source):
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.CREATE_TABLE",
            f"spark.catalog.createTable cannot make the transactional table {name}: use CREATE "
            "TABLE in spark.sql, or df.writeTo(…).tableProperty('transactional', 'true').create()",
        )
    for place in (path, options.get("path")):
        if place is not None:
            refuse_location(session, place)


def _listed(table: Table) -> ListedTable:
    """Return a table or view in the form of Spark's catalog."""
    is_view = table.table_type is TableType.VIEW
    return ListedTable(
        name=table.name,
        catalog=CATALOG,
        namespace=[table.database],
        description=table.properties.get("comment"),
        tableType="VIEW" if is_view else "MANAGED",
        isTemporary=False,
    )


def _columns(session: AcidSession, table: Table) -> list[Column]:
    """Return columns in the form of Spark's catalog; ``isCluster`` is new in Spark 4.0."""
    required = {c.name for c in (*table.columns, *table.partition_columns) if not c.nullable}
    partitions = {c.name for c in table.partition_columns}
    rows = []
    for name, data_type, comment in described(session, table):
        known = {
            "name": name,
            "description": comment,
            "dataType": data_type,
            "nullable": name not in required,
            "isPartition": name in partitions,
            "isBucket": name in table.bucket_columns,
            "isCluster": False,
        }
        rows.append(Column(**{field: known[field] for field in Column._fields}))
    return rows
