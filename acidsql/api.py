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
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore.model import WorkerLimits
from acidsql.planning.as_of import query_of_table
from acidsql.planning.deleted_rows import FETCH_DELETED_ROWS, as_asked
from acidsql.planning.name_resolution import acid_table
from acidsql.planning.parsed_statement import parse_and_resolve
from acidsql.planning.statement_snapshots import leased_snapshot
from acidsql.session.acid_session import AcidSession
from acidsql.session.as_of_block import refuse_in_block
from acidsql.session.metrics import StatementMetrics, current, metrics_of, recorded
from acidsql.session.process import check_session
from acidsql.session.working import at_work_for
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

    Statements that write run at once and return one row of counts; a query returns a DataFrame over
    one snapshot of all its ACID tables.

    Args:
        spark: the session.
        text: one statement.
        args: values of parameter markers: a mapping for ``:name``, a sequence for ``?``.
        dialect: the dialect of the text: ``spark``, ``hive`` or ``trino``. Of the last two, what
            would give other rows in Spark is edited or refused.
        **frames: DataFrames, columns and values that the text names in braces, as ``{source}``.

    Raises:
        AcidSqlError: see ``acidsql.errors``. Errors of expressions are Spark's own.

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
    """Put names in the places of ``{source}``, which other dialects do not know."""
    for name in frames:
        text = text.replace(f"{{{name}}}", _FRAME.format(name))
    return text


def _braced_frames(text: str, frames: Mapping[str, Any]) -> str:
    """Put braces around the names again."""
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
        on_spark: runs a statement that has no ACID tables in it; by default Spark is handed its
            text with the values of all arguments.
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
    """Return the names of the DataFrames of a statement by the views that PySpark made of them."""
    return {
        view: name
        for frame, view in formatter._temp_views
        for name, value in frames.items()
        if value is frame
    }


@contextmanager
def working(spark: SparkSession) -> Iterator[AcidSession]:
    """Let acidsql work for a Spark session during a block, and yield its ``AcidSession``.

    The first signal whose handler raises interrupts it; others wait until it has ended.
    """
    with recorded(), at_work_for(spark) as session:
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
    """Return the rows of a table or view, as of now, of an earlier version or time, or as a
    snapshot from elsewhere shows them.

    Args:
        spark: the session.
        name: as in SQL: ``t``, ``db.t``, with backticks where needed.
        version: write id of the version (``VERSION AS OF``), ``txn 17`` for what transaction 17
            left, or the name of a tag.
        timestamp: time at which the version was the newest (``TIMESTAMP AS OF``). A text or a local
            time is one of the session's time zone.
        valid_write_ids: the table's valid write ids in Hive's form,
            ``db.t:hwm:minOpen:open,…:aborted,…``. By default they are those of the metastore. This
            is for a table that was copied from a place where other transactions are known.
        valid_txns: the valid transactions in Hive's form, ``hwm:minOpen:open,…:aborted,…``, which
            decide on the directories of compactions. By default they are those of the metastore.
        deleted_rows: whether to return deleted rows too, unless a compaction has removed them.
            ``row__is__deleted`` is true for them, and ``row__id`` contains the write id that
            deleted them, as in Hive (acid.fetch.deleted.rows). An updated row is a deleted one and
            a new one.

    Raises:
        AcidSqlError: see ``sql``; of deleted rows, UNSUPPORTED_FEATURE.DELETED_ROWS.
        FormatError: INVALID_SNAPSHOT_TEXT, a list is not of its form.
        AcidAnalysisError: VERSION_NOT_FOUND, HISTORY_NOT_AVAILABLE, VERSION_HAS_OTHER_COLUMNS;
            INVALID_TIME_TRAVEL_SPEC, two of these were given.

    >>> acidsql.table(spark, "pet").where("id = 1").collect()
    [Row(id=1, name='Rex')]
    >>> acidsql.table(spark, "pet", version=1).collect()
    [Row(id=1, name='Rex')]

    As a snapshot that has seen no write id above 0 shows it:

    >>> seen = f"{spark.catalog.currentDatabase()}.pet:0:9223372036854775807::"
    >>> acidsql.table(spark, "pet", valid_write_ids=seen).count()
    0

    With the row that a DELETE has taken away:

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
        found = parse_and_resolve(session, text)
        if deleted_rows:
            asked = {FETCH_DELETED_ROWS: "true"}
            tables = {parts: as_asked(one, asked) for parts, one in found.tables.items()}
            found = replace(found, tables=tables)
        frame = snapshot.run(found)
        current().result = frame
        return frame


def metrics(frame: DataFrame) -> StatementMetrics | None:
    """Return the metrics of the statement that returned a DataFrame.

    Each statement is also a record of the logger ``acidsql.metrics`` at level INFO, which has the
    metrics as fields.

    Args:
        frame: as ``sql``, ``table`` or a method of ``AcidTable`` returned it. DataFrames that are
            made of it have no metrics.

    Returns:
        None if the statement had no ACID tables in it.

    >>> found = acidsql.metrics(acidsql.sql(spark, "DELETE FROM pet WHERE id = 1"))
    >>> found.operation, found.rows_deleted, found.files_written
    ('DELETE', 1, 1)
    """
    return metrics_of(frame)


def location(spark: SparkSession, name: str) -> str:
    """Return the directory of an ACID table, as a qualified path.

    Raises:
        AcidAnalysisError: there is no such table, or it is not transactional.

    >>> acidsql.location(spark, "pet")
    'file:/.../pet'
    """
    with working(spark) as session:
        return acid_table(session, bridge.parse_name(spark, name)).location


def release(spark: SparkSession) -> None:
    """End the leases of all DataFrames returned so far: compaction may remove the
    files that they read.

    >>> before = acidsql.table(spark, "pet")
    >>> acidsql.release(spark)  # and do not read it any more
    >>> done = acidsql.sql(spark, "ALTER TABLE pet COMPACT 'major' AND WAIT")
    >>> [row.state for row in done.collect()]
    ['succeeded']
    """
    AcidSession.of(spark).leases.release()


def run_compaction(spark: SparkSession) -> int | None:
    """Run the oldest compaction in the queue that is not reserved for a worker, in this session.

    On a Hive Metastore 4 these are the compactions that Hive or its initiator requested: a loop as
    in the example does the work of Hive's compactor worker. Hive 3.1 leaves none to others.
    ``ALTER TABLE … COMPACT`` runs its own compaction at once.

    Returns:
        Its id in ``SHOW COMPACTIONS``; None if there is no such compaction.

    Raises:
        AcidSqlError: the compaction failed; the queue has the error as well.

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
    """Do what tables need: request compactions by their size and number of deltas, do them, and
    remove old directories.

    Sessions do it by themselves after their writes (``spark.acidsql.compaction.auto``), and
    ``acidsql maintain`` from time to time.

    Args:
        spark: the session.
        database: the only one whose tables are looked at and cleaned.
        pool: whose compactions are done; by default those of no pool.
        max_bytes: the largest compaction that is done; by default there is no limit.

    Returns:
        The ids in ``SHOW COMPACTIONS`` of what was requested, compacted and cleaned, and of what
        has failed.

    >>> acidsql.maintenance(spark)
    Maintenance(requested=(), compacted=(), failed=(), cleaned=())
    """
    with working(spark) as session:
        refuse_in_transaction(session, "maintenance")
        return run_round(session, WorkerLimits(pool=pool, most_bytes=max_bytes), database)


def run_cleaner(spark: SparkSession) -> list[int]:
    """Remove the directories that compactions made obsolete and that no open transaction may read.

    ``ALTER TABLE … COMPACT`` does it as well. A Hive Metastore has a cleaner of its own, unless
    ``hive.compactor.cleaner.on`` is false. It leaves the staging of killed writers to this one, in
    the tables that ``SHOW COMPACTIONS`` lists.

    Returns:
        The ids of the compactions whose obsolete directories were removed; they are ``succeeded``
        in ``SHOW COMPACTIONS`` then.

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
