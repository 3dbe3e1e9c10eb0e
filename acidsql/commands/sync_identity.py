"""ALTER COLUMN … SYNC IDENTITY."""

from __future__ import annotations

from pyspark.sql import DataFrame

from acidsql.commands import events, result
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.model import Column, Table
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.identity import identity_of
from acidsql.syntax.lexer import quote
from acidsql.transactions.write_intent import alter_intent
from acidsql.transactions.write_transaction import write_transaction


def sync_identity(session: AcidSession, table: Table, column: Column, text: str) -> DataFrame:
    """Run SYNC IDENTITY: make the next identity values follow all values that the column contains.

    Args:
        session: the session.
        table: the table.
        column: a column of the table.
        text: text of the statement.

    Raises:
        AcidAnalysisError: NOT_AN_IDENTITY_COLUMN.
    """
    source = RecordedStatement(operation="SYNC IDENTITY", text=text)
    with write_transaction(session, alter_intent(table, source)) as transaction:
        now = transaction.table
        declared = next((c.identity for c in now.columns if c.key == column.key), None)
        if declared is None:
            raise AcidAnalysisError(
                "NOT_AN_IDENTITY_COLUMN",
                f"{column.name} of {now.full_name} is no identity column: SYNC IDENTITY is for "
                "those that CREATE TABLE has made",
                {"columnName": column.name},
            )
        identity = identity_of(declared)
        last = "max" if identity.increment > 0 else "min"
        name = f"{quote(now.database)}.{quote(now.name)}"
        query = f"SELECT {last}({quote(column.name)}) FROM spark_catalog.{name}"
        row = events.snapshot_of(transaction).run(query).head()
        first = session.metastore.reserve_ordinals(now.database, now.name, 0)
        if row is not None and row[0] is not None:
            missing = identity.ordinal_beyond(int(row[0])) - first
            session.metastore.reserve_ordinals(now.database, now.name, max(0, missing))
        transaction.commit([])
    return result.nothing(session.spark)
