"""DROP TABLE."""

from __future__ import annotations

from pyspark.sql import DataFrame

from acidsql.commands import result
from acidsql.errors import AcidAnalysisError, quoted_name
from acidsql.metastore import catalog_changes
from acidsql.metastore.model import Table
from acidsql.planning.name_resolution import find
from acidsql.session.acid_session import AcidSession
from acidsql.session.table_owner import check_owner
from acidsql.syntax.statements import DropTable
from acidsql.transactions.transaction import exclusive_request, locked_definition, transaction


def drop_table(session: AcidSession, statement: DropTable) -> DataFrame | None:
    """Run DROP TABLE: remove a transactional table from the metastore, with its files."""
    table = find(session, statement.name)
    if table is None:
        return None
    if table.table_type.value != "MANAGED_TABLE":
        raise AcidAnalysisError(
            "EXPECT_TABLE_NOT_VIEW",
            f"{table.full_name} is a view: use DROP VIEW",
            {"viewName": quoted_name([table.database, table.name]), "operation": "DROP TABLE"},
        )
    drop(session, table)
    return result.nothing(session.spark)


def drop(session: AcidSession, table: Table, timeout: float | None = None) -> None:
    """Drop a table under its EXCLUSIVE lock, and the view of a temporary table.

    Args:
        session: the session.
        table: the table.
        timeout: seconds to wait for the lock; by default ``spark.acidsql.lock.timeout``.
    """
    check_owner(session, table)
    with transaction(session) as opened:
        opened.wait_for_locks([exclusive_request(table)], timeout)
        opened.commit([catalog_changes.DropTable(table=locked_definition(session, table))])
    session.temp_views.drop_table(table)
