"""Constraints of CREATE TABLE, and ALTER TABLE … ADD and DROP CONSTRAINT.

NOT NULL and DEFAULT belong to columns (``alter_columns``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame

from acidsql.commands import events, result
from acidsql.commands.check_constraints import check_condition
from acidsql.errors import AcidAnalysisError, AcidParseError, quoted_name
from acidsql.format.identifiers import folded, lowered
from acidsql.metastore.catalog_changes import AlterTable
from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.model import Table
from acidsql.session.acid_session import AcidSession
from acidsql.session.settings import name_key
from acidsql.syntax.alter_statements import AddConstraint, DropConstraint
from acidsql.syntax.constraints import Constraint, ConstraintKind, parse_constraint
from acidsql.syntax.lexer import quote
from acidsql.syntax.places import place_of
from acidsql.transactions.write_intent import alter_intent
from acidsql.transactions.write_transaction import TableWrite, write_transaction


def with_constraints(session: AcidSession, table: Table, added: Sequence[Constraint]) -> Table:
    """Return a table with more constraints, as the metastore stores them.

    Raises:
        AcidAnalysisError: CONSTRAINT_ALREADY_EXISTS, MULTIPLE_PRIMARY_KEYS,
            UNSUPPORTED_CONSTRAINT_CHARACTERISTIC, COLUMN_NOT_FOUND, COLUMN_ALREADY_EXISTS,
            FOREIGN_KEY_COLUMNS, and the errors of ``check_condition``.
    """
    for constraint in added:
        _check_name(table, constraint)
        _check_characteristics(constraint)
        if constraint.kind is ConstraintKind.CHECK:
            check_condition(session, (*table.columns, *table.partition_columns), constraint)
        table = replace(
            table, constraints=(*table.constraints, _resolved(session, table, constraint))
        )
    return table


def _check_name(table: Table, constraint: Constraint) -> None:
    for other in table.constraints:
        if constraint.name and folded(other.name) == folded(constraint.name):
            raise AcidAnalysisError(
                "CONSTRAINT_ALREADY_EXISTS",
                f"{table.full_name} has a constraint {other.name} {other.definition}: give the new "
                "one another name, or drop that one first",
                {"constraintName": other.name, "oldConstraint": other.definition},
            )
        if other.kind is constraint.kind is ConstraintKind.PRIMARY_KEY:
            raise AcidAnalysisError(
                "MULTIPLE_PRIMARY_KEYS",
                f"{table.full_name} has the primary key ({', '.join(other.columns)}): drop its "
                f"constraint {other.name} first, or declare UNIQUE",
                {"columns": f"[{', '.join(constraint.columns)}]"},
            )


def _check_characteristics(constraint: Constraint) -> None:
    """Refuse a key with ENABLE or VALIDATE, as Hive does: its keys must be declared DISABLE."""
    if constraint.kind is ConstraintKind.CHECK:
        return
    given = {"ENABLE": constraint.enabled, "VALIDATE": constraint.validated}
    for word, is_given in given.items():
        if is_given:
            raise AcidAnalysisError(
                "UNSUPPORTED_CONSTRAINT_CHARACTERISTIC",
                f"{constraint.kind} is not enforced: write DISABLE NOVALIDATE rather than {word}, "
                "or leave both out",
                {"characteristic": word, "constraintType": constraint.kind.value},
            )


def _resolved(session: AcidSession, table: Table, constraint: Constraint) -> Constraint:
    """Return a constraint with the names of its columns and parent as in the metastore."""
    key = name_key(session.spark)
    known = {key(c.name): c.name for c in (*table.columns, *table.partition_columns)}
    for name in constraint.columns:
        if key(name) not in known:
            raise AcidAnalysisError(
                "COLUMN_NOT_FOUND",
                f"{constraint.kind} names {name}, which {table.full_name} does not have: it has "
                f"{', '.join(known.values())}",
                {"colName": quoted_name([name])},
            )
    columns = tuple(known[key(name)] for name in constraint.columns)
    for name in columns:
        if columns.count(name) > 1:
            raise AcidAnalysisError(
                "COLUMN_ALREADY_EXISTS",
                f"{constraint.kind} names {name} twice: name it once",
                {"columnName": quoted_name([name])},
            )
    if constraint.parent and len(columns) != len(constraint.parent_columns):
        raise AcidAnalysisError(
            "FOREIGN_KEY_COLUMNS",
            f"FOREIGN KEY ({', '.join(columns)}) REFERENCES {'.'.join(constraint.parent)} "
            f"({', '.join(constraint.parent_columns)}): name as many columns of the other table",
        )
    parent = tuple(map(lowered, constraint.parent))
    return replace(
        constraint,
        columns=columns,
        enabled=constraint.is_enforced,
        validated=None,
        parent=parent if len(parent) != 1 else (table.database, *parent),
    )


def add_constraint(session: AcidSession, table: Table, statement: AddConstraint) -> DataFrame:
    """Run ADD CONSTRAINT; the existing rows must satisfy a CHECK."""
    added = parse_constraint(statement.constraint.of(statement.text))
    if added is None:
        place = place_of(statement.text, statement.constraint.start, "")
        message = "CHECK, PRIMARY KEY, UNIQUE or FOREIGN KEY is expected"
        raise AcidParseError(message, **place)
    with_constraints(session, table, [added])  # a refused constraint takes no write id
    source = RecordedStatement(operation="ADD CONSTRAINT", text=statement.text)
    with write_transaction(session, alter_intent(table, source)) as transaction:
        old = transaction.table
        new = with_constraints(session, old, [added])
        if added.is_enforced:
            _check_rows(transaction, new.constraints[-1])
        transaction.changes.append(AlterTable(before=old, after=new))
        transaction.commit([])
    return result.nothing(session.spark)


def _check_rows(transaction: TableWrite, constraint: Constraint) -> None:
    """Refuse a CHECK that a row of the table violates (NEW_CHECK_CONSTRAINT_VIOLATION)."""
    table = transaction.table
    columns = (*table.columns, *table.partition_columns)
    used = check_condition(transaction.session, columns, constraint).columns
    name = f"{quote(table.database)}.{quote(table.name)}"
    shown = ", ".join(f"CAST({quote(column)} AS STRING)" for column in used) or "1"
    text = f"SELECT {shown} FROM spark_catalog.{name} WHERE NOT ({constraint.expression}) LIMIT 1"
    row = events.snapshot_of(transaction).run(text).head()
    if row is None:
        return
    values = "\n".join(
        f" - {column} : {'null' if value is None else value}"
        for column, value in zip(used, row, strict=False)
    )
    raise AcidAnalysisError(
        "NEW_CHECK_CONSTRAINT_VIOLATION",
        f"the constraint CHECK ({constraint.expression}) cannot be added to {table.full_name}, "
        f"because there is a row with values:\n{values}\nUPDATE or DELETE such rows first",
        {
            "expression": constraint.expression or "",
            "tableName": quoted_name([table.database, table.name]),
        },
    )


def drop_constraint(session: AcidSession, table: Table, statement: DropConstraint) -> DataFrame:
    """Run DROP CONSTRAINT; it changes no row."""

    def without(old: Table) -> Table:
        name = folded(statement.constraint_name)
        kept = tuple(c for c in old.constraints if folded(c.name) != name)
        if len(kept) == len(old.constraints) and not statement.if_exists:
            names = ", ".join(c.name for c in old.constraints)
            raise AcidAnalysisError(
                "CONSTRAINT_DOES_NOT_EXIST",
                f"{old.full_name} has no constraint {statement.constraint_name}: it has "
                f"{names or 'none'}; NOT NULL and DEFAULT are dropped with ALTER COLUMN",
                {
                    "constraintName": statement.constraint_name,
                    "tableName": quoted_name([old.database, old.name]),
                },
            )
        return replace(old, constraints=kept)

    if without(table) == table:
        return result.nothing(session.spark)
    source = RecordedStatement(operation="DROP CONSTRAINT", text=statement.text)
    with write_transaction(session, alter_intent(table, source)) as transaction:
        old = transaction.table
        transaction.changes.append(AlterTable(before=old, after=without(old)))
        transaction.commit([])
    return result.nothing(session.spark)
