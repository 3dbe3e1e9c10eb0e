"""Tables in which streams and consumers keep how far they have come.

A row is written in the transaction of the work that it tells of. So the table lies in the database
of that work, and is an ACID table too.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from acidsql import api, bridge
from acidsql.metastore.model import Table
from acidsql.planning.name_resolution import acid_table
from acidsql.planning.statement import leased_snapshot
from acidsql.planning.unchanged_reads import watch_query
from acidsql.session.settings import Isolation
from acidsql.syntax.lexer import quote


def progress_table(spark: SparkSession, beside: str, name: str, columns: str) -> tuple[str, Table]:
    """Return the qualified name of a table of progress, which is created if it is missing, and the
    table that it lies beside.

    Args:
        spark: the session.
        beside: name of a table of the same database.
        name: of the table of progress.
        columns: its definition.

    Raises:
        AcidSqlError: see ``acid_table``.
    """
    with api.working(spark) as session:
        found = acid_table(session, bridge.parse_name(spark, beside))
        qualified = f"{quote(found.database)}.{quote(name)}"
        if session.metastore.find_table(found.database, name) is None:
            # Another process may create it at the same time.
            api.sql(
                spark,
                f"CREATE TABLE IF NOT EXISTS {qualified} ({columns}) "
                "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')",
            )
    return qualified, found


def watched_value(spark: SparkSession, query: str) -> Any:
    """Return the one value of a query in a transaction, which must not change before the commit: if
    another process changes it first, the transaction is aborted.
    """
    with api.working(spark) as session, leased_snapshot(session) as snapshot:
        watch_query(session, snapshot, Isolation.SERIALIZABLE)
        return snapshot.run(query).collect()[0][0]
