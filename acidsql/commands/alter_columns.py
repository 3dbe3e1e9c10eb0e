"""ALTER TABLE … ADD, REPLACE, CHANGE, RENAME and ALTER COLUMN.

These statements change no file. Readers match columns by position, as Hive 4.1 does. So a renamed
column keeps its place, a new column comes last, and no column can be moved or dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from acidsql import bridge
from acidsql.commands import events, result
from acidsql.commands.check_constraints import with_columns
from acidsql.commands.column_types import retyped
from acidsql.commands.definitions import (
    check_columns,
    check_local_times,
    with_timestamp_types,
)
from acidsql.commands.evolved_columns import with_field
from acidsql.commands.identity_columns import check_identities
from acidsql.commands.initial_values import INITIAL_TYPES, initial_value
from acidsql.commands.sync_identity import sync_identity
from acidsql.errors import AcidAnalysisError, AcidParseError, quoted_name
from acidsql.metastore.catalog_changes import AlterPartitions, AlterTable
from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.model import Column, FileFormat, Table
from acidsql.schema.columns import columns_of
from acidsql.session.acid_session import AcidSession
from acidsql.session.settings import name_key, takes_instants
from acidsql.syntax.alter_statements import (
    AddColumns,
    ChangeColumn,
    DropColumns,
    RenameColumn,
    ReplaceColumns,
)
from acidsql.syntax.lexer import quote
from acidsql.syntax.nodes import Name
from acidsql.transactions.write_intent import alter_intent
from acidsql.transactions.write_transaction import TableWrite, write_transaction

Columns = tuple[Column, ...]
_GENERATED = re.compile(r"\bGENERATED\s+(?:ALWAYS|BY\s+DEFAULT)\b", re.IGNORECASE)


def add_columns(session: AcidSession, table: Table, statement: AddColumns) -> DataFrame:
    """Run ADD COLUMNS.

    In existing rows, a new column has its DEFAULT or NULL, and a new field of a struct has NULL.
    """
    given = _parsed_new(session, statement.columns.of(statement.text))
    definitions = with_timestamp_types(
        session, columns_of(session.spark, given.columns), insert_only=table.insert_only
    )
    check_columns(session, (*table.columns, *definitions), table.partition_columns)
    added = tuple(_with_initial(session, table, column) for column in definitions)

    def extended(old: Columns) -> Columns:
        for new in given.fields:
            place = _position(session, table, old, new.path[:1])
            old = _with(old, place, _with_field(session, table, old[place], new))
        return (*old, *added)

    source = RecordedStatement(operation="ADD COLUMNS", text=statement.text)
    return _alter(session, table, source, extended, cascade=statement.cascade)


def _with_field(session: AcidSession, table: Table, column: Column, new: bridge.NewField) -> Column:
    """Return a column with a new field at the end of a struct in it."""
    spark = session.spark
    field = new.field
    if takes_instants(spark) and not table.insert_only:
        (field,) = bridge.all_instants(StructType([field])).fields
    grown = with_field(bridge.parse_stored_type(spark, column.type), new.path[1:], field)
    if grown is None:
        raise AcidAnalysisError(
            "COLUMN_NOT_FOUND",
            f"{'.'.join(new.path)} of {table.full_name} is no struct that a field could be added "
            f"to: the column {column.name} is {column.type}",
            {"colName": quoted_name(new.path)},
        )
    (checked,) = columns_of(spark, StructType([StructField(column.name, grown)]))
    return replace(column, type=checked.type)


def replace_columns(session: AcidSession, table: Table, statement: ReplaceColumns) -> DataFrame:
    """Run REPLACE COLUMNS: each column replaces the old column at its position."""
    given = _parsed(session, statement.columns.of(statement.text))

    def replaced(old: Columns) -> Columns:
        if len(given) < len(old):
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.DROP_COLUMNS",
                f"REPLACE COLUMNS cannot drop columns of {table.full_name}: its files have "
                f"{len(old)}, so list at least as many, or rewrite the rows: "
                f"{_rewriting(session, table, old[: len(given)])}",
            )
        added = with_timestamp_types(session, given[len(old) :], insert_only=table.insert_only)
        new = [_with_initial(session, table, column) for column in added]
        kept = [
            retyped(session, table, before, after)
            for before, after in zip(old, given, strict=False)
        ]
        return (*kept, *new)

    source = RecordedStatement(operation="REPLACE COLUMNS", text=statement.text)
    return _alter(session, table, source, replaced, cascade=statement.cascade)


def rename_column(session: AcidSession, table: Table, statement: RenameColumn) -> DataFrame:
    """Run RENAME COLUMN."""

    def renamed(old: Columns) -> Columns:
        place = _position(session, table, old, statement.column_name)
        return _with(old, place, replace(old[place], name=statement.new_column))

    source = RecordedStatement(operation="RENAME COLUMN", text=statement.text)
    return _alter(session, table, source, renamed, cascade=False)


def drop_columns(session: AcidSession, table: Table, statement: DropColumns) -> DataFrame:
    """Refuse DROP COLUMN (UNSUPPORTED_FEATURE.DROP_COLUMNS)."""
    text = statement.columns.of(statement.text).strip()
    key = name_key(session.spark)
    names = bridge.parse_names(session.spark, text.removeprefix("(").removesuffix(")")) or ()
    dropped = {key(name) for name in names}
    kept = tuple(column for column in table.columns if key(column.name) not in dropped)
    instead = "it needs one column at least"
    if kept:
        instead = f"rewrite the rows: {_rewriting(session, table, kept)}"
    raise AcidAnalysisError(
        "UNSUPPORTED_FEATURE.DROP_COLUMNS",
        f"columns of {table.full_name} ({text}) cannot be dropped, because readers find columns by "
        f"their positions in files: {instead}",
    )


def _rewriting(session: AcidSession, table: Table, columns: Columns) -> str:
    """Return a statement that rewrites a table's rows with the given columns.

    The statement creates a new table if the metastore cannot replace a table.
    """
    name = f"{quote(table.database)}.{quote(table.name)}"
    made = f"CREATE OR REPLACE TABLE {name}"
    if not session.metastore.capabilities.replaces_tables:
        made = f"CREATE TABLE {quote(table.database)}.{quote(f'{table.name}_new')}"
    layout = ""
    if table.partition_columns:
        layout += f" PARTITIONED BY ({_list(c.name for c in table.partition_columns)})"
    left = {column.name for column in columns}
    if table.num_buckets and left >= set(table.bucket_columns):
        layout += f" CLUSTERED BY ({_list(table.bucket_columns)}) INTO {table.num_buckets} BUCKETS"
    if table.insert_only:
        layout += (
            f" STORED AS {table.file_format.value.upper()}"
            " TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only')"
        )
    else:
        layout += " USING acidsql"
    every = _list(c.name for c in (*columns, *table.partition_columns))
    return f"{made}{layout} AS SELECT {every} FROM {name}"


def _list(names: Iterable[str]) -> str:
    return ", ".join(map(quote, names))


def _moved(session: AcidSession, table: Table, statement: ChangeColumn) -> Columns:
    """Return the columns of a table in the order that FIRST or AFTER requests."""
    place = _position(session, table, table.columns, statement.column_name)
    rest = _with(table.columns, place)
    after = 0
    if isinstance(statement.moved, tuple):
        after = _position(session, table, rest, statement.moved) + 1
    return (*rest[:after], table.columns[place], *rest[after:])


def change_column(session: AcidSession, table: Table, statement: ChangeColumn) -> DataFrame:
    """Run CHANGE and ALTER COLUMN: change the name, type, NOT NULL, default or comment of a column.

    A column can only get a type as which its old values can be read (``type_widening``).
    """
    if statement.moved:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.COLUMN_POSITION",
            f"columns of {table.full_name} cannot be moved, because readers find them by their "
            "positions in files: rewrite the rows: "
            f"{_rewriting(session, table, _moved(session, table, statement))}",
        )

    if statement.sync_identity:
        place = _position(session, table, table.columns, statement.column_name)
        return sync_identity(session, table, table.columns[place], statement.text)

    def changed(old: Columns) -> Columns:
        place = _position(session, table, old, statement.column_name)
        return _with(old, place, _changed(session, table, old[place], statement))

    source = RecordedStatement(operation="CHANGE COLUMN", text=statement.text)
    return _alter(session, table, source, changed, cascade=statement.cascade)


def _alter(
    session: AcidSession,
    table: Table,
    source: RecordedStatement,
    alter: Callable[[Columns], Columns],
    *,
    cascade: bool,
) -> DataFrame:
    """Replace the columns of a table with the columns that ``alter`` returns.

    Without ``cascade``, the partitions keep their columns, as in Hive.
    """
    altered(session, table, alter(table.columns))  # a refused change takes no write id
    with write_transaction(session, alter_intent(table, source)) as transaction:
        old = transaction.table
        new = altered(session, old, alter(old.columns))
        _check_no_nulls(transaction, new.columns)
        partitions = transaction.partitions() if old.partition_columns else ()
        new_partitions = tuple(
            replace(p, columns=None if cascade else p.columns or old.columns) for p in partitions
        )
        recorded = session.metastore.with_recorded_columns(old, new, transaction.write_id)
        transaction.changes.append(AlterTable(before=old, after=recorded))
        if new_partitions:
            transaction.changes.append(
                AlterPartitions(table=new, before=partitions, after=new_partitions)
            )
        transaction.commit([])
    return result.nothing(session.spark)


def altered(session: AcidSession, table: Table, columns: Columns) -> Table:
    """Return a table with other columns.

    Args:
        session: the session.
        table: the table.
        columns: the columns; each replaces the old column at its position, and further columns are
            new.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.INSERT_ONLY_COLUMNS; the errors of ``check_columns``
            and ``Metastore.check_table``.
    """
    _check_by_name(table, columns)
    check_columns(session, columns, table.partition_columns)
    names = {o.name: n.name for o, n in zip(table.columns, columns, strict=False)}
    buckets = tuple(names[name] for name in table.bucket_columns)
    new = replace(with_columns(session, table, columns), bucket_columns=buckets)
    check_local_times(new)
    session.metastore.check_table(new)
    return new


def _parsed_new(session: AcidSession, text: str) -> bridge.NewColumns:
    """Parse the definitions of new columns, and of new fields of structs.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.ADD_COLUMN_GENERATED; Spark's parser does not accept
            GENERATED here.
    """
    try:
        return bridge.parse_new_columns(session.spark, text)
    except AcidParseError:
        if _GENERATED.search(text) is None:
            raise
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.ADD_COLUMN_GENERATED",
            f"{text} would not be computed in existing rows: CREATE TABLE with the generated "
            "column, and INSERT the rows",
        ) from None


def _parsed(session: AcidSession, text: str) -> Columns:
    """Parse column definitions."""
    parsed = _parsed_new(session, text)
    if parsed.fields:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.NESTED_COLUMN",
            f"{'.'.join(parsed.fields[0].path)} is a column with fields, which keep their names "
            "and types: ADD COLUMN adds fields at the end",
        )
    return columns_of(session.spark, parsed.columns)


def _with_initial(session: AcidSession, table: Table, column: Column) -> Column:
    """Return a new column with its value in existing rows, which is its DEFAULT.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.ADD_COLUMN_DEFAULT, the metastore or the table cannot
            store this value; UNSUPPORTED_FEATURE.ADD_COLUMN_NOT_NULL, the column has no value.
    """
    if column.default is not None:
        reason = _why_no_initial(session, table, column)
        if reason is not None:
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.ADD_COLUMN_DEFAULT",
                f"{reason} in the rows that are there, where the new column {column.name} would "
                f"have its DEFAULT: run {_in_steps(table, column)}",
            )
        column = replace(column, initial=initial_value(session, column))
    if not column.nullable and column.initial is None:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.ADD_COLUMN_NOT_NULL",
            f"the new column {column.name} would be NULL in existing rows: give a DEFAULT, or run "
            f"{_in_steps(table, column)}",
        )
    return column


def _why_no_initial(session: AcidSession, table: Table, column: Column) -> str | None:
    """Return the reason why a new column cannot have a value in existing rows, or None."""
    if not session.metastore.capabilities.keeps_initial_values:
        return "Hive would read NULL"
    if table.file_format is not FileFormat.ORC:
        return f"files in the format {table.file_format.value} would have NULL"
    if not isinstance(bridge.parse_type(session.spark, column.type), INITIAL_TYPES):
        return f"a column of type {column.type} would be NULL"
    return None


def _in_steps(table: Table, column: Column) -> str:
    """Return statements that together add a column with a DEFAULT or with NOT NULL."""
    name, quoted = f"{quote(table.database)}.{quote(table.name)}", quote(column.name)
    value = column.default or f"CAST(… AS {column.type})"
    steps = [f"ALTER TABLE {name} ADD COLUMN {quoted} {column.type}"]
    if column.default is not None:
        steps.append(f"ALTER TABLE {name} ALTER COLUMN {quoted} SET DEFAULT {value}")
    if not table.insert_only:
        steps.append(f"UPDATE {name} SET {quoted} = {value}")
    if not column.nullable:
        steps.append(f"ALTER TABLE {name} ALTER COLUMN {quoted} SET NOT NULL")
    return "; ".join(steps)


def _position(session: AcidSession, table: Table, columns: Columns, name: Name) -> int:
    """Return the position of a column among the columns in files."""
    if len(name) > 1:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.NESTED_COLUMN",
            f"{'.'.join(name)} is a field of a struct, which keeps its name and type: name a "
            "column; ADD COLUMN adds fields at the end of a struct",
        )
    key = name_key(session.spark)
    names = [key(c.name) for c in columns]
    wanted = key(name[0])
    if wanted in [key(c.name) for c in table.partition_columns]:
        raise AcidAnalysisError(
            "CANNOT_ALTER_PARTITION_COLUMN",
            f"{name[0]} is a partition column of {table.full_name}: name one that is stored in "
            "files",
            {
                "columnName": quoted_name([name[0]]),
                "tableName": quoted_name([table.database, table.name]),
            },
        )
    if wanted not in names:
        raise AcidAnalysisError(
            "COLUMN_NOT_FOUND",
            f"{table.full_name} has no column {name[0]}: it has "
            f"{', '.join(c.name for c in columns)}",
            {"colName": quoted_name([name[0]])},
        )
    return names.index(wanted)


def _with(columns: Columns, place: int, *column: Column) -> Columns:
    return (*columns[:place], *column, *columns[place + 1 :])


def _changed(session: AcidSession, table: Table, old: Column, statement: ChangeColumn) -> Column:
    new = old
    if statement.definition is not None:
        name = quote(statement.new_column or old.name)
        (given,) = _parsed(session, f"{name} {statement.definition.of(statement.text)}")
        new = retyped(session, table, old, given)
    if statement.comment is not None:
        new = replace(new, comment=statement.comment)
    if statement.not_null is not None:
        new = replace(new, nullable=not statement.not_null)
    if statement.default is not None:
        new = replace(new, default=statement.default.of(statement.text))
    if new.default is not None and new.identity is not None:
        check_identities([new], [])
    return replace(new, default=None) if statement.without_default else new


def _check_by_name(table: Table, columns: Columns) -> None:
    """Refuse other names and types of columns if readers find the columns by name.

    Readers find columns by name in insert-only tables, except in text files.
    """
    pairs = zip(table.columns, columns, strict=False)
    changed = [o.name for o, n in pairs if _stored(o) != _stored(n)]
    if table.insert_only and changed and table.file_format is not FileFormat.TEXT:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.INSERT_ONLY_COLUMNS",
            f"column {changed[0]} of the insert-only table {table.full_name} is found in files by "
            "its name and type, which cannot change: create another table AS SELECT",
        )


def _stored(column: Column) -> tuple[str, str]:
    return column.stored_name, column.type


def _check_no_nulls(transaction: TableWrite, columns: Columns) -> None:
    """Refuse NOT NULL for a column that contains NULL (NOT_NULL_CONSTRAINT_VIOLATION)."""
    table = transaction.table
    for old, new in zip(table.columns, columns, strict=False):
        if new.nullable or not old.nullable:
            continue
        name = f"{quote(table.database)}.{quote(table.name)}"
        text = f"SELECT 1 FROM spark_catalog.{name} WHERE {quote(old.name)} IS NULL LIMIT 1"
        if events.snapshot_of(transaction).run(text).head() is not None:
            raise AcidAnalysisError(
                "NOT_NULL_CONSTRAINT_VIOLATION",
                f"column {old.name} of {table.full_name} has NULLs: UPDATE them first",
            )
