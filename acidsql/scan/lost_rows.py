"""Old rows of changes that no file has any more: a plan that tells changes fails for them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from acidsql import bridge
from acidsql.schema.acid_file import KEYS


def without_rows(
    events: DataFrame, rows: Sequence[DataFrame], same: Sequence[Column], *, few: bool
) -> DataFrame:
    """Build the delete events whose row is nowhere.

    Args:
        events: one for each row.
        rows: keys of all rows that may have been deleted.
        same: conditions that an event names a row.
        few: whether the events can be broadcast.
    """
    if not rows:
        return events
    if few:
        # The rows are many: those that are not deleted are dropped before the events are joined.
        rows = [part.join(F.broadcast(events), [*same], "left_semi") for part in rows]
    found = reduce(DataFrame.unionAll, rows).hint("broadcast" if few else "merge")
    return events.join(found, [*same], "left_anti")


def failing(
    events: DataFrame, deleted_by: str, table: str, row: StructType
) -> bridge.UnresolvedPlan:
    """Build a plan without rows, which fails if there is a delete event: with
    DELETE_EVENT_WITHOUT_ROW in the message.

    Args:
        events: whose row is nowhere; they have ``KEYS`` and ``deleted_by``.
        deleted_by: name of the column with the write id that deleted the row.
        table: full name of the table.
        row: type of ``row``.

    Returns:
        The columns of ``events``, and ``row``.
    """
    write_id, bucket, row_id = (F.col(key).cast("string") for key in KEYS)
    message = F.concat(
        F.lit(f"[DELETE_EVENT_WITHOUT_ROW] a row of {table} that write id "),
        F.col(deleted_by).cast("string"),
        F.lit(' deleted is in no file, row__id {"writeid":'),
        write_id,
        F.lit(',"bucketid":'),
        bucket,
        F.lit(',"rowid":'),
        row_id,
        F.lit(f"}}: CHECK TABLE {table} FULL shows which rows are lost"),
    )
    # Below the barrier every event would fail, with a row or without.
    lost = bridge.UnresolvedPlan.of(events).pushdown_barrier().frame()
    failed = lost.where(F.raise_error(message).cast("boolean"))
    return bridge.UnresolvedPlan.of(failed.withColumn("row", F.lit(None).cast(row)))
