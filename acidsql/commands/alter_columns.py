"""ALTER TABLE … ADD, REPLACE, CHANGE, RENAME and ALTER COLUMN.

No file changes. Readers match columns by position, as Hive 4.1 does: a column that is renamed keeps
its place, a new one comes last, and none can be moved or dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame

from acidsql import bridge
from acidsql.commands import events, result
from acidsql.commands.check_constraints import with_columns
from acidsql.commands.definitions import check_columns, check_local_times
from acidsql.commands.type_widening import CONVERSIONS, convertible
from acidsql.errors import AcidAnalysisError, AcidParseError, quoted_name
from acidsql.metastore.changes import AlterPartitions, AlterTable
from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.model import Column, FileFormat, Table
from acidsql.schema.columns import columns_of
from acidsql.session.acid_session import AcidSession
from acidsql.session.settings import name_key
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
from acidsql.transactions.write_transaction import WriteTransaction, write_transaction

Columns = tuple[Column, ...]
_GENERATED = re.compile(r"\bGENERATED\s+(?:ALWAYS|BY\s+DEFAULT)\b", re.IGNORECASE)


def add_columns(session: AcidSession, table: Table, statement: AddColumns) -> DataFrame:
    """Run ADD COLUMNS: existing rows have NULL in the new columns."""
    added = _parsed(session, statement.columns.of(statement.text))
    _check_new(added)
    source = RecordedStatement(operation="ADD COLUMNS", text=statement.text)
    return _alter(session, table, source, lambda old: (*old, *added), cascade=statement.cascade)


def replace_columns(session: AcidSession, table: Table, statement: ReplaceColumns) -> DataFrame:
    """Run REPLACE COLUMNS: each column takes the place of the one at its position."""
    given = _parsed(session, statement.columns.of(statement.text))

    def replaced(old: Columns) -> Columns:
        if len(given) < len(old):
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.DROP_COLUMNS",
                f"REPLACE COLUMNS cannot drop columns of {table.full_name}: its files have "
                f"{len(old)}, so list at least as many",
            )
        _check_new(given[len(old) :])
        kept = [
            _retyped(session, table, before, after)
            for before, after in zip(old, given, strict=False)
        ]
        return (*kept, *given[len(old) :])

    source = RecordedStatement(operation="REPLACE COLUMNS", text=statement.text)
    return _alter(session, table, source, replaced, cascade=statement.cascade)


def rename_column(session: AcidSession, table: Table, statement: RenameColumn) -> DataFrame:
    """Run RENAME COLUMN."""

    def renamed(old: Columns) -> Columns:
        place = _position(session, table, old, statement.column_name)
        return _with(old, place, replace(old[place], name=statement.new_column))

    source = RecordedStatement(operation="RENAME COLUMN", text=statement.text)
    return _alter(session, table, source, renamed, cascade=False)


def drop_columns(_: AcidSession, table: Table, statement: DropColumns) -> DataFrame:
    """Refuse DROP COLUMN (UNSUPPORTED_FEATURE.DROP_COLUMNS)."""
    raise AcidAnalysisError(
        "UNSUPPORTED_FEATURE.DROP_COLUMNS",
        f"columns of {table.full_name} ({statement.columns.of(statement.text)}) cannot be dropped: "
        "readers find columns by their positions in files; CREATE TABLE … AS SELECT makes a table "
        "without them",
    )


def change_column(session: AcidSession, table: Table, statement: ChangeColumn) -> DataFrame:
    """Run CHANGE and ALTER COLUMN: change the name, type, NOT NULL, default or comment of a column.

    Only types as which old values can be read are allowed (``type_widening``).
    """
    if statement.moved:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.COLUMN_POSITION",
            f"columns of {table.full_name} cannot be moved: leave FIRST or AFTER out, and SELECT "
            "them in the order that you want",
        )

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
    """Replace the columns of a table by those that ``alter`` returns for them.

    Without ``cascade`` the partitions keep their columns, as in Hive.
    """

    def altered(old: Table) -> Columns:
        columns = alter(old.columns)
        _check_by_name(old, columns)
        check_columns(session, columns, old.partition_columns)
        check_local_times(replace(old, columns=columns))
        session.metastore.check_table(with_columns(session, old, columns))
        return columns

    altered(table)  # what is refused takes no write id
    with write_transaction(session, alter_intent(table, source)) as transaction:
        old = transaction.table
        columns = altered(old)
        names = {o.name: n.name for o, n in zip(old.columns, columns, strict=False)}
        buckets = tuple(names[name] for name in old.bucket_columns)
        new = replace(with_columns(session, old, columns), bucket_columns=buckets)
        _check_no_nulls(transaction, new.columns)
        partitions = transaction.partitions() if old.partition_columns else ()
        own = tuple(
            replace(p, columns=None if cascade else p.columns or old.columns) for p in partitions
        )
        transaction.changes.append(AlterTable(before=old, after=new))
        if own:
            transaction.changes.append(AlterPartitions(table=new, before=partitions, after=own))
        transaction.commit([])
    return result.nothing(session.spark)


def _parsed(session: AcidSession, text: str) -> Columns:
    """Parse column definitions.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.ADD_COLUMN_GENERATED, for which Spark's parser has no
            words here.
    """
    try:
        schema = bridge.parse_new_columns(session.spark, text)
    except AcidParseError:
        if _GENERATED.search(text) is None:
            raise
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.ADD_COLUMN_GENERATED",
            f"{text} would not be computed in existing rows: CREATE TABLE with the generated "
            "column, and INSERT the rows",
        ) from None
    return columns_of(session.spark, schema)


def _check_new(columns: Sequence[Column]) -> None:
    """Refuse NOT NULL and DEFAULT of a new column: existing rows have NULL in it."""
    for column in columns:
        if not column.nullable:
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.ADD_COLUMN_NOT_NULL",
                f"the new column {column.name} would be NULL in existing rows: leave NOT NULL out, "
                "UPDATE the table, then ALTER COLUMN … SET NOT NULL",
            )
        if column.default is not None:
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.ADD_COLUMN_DEFAULT",
                f"Hive would read NULL in existing rows of the new column {column.name}: leave "
                "DEFAULT out, then ALTER COLUMN … SET DEFAULT for new rows",
            )


def _position(session: AcidSession, table: Table, columns: Columns, name: Name) -> int:
    """Return the position of a column among the columns in files."""
    if len(name) > 1:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.NESTED_COLUMN",
            f"{'.'.join(name)} is a field of a struct, whose type cannot change: name a column",
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


def _with(columns: Columns, place: int, column: Column) -> Columns:
    return (*columns[:place], column, *columns[place + 1 :])


def _changed(session: AcidSession, table: Table, old: Column, statement: ChangeColumn) -> Column:
    new = old
    if statement.definition is not None:
        name = quote(statement.new_column or old.name)
        (given,) = _parsed(session, f"{name} {statement.definition.of(statement.text)}")
        new = _retyped(session, table, old, given)
    if statement.comment is not None:
        new = replace(new, comment=statement.comment)
    if statement.not_null is not None:
        new = replace(new, nullable=not statement.not_null)
    if statement.default is not None:
        new = replace(new, default=statement.default.of(statement.text))
    return replace(new, default=None) if statement.without_default else new


def _retyped(session: AcidSession, table: Table, old: Column, given: Column) -> Column:
    """Return a column with the name and type of its new definition.

    NOT NULL, default and comment stay where the definition has none.
    """
    before, after = (bridge.parse_type(session.spark, c.type) for c in (old, given))
    if not convertible(before, after):
        raise AcidAnalysisError(
            "NOT_SUPPORTED_CHANGE_COLUMN",
            f"column {old.name} of {table.full_name} cannot change from {old.type} to "
            f"{given.type}, because its files are not rewritten: possible are {CONVERSIONS}",
        )
    if before != after and old.name in table.bucket_columns:
        raise AcidAnalysisError(
            "NOT_SUPPORTED_CHANGE_COLUMN",
            f"column {old.name} of {table.full_name} is in CLUSTERED BY, and another type has "
            "other hash codes: keep its type",
        )
    return Column(
        name=given.name,
        type=given.type if before != after else old.type,
        nullable=old.nullable and given.nullable,
        default=given.default or old.default,
        comment=given.comment if given.comment is not None else old.comment,
        generated=old.generated,
    )


def _check_by_name(table: Table, columns: Columns) -> None:
    """Refuse other names and types of columns where readers find columns by name.

    That is so in insert-only tables, except those of text files.
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


def _check_no_nulls(transaction: WriteTransaction, columns: Columns) -> None:
    """Refuse NOT NULL for a column that has NULLs (NOT_NULL_CONSTRAINT_VIOLATION)."""
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
