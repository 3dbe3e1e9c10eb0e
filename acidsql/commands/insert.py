"""INSERT INTO and INSERT OVERWRITE."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from acidsql import bridge
from acidsql.commands import events, result, write_schema
from acidsql.commands.events import WriteResult, executing
from acidsql.commands.partitions import matching
from acidsql.commands.schema_evolution import evolve, evolving_intent, insert_target
from acidsql.commands.write_schema import WriteSchema
from acidsql.format.identifiers import folded
from acidsql.format.names import (
    METADATA_FILE,
    TRUNCATED_CONTENT,
    VERSION_CONTENT,
    VERSION_FILE,
    base_name,
)
from acidsql.insert_only.write import write_insert_only
from acidsql.limits import limits
from acidsql.metastore.history import RecordedStatement, WriteCounts
from acidsql.metastore.model import Table
from acidsql.planning.prepared import Prepared, over_scans, prepare
from acidsql.planning.statement import StatementSnapshot
from acidsql.schema.spark_limits import check_written, is_written_by_spark
from acidsql.session.acid_session import AcidSession
from acidsql.session.metrics import Phase, phase
from acidsql.storage.staging import BUCKET_COLUMN, named_sql, write_rows
from acidsql.syntax.statements import Insert
from acidsql.transactions.partition_directory import partition_directory
from acidsql.transactions.write_intent import insert_intent
from acidsql.transactions.write_transaction import Change, TableWrite, write_transaction


def insert(
    session: AcidSession,
    table: Table,
    statement: Insert,
    overwrite_mode: str | None = None,
    *,
    of_frame: bool = False,
) -> DataFrame:
    """Run INSERT INTO or INSERT OVERWRITE: all rows have statement id 0.

    Args:
        session: the session.
        table: the table.
        statement: the INSERT.
        overwrite_mode: ``static`` or ``dynamic``, in place of the session's
            ``spark.sql.sources.partitionOverwriteMode``.
        of_frame: whether the statement was made from a DataFrame; its text is then not recorded.
    """
    static = static_values(session, table, statement)
    text = None if of_frame else statement.text
    overwrite = statement.overwrite
    source = recorded_insert(text, overwrite=overwrite)
    intent = insert_intent(table, source, static or None, overwrite=overwrite)
    target = insert_target(session, table, statement)
    intent = evolving_intent(session, intent, table, target)
    prepared = prepared_insert(session, target, statement)
    with write_transaction(session, intent) as transaction:
        evolve(transaction, lambda now: insert_target(session, now, statement))
        if statement.if_not_exists and static in {p.values for p in transaction.partitions()}:
            transaction.commit([])
            return result.counts(session.spark, affected=0, inserted=0)
        shape = write_schema.write_schema_of(session, transaction.table, transaction)
        rows = query(shape, events.snapshot_of(transaction), statement, prepared)
        outcome = write_query(transaction, shape, rows, static)
        replaced = _replaced(transaction, statement, static, overwrite_mode)
        inserted = outcome.events(deletes=False)
        counts = insert_counts(inserted, overwrite=overwrite)
        transaction.commit(publish_empty(transaction, outcome, replaced), counts)
    return result.counts(session.spark, affected=inserted, inserted=inserted)


def recorded_insert(text: str | None, *, overwrite: bool) -> RecordedStatement:
    """Return the entry of an INSERT in a table's history."""
    return RecordedStatement(operation="INSERT OVERWRITE" if overwrite else "INSERT", text=text)


def insert_counts(inserted: int, *, overwrite: bool) -> WriteCounts:
    """Return the counts of an INSERT, without the number of rows that it replaces."""
    return WriteCounts(inserted=inserted, deleted=None if overwrite else 0)


def publish_empty(
    transaction: TableWrite,
    outcome: WriteResult,
    replaced: set[tuple[str, ...]],
) -> list[Change]:
    """Empty the replaced partitions that receive no rows; return all changes of an INSERT."""
    operation = transaction.intent.operation
    emptied = sorted(replaced - {s.values for s in outcome.finished})
    for values in emptied:
        _place_empty_base(transaction, values)
    changed = outcome.changed(operation, deletes=False)
    return [changed, (operation, emptied)] if emptied else [changed]


def _replaced(
    transaction: TableWrite,
    statement: Insert,
    static: tuple[str, ...] | None,
    mode: str | None,
) -> set[tuple[str, ...]]:
    """Return the partitions that a statement replaces even if they receive no rows.

    INSERT INTO replaces no partition. If the partition values come from the rows, INSERT OVERWRITE
    replaces only the partitions that receive rows, as in Hive. In the mode ``static``
    (``spark.sql.sources.partitionOverwriteMode``), it replaces all partitions that match the
    specification.
    """
    if not statement.overwrite:
        return set()
    if static is not None:
        return {static}
    session = transaction.session
    if mode is None:
        mode = str(session.spark.conf.get("spark.sql.sources.partitionOverwriteMode", "dynamic"))
    if mode.lower() != "static":
        return set()
    return {p.values for p in matching(session, transaction.table, statement.partition)}


def _place_empty_base(transaction: TableWrite, values: tuple[str, ...]) -> None:
    """Put an empty base into a partition.

    The base must contain a file, because Hive finds directories by the files in them
    (AcidUtils.getHdfsDirSnapshots). It would otherwise still read the older files that the base
    hides.
    """
    if transaction.table.insert_only:
        file, content = METADATA_FILE, TRUNCATED_CONTENT
    else:
        file, content = VERSION_FILE, VERSION_CONTENT
    transaction.place_file(values, base_name(transaction.write_id), file, content)


def write_query(
    transaction: TableWrite, shape: WriteSchema, rows: DataFrame, static: Sequence[str] | None
) -> WriteResult:
    """Write the rows of a query, and publish them.

    Args:
        transaction: the transaction.
        shape: write schema of the table.
        rows: rows with their columns in the order of the table's columns.
        static: values of the partition that receives all rows, () without partition columns; None
            if the rows contain the partition values.
    """
    with executing(transaction):
        stage_query(transaction, shape, rows, static, 0)
    return events.finish(transaction, shape)


def stage_query(
    transaction: TableWrite,
    shape: WriteSchema,
    rows: DataFrame,
    static: Sequence[str] | None,
    statement_id: int,
) -> None:
    """Write the rows of a query into staging; see ``write_query``.

    Raises:
        AcidAnalysisError: UNSUPPORTED_DATATYPE, INVALID_PARTITION_NAME.
    """
    if static:
        partition_directory(shape.table, static)
    if is_written_by_spark(shape.table):
        check_written(shape.data)
    values = [f"c{i}" for i in range(len(rows.columns))]  # never ambiguous
    stored = shape.stored(bridge.renamed(rows, values), values, BUCKET_COLUMN)
    target = transaction.target(statement_id)
    by_driver = is_written_by_driver(shape.table, rows)
    number = len(shape.data.fields)
    if shape.table.insert_only:
        pairs = zip(shape.data.names, values, strict=False)
        columns = {**dict(pairs), **shape.texts(values[number:])}
        plain = bridge.select(stored, *named_sql(columns))
        place = transaction.staging, target.name
        write_insert_only(transaction.session, plain, shape.table, *place, static)
    elif by_driver or static is None or shape.table.num_buckets:
        event = events.insert_event(shape, statement_id, values, BUCKET_COLUMN)
        made = bridge.select(stored, *named_sql(event))
        events.stage(transaction, shape, made, target, by_driver=by_driver)
    else:
        write_rows(
            stored,
            transaction.staging,
            shape.table,
            target,
            transaction.write_id,
            static,
            values[:number],
        )


def is_written_by_driver(table: Table, rows: DataFrame) -> bool:
    """Return whether an INSERT has literal rows, and so few that the driver writes them."""
    return not table.insert_only and bridge.has_local_rows(rows, limits().driver_rows - 1)


def prepared_insert(
    session: AcidSession,
    table: Table,
    statement: Insert,
    snapshot: StatementSnapshot | None = None,
) -> Prepared:
    """Analyse the query of an INSERT; align and cast its columns as Spark does for a file table.

    Args:
        session: the session.
        table: the table.
        statement: the INSERT.
        snapshot: see ``prepare``.
    """
    spark = session.spark
    shape = write_schema.write_schema_of(session, table)

    def analysis(plan: bridge.LogicalPlan) -> bridge.LogicalPlan:
        name = table.database, table.name
        insert = bridge.insert_into_files(
            spark, plan, name, table.location, shape.data, shape.partitions
        )
        return bridge.insert_query(spark, bridge.analyze(spark, insert))

    return prepare(session, table, statement.plain_text, analysis, snapshot)


def query(
    shape: WriteSchema, snapshot: StatementSnapshot, statement: Insert, prepared: Prepared
) -> DataFrame:
    """Return the rows to insert.

    Args:
        shape: write schema of the current table.
        snapshot: snapshot that the statement reads.
        statement: the INSERT.
        prepared: result of ``prepared_insert``.
    """
    session = snapshot.session
    if not prepared.is_current(session, shape.table):
        prepared = prepared_insert(session, shape.table, statement, snapshot)
    with phase(Phase.PLAN):
        plan = over_scans(snapshot, prepared, lambda plan: plan, whole_rows=False)
        return snapshot.at_once(bridge.frame_of(session.spark, plan))


def static_values(session: AcidSession, table: Table, statement: Insert) -> tuple[str, ...] | None:
    """Return the partition values if the statement names all of them, otherwise None.

    For a table without partitions, they are ().
    """
    shape = write_schema.write_schema_of(session, table)
    if not shape.partitions.fields:
        return ()
    given = dict(statement.partition.values) if statement.partition else {}
    literals = {folded(name): text for name, text in given.items()}
    if any(literals.get(folded(f.name)) is None for f in shape.partitions.fields):
        return None
    typed = [
        f"CAST({literals[folded(f.name)]} AS {bridge.type_sql(session.spark, f.dataType)})"
        for f in shape.partitions.fields
    ]
    texts = shape.texts(typed)
    row = bridge.select(session.spark.sql("SELECT 1"), *named_sql(texts)).head()
    return tuple(row) if row else None
