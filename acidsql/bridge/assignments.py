"""Values that UPDATE and MERGE assign to columns, which Spark's analyser resolves and casts."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession

from acidsql.bridge.jvm import (
    CATALYST,
    Expression,
    JavaObject,
    LogicalPlan,
    alias,
    appended,
    elements,
    expression_of,
    jvm_class,
    scala_seq,
    session_state,
    simple_name,
)
from acidsql.bridge.jvm_planning import copy_node, jvm_planning
from acidsql.bridge.plans import frame_of, logical_plan
from acidsql.errors import quoted_name

# Name of the attribute of a value that is computed before its casts.
_COMPUTED = "__acidsql_computed"


def align(
    spark: SparkSession, method: str, attributes: JavaObject, assignments: JavaObject
) -> JavaObject:
    """Align assignments with a table's columns by Spark's ``AssignmentUtils``.

    The result has one value per column, in order, cast by the store-assignment policy.
    """
    utils = jvm_class(spark, f"{CATALYST}.analysis.AssignmentUtils")
    java_class = jvm_class(spark, "java.lang.Class").forName(f"{CATALYST}.analysis.AssignmentUtils")
    arity = next(m.getParameterCount() for m in java_class.getMethods() if m.getName() == method)
    return getattr(utils, method)(attributes, assignments, *([False] * (arity - 2)))


def never_resolved(spark: SparkSession) -> Expression:
    """Build an invalid cast, which no analyser rule resolves or rejects."""
    return session_state(spark).sqlParser().parseExpression("CAST(array(1) AS INT)")


def analyze_partly(
    spark: SparkSession, plan: LogicalPlan, field: str, condition: Expression
) -> LogicalPlan:
    """Resolve a command's expressions, but add no casts to its assignments.

    Spark's rule that adds the casts acts only on resolved commands, so an unresolved condition
    prevents it. ``AssignmentUtils`` later adds casts that follow the store-assignment policy.

    Args:
        spark: the session.
        plan: the command.
        field: name of the field that contains the command's condition.
        condition: unresolved value for that field.
    """
    held = copy_node(spark, plan, {field: condition})
    analyzer = session_state(spark).analyzer()
    while True:
        try:
            partly = analyzer.execute(held)
        except AnalysisException as error:  # MERGE fails at its first unresolved name
            name = (error.getMessageParameters() or {}).get("objectName")
            changed = _with_variables(spark, held, name) if name else None
            if changed is None:
                raise
            held = changed
            continue
        changed = _with_variables(spark, partly)
        return partly if changed is None else analyzer.execute(changed)


def _with_variables(
    spark: SparkSession, plan: LogicalPlan, name: str | None = None
) -> LogicalPlan | None:
    """Replace unresolved names in assigned values by session variables.

    Spark looks for variables in all other expressions, but not in these.

    Args:
        spark: the session.
        plan: the command.
        name: the only name to replace, in backticks; None for all names.

    Returns:
        None if no name is a variable.
    """
    pairs = []
    for attribute in elements(jvm_planning(spark).unresolvedValues(plan)):
        if name is None or quoted_name(elements(attribute.nameParts())) == name:
            pairs += [(attribute, value) for value in _variable(spark, attribute)]
    if not pairs:
        return None
    names, values = zip(*pairs, strict=True)
    return jvm_planning(spark).withValues(plan, list(names), list(values))


def _variable(spark: SparkSession, name: Expression) -> list[Expression]:
    """Return the session variable, or its field, that an unresolved attribute names."""
    logical = f"{CATALYST}.plans.logical"
    nothing = jvm_class(spark, f"{logical}.OneRowRelation")()
    project = jvm_class(spark, f"{logical}.Project")
    analyzed = session_state(spark).analyzer().execute(project(scala_seq(spark, [name]), nothing))
    value = analyzed.projectList().head()
    return [value.child()] if value.resolved() and simple_name(value) == "Alias" else []


def apart(spark: SparkSession, assignments: JavaObject) -> tuple[JavaObject, list[JavaObject]]:
    """Separate nondeterministic values, so that Spark computes each value once per row.

    Spark casts a struct or a map part by part, and would compute the value again for each part.

    Returns:
        The assignments, with a new attribute in place of each nondeterministic value, and the
        assignments of these values to the new attributes.
    """
    kept, computed = [], []
    for assignment in elements(assignments):
        value = assignment.value()
        if value.deterministic():
            kept.append(assignment)
            continue
        attribute = alias(spark, value, _COMPUTED).toAttribute()
        computed.append(copy_node(spark, assignment, {"key": attribute}))
        kept.append(copy_node(spark, assignment, {"value": attribute}))
    return scala_seq(spark, kept), computed


def with_columns(
    spark: SparkSession, rows: LogicalPlan, texts: Sequence[str], values: Sequence[JavaObject]
) -> LogicalPlan:
    """Add columns, given as SQL texts and as Catalyst aliases, to rows."""
    parsed = session_state(spark).sqlParser().parsePlan(f"SELECT {', '.join(['*', *texts])}")
    project = jvm_class(spark, f"{CATALYST}.plans.logical.Project")
    return project(appended(spark, parsed.projectList(), values), rows)


def with_attributes(frame: DataFrame, values: Sequence[tuple[Expression, Column]]) -> DataFrame:
    """Add columns to a DataFrame under the attributes by which other expressions refer to them."""
    spark = frame.sparkSession
    named = [
        alias(spark, expression_of(spark, value), str(attribute.name()), attribute.exprId())
        for attribute, value in values
    ]
    return frame_of(spark, with_columns(spark, logical_plan(frame), [], named)) if named else frame
