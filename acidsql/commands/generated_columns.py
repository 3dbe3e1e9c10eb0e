"""Generated columns: checks of their expressions, and their values in new rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import CharType, VarcharType

from acidsql import bridge
from acidsql.errors import AcidAnalysisError
from acidsql.format.identifiers import folded
from acidsql.metastore.model import Column, Table
from acidsql.schema.columns import has_type, schema_of
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.lexer import quote


def check_generated(session: AcidSession, table: Table) -> None:
    """Refuse generated columns whose expressions are more than a function of other columns.

    Raises:
        AcidAnalysisError: INVALID_GENERATED_COLUMN.
        AnalysisException: Spark cannot resolve an expression, or cannot cast its value.
    """
    generated = {folded(column.name) for column in table.generated_columns}
    for column in table.generated_columns:
        value = generated_value(session, table, column)
        reason = None
        if not column.nullable or column.default is not None:
            reason = "has NOT NULL or DEFAULT as well: leave it out, CHECK may stand in its place"
        elif has_type(bridge.parse_type(session.spark, column.type), (CharType, VarcharType)):
            reason = f"is of type {column.type}: use STRING"
        elif value.has_subquery:
            reason = "has a subquery: name only columns of the row"
        elif not value.is_deterministic:
            reason = "is not deterministic: the same row must always give the same"
        elif generated.intersection(map(folded, value.columns)):
            reason = "names a generated column: name the columns that that one names"
        elif not value.columns:
            reason = "names no column: use DEFAULT"
        if reason is not None:
            raise AcidAnalysisError(
                "INVALID_GENERATED_COLUMN",
                f"{column.name} GENERATED ALWAYS AS ({column.generated}) {reason}",
                {"columnName": column.name, "expression": column.generated or ""},
            )
        _equality(session, table, column)


def generated_value(session: AcidSession, table: Table, column: Column) -> bridge.RowCondition:
    """Resolve a generated column's expression, cast to the column's type, in a row of the table."""
    schema = schema_of(session.spark, (*table.columns, *table.partition_columns))
    return bridge.row_value(session.spark, schema, _cast(session, table, column))


def _cast(session: AcidSession, table: Table, column: Column) -> str:
    schema = schema_of(session.spark, (*table.columns, *table.partition_columns))
    kind = bridge.type_sql(session.spark, schema[column.name].dataType)
    return f"CAST(({column.generated}) AS {kind})"


def _equality(session: AcidSession, table: Table, column: Column) -> bridge.RowCondition:
    """Resolve the condition that a generated column equals its expression."""
    schema = schema_of(session.spark, (*table.columns, *table.partition_columns))
    text = f"{quote(column.name)} <=> {_cast(session, table, column)}"
    return bridge.row_condition(session.spark, schema, text)


def with_generated_values(
    session: AcidSession,
    table: Table,
    rows: DataFrame,
    values: Sequence[str],
    assigned: Collection[int] | None,
) -> DataFrame:
    """Compute the values of generated columns to which a statement assigns no value.

    Args:
        session: the session.
        table: the table.
        rows: rows with the new values.
        values: names of the columns of ``rows`` that contain the values of the table's columns.
        assigned: positions of the columns that the statement assigns to, None for all. In these
            columns, only NULL is replaced.
    """
    columns = (*table.columns, *table.partition_columns)
    for position, column in enumerate(columns):
        if column.generated is None:
            continue
        value = generated_value(session, table, column)
        only_null = assigned is None or position in assigned
        rows = bridge.with_row_value(rows, value, values, values[position], only_null=only_null)
    return rows


def generated_conditions(
    session: AcidSession, table: Table, assigned: Collection[int] | None
) -> Mapping[str, bridge.RowCondition]:
    """Return the conditions for values assigned to generated columns, by their names in errors."""
    columns = (*table.columns, *table.partition_columns)
    return {
        f"{column.name}{bridge.GENERATED}": _equality(session, table, column)
        for position, column in enumerate(columns)
        if column.generated is not None and (assigned is None or position in assigned)
    }
