"""CHECK constraints, which each new row must meet, and generated columns, computed from a row."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from acidsql.bridge.conditions import attributes_in
from acidsql.bridge.jvm import (
    CATALYST,
    Expression,
    JavaObject,
    LogicalPlan,
    column,
    elements,
    java_type,
    jvm_class,
    scala_object,
    scala_seq,
    session_state,
    simple_name,
)
from acidsql.bridge.jvm_planning import rebound
from acidsql.bridge.plans import analyze, logical_plan
from acidsql.bridge.spark_versions import differences
from acidsql.errors import AcidAnalysisError, WriteJobError

GENERATED = " GENERATED ALWAYS"
"""Suffix of the constraint name that represents a generated column."""
_IDENTITY = " AS IDENTITY"
_LOGICAL = f"{CATALYST}.plans.logical"
CHECK_CONSTRAINT_VIOLATION = "CHECK_CONSTRAINT_VIOLATION"
# Beginning of the message of a violation. JSON follows it.
_MARK = f"[{CHECK_CONSTRAINT_VIOLATION}] "


@dataclass(frozen=True, slots=True)
class RowCondition:
    """Resolved condition, or another expression, over the columns of a table.

    Attributes:
        text: SQL text.
        expression: Catalyst expression.
        output: Scala ``Seq`` of the attributes of all columns.
        columns: names of the columns that the expression refers to, in the order of the table.
    """

    spark: SparkSession
    text: str
    expression: Expression
    output: JavaObject
    columns: tuple[str, ...]

    @property
    def is_deterministic(self) -> bool:
        """Return whether the result is always the same for the same row."""
        return bool(self.expression.deterministic())

    @property
    def has_subquery(self) -> bool:
        """Return whether the condition contains a subquery."""
        patterns = scala_object(self.spark, f"{CATALYST}.trees.TreePattern")
        return bool(self.expression.containsPattern(patterns.PLAN_EXPRESSION()))


def row_condition(spark: SparkSession, schema: StructType, text: str) -> RowCondition:
    """Resolve a condition over the columns of a table.

    Args:
        spark: the session.
        schema: all columns of the table.
        text: SQL of the condition.

    Raises:
        ParseException: the text is not an expression.
        AnalysisException: Spark cannot resolve it, or it is not BOOLEAN.
    """
    rows = _no_rows(spark, schema)
    parsed = session_state(spark).sqlParser().parseExpression(text)
    plan = analyze(spark, jvm_class(spark, f"{_LOGICAL}.Filter")(parsed, rows))
    return _resolved(spark, schema, text, plan.condition(), rows)


def row_value(spark: SparkSession, schema: StructType, text: str) -> RowCondition:
    """Resolve an expression of any type over the columns of a table; see ``row_condition``.

    Raises:
        AcidAnalysisError: INVALID_GENERATED_COLUMN, the expression is an aggregate, a window
            function or a generator.
    """
    rows = _no_rows(spark, schema)
    parsed = session_state(spark).sqlParser().parsePlan(f"SELECT {text} AS value FROM nothing")
    plan = analyze(spark, jvm_class(spark, f"{_LOGICAL}.Project")(parsed.projectList(), rows))
    value = plan.projectList().head() if simple_name(plan) == "Project" else None
    if value is None or simple_name(plan.child()) != "LocalRelation":
        raise AcidAnalysisError(
            "INVALID_GENERATED_COLUMN",
            f"{text} is not computed from one row: leave aggregates, window functions and "
            "generators out",
        )
    return _resolved(spark, schema, text, value.child(), rows)


def _no_rows(spark: SparkSession, schema: StructType) -> LogicalPlan:
    types = jvm_class(spark, f"{CATALYST}.types.DataTypeUtils")
    output = types.toAttributes(java_type(spark, schema))
    nothing = [scala_object(spark, "scala.None")] * differences(spark).has_streaming_local_relations
    local = jvm_class(spark, f"{_LOGICAL}.LocalRelation")
    return local(output, scala_seq(spark, []), False, *nothing)


def _resolved(
    spark: SparkSession, schema: StructType, text: str, expression: Expression, rows: LogicalPlan
) -> RowCondition:
    used = attributes_in(expression)
    return RowCondition(
        spark=spark,
        text=text,
        expression=expression,
        output=rows.output(),
        columns=tuple(name for name in schema.names if name in used),
    )


def _over(rows: DataFrame, condition: RowCondition, values: Sequence[str]) -> Column:
    """Return a condition as a column over the new values of all columns of its table."""
    spark = rows.sparkSession
    attributes = {str(a.name()): a for a in elements(logical_plan(rows).output())}
    new = scala_seq(spark, [attributes[value] for value in values])
    return column(spark, rebound(spark, condition.expression, condition.output, new))


def with_row_value(
    rows: DataFrame, value: RowCondition, values: Sequence[str], name: str, *, only_null: bool
) -> DataFrame:
    """Compute the new value of a column from the new values of other columns.

    Args:
        rows: rows with the new values.
        value: the expression (``row_value``).
        values: names of the columns of ``rows`` that contain the table's new values.
        name: name of the column to compute, from ``values``.
        only_null: whether to compute the value only where it is NULL.
    """
    computed = _over(rows, value, values)
    return rows.withColumn(name, F.coalesce(F.col(name), computed) if only_null else computed)


def checked_rows(
    rows: DataFrame,
    conditions: Mapping[str, RowCondition],
    names: Sequence[str],
    values: Sequence[str],
    acting: str | None,
) -> DataFrame:
    """Make the job that writes rows fail at the first row for which a condition is false.

    The check is part of the first value, which every job that writes the rows computes. NULL is
    not a violation.

    Args:
        rows: rows with the new values.
        conditions: conditions by constraint name.
        names: names of the table's columns.
        values: names of the columns of ``rows`` that contain the new values, in the same order.
        acting: SQL condition that selects the rows to check; None to check all rows.
    """
    if not conditions:
        return rows
    placed = dict(zip(names, values, strict=True))
    value = F.col(values[0])
    for name, condition in reversed(list(conditions.items())):
        holds = _over(rows, condition, values)
        violated = ~holds if acting is None else F.expr(acting) & ~holds
        value = F.when(violated, F.raise_error(_message(name, condition, placed))).otherwise(value)
    return rows.withColumn(values[0], value)


def _message(name: str, condition: RowCondition, placed: Mapping[str, str]) -> Column:
    """Build the message of a violation: ``_MARK``, then the parameters of the error as JSON."""
    parts = []
    for number, used in enumerate(condition.columns):
        text = F.coalesce(F.col(placed[used]).cast("string"), F.lit("null"))
        parts += [F.lit(f"{chr(10) if number else ''} - {used} : "), text]
    parameters = F.struct(
        F.lit(name).alias("constraintName"),
        F.lit(condition.text).alias("expression"),
        F.concat(F.lit(""), *parts).alias("values"),
    )
    return F.concat(F.lit(_MARK), F.to_json(parameters))


def identity_violation(column_name: str, definition: str, given: Column) -> Column:
    """Make a job fail that writes a row with a given value for an identity column.

    Args:
        column_name: name of the column.
        definition: definition of the column in CREATE TABLE.
        given: the given value.
    """
    parameters = F.struct(
        F.lit(f"{column_name}{_IDENTITY}").alias("constraintName"),
        F.lit(definition).alias("expression"),
        given.cast("string").alias("values"),
    )
    return F.raise_error(F.concat(F.lit(_MARK), F.to_json(parameters)))


def violation_in(text: str) -> Mapping[str, str] | None:
    """Return the parameters of the violation in a message; None if it reports no violation.

    >>> violation_in('[USER_RAISED_EXCEPTION] [CHECK_CONSTRAINT_VIOLATION] {"values": "1"} P0001')
    {'values': '1'}
    """
    _, mark, rest = text.partition(_MARK)
    if not mark:
        return None
    parameters, _ = json.JSONDecoder().raw_decode(rest)
    return {str(key): str(value) for key, value in parameters.items()}


def check_violation(table: str, parameters: Mapping[str, str]) -> WriteJobError:
    """Build the error for a row that violates a CHECK, or a generated or identity column.

    Args:
        table: name of the table.
        parameters: ``constraintName``, ``expression``, and ``values`` with a line per column.
    """
    if parameters["constraintName"].endswith(_IDENTITY):
        column_name = parameters["constraintName"].removesuffix(_IDENTITY)
        return WriteJobError(
            "IDENTITY_COLUMN_VALUE",
            f"{column_name} of {table} is {parameters['expression']}, and the value "
            f"{parameters['values']} was given: leave the column out, or give DEFAULT",
            {"columnName": column_name, "value": parameters["values"]},
        )
    if parameters["constraintName"].endswith(GENERATED):
        column_name = parameters["constraintName"].removesuffix(GENERATED)
        return WriteJobError(
            CHECK_CONSTRAINT_VIOLATION,
            f"a value was given for the generated column {column_name} of {table} that is not that "
            f"of its expression ({parameters['expression']}):\n{parameters['values']}\n"
            "Leave the column out, or give DEFAULT",
            dict(parameters),
        )
    return WriteJobError(
        CHECK_CONSTRAINT_VIOLATION,
        f"the CHECK constraint {parameters['constraintName']} ({parameters['expression']}) of "
        f"{table} is violated by the row with values:\n{parameters['values']}\n"
        "Give other values, or drop the constraint",
        dict(parameters),
    )
