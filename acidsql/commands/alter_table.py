"""ALTER TABLE: RENAME TO, TBLPROPERTIES and refused clauses; dispatch of the other clauses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from acidsql.commands import alter_columns, alter_partitions, constraints, result
from acidsql.commands.definitions import check_properties, warn_of_retention
from acidsql.errors import AcidAnalysisError, page, quoted_name
from acidsql.metastore import failures
from acidsql.metastore.catalog_changes import AlterTable, RenameTable
from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.model import Table
from acidsql.metastore.names import is_temporary_table
from acidsql.planning.name_resolution import already_exists, in_metastore, known_to_spark, qualified
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import check_free, child
from acidsql.syntax import alter_statements as ast
from acidsql.transactions.write_intent import alter_intent
from acidsql.transactions.write_transaction import write_transaction

_COMMENT = "comment"
# Properties that cannot change (TransactionalValidationListener), each with the value that means
# the same as no property.
_FIXED = {"transactional": "true", "transactional_properties": "default", "bucketing_version": ""}


def alter_table(session: AcidSession, table: Table, statement: ast.Alteration) -> DataFrame:
    """Run an ALTER TABLE statement."""
    return _ALTERATIONS[type(statement)](session, table, statement)


def _rename_table(session: AcidSession, table: Table, statement: ast.RenameTable) -> DataFrame:
    """Run RENAME TO; a table in its default directory moves to that of its new name, as in Hive."""
    if is_temporary_table(table.name):
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.TEMPORARY_TABLE_RENAME",
            f"a temporary table cannot be renamed: CREATE TEMPORARY TABLE "
            f"{'.'.join(statement.new_name)} AS SELECT * FROM {'.'.join(statement.name)}",
        )
    parts = statement.new_name
    name = qualified(session, parts if len(parts) > 1 else (table.database, *parts))
    if name is None:
        raise AcidAnalysisError(
            "REQUIRES_SINGLE_PART_NAMESPACE",
            f"{'.'.join(parts)} does not name a table of spark_catalog: write database.table",
            {"identifier": quoted_name(parts)},
        )
    failures.check_name(name[1])
    session.metastore.database_location(name[0])
    if in_metastore(session, name) or known_to_spark(session, name):
        raise already_exists(name)
    source = RecordedStatement(operation="RENAME TABLE", text=statement.text)
    with write_transaction(session, alter_intent(table, source)) as transaction:
        old = transaction.table
        location = _location(session, old, *name)
        transaction.changes.append(
            RenameTable(table=old, database=name[0], name=name[1], location=location)
        )
        transaction.commit([])
    return result.nothing(session.spark)


def _location(session: AcidSession, old: Table, database: str, name: str) -> str:
    """Return the directory of a renamed table.

    The directory moves if it is the table's default directory. It does not move on an object store,
    where a move would copy every file and would not be atomic.

    Raises:
        FormatError: PATH_ALREADY_EXISTS.
    """
    default = child(session.database_location(old.database), old.name)
    stays = session.files.is_object_store(old.location)
    if stays or old.location != session.files.qualify(default):
        return old.location
    location = session.files.qualify(child(session.database_location(database), name))
    check_free(session.files, old.location, location)
    return location


def _set_properties(session: AcidSession, table: Table, statement: ast.SetProperties) -> DataFrame:
    for key, value in statement.properties.items():
        kept = table.properties.get(key.lower(), _FIXED.get(key.lower()))
        if key.lower() in _FIXED and kept != value.lower():
            raise _fixed(table, key)
    check_properties(statement.properties)
    warn_of_retention(session, statement.properties)
    source = RecordedStatement(operation="SET TBLPROPERTIES", text=statement.text)
    return _with_properties(session, table, source, lambda old: {**old, **statement.properties})


def _unset_properties(
    session: AcidSession, table: Table, statement: ast.UnsetProperties
) -> DataFrame:
    for key in statement.keys:
        if key.lower() in _FIXED and key.lower() in table.properties:
            raise _fixed(table, key)
    source = RecordedStatement(operation="UNSET TBLPROPERTIES", text=statement.text)

    def without(old: Mapping[str, str]) -> Mapping[str, str]:
        return {key: value for key, value in old.items() if key not in statement.keys}

    return _with_properties(session, table, source, without)


def _comment(session: AcidSession, table: Table, statement: ast.CommentOnTable) -> DataFrame:
    source = RecordedStatement(operation="SET TBLPROPERTIES", text=statement.text)
    given = {} if statement.comment is None else {_COMMENT: statement.comment}

    def commented(old: Mapping[str, str]) -> Mapping[str, str]:
        return {**{key: value for key, value in old.items() if key != _COMMENT}, **given}

    return _with_properties(session, table, source, commented)


def _fixed(table: Table, key: str) -> AcidAnalysisError:
    return AcidAnalysisError(
        "UNSUPPORTED_FEATURE.TABLE_PROPERTY",
        f"the table property {key!r} of {table.full_name} cannot change after CREATE TABLE: make "
        "another table, and INSERT INTO it",
    )


def _with_properties(
    session: AcidSession,
    table: Table,
    source: RecordedStatement,
    change: Callable[[Mapping[str, str]], Mapping[str, str]],
) -> DataFrame:
    with write_transaction(session, alter_intent(table, source)) as transaction:
        old = transaction.table
        new = replace(old, properties=change(old.properties))
        transaction.changes.append(AlterTable(before=old, after=new))
        transaction.commit([])
    return result.nothing(session.spark)


def _refuse_location(_: AcidSession, table: Table, statement: ast.SetLocation) -> DataFrame:
    raise AcidAnalysisError(
        "UNSUPPORTED_FEATURE.SET_LOCATION",
        f"SET LOCATION {statement.location!r} would leave the rows of {table.full_name} behind: "
        "move the directories with the file system's tools, DROP the table and CREATE it over them "
        "with LOCATION",
    )


def _refuse(_: AcidSession, table: Table, statement: ast.AlterTable) -> DataFrame:
    raise AcidAnalysisError(
        "UNSUPPORTED_FEATURE.ALTER_TABLE",
        f"ALTER TABLE {statement.rest.of(statement.text)} is not supported on the transactional "
        f"table {table.full_name}: {page('limits')} says what is",
    )


_ALTERATIONS: Mapping[type, Callable[[AcidSession, Table, Any], DataFrame]] = {
    ast.AddConstraint: constraints.add_constraint,
    ast.AddColumns: alter_columns.add_columns,
    ast.AddPartitions: alter_partitions.add_partitions,
    ast.AlterTable: _refuse,
    ast.ChangeColumn: alter_columns.change_column,
    ast.CommentOnTable: _comment,
    ast.DropColumns: alter_columns.drop_columns,
    ast.DropConstraint: constraints.drop_constraint,
    ast.DropPartitions: alter_partitions.drop_partitions,
    ast.RenameColumn: alter_columns.rename_column,
    ast.RenamePartition: alter_partitions.rename_partition,
    ast.RenameTable: _rename_table,
    ast.ReplaceColumns: alter_columns.replace_columns,
    ast.SetLocation: _refuse_location,
    ast.SetProperties: _set_properties,
    ast.UnsetProperties: _unset_properties,
}
