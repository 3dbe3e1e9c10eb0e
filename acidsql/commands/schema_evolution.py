"""WITH SCHEMA EVOLUTION: the columns that a MERGE or an INSERT adds to its table.

One commit makes the columns and the rows visible. With a Hive Metastore, which cannot do this in
one step, acidsql changes the table directly before the commit, and undoes that if the commit fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pyspark.sql.types import StructField, StructType

from acidsql import bridge
from acidsql.commands.alter_columns import altered
from acidsql.commands.column_types import refuse_other_type
from acidsql.commands.evolved_columns import LossyTypeError, grown, paired, part_of
from acidsql.errors import AcidAnalysisError
from acidsql.format.identifiers import folded
from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.model import Column, LockType, Table
from acidsql.planning.prepared import prepare
from acidsql.schema.columns import as_nullable, columns_of
from acidsql.session.acid_session import AcidSession
from acidsql.session.settings import takes_instants
from acidsql.syntax.lexer import quote
from acidsql.syntax.merge import add_insert_columns
from acidsql.syntax.statements import Insert, Merge
from acidsql.transactions.current import refuse_in_transaction
from acidsql.transactions.write_intent import WriteIntent, alter_intent
from acidsql.transactions.write_transaction import TableWrite, write_transaction

Path = tuple[str, ...]


def merge_target(session: AcidSession, table: Table, statement: Merge) -> Table:
    """Return the table of a MERGE with the columns that the statement adds to it.

    Raises:
        AcidAnalysisError: NOT_SUPPORTED_CHANGE_COLUMN, UNSUPPORTED_DATATYPE and the errors of
            ``altered``.
    """
    if statement.schema_evolution is None:
        return table
    sources: list[bridge.MergeSource | None] = []

    def look(plan: bridge.LogicalPlan) -> bridge.LogicalPlan:
        sources.append(bridge.merge_source(session.spark, plan))
        return plan

    columns_of_target = [quote(c.name) for c in (*table.columns, *table.partition_columns)]
    text = add_insert_columns(statement.plain_text, columns_of_target)
    prepare(session, table, text, look)
    source = sources[0]
    if source is None:
        return table
    names = {folded(statement.alias or table.name)}
    columns = {c.key for c in (*table.columns, *table.partition_columns)}
    parts = [source.schema] if source.has_star else []
    for key, value in source.named:
        path = assigned_path(key, value, columns, names)
        part = None if path is None else part_of(source.schema, path)
        parts += [] if part is None else [part]
    evolved = table
    for part in parts:
        evolved = _evolved(session, evolved, part, grown)
    return evolved


def assigned_path(
    key: Sequence[str], value: Sequence[str], columns: frozenset[str] | set[str], names: set[str]
) -> Path | None:
    """Return the source column of an assignment, if it has the name of the target's column.

    Only an assignment like that can add a column. For any other assignment, return None.

    Args:
        key: parts of the name of the target's column.
        value: parts of the name of the source's column.
        columns: names of the target's columns, folded.
        names: names of the target, such as its alias.

    >>> assigned_path(("t", "w"), ("s", "w"), {"id"}, {"t"})
    ('w',)
    """
    path = list(map(folded, key))
    if len(path) > 1 and path[0] not in columns and path[0] in names:
        path = path[1:]
    given = list(map(folded, value))
    return tuple(path) if given[-len(path) :] == path and len(given) - len(path) <= 1 else None


def insert_target(session: AcidSession, table: Table, statement: Insert) -> Table:
    """Return the table of an INSERT with the columns that the statement adds to it.

    Raises:
        AcidAnalysisError: see ``merge_target``.
    """
    if statement.schema_evolution is None:
        return table
    schemas: list[StructType | None] = []

    def look(plan: bridge.LogicalPlan) -> bridge.LogicalPlan:
        schemas.append(bridge.insert_source(session.spark, plan))
        return plan

    prepare(session, table, statement.plain_text, look)
    schema = schemas[0]
    if schema is None:
        return table
    partitions = {c.key for c in table.partition_columns}
    if statement.by_name or statement.columns is not None:
        if statement.columns is not None:
            named = zip(statement.columns, schema.fields, strict=False)
            schema = StructType([StructField(name, f.dataType) for name, f in named])
        fields = [f for f in schema.fields if folded(f.name) not in partitions]
        return _evolved(session, table, StructType(fields), grown)
    # As in every INSERT, the values of partition columns come last.
    fields = schema.fields[: len(schema.fields) - _dynamic_partitions(table, statement)]
    return _evolved(session, table, StructType(fields), paired)


def _dynamic_partitions(table: Table, statement: Insert) -> int:
    """Return the number of partition columns whose values come from the rows of an INSERT."""
    given = dict(statement.partition.values) if statement.partition else {}
    static = {folded(name) for name, value in given.items() if value is not None}
    return sum(c.key not in static for c in table.partition_columns)


def _evolved(
    session: AcidSession,
    table: Table,
    source: StructType,
    merged: Callable[[StructType, StructType], StructType],
) -> Table:
    """Return a table with the additional columns and wider types of a source."""
    spark = session.spark
    types = [bridge.parse_stored_type(spark, c.type) for c in table.columns]
    pairs = zip(table.columns, types, strict=True)
    old = StructType([StructField(c.name, data_type, c.nullable) for c, data_type in pairs])
    partitions = {c.key for c in table.partition_columns}
    fields = [f for f in source.fields if folded(f.name) not in partitions]
    source = as_nullable(StructType(fields))
    if takes_instants(spark) and not table.insert_only:
        source = bridge.all_instants(source)
    try:
        new = merged(old, source)
    except LossyTypeError as error:
        raise _lossy(table, str(error), source) from None
    number = len(table.columns)
    kept: list[Column] = []
    for column, data_type, field in zip(table.columns, types, new.fields, strict=False):
        if field.dataType == data_type:
            kept.append(column)
            continue
        retyped = replace(column, type=bridge.type_sql(spark, field.dataType))
        refuse_other_type(session, table, column, retyped)
        kept.append(retyped)
    columns = (*kept, *columns_of(spark, StructType(new.fields[number:])))
    return table if columns == table.columns else altered(session, table, columns)


def _lossy(table: Table, name: str, source: StructType) -> AcidAnalysisError:
    column = next(c for c in table.columns if c.name == name)
    given = next((f.dataType.simpleString() for f in source if folded(f.name) == column.key), None)
    of_source = f"the {given} of the source" if given else "the source's type"
    return AcidAnalysisError(
        "NOT_SUPPORTED_CHANGE_COLUMN",
        f"column {name} of {table.full_name} is {column.type}, which does not hold {of_source}, "
        "and cannot become that, because its files are not rewritten: cast the column in the "
        "source",
    )


def evolving_intent(
    session: AcidSession, intent: WriteIntent, table: Table, evolved: Table
) -> WriteIntent:
    """Return the intent of a statement that may add columns.

    A statement that adds columns waits until no other transaction writes the table, as ALTER TABLE
    does.

    Args:
        session: the session.
        intent: the intent without added columns.
        table: the table.
        evolved: the table with the added columns.

    Raises:
        TransactionStateError: NOT_ALLOWED_IN_TRANSACTION.
    """
    if evolved == table:
        return intent
    refuse_in_transaction(session, "adding columns WITH SCHEMA EVOLUTION")
    return replace(intent, lock=LockType.EXCLUSIVE, partition=None)


def evolve(transaction: TableWrite, target_of: Callable[[Table], Table]) -> None:
    """Add the columns of a statement to its table, if the statement locked the table for that.

    Args:
        transaction: transaction of the statement.
        target_of: returns a table with the columns that the statement adds.
    """
    if transaction.intent.lock is LockType.EXCLUSIVE:
        transaction.change_columns(target_of(transaction.table))


def add_columns_of(session: AcidSession, table: Table, schema: StructType) -> None:
    """Add the additional columns of rows to a table, in a separate transaction.

    A transaction of several statements cannot change columns.

    Raises:
        AcidAnalysisError: see ``merge_target``.
    """
    if _evolved(session, table, schema, grown) == table:
        return
    source = RecordedStatement(operation="ADD COLUMNS", text=None)
    with write_transaction(session, alter_intent(table, source)) as transaction:
        transaction.change_columns(_evolved(session, transaction.table, schema, grown))
        transaction.commit([])
