"""Programs that work through the changes of a table, each change once.

How far a program has come is a row of a small ACID table in the database of the source,
``acidsql_change_checkpoints``. It is updated in the transaction that writes what the program makes
of the changes, so that both are there or neither. Two runs of one program update the same row, and
one of them loses the conflict.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from acidsql import api
from acidsql.change_feed import changes_since
from acidsql.errors import AcidAnalysisError
from acidsql.progress_tables import progress_table
from acidsql.syntax.values import literal
from acidsql.transaction_handle import TransactionHandle, transaction
from acidsql.transactions.retries import run_again_after_conflicts

logger = logging.getLogger(__name__)

CHECKPOINTS = "acidsql_change_checkpoints"
"""Table of the checkpoints of consumers."""

Apply = Callable[[TransactionHandle, DataFrame], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Consumer:
    """Consumer of the changes of a table.

    Attributes:
        source: name of the table.
        name: of the consumer.
        apply: writes what is made of changes.
        keys: see ``change_feed.changes``.
        net: see there.
    """

    spark: SparkSession
    source: str
    name: str
    apply: Apply
    keys: str | Sequence[str] | None
    net: bool

    def commit_changes(self) -> bool:
        """Apply the changes since the checkpoint in one transaction; return whether there may have
        been any.
        """
        checkpoints, own = self._checkpoints()
        with transaction(self.spark) as txn:
            found = txn.sql(f"SELECT checkpoint FROM {checkpoints} WHERE {own}").collect()
            seen = next((row[0] for row in found if row[0] is not None), None)
            news = changes_since(self.spark, self.source, seen, keys=self.keys, net=self.net)
            if news.checkpoint == seen:
                txn.rollback()
                return False
            self.apply(txn, news.rows)
            txn.sql(
                f"UPDATE {checkpoints} SET checkpoint = {literal(news.checkpoint)}, "
                f"committed = current_timestamp() WHERE {own}"
            )
        return True

    def _checkpoints(self) -> tuple[str, str]:
        """Return the name of the table of checkpoints, and the condition for the consumer's row;
        both are made if they are missing.
        """
        columns = "consumer STRING, table_name STRING, checkpoint STRING, committed TIMESTAMP"
        name, source = progress_table(self.spark, self.source, CHECKPOINTS, columns)
        of = [literal(self.name), literal(source.full_name)]
        own = f"consumer = {of[0]} AND table_name = {of[1]}"
        if not api.sql(self.spark, f"SELECT 1 FROM {name} WHERE {own}").collect():
            # Two that begin at once make two rows, both of which each of them updates.
            api.sql(self.spark, f"INSERT INTO {name} VALUES ({', '.join(of)}, NULL, NULL)")
        return name, own


def consume_changes(
    spark: SparkSession,
    source: str,
    apply: Apply,
    *,
    consumer: str,
    keys: str | Sequence[str] | None = None,
    net: bool = False,
) -> bool:
    """Apply the changes of a table that a consumer has not seen yet, in one transaction.

    How far it has come is committed with what it writes, so each change is applied once, whatever
    fails in between. The first time, all rows that are there come as inserts.

    Args:
        spark: the session.
        source: name of the table.
        apply: is given the transaction, whose ``sql`` it writes with, and the changes. It is called
            again if the transaction loses a conflict.
        consumer: name under which the checkpoint is kept.
        keys: see ``acidsql.changes``.
        net: see ``acidsql.changes``.

    Returns:
        False if nothing was committed since the last time.

    Raises:
        AcidAnalysisError: those of ``acidsql.changes_since``; INVALID_PARAMETER_VALUE.CHANGES, the
            consumer has no name.
        WriteConflictError: CONCURRENT_WRITE.

    >>> made = acidsql.sql(
    ...     spark, "CREATE TABLE names STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
    ...     " AS SELECT name FROM pet WHERE false"
    ... )
    >>> def keep(txn, changes):
    ...     new = changes.where("_change_type = 'insert'").select("name")
    ...     txn.sql("INSERT INTO names SELECT * FROM {new}", new=new)
    >>> acidsql.consume_changes(spark, "pet", keep, consumer="names")
    True
    >>> acidsql.consume_changes(spark, "pet", keep, consumer="names")
    False
    >>> acidsql.table(spark, "names").count()
    2
    """
    if not consumer:
        raise AcidAnalysisError(
            "INVALID_PARAMETER_VALUE.CHANGES",
            f"changes of {source}: the consumer needs a name, under which its checkpoint is kept",
        )
    own = _Consumer(spark=spark, source=source, name=consumer, apply=apply, keys=keys, net=net)
    with api.working(spark) as session:
        return run_again_after_conflicts(session, own.commit_changes)


def follow_changes(
    spark: SparkSession,
    source: str,
    apply: Apply,
    *,
    consumer: str,
    every: float = 10.0,
    stop: threading.Event | None = None,
    keys: str | Sequence[str] | None = None,
    net: bool = False,
) -> None:
    """Apply the changes of a table again and again, as ``consume_changes`` does.

    Args:
        spark: the session.
        source: name of the table.
        apply: see ``consume_changes``.
        consumer: see there.
        every: seconds from one look at the table to the next, if there was nothing.
        stop: ends the loop when it is set; without it only an error or an interrupt does.
        keys: see ``acidsql.changes``.
        net: see there.

    Raises:
        AcidSqlError: see ``consume_changes``. The next call goes on where this one has stopped.

    >>> import threading
    >>> stop, counts = threading.Event(), []
    >>> def count(txn, changes):
    ...     counts.append(changes.count())
    ...     stop.set()
    >>> acidsql.follow_changes(spark, "pet", count, consumer="count", stop=stop)
    >>> counts
    [2]
    """
    ended = stop or threading.Event()
    while not ended.is_set():
        if consume_changes(spark, source, apply, consumer=consumer, keys=keys, net=net):
            logger.info("consumer %s has committed changes of %s", consumer, source)
        else:
            ended.wait(every)
