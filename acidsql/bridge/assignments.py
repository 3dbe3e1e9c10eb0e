"""Values that UPDATE and MERGE assign to columns: resolved and cast by Spark's analyser."""

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
    copy_node,
    elements,
    expression_of,
    jvm_class,
    scala_seq,
    session_state,
    simple_name,
)
from acidsql.bridge.jvm_planning import jvm_planning
from acidsql.bridge.plans import frame_of, logical_plan
from acidsql.errors import quoted_name

# Name of the attribute of a value that is computed apart from its casts.
_COMPUTED = "__acidsql_computed"


def align(
    spark: SparkSession, method: str, attributes: JavaObject, assignments: JavaObject
) -> JavaObject:
    """Align assignments with a table's columns by Spark's ``AssignmentUtils``: one value per
    column, in order, cast by the store-assignment policy.
    """
    utils = jvm_class(spark, f"{CATALYST}.analysis.AssignmentUtils")
    java_class = jvm_class(spark, "java.lang.Class").forName(f"{CATALYST}.analysis.AssignmentUtils")
    arity = next(m.getParameterCount() for m in java_class.getMethods() if m.getName() == method)
    return getattr(utils, method)(attributes, assignments, *([False] * (arity - 2)))


def never_resolved(spark: SparkSession) -> Expression:
    """Build an expression that no analyser rule resolves and none rejects: a cast that does not
    exist.
    """
    return session_state(spark).sqlParser().parseExpression("CAST(array(1) AS INT)")


def analyze_partly(
    spark: SparkSession, plan: LogicalPlan, field: str, condition: Expression
) -> LogicalPlan:
    """Resolve a command's expressions, but not the casts of its assignments.

    Spark's rule for the casts acts on resolved commands only, so an unresolved condition holds it
    back. The casts of ``AssignmentUtils``, which follow the store-assignment policy, are made
    later.

    Args:
        field: name of the command's condition.
        condition: value of that field, not resolved.
    """
    held = copy_node(spark, plan, {field: condition})
    analyzer = session_state(spark).analyzer()
    while True:
        try:
            partly = analyzer.execute(held)
        except AnalysisException as error:  # of a MERGE, at its first unresolved name
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
    """Put session variables in the places of unresolved names in the values of assignments; Spark
    looks for variables in every expression but these.

    Args:
        name: the only name that is looked at, in backticks.

    Returns:
        None if there is no such name.
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
    """Return the session variable, or the field of one, that an unresolved attribute names."""
    logical = f"{CATALYST}.plans.logical"
    nothing = jvm_class(spark, f"{logical}.OneRowRelation")()
    project = jvm_class(spark, f"{logical}.Project")
    analyzed = session_state(spark).analyzer().execute(project(scala_seq(spark, [name]), nothing))
    value = analyzed.projectList().head()
    return [value.child()] if value.resolved() and simple_name(value) == "Alias" else []


def apart(spark: SparkSession, assignments: JavaObject) -> tuple[JavaObject, list[JavaObject]]:
    """Set the values apart that are not deterministic, so that each is computed once for a row.

    Spark casts a struct or a map by its parts, and the value would be computed for each of them.

    Returns:
        The assignments, with a new attribute in the place of such a value; and what assigns the
        values to these attributes.
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
    """Add columns to rows, given as SQL texts and as Catalyst aliases."""
    parsed = session_state(spark).sqlParser().parsePlan(f"SELECT {', '.join(['*', *texts])}")
    project = jvm_class(spark, f"{CATALYST}.plans.logical.Project")
    return project(appended(spark, parsed.projectList(), values), rows)


def with_attributes(frame: DataFrame, values: Sequence[tuple[Expression, Column]]) -> DataFrame:
    """Add columns to a DataFrame under the attributes that other expressions have for them."""
    spark = frame.sparkSession
    named = [
        alias(spark, expression_of(spark, value), str(attribute.name()), attribute.exprId())
        for attribute, value in values
    ]
    return frame_of(spark, with_columns(spark, logical_plan(frame), [], named)) if named else frame
