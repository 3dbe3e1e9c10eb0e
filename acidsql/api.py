"""Public functions of acidsql.

Their examples run with ``spark``, a session, and a table ``pet (id INT, name STRING)`` with two
rows, Rex and Tom, inserted one after the other.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.sql_formatter import SQLStringFormatter

from acidsql import bridge, dialects
from acidsql.commands import dispatch
from acidsql.compaction import background, cleaner, worker
from acidsql.compaction.rounds import Maintenance, run_round
from acidsql.deferred_signals import DeferredSignals, Interruptible
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore.model import WorkerLimits
from acidsql.planning.as_of import query_of_table
from acidsql.planning.deleted_rows import FETCH_DELETED_ROWS, with_read_options
from acidsql.planning.name_resolution import acid_table
from acidsql.planning.parsed_statement import parse_and_resolve
from acidsql.planning.statement_snapshots import leased_snapshot
from acidsql.session.acid_session import AcidSession
from acidsql.session.as_of_block import refuse_in_block
from acidsql.session.at_work import at_work
from acidsql.session.metrics import StatementMetrics, current, metrics_of, recorded
from acidsql.session.process import check_process, check_session
from acidsql.syntax import bind
from acidsql.transactions.current import refuse_in_transaction
from acidsql.transactions.retries import run_again_after_conflicts


def sql(
    spark: SparkSession,
    text: str,
    args: Mapping[str, Any] | Sequence[Any] | None = None,
    *,
    dialect: str = "spark",
    **frames: Any,
) -> DataFrame:
    """Run a SQL statement, as ``spark.sql`` does, with Hive ACID tables in it.

    A statement that writes runs immediately and returns one row of counts. A query returns a
    DataFrame over one snapshot of all its ACID tables.

    Args:
        spark: the session.
        text: one statement.
        args: values of parameter markers: a mapping for ``:name``, a sequence for ``?``.
        dialect: dialect of the text: ``spark``, ``hive`` or ``trino``. In the last two, expressions
            that would return other rows in Spark are rewritten or refused.
        **frames: DataFrames, columns and values that the text names in braces, as ``{source}``.

    Raises:
        AcidSqlError: see ``acidsql.errors``. Errors of expressions are those of Spark.

    >>> acidsql.sql(spark, "UPDATE pet SET name = :name WHERE id = 2", {"name": "Felix"}).collect()
    [Row(num_affected_rows=1, num_updated_rows=1)]
    >>> born = spark.createDataFrame([(3, "Kim")], "id INT, name STRING")
    >>> acidsql.sql(spark, "INSERT INTO pet SELECT * FROM {born}", born=born).collect()
    [Row(num_affected_rows=1, num_inserted_rows=1)]
    >>> acidsql.sql(spark, "SELECT row__id.writeid, * FROM pet ORDER BY id").show()
    +-------+---+-----+
    |writeid| id| name|
    +-------+---+-----+
    |      1|  1|  Rex|
    |      3|  2|Felix|
    |      4|  3|  Kim|
    +-------+---+-----+
    >>> acidsql.sql(spark, "SELECT greatest(1, NULL) AS g", dialect="hive").collect()
    [Row(g=None)]
    """
    if dialect == "spark":
        return run(spark, text, args, frames)
    return _run_translated(spark, text, args, frames, dialect)


def _run_translated(
    spark: SparkSession,
    text: str,
    args: Mapping[str, Any] | Sequence[Any] | None,
    frames: Mapping[str, Any],
    dialect: str,
) -> DataFrame:
    """Run a statement of another dialect."""
    dialects.check_dialect(dialect)
    with working(spark):
        text = bridge.substitute_variables(spark, text)
        statement = dialects.translate(
            _named_frames(text, frames), dialect, lambda key: spark.conf.get(key, None)
        )
        for warning in statement.warnings:
            warnings.warn(warning, UserWarning, stacklevel=3)
        with bridge.statement_settings(spark, statement.settings):
            return run(spark, _braced_frames(statement.text, frames), args, frames)


_FRAME = "acidsql_frame_{}"


def _named_frames(text: str, frames: Mapping[str, Any]) -> str:
    """Replace ``{source}`` by names, because other dialects do not have this syntax."""
    for name in frames:
        text = text.replace(f"{{{name}}}", _FRAME.format(name))
    return text


def _braced_frames(text: str, frames: Mapping[str, Any]) -> str:
    """Restore the braces around the names."""
    for name in frames:
        text = text.replace(_FRAME.format(name), f"{{{name}}}")
    return text


def run(
    spark: SparkSession,
    text: str,
    args: Mapping[str, Any] | Sequence[Any] | None,
    frames: Mapping[str, Any],
    on_spark: Callable[[], DataFrame] | None = None,
) -> DataFrame:
    """Run a statement as ``sql`` does.

    Args:
        on_spark: runs a statement without ACID tables; by default Spark gets its text with the
            values of all arguments.
    """
    check_session(spark)
    formatter = SQLStringFormatter(spark)
    with working(spark) as session:
        try:
            if frames:
                text = formatter.format(text, **frames)
                current().frames.update(_names_by_view(formatter, frames))
            bound = bind(text, literals(spark, args))
            frame = run_again_after_conflicts(
                session,
                lambda: dispatch.run(session, bound, on_spark),
                [value for value in frames.values() if isinstance(value, DataFrame)],
            )
            current().result = frame
            return frame
        finally:
            formatter.clear()


def _names_by_view(formatter: SQLStringFormatter, frames: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of a statement's DataFrames, by the views that PySpark made for them."""
    return {
        view: name
        for frame, view in formatter._temp_views
        for name, value in frames.items()
        if value is frame
    }


@contextmanager
def working(spark: SparkSession) -> Iterator[AcidSession]:
    """Let acidsql work for a Spark session during a block, and yield its ``AcidSession``.

    The first signal with a handler that raises interrupts the block. Other signals wait for its
    end.
    """
    check_process(spark)
    with (
        recorded(),
        DeferredSignals(),
        Interruptible(),
        at_work(),
        bridge.active(spark),
        bridge.without_plans(spark),
        AcidSession.using(spark) as session,
    ):
        try:
            yield session
        finally:
            background.notice(session)


def literals(
    spark: SparkSession, args: Mapping[str, Any] | Sequence[Any] | None
) -> Mapping[str, str] | Sequence[str] | None:
    """Return parameter values as SQL text."""
    if args is None:
        return None
    if isinstance(args, Mapping):
        return {name: bridge.literal_sql(spark, value) for name, value in args.items()}
    return [bridge.literal_sql(spark, value) for value in args]


def table(
    spark: SparkSession,
    name: str,
    *,
    version: int | str | None = None,
    timestamp: datetime | date | str | None = None,
    valid_write_ids: str | None = None,
    valid_txns: str | None = None,
    deleted_rows: bool = False,
) -> DataFrame:
    """Return the rows of a table or view.

    By default these are the current rows. The arguments select an earlier version or time, or a
    snapshot of another metastore.

    Args:
        spark: the session.
        name: name as in SQL: ``t``, ``db.t``, with backticks where needed.
        version: write id of the version (``VERSION AS OF``), ``txn 17`` for the state after
            transaction 17, or the name of a tag.
        timestamp: time at which the version was the newest (``TIMESTAMP AS OF``). A text or a local
            time is in the session's time zone.
        valid_write_ids: the table's valid write ids in Hive's form,
            ``db.t:hwm:minOpen:open,…:aborted,…``; by default the metastore's. Use it for a table
            that was copied from a place with other transactions.
        valid_txns: the valid transactions in Hive's form, ``hwm:minOpen:open,…:aborted,…``, which
            determine the visible directories of compactions; by default the metastore's.
        deleted_rows: whether to return deleted rows too, unless a compaction has removed them.
            ``row__is__deleted`` is true for them, and ``row__id`` contains the write id that
            deleted them, as in Hive (acid.fetch.deleted.rows). An updated row appears as a deleted
            row and a new row.

    Raises:
        AcidSqlError: see ``sql``; with ``deleted_rows``, UNSUPPORTED_FEATURE.DELETED_ROWS.
        FormatError: INVALID_SNAPSHOT_TEXT, a list does not have Hive's form.
        AcidAnalysisError: VERSION_NOT_FOUND, HISTORY_NOT_AVAILABLE, VERSION_HAS_OTHER_COLUMNS;
            INVALID_TIME_TRAVEL_SPEC, two of these arguments were given.

    >>> acidsql.table(spark, "pet").where("id = 1").collect()
    [Row(id=1, name='Rex')]
    >>> acidsql.table(spark, "pet", version=1).collect()
    [Row(id=1, name='Rex')]

    With a snapshot that sees no write id above 0:

    >>> seen = f"{spark.catalog.currentDatabase()}.pet:0:9223372036854775807::"
    >>> acidsql.table(spark, "pet", valid_write_ids=seen).count()
    0

    With the row that a DELETE has removed:

    >>> deleted = acidsql.sql(spark, "DELETE FROM pet WHERE id = 2")
    >>> pets = acidsql.table(spark, "pet", deleted_rows=True)
    >>> pets.where("row__is__deleted").select("name", "row__id.writeid").collect()
    [Row(name='Tom', writeid=3)]
    """
    check_session(spark)
    parts = bridge.parse_name(spark, name)
    is_listed = valid_write_ids is not None or valid_txns is not None
    text = query_of_table(spark, parts, version, timestamp, is_listed=is_listed)
    if not is_listed and not deleted_rows:
        return sql(spark, text)
    with working(spark) as session, leased_snapshot(session) as snapshot:
        if is_listed:
            refuse_in_block(session, "a list of valid ids")
            wanted = acid_table(session, parts)
            txns = snapshot.txns if valid_txns is None else ValidTxnList.from_string(valid_txns)
            if valid_write_ids is None:
                seen = session.metastore.valid_write_ids(wanted.database, wanted.name, txns)
            else:
                seen = ValidWriteIdList.from_string(valid_write_ids)
            snapshot.lists[wanted.full_name] = seen, txns
        statement = parse_and_resolve(session, text)
        if deleted_rows:
            options = {FETCH_DELETED_ROWS: "true"}
            tables = {
                parts: with_read_options(one, options) for parts, one in statement.tables.items()
            }
            statement = replace(statement, tables=tables)
        frame = snapshot.run(statement)
        current().result = frame
        return frame


def metrics(frame: DataFrame) -> StatementMetrics | None:
    """Return the metrics of the statement that returned a DataFrame.

    Each statement also writes a record at level INFO to the logger ``acidsql.metrics``, with the
    metrics as fields.

    Args:
        frame: a DataFrame that ``sql``, ``table`` or a method of ``AcidTable`` returned. DataFrames
            derived from it have no metrics.

    Returns:
        The metrics; None if the statement contained no ACID tables.

    >>> work = acidsql.metrics(acidsql.sql(spark, "DELETE FROM pet WHERE id = 1"))
    >>> work.operation, work.rows_deleted, work.files_written
    ('DELETE', 1, 1)
    """
    return metrics_of(frame)


def location(spark: SparkSession, name: str) -> str:
    """Return the directory of an ACID table, as a qualified path.

    Raises:
        AcidAnalysisError: the table does not exist, or it is not transactional.

    >>> acidsql.location(spark, "pet")
    'file:/.../pet'
    """
    with working(spark) as session:
        return acid_table(session, bridge.parse_name(spark, name)).location


def release(spark: SparkSession) -> None:
    """End the leases of all DataFrames returned so far, so that cleaners may remove their files.

    >>> before = acidsql.table(spark, "pet")
    >>> acidsql.release(spark)  # and do not read it any more
    >>> done = acidsql.sql(spark, "ALTER TABLE pet COMPACT 'major' AND WAIT")
    >>> [row.state for row in done.collect()]
    ['succeeded']
    """
    AcidSession.of(spark).leases.release()


def run_compaction(spark: SparkSession) -> int | None:
    """Run the oldest queued compaction that is not reserved for a worker, in this session.

    On a Hive Metastore 4 these are the compactions that Hive or its initiator requested. A loop as
    in the example does the work of Hive's compactor worker. Hive 3.1 does not let other programs
    run its compactions. ``ALTER TABLE … COMPACT`` runs its own compaction immediately.

    Returns:
        The id of the compaction in ``SHOW COMPACTIONS``; None if the queue has none to run.

    Raises:
        AcidSqlError: the compaction failed; the queue records the error too.

    >>> while (compaction_id := acidsql.run_compaction(spark)) is not None:
    ...     print("compaction", compaction_id, "is done")
    """
    with working(spark) as session:
        refuse_in_transaction(session, "a compaction")
        return worker.run_next(session)


def maintenance(
    spark: SparkSession,
    *,
    database: str | None = None,
    pool: str | None = None,
    max_bytes: int | None = None,
) -> Maintenance:
    """Maintain tables: request the compactions that they need, run them, and clean up.

    The size and number of a table's deltas determine its compactions. Cleaning removes obsolete
    directories. A session maintains tables after its writes (``spark.acidsql.compaction.auto``),
    and ``acidsql maintain`` does so periodically.

    Args:
        spark: the session.
        database: the only database to maintain; by default all databases.
        pool: pool of the compactions to run; by default those without a pool.
        max_bytes: size of the largest compaction to run; by default there is no limit.

    Returns:
        The ids in ``SHOW COMPACTIONS`` of the requested, compacted, failed and cleaned compactions.

    >>> acidsql.maintenance(spark)
    Maintenance(requested=(), compacted=(), failed=(), cleaned=())
    """
    with working(spark) as session:
        refuse_in_transaction(session, "maintenance")
        return run_round(session, WorkerLimits(pool=pool, most_bytes=max_bytes), database)


def run_cleaner(spark: SparkSession) -> list[int]:
    """Remove directories that compactions made obsolete and that no open transaction may read.

    ``ALTER TABLE … COMPACT`` does so too. A Hive Metastore also runs Hive's cleaner, unless
    ``hive.compactor.cleaner.on`` is false. Hive's cleaner does not remove the staging directories
    of killed writers; this function does, in the tables that ``SHOW COMPACTIONS`` lists.

    Returns:
        The ids of the compactions with removed directories; ``SHOW COMPACTIONS`` then lists these
        compactions as ``succeeded``.

    >>> before = acidsql.table(spark, "pet")
    >>> [row.state for row in acidsql.sql(spark, "ALTER TABLE pet COMPACT 'major'").collect()]
    ['ready for cleaning']
    >>> before.count()  # the directories of its snapshot are still there
    2
    >>> acidsql.release(spark)
    >>> len(acidsql.run_cleaner(spark))
    1
    """
    with working(spark) as session:
        refuse_in_transaction(session, "the cleaner")
        return cleaner.clean(session)
