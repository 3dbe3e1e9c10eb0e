"""Old rows of changes that no file has any more: a plan that reports changes fails for them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from acidsql import bridge
from acidsql.scan.plan import DELETED_BY, EVENT_KEYS
from acidsql.schema.acid_file import KEYS


def without_rows(events: DataFrame, rows: DataFrame, *, few: bool) -> DataFrame:
    """Build the delete events whose row is nowhere.

    Args:
        events: one for each row, with ``EVENT_KEYS``.
        rows: ``EVENT_KEYS`` of all rows that may have been deleted.
        few: whether the events can be broadcast.
    """
    keys = list(EVENT_KEYS)
    if few:
        # The rows are many: those that are not deleted are dropped before the events are joined.
        rows = rows.join(F.broadcast(events.select(*keys)), keys, "left_semi")
    return events.join(rows.hint("broadcast" if few else "merge"), keys, "left_anti")


def failing(events: DataFrame, table: str) -> DataFrame:
    """Build a frame without rows, which fails if there is a delete event: with
    DELETE_EVENT_WITHOUT_ROW in the message.

    Args:
        events: whose row is nowhere; they have ``KEYS`` and ``DELETED_BY``.
        table: full name of the table.

    Returns:
        The columns of ``events``.
    """
    write_id, bucket, row_id = (F.col(key).cast("string") for key in KEYS)
    message = F.concat(
        F.lit(f"[DELETE_EVENT_WITHOUT_ROW] a row of {table} that write id "),
        F.col(DELETED_BY).cast("string"),
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
    return lost.where(F.raise_error(message).cast("boolean"))
