"""Progress of conversions, in a table in the database of their targets.

Each batch writes its row in its transaction, so the row exists only if the batch is committed.
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
"""Name of the table that records the copied batches."""

_COLUMNS = (
    "table_name STRING, table_id STRING, source STRING, source_version STRING, plan STRING, "
    "batch INT, num_rows BIGINT, committed TIMESTAMP"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """Conversion that an earlier call began.

    Attributes:
        source: place of the source.
        version: version of the source; None if it has no versions.
        plan: digest of the plan.
        done: number of batches that are copied.
    """

    source: str
    version: str | None
    plan: str
    done: int


def has_progress(spark: SparkSession, target: Table) -> bool:
    """Return whether the database of a table has a table of conversions."""
    with api.working(spark) as session:
        return session.metastore.find_table(target.database, CONVERSIONS) is not None


class ConversionProgress:
    """Rows of one conversion in the table of conversions, which is created if it is missing."""

    def __init__(self, spark: SparkSession, target: str) -> None:
        self._spark = spark
        self._target = hold_table(spark, target)
        make_progress_table(spark, self._target, CONVERSIONS, _COLUMNS)
        self._name = progress_name(self._target, CONVERSIONS)
        self._filter = f"table_id = {literal(self._target.identity)}"

    def begun(self) -> Begun | None:
        """Return the conversion that an earlier call began; None if there is none."""
        columns = "source, source_version, plan, batch"
        query = (
            f"SELECT {columns} FROM {self._name} WHERE {self._filter} ORDER BY batch DESC LIMIT 1"
        )
        rows = api.sql(self._spark, query).collect()
        if not rows:
            return None
        source, version, plan, done = rows[0]
        return Begun(source=source, version=version, plan=plan, done=done)

    def done(self) -> int | None:
        """Return the number of the newest batch; None if no conversion has begun.

        The number must not change before the current transaction commits.
        """
        query = f"SELECT max(batch) FROM {self._name} WHERE {self._filter}"
        newest: int | None = watched_value(self._spark, query)
        return newest

    def add(self, txn: TransactionHandle, begun: Begun, rows: int) -> None:
        """Add the row of a batch.

        Args:
            txn: transaction of the batch.
            begun: the conversion; its ``done`` includes this batch.
            rows: number of copied rows.
        """
        version = literal(begun.version)
        txn.sql(
            f"INSERT INTO {self._name} VALUES ({literal(self._target.full_name)}, "
            f"{literal(self._target.identity)}, {literal(begun.source)}, {version}, "
            f"{literal(begun.plan)}, {begun.done}, {rows}, current_timestamp())"
        )
