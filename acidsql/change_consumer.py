"""Programs that process the changes of a table, each change exactly once.

The progress of a program is a row in ``acidsql_change_checkpoints``, a small ACID table in the
database of the source. The transaction that writes the program's results also updates this row, so
both are committed or neither is. If two runs of one program overlap, they update the same row, and
one of them loses the conflict.

The source is identified as a table, not by its name (``HeldTable``). A rename of the source has no
effect, and another table that now has its name is an error.
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
from acidsql.format.checkpoints import Checkpoint
from acidsql.progress_tables import (
    HeldTable,
    hold_table,
    make_progress_table,
    other_progress_names,
    progress_name,
)
from acidsql.session.metrics import current
from acidsql.syntax.values import literal
from acidsql.transaction_handle import TransactionHandle, transaction
from acidsql.transactions.retries import run_again_after_conflicts

logger = logging.getLogger(__name__)

CHECKPOINTS = "acidsql_change_checkpoints"
"""Name of the table that stores the checkpoints of consumers."""

_COLUMNS = (
    "consumer STRING, table_name STRING, table_id STRING, checkpoint STRING, committed TIMESTAMP"
)

Apply = Callable[[TransactionHandle, DataFrame], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Consumer:
    """Consumer of the changes of a table.

    Attributes:
        source: the table.
        name: name of the consumer.
        apply: processes changes and writes the results.
        keys: see ``change_feed.changes``.
        net: see there.
    """

    spark: SparkSession
    source: HeldTable
    name: str
    apply: Apply
    keys: str | Sequence[str] | None
    net: bool

    def commit_changes(self) -> bool:
        """Apply the changes since the checkpoint in one transaction.

        Return False only if there were no changes.
        """
        checkpoints = self._checkpoints()
        with transaction(self.spark) as txn:
            query = f"SELECT checkpoint FROM {checkpoints} WHERE {self._row_condition}"
            rows = txn.sql(query).collect()
            seen = next((row[0] for row in rows if row[0] is not None), None)
            name = self.source.sql_name
            news = changes_since(self.spark, name, seen, keys=self.keys, net=self.net)
            now = Checkpoint.from_string(news.checkpoint)
            if now.table_id != self.source.identity:
                raise self.source.changed()
            if seen is not None and Checkpoint.from_string(seen).is_same_place(now):
                txn.rollback()
                return False
            self.apply(txn, news.rows)
            txn.sql(
                f"UPDATE {checkpoints} SET checkpoint = {literal(news.checkpoint)}, "
                f"table_name = {literal(self.source.full_name)}, "
                f"committed = current_timestamp() WHERE {self._row_condition}"
            )
        return True

    def _checkpoints(self) -> str:
        """Return the name of the table with the consumer's row; create both if missing."""
        make_progress_table(self.spark, self.source, CHECKPOINTS, _COLUMNS)
        name = progress_name(self.source, CHECKPOINTS)
        if self._has_row(name, self._row_condition):
            return name
        for other in other_progress_names(self.spark, self.source, CHECKPOINTS):
            if self._has_row(other, self._row_condition):
                return other
        named = f"table_name = {literal(self.source.full_name)}"
        if self._has_row(name, f"consumer = {literal(self.name)} AND {named}"):
            raise AcidAnalysisError(
                "INVALID_CHECKPOINT",
                f"the checkpoint of consumer {self.name} is of another table that had the name "
                f"{self.source.full_name}: give the consumer another name to begin with the rows "
                f"that are there, or delete its row from {CHECKPOINTS}",
                {"tableName": self.source.full_name},
            )
        # Two consumers that begin at the same time create two rows. Each of them updates both.
        names = [self.name, self.source.full_name, self.source.identity]
        values = ", ".join(map(literal, names))
        api.sql(self.spark, f"INSERT INTO {name} VALUES ({values}, NULL, NULL)")
        return name

    @property
    def _row_condition(self) -> str:
        """Condition that selects the consumer's row."""
        identity = literal(self.source.identity)
        return f"consumer = {literal(self.name)} AND table_id = {identity}"

    def _has_row(self, name: str, condition: str) -> bool:
        query = f"SELECT 1 FROM {name} WHERE {condition} LIMIT 1"
        return bool(api.sql(self.spark, query).collect())


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

    The consumer's checkpoint is committed together with its results, so each change is applied
    exactly once, even after a failure. The first time, all existing rows are returned as inserts.

    Args:
        spark: the session.
        source: name of the table.
        apply: function of the transaction and the changes; it writes with the transaction's
            ``sql``. It is called again if the transaction loses a conflict. Its statements use the
            session's current database at that time, so they should name tables with their
            databases.
        consumer: name under which the checkpoint is stored.
        keys: see ``acidsql.changes``.
        net: see ``acidsql.changes``.

    Returns:
        False if nothing was committed since the last call.

    Raises:
        AcidAnalysisError: see ``acidsql.changes_since``; INVALID_PARAMETER_VALUE.CHANGES, the
            consumer has no name; INVALID_CHECKPOINT, its checkpoint belongs to another table that
            had this name.
        AcidAnalysisError: HELD_TABLE_CHANGED, the table was renamed, dropped or replaced meanwhile.
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
    table_consumer = _consumer(spark, source, apply, consumer, keys, net=net)
    return _consume(table_consumer)


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
    """Apply the changes of a table in a loop, as ``consume_changes`` does.

    Args:
        spark: the session.
        source: name of the table; it is looked up once.
        apply: see ``consume_changes``.
        consumer: see there.
        every: seconds until the next look for changes, if there were none.
        stop: event that ends the loop; without it, only an error or an interrupt ends the loop.
        keys: see ``acidsql.changes``.
        net: see there.

    Raises:
        AcidSqlError: see ``consume_changes``. The next call continues where this one stopped.

    >>> import threading
    >>> stop, counts = threading.Event(), []
    >>> def count(txn, changes):
    ...     counts.append(changes.count())
    ...     stop.set()
    >>> acidsql.follow_changes(spark, "pet", count, consumer="count", stop=stop)
    >>> counts
    [2]
    """
    table_consumer = _consumer(spark, source, apply, consumer, keys, net=net)
    ended = stop or threading.Event()
    while not ended.is_set():
        if _consume(table_consumer):
            logger.info("consumer %s has committed changes of %s", consumer, source)
        else:
            ended.wait(every)


def _consumer(
    spark: SparkSession,
    source: str,
    apply: Apply,
    name: str,
    keys: str | Sequence[str] | None,
    *,
    net: bool,
) -> _Consumer:
    if not name:
        raise AcidAnalysisError(
            "INVALID_PARAMETER_VALUE.CHANGES",
            f"changes of {source}: the consumer needs a name, under which its checkpoint is kept",
        )
    held = hold_table(spark, source)
    return _Consumer(spark=spark, source=held, name=name, apply=apply, keys=keys, net=net)


def _consume(consumer: _Consumer) -> bool:
    with api.working(consumer.spark) as session:
        consumer.source.check(session)
        current().origin = f"consumer {consumer.name}"
        return run_again_after_conflicts(session, consumer.commit_changes)
