"""Tables that streams and consumers hold, and tables that record their progress.

A table is held by its identity, not by its name, because the current database can change, and
another table can get the name. A progress row also identifies the table by its identity. It is
written in the same transaction as the work that it records, so the progress table is an ACID table
in the same database.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from acidsql import api, bridge
from acidsql.errors import AcidAnalysisError, AcidLookupError
from acidsql.planning.name_resolution import CATALOG, acid_table
from acidsql.planning.statement_snapshots import leased_snapshot
from acidsql.planning.unchanged_reads import check_query_at_commit
from acidsql.session.acid_session import AcidSession
from acidsql.session.settings import Isolation
from acidsql.syntax.lexer import quote


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldTable:
    """Table that a stream or a consumer works on; made by ``hold_table``.

    Attributes:
        database: database of the table.
        name: name of the table when it was looked up.
        identity: unique identity of the table (``Metastore.table_identity``).
    """

    database: str
    name: str
    identity: str

    @property
    def full_name(self) -> str:
        """Database and name, in the form for messages."""
        return f"{self.database}.{self.name}"

    @property
    def sql_name(self) -> str:
        """Name in SQL that does not depend on the state of the session."""
        return _sql_name(self.database, self.name)

    def check(self, session: AcidSession) -> None:
        """Check that the name still belongs to this table.

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
    """Find the ACID table that has a name now.

    Raises:
        AcidSqlError: see ``acid_table``.
    """
    with api.working(spark) as session:
        table = acid_table(session, bridge.parse_name(spark, name))
        identity = session.metastore.table_identity(table.database, table.name)
        return HeldTable(database=table.database, name=table.name, identity=identity)


def make_progress_table(spark: SparkSession, held: HeldTable, name: str, columns: str) -> None:
    """Create the progress table of a database if it does not exist.

    Args:
        spark: the session.
        held: a table in the same database.
        name: name of the progress table.
        columns: definition of its columns.
    """
    with api.working(spark) as session:
        if session.metastore.find_table(held.database, name) is None:
            # Another process may create the table at the same time.
            api.sql(
                spark,
                f"CREATE TABLE IF NOT EXISTS {_sql_name(held.database, name)} ({columns}) "
                "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')",
            )


def progress_name(held: HeldTable, name: str) -> str:
    """Return the SQL name of the progress table in a held table's database."""
    return _sql_name(held.database, name)


def other_progress_names(spark: SparkSession, held: HeldTable, name: str) -> list[str]:
    """Return the SQL names of the progress tables in other databases.

    A rename may have moved the held table from one of these databases.
    """
    with api.working(spark) as session:
        metastore = session.metastore
        return [
            _sql_name(database, name)
            for database in metastore.databases()
            if database != held.database and metastore.find_table(database, name) is not None
        ]


def watched_value(spark: SparkSession, query: str) -> Any:
    """Return the single value of a query, and watch it until the transaction commits.

    If another process changes the value before the commit, the transaction is aborted.
    """
    with api.working(spark) as session, leased_snapshot(session) as snapshot:
        check_query_at_commit(session, snapshot, Isolation.SERIALIZABLE)
        return snapshot.run(query).collect()[0][0]


def _identity(session: AcidSession, database: str, name: str) -> str | None:
    try:
        return session.metastore.table_identity(database, name)
    except AcidLookupError:
        return None


def _sql_name(database: str, name: str) -> str:
    return ".".join(map(quote, (CATALOG, database, name)))
