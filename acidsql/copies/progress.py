"""Progress of conversions, in a table beside their targets.

A row is written in the transaction of the batch that it records, so it is there if and only if the
rows of the batch are.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession

from acidsql import api
from acidsql.metastore.model import Table
from acidsql.progress_tables import (
    hold_table,
    make_progress_table,
    progress_name,
    watched_value,
)
from acidsql.syntax.values import literal
from acidsql.transaction_handle import TransactionHandle

CONVERSIONS = "acidsql_conversions"
"""Table of the batches that were copied."""

_COLUMNS = (
    "table_name STRING, table_id STRING, source STRING, source_version STRING, plan STRING, "
    "batch INT, num_rows BIGINT, committed TIMESTAMP"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """Conversion that was begun before.

    Attributes:
        source: what is converted.
        version: of the source; None if it has none.
        plan: digest of its batches.
        done: number of the batches that were copied.
    """

    source: str
    version: str | None
    plan: str
    done: int


def has_progress(spark: SparkSession, target: Table) -> bool:
    """Return whether there is a table of conversions beside a table."""
    with api.working(spark) as session:
        return session.metastore.find_table(target.database, CONVERSIONS) is not None


class Progress:
    """Rows of one conversion in the table of conversions; it is created if it is missing."""

    def __init__(self, spark: SparkSession, target: str) -> None:
        self._spark = spark
        self._target = hold_table(spark, target)
        make_progress_table(spark, self._target, CONVERSIONS, _COLUMNS)
        self._name = progress_name(self._target, CONVERSIONS)
        self._own = f"table_id = {literal(self._target.identity)}"

    def begun(self) -> Begun | None:
        """Return the conversion that was begun; None if there is none."""
        columns = "source, source_version, plan, batch"
        query = f"SELECT {columns} FROM {self._name} WHERE {self._own} ORDER BY batch DESC LIMIT 1"
        rows = api.sql(self._spark, query).collect()
        if not rows:
            return None
        source, version, plan, done = rows[0]
        return Begun(source=source, version=version, plan=plan, done=done)

    def done(self) -> int | None:
        """Return the number of the newest batch, which must not change before the transaction
        commits; None if nothing was begun.
        """
        query = f"SELECT max(batch) FROM {self._name} WHERE {self._own}"
        found: int | None = watched_value(self._spark, query)
        return found

    def add(self, txn: TransactionHandle, begun: Begun, rows: int) -> None:
        """Add the row of a batch.

        Args:
            txn: transaction of the batch.
            begun: the conversion, with this batch done.
            rows: that were copied.
        """
        version = literal(begun.version)
        txn.sql(
            f"INSERT INTO {self._name} VALUES ({literal(self._target.full_name)}, "
            f"{literal(self._target.identity)}, {literal(begun.source)}, {version}, "
            f"{literal(begun.plan)}, {begun.done}, {rows}, current_timestamp())"
        )
