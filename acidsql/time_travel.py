"""``acidsql.as_of``: read all tables as of one moment, in several statements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime

from pyspark.sql import SparkSession

from acidsql import api, bridge
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.moments import Moment, TimeMoment, TransactionMoment
from acidsql.session.as_of_block import reading_as_of


@contextmanager
def as_of(
    spark: SparkSession,
    *,
    transaction: int | None = None,
    timestamp: datetime | date | str | None = None,
) -> Iterator[None]:
    """Let all statements of a block read all ACID tables as of one moment.

    This applies to the statements that this thread runs on the session. They may only read. If a
    statement names a version of a table, it reads this version.

    Args:
        spark: the session.
        transaction: id of a transaction: the tables are read as of its commit.
        timestamp: time; a text or a local time is in the session's time zone.

    Raises:
        AcidAnalysisError: NOT_ALLOWED_AS_OF, a statement of the block writes;
            INVALID_TIME_TRAVEL_SPEC, not exactly one of ``transaction`` and ``timestamp`` was
            given. Statements that read raise the errors of ``acidsql.table``.

    >>> first = acidsql.sql(spark, "DESCRIBE HISTORY pet").orderBy("writeId").first()
    >>> with acidsql.as_of(spark, transaction=first.transactionId):
    ...     acidsql.sql(spark, "SELECT * FROM pet").collect()
    [Row(id=1, name='Rex')]
    """
    if (transaction is None) == (timestamp is None):
        raise AcidAnalysisError(
            "INVALID_TIME_TRAVEL_SPEC", "give as_of either a transaction or a timestamp"
        )
    with api.working(spark) as session:
        if timestamp is None:
            moment: Moment = TransactionMoment(txn_id=int(transaction or 0))
        else:
            text = bridge.literal_sql(spark, timestamp)
            moment = TimeMoment(microseconds=bridge.timestamp_of_text(spark, text))
    with reading_as_of(session, moment):
        yield
