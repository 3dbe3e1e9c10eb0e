"""Tables that streams and consumers hold, and tables that record their progress.

A table is held by its identity, not by its name: the session's current database changes, tables are
renamed, and others take their names. A row of progress is written in the transaction of the work
that it records, and identifies the table in the same way. So the table of progress lies in the
database of that work, and is an ACID table too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from acidsql import api, bridge
from acidsql.errors import AcidAnalysisError, AcidLookupError
from acidsql.planning.name_resolution import CATALOG, acid_table
from acidsql.planning.statement_snapshots import leased_snapshot
from acidsql.planning.unchanged_reads import watch_query
from acidsql.session.acid_session import AcidSession
from acidsql.session.settings import Isolation
from acidsql.syntax.lexer import quote


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldTable:
    """Table that a stream or a consumer works on; made by ``hold_table``.

    Attributes:
        database: its database.
        name: its name when it was found.
        identity: what distinguishes it from all others (``Metastore.table_identity``).
    """

    database: str
    name: str
    identity: str

    @property
    def full_name(self) -> str:
        """Database and name, as in messages."""
        return f"{self.database}.{self.name}"

    @property
    def sql_name(self) -> str:
        """Name as in SQL, which depends on nothing that the session has."""
        return _sql_name(self.database, self.name)

    def check(self, session: AcidSession) -> None:
        """Check that the name still means this table.

        Raises:
            AcidAnalysisError: HELD_TABLE_CHANGED.
        """
        if self.identity != _identity(session, self.database, self.name):
            raise self.changed()

    def changed(self) -> AcidAnalysisError:
        """Build the error of a table that was renamed, dropped or replaced."""
        return AcidAnalysisError(
            "HELD_TABLE_CHANGED",
            f"{self.full_name} is no longer the table that the stream or consumer began with: it "
            "was renamed, dropped or created again. Start it again with the name that the table "
            "has now",
            {"tableName": self.full_name},
        )


def hold_table(spark: SparkSession, name: str) -> HeldTable:
    """Find the ACID table that a name means now.

    Raises:
        AcidSqlError: see ``acid_table``.
    """
    with api.working(spark) as session:
        found = acid_table(session, bridge.parse_name(spark, name))
        identity = session.metastore.table_identity(found.database, found.name)
        return HeldTable(database=found.database, name=found.name, identity=identity)


def make_progress_table(spark: SparkSession, held: HeldTable, name: str, columns: str) -> None:
    """Create the table of progress of a database, unless it is there.

    Args:
        spark: the session.
        held: table of the same database.
        name: of the table of progress.
        columns: its definition.
    """
    with api.working(spark) as session:
        if session.metastore.find_table(held.database, name) is None:
            # Another process may create it at the same time.
            api.sql(
                spark,
                f"CREATE TABLE IF NOT EXISTS {_sql_name(held.database, name)} ({columns}) "
                "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')",
            )


def progress_name(held: HeldTable, name: str) -> str:
    """Return the name in SQL of the table of progress of a held table's database."""
    return _sql_name(held.database, name)


def other_progress_names(spark: SparkSession, held: HeldTable, name: str) -> list[str]:
    """Return the names in SQL of the tables of progress of other databases: the held table may have
    been renamed into its own.
    """
    with api.working(spark) as session:
        metastore = session.metastore
        return [
            _sql_name(database, name)
            for database in metastore.databases()
            if database != held.database and metastore.find_table(database, name) is not None
        ]


def watched_value(spark: SparkSession, query: str) -> Any:
    """Return the one value of a query in a transaction, which must not change before the commit: if
    another process changes it first, the transaction is aborted.
    """
    with api.working(spark) as session, leased_snapshot(session) as snapshot:
        watch_query(session, snapshot, Isolation.SERIALIZABLE)
        return snapshot.run(query).collect()[0][0]


def _identity(session: AcidSession, database: str, name: str) -> str | None:
    try:
        return session.metastore.table_identity(database, name)
    except AcidLookupError:
        return None


def _sql_name(database: str, name: str) -> str:
    return ".".join(map(quote, (CATALOG, database, name)))
