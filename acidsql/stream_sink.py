"""Sink of Structured Streaming: each micro-batch is one transaction, committed exactly once.

After a crash, the sink recognises a repeated batch by the id of its query, its target and its
number. These values are a row in ``acidsql_stream_batches``, a small ACID table in the database of
the target. The transaction of the batch inserts the row. INSERTs conflict with no transaction, so
streams do not block each other, on any metastore. If two processes write the same batch at the same
time, one of them detects at its commit that the rows of its stream have changed.

The target is identified as a table, not by its name (``HeldTable``). A renamed table keeps its
batches, and another table that gets the name does not inherit them.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter

from acidsql import api, bridge
from acidsql.commands.schema_evolution import add_columns_of
from acidsql.errors import AcidAnalysisError, WriteConflictError
from acidsql.format.identifiers import folded
from acidsql.injection_points import Point, reach
from acidsql.limits import limits
from acidsql.planning.name_resolution import acid_table
from acidsql.progress_tables import (
    HeldTable,
    hold_table,
    make_progress_table,
    other_progress_names,
    progress_name,
    watched_value,
)
from acidsql.session.acid_session import AcidSession
from acidsql.session.metrics import current
from acidsql.syntax.lexer import quote
from acidsql.syntax.values import literal
from acidsql.transaction_handle import TransactionHandle, transaction
from acidsql.transactions.retries import run_again_after_conflicts

logger = logging.getLogger(__name__)

BATCHES = "acidsql_stream_batches"
"""Name of the table that records the committed batches."""

_COLUMNS = (
    "query_id STRING, table_name STRING, table_id STRING, batch_id BIGINT, committed TIMESTAMP"
)
_MODES = ("append", "merge", "complete")
_DELETED, _POSITION = "__acidsql_deleted", "__acidsql_position"
# Local property with the id of a query; the query's checkpoint stores the id.
_QUERY_ID = "sql.streaming.queryId"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """Function for ``foreachBatch``; made by ``acidsql.sink``.

    Attributes:
        spark: session that runs the statements of all batches.
        target: the table that the batches are written to.
        mode: how a batch is written: ``append``, ``merge`` or ``complete``.
        on: key columns of ``merge``.
        order_by: column of the batch. For each key, the row with the highest value is used.
        delete_when: condition on the batch's columns: these rows delete their key.
        app_id: name of the stream; by default the id of its query.
        exactly_once: whether repeated batches are recognised.
        merge_schema: whether the target gets the additional columns of batches.

    >>> acidsql.sink("pet", app_id="pets").mode
    'append'
    """

    spark: SparkSession
    target: HeldTable
    mode: str
    on: tuple[str, ...]
    order_by: str | None
    delete_when: str | None
    app_id: str | None
    exactly_once: bool
    merge_schema: bool = False

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        """Write a batch in one transaction, unless it was committed before.

        Args:
            batch: rows of the batch, in a session that Spark created for it.
            batch_id: number of the batch; numbers increase within a query.

        Raises:
            AcidSqlError: see ``acidsql.sql``; the stream ends, and repeats the batch when it
                restarts. HELD_TABLE_CHANGED, the target was renamed, dropped or replaced.
        """
        stream = self.app_id or batch.sparkSession.sparkContext.getLocalProperty(_QUERY_ID)
        if self.exactly_once and not stream:
            raise AcidAnalysisError(
                "INVALID_PARAMETER_VALUE.SINK",
                "the batch is not of a streaming query, so a repetition could not be detected: "
                "use the sink with foreachBatch, or name the stream by app_id",
            )
        rows = bridge.frame_in(self.spark, batch).persist()
        try:
            with api.working(self.spark) as session:
                self.target.check(session)
                current().origin = f"batch {batch_id} of " + (
                    f"stream {stream}" if stream else "a stream"
                )
                if self.merge_schema:
                    self._add_columns(session, rows)
                if self.exactly_once:
                    make_progress_table(self.spark, self.target, BATCHES, _COLUMNS)
                run_again_after_conflicts(
                    session, lambda: self._commit(session, rows, stream, batch_id)
                )
        finally:
            rows.unpersist()
        if self.exactly_once and batch_id and batch_id % limits().kept_batches == 0:
            self._forget(str(stream), batch_id - limits().kept_batches)

    def _add_columns(self, session: AcidSession, rows: DataFrame) -> None:
        """Add a batch's additional columns to the target, before the batch is written."""
        name = bridge.parse_name(self.spark, self.target.sql_name)
        add_columns_of(session, acid_table(session, name), rows.schema)

    def _commit(
        self, session: AcidSession, rows: DataFrame, stream: str | None, batch_id: int
    ) -> None:
        """Write the rows and the number of the batch in one transaction."""
        with transaction(self.spark) as txn:
            if self.exactly_once:
                batches, newest = self._newest(str(stream))
                if newest is not None and newest >= batch_id:
                    logger.warning(
                        "batch %s of stream %s is left out: %s has its batches up to %s already",
                        batch_id,
                        stream,
                        self.target.full_name,
                        newest,
                    )
                    txn.rollback()
                    return
                self._write(txn, rows)
                names = [str(stream), self.target.full_name, self.target.identity]
                values = ", ".join(map(literal, names))
                txn.sql(
                    f"INSERT INTO {batches} VALUES ({values}, {int(batch_id)}, current_timestamp())"
                )
            else:
                self._write(txn, rows)
            # The write's lock prevents other tables from taking the name from here on.
            self.target.check(session)

    def _newest(self, stream: str) -> tuple[str, int | None]:
        """Return the table with the batches of a stream, and the number of the newest batch.

        If another process with the same checkpoint commits a batch first, this transaction is
        aborted.
        """
        batches = progress_name(self.target, BATCHES)
        newest = self._newest_in(batches, stream)
        if newest is None:
            for other in other_progress_names(self.spark, self.target, BATCHES):
                epoch = self._newest_in(other, stream)
                if epoch is not None:
                    return other, epoch
        return batches, newest

    def _newest_in(self, batches: str, stream: str) -> int | None:
        query = f"SELECT max(batch_id) FROM {batches} WHERE {self._batch_condition(stream)}"
        newest: int | None = watched_value(self.spark, query)
        return newest

    def _write(self, txn: TransactionHandle, rows: DataFrame) -> None:
        reach(Point.BEFORE_BATCH, self)
        if self.mode == "merge":
            self._merge(txn, rows)
            return
        if self.mode == "complete":
            txn.sql(f"DELETE FROM {self.target.sql_name}")
        txn.sql(f"INSERT INTO {self.target.sql_name} BY NAME SELECT * FROM {{rows}}", rows=rows)

    def _merge(self, txn: TransactionHandle, rows: DataFrame) -> None:
        """Merge the newest row of each key into the target."""
        changes = rows
        if self.order_by is not None:
            of_key = Window.partitionBy(*self.on).orderBy(F.col(self.order_by).desc_nulls_last())
            numbered = changes.withColumn(_POSITION, F.row_number().over(of_key))
            changes = numbered.where(f"{_POSITION} = 1").drop(_POSITION)
        deletes = F.lit(False)
        if self.delete_when is not None:
            deletes = F.coalesce(F.expr(self.delete_when), F.lit(False))
        changes = changes.withColumn(_DELETED, deletes)
        given = {folded(name): name for name in rows.columns}
        named = [name for name in txn.table(self.target.sql_name).columns if folded(name) in given]
        sources = [f"s.{quote(given[folded(name)])}" for name in named]
        keys = {folded(key) for key in self.on}
        others = [pair for pair in zip(named, sources, strict=True) if folded(pair[0]) not in keys]
        matches = " AND ".join(f"t.{quote(key)} = s.{quote(key)}" for key in self.on)
        values = ", ".join(f"t.{quote(name)} = {source}" for name, source in others)
        update = f"WHEN MATCHED THEN UPDATE SET {values} " if others else ""
        delete = f"WHEN MATCHED AND s.{_DELETED} THEN DELETE " if self.delete_when else ""
        txn.sql(
            f"MERGE INTO {self.target.sql_name} AS t USING {{changes}} AS s ON {matches} "
            f"{delete}{update}"
            f"WHEN NOT MATCHED AND NOT s.{_DELETED} THEN INSERT "
            f"({', '.join(map(quote, named))}) VALUES ({', '.join(sources)})",
            changes=changes,
        )

    def _forget(self, stream: str, below: int) -> None:
        """Delete the records of batches that are never repeated; a conflict may prevent it."""
        old = f"{self._batch_condition(stream)} AND batch_id < {below}"
        places = other_progress_names(self.spark, self.target, BATCHES)
        try:
            for batches in (progress_name(self.target, BATCHES), *places):
                api.sql(self.spark, f"DELETE FROM {batches} WHERE {old}")
        except WriteConflictError as error:
            logger.info("old batches of stream %s stay for now: %s", stream, error)

    def _batch_condition(self, stream: str) -> str:
        """Return the condition that selects a stream's batches in the target."""
        identity = literal(self.target.identity)
        return f"query_id = {literal(stream)} AND table_id = {identity}"


def sink(  # noqa: PLR0913 - options have names
    table: str,
    *,
    mode: str = "append",
    on: str | Sequence[str] = (),
    order_by: str | None = None,
    delete_when: str | None = None,
    app_id: str | None = None,
    exactly_once: bool = True,
    merge_schema: bool = False,
    spark: SparkSession | None = None,
) -> Sink:
    """Return a function for ``foreachBatch`` that writes each batch to an ACID table.

    Each batch is one transaction. If the stream restarts after a crash at any point, the sink
    recognises the batch that Spark repeats, and skips it.

    Args:
        table: the target, as in SQL. It is looked up now. If another table gets the name later, or
            the current database changes, the target stays the same.
        mode: ``append`` inserts the rows; ``merge`` updates, deletes and inserts rows by their key;
            ``complete`` replaces all rows, for the output mode of the same name.
        on: key columns of ``merge``.
        order_by: for ``merge``: a column of the batch. If a key has several changes, the change
            with the highest value is used. Without it, a second change of a key is an error.
        delete_when: for ``merge``: a condition on columns of the batch. Rows for which it is true
            delete their key. Columns of the batch that the table does not have are not written.
        app_id: name of the stream; by default the id of its query, which lasts as long as its
            checkpoint.
        exactly_once: False writes repeated batches again, and records no batches.
        merge_schema: True adds the additional columns of a batch to the table before the batch is
            written.
        spark: session that writes the batches; by default the active session.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE.SINK, an option does not fit the mode;
            NOT_A_TRANSACTIONAL_TABLE, EXPECT_TABLE_NOT_VIEW.
        AcidLookupError: TABLE_OR_VIEW_NOT_FOUND.

    >>> names = ["id", "name", "n"]
    >>> changes = spark.createDataFrame([(2, "Felix", 5), (2, "Tim", 4)], names)
    >>> write = acidsql.sink("pet", mode="merge", on="id", order_by="n", app_id="pets")
    >>> write(changes, 0)
    >>> write(changes, 0)  # a repeated batch
    >>> acidsql.sql(spark, "SELECT row__id.writeid, * FROM pet WHERE id = 2").collect()
    [Row(writeid=3, id=2, name='Felix')]
    """
    keys = (on,) if isinstance(on, str) else tuple(on)
    if mode not in _MODES:
        raise _invalid(f"mode is {mode!r}: use one of {', '.join(_MODES)}")
    if mode == "merge" and not keys:
        raise _invalid("mode is 'merge' and there is no key: name its columns by on=")
    if mode != "merge" and (keys or order_by or delete_when):
        raise _invalid(f"on, order_by and delete_when are of mode 'merge', not of {mode!r}")
    session = spark or SparkSession.active()
    return Sink(
        spark=session,
        target=hold_table(session, table),
        mode=mode,
        on=keys,
        order_by=order_by,
        delete_when=delete_when,
        app_id=app_id,
        exactly_once=exactly_once,
        merge_schema=merge_schema,
    )


def write_stream(frame: DataFrame, table: str, checkpoint: str, **options: Any) -> DataStreamWriter:
    """Return a stream writer that writes a streaming DataFrame to an ACID table.

    The caller has to start it.

    Args:
        frame: the streaming DataFrame.
        table: the target, as in SQL.
        checkpoint: directory of the query's checkpoint.
        **options: options of ``sink``.

    >>> born = spark.readStream.format("rate").load().selectExpr("CAST(value AS INT) AS id")
    >>> writer = acidsql.write_stream(born, "pet", "checkpoint").trigger(availableNow=True)
    >>> writer.start().awaitTermination()
    """
    write = sink(table, **{"spark": frame.sparkSession, **options})
    kind = {"append": "append", "merge": "update", "complete": "complete"}[write.mode]
    return (
        frame.writeStream.foreachBatch(write)
        .outputMode(kind)
        .option("checkpointLocation", checkpoint)
    )


def _invalid(message: str) -> AcidAnalysisError:
    return AcidAnalysisError("INVALID_PARAMETER_VALUE.SINK", message)
