"""Old rows of changes that no file contains any longer.

A plan that reports changes fails for them.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from acidsql import bridge
from acidsql.scan.plan import DELETED_BY, EVENT_KEYS
from acidsql.schema.acid_file import KEYS


def without_rows(events: DataFrame, rows: DataFrame, *, can_broadcast: bool) -> DataFrame:
    """Build the delete events that name a row which no file contains.

    Args:
        events: one event for each row, with ``EVENT_KEYS``.
        rows: ``EVENT_KEYS`` of all rows that may have been deleted.
        can_broadcast: whether the events are few enough to be broadcast.
    """
    keys = list(EVENT_KEYS)
    if can_broadcast:
        # There can be many rows. This join drops rows that are not deleted before the next join.
        rows = rows.join(F.broadcast(events.select(*keys)), keys, "left_semi")
    return events.join(rows.hint("broadcast" if can_broadcast else "merge"), keys, "left_anti")


def failing(events: DataFrame, table: str) -> DataFrame:
    """Build a frame without rows that fails if there is a delete event.

    The message contains DELETE_EVENT_WITHOUT_ROW.

    Args:
        events: delete events without a row; they have ``KEYS`` and ``DELETED_BY``.
        table: full name of the table.

    Returns:
        A frame with the columns of ``events``.
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
    # Without the barrier, Spark could raise the error below the join, for events with a row too.
    lost = bridge.UnresolvedPlan.of(events).pushdown_barrier().frame()
    return lost.where(F.raise_error(message).cast("boolean"))
