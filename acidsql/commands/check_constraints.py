"""CHECK constraints: checks of their conditions, and the columns that they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.errors import AnalysisException

from acidsql import bridge
from acidsql.commands.generated_columns import generated_value
from acidsql.errors import AcidAnalysisError
from acidsql.format.identifiers import folded
from acidsql.metastore.model import Column, Table
from acidsql.schema.columns import schema_of
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.constraints import Constraint


def row_conditions(session: AcidSession, table: Table) -> Mapping[str, bridge.RowCondition]:
    """Return the conditions that new rows of a table must meet, by the names of their constraints.

    Raises:
        AnalysisException: Spark cannot resolve a condition; Hive may have created its constraint.
    """
    columns = (*table.columns, *table.partition_columns)
    return {
        constraint.name: _condition(session, columns, constraint)
        for constraint in table.enforced_constraints
    }


def _condition(
    session: AcidSession, columns: Sequence[Column], constraint: Constraint
) -> bridge.RowCondition:
    schema = schema_of(session.spark, tuple(columns))
    return bridge.row_condition(session.spark, schema, constraint.expression or "")


def check_condition(
    session: AcidSession, columns: Sequence[Column], constraint: Constraint
) -> bridge.RowCondition:
    """Refuse a new CHECK constraint whose condition is more than a function of one row.

    Returns:
        The resolved condition.

    Raises:
        AcidAnalysisError: NON_DETERMINISTIC_CHECK_CONSTRAINT, INVALID_CHECK_CONSTRAINT.
        AnalysisException: Spark cannot resolve the condition, or it is not BOOLEAN.
        ParseException: the condition is not an expression.
    """
    condition = _condition(session, columns, constraint)
    text = {"checkCondition": constraint.expression or ""}
    if condition.has_subquery:
        raise AcidAnalysisError(
            "INVALID_CHECK_CONSTRAINT",
            f"CHECK ({constraint.expression}) has a subquery: name only columns of the row",
            text,
        )
    if not condition.is_deterministic:
        raise AcidAnalysisError(
            "NON_DETERMINISTIC_CHECK_CONSTRAINT",
            f"CHECK ({constraint.expression}) is not deterministic: the same row must always give "
            "the same",
            text,
        )
    return condition


def with_columns(session: AcidSession, table: Table, columns: tuple[Column, ...]) -> Table:
    """Return a table with other columns in its files, after checking that its constraints allow it.

    Keys get the new names of their columns.

    Args:
        session: the session.
        table: the table.
        columns: the new columns; each old column keeps its position, and columns may follow.

    Raises:
        AcidAnalysisError: COLUMN_USED_BY_CONSTRAINT, a CHECK uses a column that gets another name,
            or a type for which its condition cannot be resolved; a generated column is computed
            from a column that gets another name or type.
    """
    pairs = list(zip(table.columns, columns, strict=False))
    names = {folded(old.name): new.name for old, new in pairs}
    renamed = {old.name for old, new in pairs if folded(old.name) != folded(new.name)}
    retyped = {old.name for old, new in pairs if old.type != new.type}
    before = (*table.columns, *table.partition_columns)
    for constraint in table.enforced_constraints if renamed or retyped else ():
        used = _condition(session, before, constraint).columns
        for name in used:
            if name in renamed:
                raise _is_used(table, name, constraint)
        if retyped.intersection(used):
            after = (*columns, *table.partition_columns)
            try:
                _condition(session, after, constraint)
            except AnalysisException as error:
                raise _is_used(table, next(n for n in used if n in retyped), constraint) from error
    for generated in table.generated_columns if renamed or retyped else ():
        for name in generated_value(session, table, generated).columns:
            if name in renamed | retyped:
                raise _is_input(table, name, generated)
    kept = tuple(
        replace(c, columns=tuple(names.get(folded(name), name) for name in c.columns))
        for c in table.constraints
    )
    return replace(table, columns=columns, constraints=kept)


def _is_input(table: Table, column: str, generated: Column) -> AcidAnalysisError:
    return AcidAnalysisError(
        "COLUMN_USED_BY_CONSTRAINT",
        f"column {column} of {table.full_name} cannot change, because {generated.name} GENERATED "
        f"ALWAYS AS ({generated.generated}) is computed from it: make another table",
        {"columnName": column, "constraintName": generated.name},
    )


def _is_used(table: Table, column: str, constraint: Constraint) -> AcidAnalysisError:
    return AcidAnalysisError(
        "COLUMN_USED_BY_CONSTRAINT",
        f"column {column} of {table.full_name} cannot change, because the constraint "
        f"{constraint.name} {constraint.definition} needs it: ALTER TABLE {table.full_name} DROP "
        f"CONSTRAINT {constraint.name} first, and ADD it again afterwards",
        {"columnName": column, "constraintName": constraint.name},
    )
