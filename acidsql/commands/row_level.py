"""UPDATE and DELETE."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from acidsql import bridge
from acidsql.commands import events, result, write_schema
from acidsql.commands.identity_columns import refuse_update
from acidsql.commands.write_schema import WriteSchema
from acidsql.format.identifiers import folded
from acidsql.metastore.history import RecordedStatement, WriteCounts
from acidsql.metastore.model import Operation, Table
from acidsql.planning.prepared import Prepared, over_scans, prepare
from acidsql.planning.statement import StatementSnapshot
from acidsql.schema.acid_file import ROW_ID_COLUMN
from acidsql.session.acid_session import AcidSession
from acidsql.session.metrics import Phase, phase
from acidsql.storage.staging import Target, named_sql
from acidsql.transactions.write_intent import WriteIntent, change_intent
from acidsql.transactions.write_transaction import write_transaction


def update(session: AcidSession, table: Table, text: str) -> DataFrame:
    """Run an UPDATE: write a delete event and a new row, both with statement id 0, per match."""
    intent = row_intent(table, Operation.UPDATE, "UPDATE", text)
    prepared = prepared_change(session, table, text, bridge.analyze_update)
    with write_transaction(session, intent) as transaction:
        shape = write_schema.write_schema_of(session, transaction.table)
        seen = events.snapshot_of(transaction)
        if not prepared.is_current(session, shape.table):
            prepared = prepared_change(session, shape.table, text, bridge.analyze_update, seen)
        staged = planned(update_events, shape, seen, prepared)
        only = Target(deletes=False, statement_id=0).update_name
        outcome = events.write(transaction, shape, staged, inserting=[0], seen=seen, only=only)
        updated = outcome.events(deletes=True)
        gone = outcome.changed(Operation.UPDATE, deletes=True)
        changed = [gone, outcome.changed(Operation.INSERT, deletes=False)]
        transaction.commit(changed, WriteCounts(updated=updated))
    return result.counts(session.spark, affected=updated, updated=updated)


def row_intent(table: Table, operation: Operation, name: str, text: str) -> WriteIntent:
    """Return the intent of a statement that changes rows.

    Args:
        table: the table.
        operation: the operation, which determines the lock.
        name: name of the statement in the table's history.
        text: text of the statement.
    """
    statement = RecordedStatement(operation=name, text=text)
    return change_intent(table, operation, statement)


def prepared_change(
    session: AcidSession,
    table: Table,
    text: str,
    analysis: Callable[[SparkSession, bridge.LogicalPlan], bridge.LogicalPlan],
    snapshot: StatementSnapshot | None = None,
) -> Prepared:
    """Analyse an UPDATE or DELETE of a table.

    Args:
        session: the session.
        table: the table.
        text: text of the statement.
        analysis: ``bridge.analyze_update`` or ``bridge.analyze_delete``.
        snapshot: see ``prepare``.
    """
    return prepare(session, table, text, partial(analysis, session.spark), snapshot)


def planned(
    make: Callable[[WriteSchema, bridge.LogicalPlan], DataFrame],
    shape: WriteSchema,
    snapshot: StatementSnapshot,
    prepared: Prepared,
) -> DataFrame:
    """Plan the events of a statement; scan only the partitions and rows that it requires.

    Args:
        make: builds the events from the statement's analysed plan.
        shape: write schema of the table.
        snapshot: snapshot that the statement reads.
        prepared: the analysed statement.
    """

    def requested(plan: bridge.LogicalPlan) -> bridge.LogicalPlan:
        rows = bridge.required_rows_query(shape.session.spark, plan)
        return rows or bridge.logical_plan(make(shape, plan))

    with phase(Phase.PLAN):
        plan = over_scans(snapshot, prepared, requested, whole_rows=True)
        return snapshot.at_once(make(shape, plan))


def update_events(shape: WriteSchema, plan: bridge.LogicalPlan) -> DataFrame:
    """Plan the events of an analysed UPDATE."""
    spark = shape.session.spark
    prefix = free_prefix([*shape.data.names, *shape.partitions.names])
    values = value_names(shape, f"{prefix}_new")
    bucket = f"{prefix}_bucket"
    columns = [*shape.data.names, *shape.partitions.names]
    rows = bridge.codegen_barrier(
        bridge.update_rows(spark, plan, dict(zip(columns, values, strict=True)))
    )
    event = events.update_event(shape, 0, ROW_ID_COLUMN, shape.current_parts(), values, bucket)
    assigned = None
    if shape.table.generated_columns or shape.table.identity_columns:
        assigned = bridge.updated_columns(spark, plan)
        refuse_update(shape.table, assigned)
    stored = shape.stored(rows, values, bucket, assigned=assigned, adds_rows=False)
    return bridge.select(stored, *named_sql(event))


def delete(session: AcidSession, table: Table, text: str) -> DataFrame:
    """Run a DELETE: write a delete event for each matched row."""
    intent = row_intent(table, Operation.DELETE, "DELETE", text)
    prepared = prepared_change(session, table, text, bridge.analyze_delete)
    with write_transaction(session, intent) as transaction:
        shape = write_schema.write_schema_of(session, transaction.table)
        seen = events.snapshot_of(transaction)
        if not prepared.is_current(session, shape.table):
            prepared = prepared_change(session, shape.table, text, bridge.analyze_delete, seen)
        staged = planned(delete_events, shape, seen, prepared)
        outcome = events.delete(transaction, shape, staged, seen)
        deleted = outcome.events(deletes=True)
        changed = [outcome.changed(Operation.DELETE, deletes=True)]
        transaction.commit(changed, WriteCounts(deleted=deleted))
    return result.counts(session.spark, affected=deleted, deleted=deleted)


def delete_events(shape: WriteSchema, plan: bridge.LogicalPlan) -> DataFrame:
    """Plan the events of an analysed DELETE."""
    spark = shape.session.spark
    rows = bridge.delete_rows(spark, plan)
    event = events.delete_event(shape, 0, ROW_ID_COLUMN, shape.current_parts())
    return bridge.select(rows, *named_sql(event))


def value_names(shape: WriteSchema, prefix: str) -> list[str]:
    """Return names for columns that contain a value for each of the table's columns."""
    number = len(shape.data.fields) + len(shape.partitions.fields)
    return [f"{prefix}_{i}" for i in range(number)]


def free_prefix(names: Iterable[str]) -> str:
    """Return a prefix that no name begins with."""
    taken = [folded(name) for name in names]
    prefix = "__acidsql"
    while any(name.startswith(prefix) for name in taken):
        prefix += "_"
    return prefix
