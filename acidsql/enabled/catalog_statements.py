"""``spark.catalog`` of enabled sessions: the methods that are new in Spark 4.2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import catalog as spark_catalog

from acidsql import api
from acidsql.commands.transactions import refuse_writing_of_spark
from acidsql.enabled.catalog import AcidCatalog
from acidsql.enabled.routing import instead_of, is_routed, name_parts, named_table
from acidsql.metastore.model import Table, TableType
from acidsql.planning.name_resolution import qualified
from acidsql.syntax.lexer import quote
from acidsql.syntax.literals import property_list, quoted_string

_CLAUSES = ("comment", "location")


def catalog(original: Any) -> property:
    """Return the replacement of ``SparkSession.catalog``."""
    has_statements = hasattr(spark_catalog.Catalog, "truncateTable")
    made = AcidCatalogWithStatements if has_statements else AcidCatalog
    return instead_of(original, lambda spark: made(spark) if is_routed(spark) else None)


class AcidCatalogWithStatements(AcidCatalog):
    """Catalog with the methods of Spark 4.2 and later, which run statements."""

    def _stored(self, name: str) -> Table | None:
        """Find a table or view of the metastore by name; temporary views are ignored."""
        with self._working() as session:
            return None if session is None else named_table(session, name)

    def _leave_to_spark(self, method: str) -> None:
        with self._working() as session:
            if session is not None:
                refuse_writing_of_spark(session, method)

    def dropTable(  # noqa: N802
        self,
        tableName: str,  # noqa: N803
        ifExists: bool = False,  # noqa: N803
        purge: bool = False,
    ) -> None:
        """See PySpark."""
        table = self._stored(tableName)
        if table is not None:
            self._run(table, "DROP TABLE {} PURGE" if purge else "DROP TABLE {}")
        else:
            self._leave_to_spark("dropTable")
            super().dropTable(tableName, ifExists, purge)

    def dropView(self, viewName: str, ifExists: bool = False) -> None:  # noqa: N802, N803
        """See PySpark."""
        view = self._stored(viewName)
        if view is not None:
            self._run(view, "DROP VIEW {}")
        else:
            self._leave_to_spark("dropView")
            super().dropView(viewName, ifExists)

    def truncateTable(self, tableName: str) -> None:  # noqa: N802, N803
        """See PySpark."""
        table = self._stored(tableName)
        if table is not None:
            self._run(table, "TRUNCATE TABLE {}")
        else:
            self._leave_to_spark("truncateTable")
            super().truncateTable(tableName)

    def analyzeTable(self, tableName: str, noScan: bool = False) -> None:  # noqa: N802, N803
        """See PySpark."""
        table = self._stored(tableName)
        if table is not None:
            scan = " NOSCAN" if noScan else ""
            self._run(table, f"ANALYZE TABLE {{}} COMPUTE STATISTICS{scan}")
        else:
            self._leave_to_spark("analyzeTable")
            super().analyzeTable(tableName, noScan)

    def listPartitions(self, tableName: str) -> list[spark_catalog.TablePartition]:  # noqa: N802, N803
        """See PySpark."""
        table = self._stored(tableName)
        if table is None:
            return list(super().listPartitions(tableName))
        rows = self._run(table, "SHOW PARTITIONS {}").collect()
        return [spark_catalog.TablePartition(partition=row[0]) for row in rows]

    def listViews(  # noqa: N802
        self,
        dbName: str | None = None,  # noqa: N803
        pattern: str | None = None,
    ) -> list[spark_catalog.Table]:
        """List views of Spark and of the metastore, temporary views last."""
        listed = self._listed(dbName, pattern, TableType.VIEW)
        views = [*listed, *super().listViews(dbName, pattern)]
        return sorted(views, key=lambda view: (view.isTemporary, view.name))

    def getTableProperties(self, tableName: str) -> dict[str, str]:  # noqa: N802, N803
        """See PySpark."""
        table = self._stored(tableName)
        return dict(super().getTableProperties(tableName) if table is None else table.properties)

    def getCreateTableString(self, tableName: str, asSerde: bool = False) -> str:  # noqa: N802, N803
        """See PySpark."""
        table = self._stored(tableName)
        if table is None:
            return str(super().getCreateTableString(tableName, asSerde))
        return str(self._run(table, "SHOW CREATE TABLE {}").collect()[0][0])

    def createDatabase(  # noqa: N802
        self,
        dbName: str,  # noqa: N803
        ifNotExists: bool = False,  # noqa: N803
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """See PySpark; create the database in the metastore too."""
        name = self._shared_database(dbName)
        if name is None:
            self._leave_to_spark("createDatabase")
            super().createDatabase(dbName, ifNotExists, properties)
            return
        exists = "IF NOT EXISTS " if ifNotExists else ""
        given = dict(properties or {})
        clauses = [
            f"{clause} {quoted_string(given.pop(clause))}" for clause in _CLAUSES if clause in given
        ]
        if given:
            clauses.append(f"WITH DBPROPERTIES ({property_list(given)})")
        text = f"CREATE DATABASE {exists}{quote(name)} {' '.join(clauses)}"
        api.run(self._sparkSession, text, None, {})

    def dropDatabase(  # noqa: N802
        self,
        dbName: str,  # noqa: N803
        ifExists: bool = False,  # noqa: N803
        cascade: bool = False,
    ) -> None:
        """See PySpark; drop the database in the metastore too."""
        name = self._mirror(dbName)
        if name is None:
            self._leave_to_spark("dropDatabase")
            super().dropDatabase(dbName, ifExists, cascade)
        else:
            text = f"DROP DATABASE {quote(name)}{' CASCADE' if cascade else ''}"
            api.run(self._sparkSession, text, None, {})

    def _shared_database(self, name: str) -> str | None:
        """Return a database's name if it is in spark_catalog, which the metastore shares."""
        with self._working() as session:
            parts = name_parts(self._sparkSession, name) if session is not None else None
            place = qualified(session, (*parts, "t")) if session is not None and parts else None
            return place[0] if place else None
