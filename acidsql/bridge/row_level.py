"""Analysis of UPDATE and DELETE, and queries for the rows that they match."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from acidsql.bridge.assignments import (
    align,
    analyze_partly,
    apart,
    never_resolved,
    with_attributes,
    with_columns,
)
from acidsql.bridge.jvm import (
    Expression,
    JavaObject,
    LogicalPlan,
    alias,
    appended,
    column,
    defined,
    elements,
    jvm_class,
    scala_seq,
    session_state,
    simple_name,
)
from acidsql.bridge.jvm_planning import copy_node, jvm_planning
from acidsql.bridge.merge import merge_query
from acidsql.bridge.plans import (
    analyze,
    current_namespace,
    exposed,
    frame_of,
    logical_plan,
    replace_relations,
)
from acidsql.bridge.row_level_checks import check_set, check_where
from acidsql.errors import AcidAnalysisError
from acidsql.syntax.lexer import quote

# The child of each statement that is its target table.
_TARGETS = {
    "DeleteFromTable": "table",
    "MergeIntoTable": "targetTable",
    "UpdateTable": "table",
}
_SESSION_CATALOG = "spark_catalog"


def analyze_update(spark: SparkSession, plan: LogicalPlan) -> LogicalPlan:
    """Analyse an ``UpdateTable``.

    The result has one assignment per column of the table, in the table's order, followed by the
    assignments of ``apart``.

    Raises:
        AnalysisException: Spark cannot resolve the statement.
        AcidAnalysisError: Spark cannot resolve a column of SET (UNRESOLVED_ASSIGNMENT).
    """
    some = jvm_class(spark, "scala.Some")
    partly = analyze_partly(spark, plan, "condition", some(never_resolved(spark)))
    assignments = partly.assignments()
    if not (all(a.resolved() for a in elements(assignments)) and partly.table().resolved()):
        analyze(spark, plan)  # raises the error that names what it cannot resolve
        raise AcidAnalysisError("UNRESOLVED_ASSIGNMENT", "Spark cannot resolve a column of SET")
    check_set(spark, [a.value() for a in elements(assignments)])
    kept, computed = apart(spark, assignments)
    aligned = align(spark, "alignUpdateAssignments", partly.table().output(), kept)
    changes = {"assignments": appended(spark, aligned, computed), "condition": plan.condition()}
    # Analysed without Spark's check, which would reject rand() in values. Spark checks the parts of
    # the plan later, when acidsql makes DataFrames from them.
    analyzed = session_state(spark).analyzer().execute(copy_node(spark, partly, changes))
    for condition in defined(analyzed.condition()):
        _check_where(spark, condition, plan)
    return analyzed


def analyze_delete(spark: SparkSession, plan: LogicalPlan) -> LogicalPlan:
    """Analyse a ``DeleteFromTable``.

    Raises:
        AnalysisException: Spark cannot resolve the statement.
        AcidAnalysisError: see ``check_where``.
    """
    analyzed = session_state(spark).analyzer().execute(plan)
    _check_where(spark, analyzed.condition(), plan)
    return analyzed


def _check_where(spark: SparkSession, condition: Expression, plan: LogicalPlan) -> None:
    """Reject a WHERE that is unresolved or invalid in UPDATE and DELETE.

    Args:
        spark: the session.
        condition: the condition.
        plan: the parsed command, which analysis errors show.
    """
    if not condition.resolved():
        analyze(spark, plan)  # raises the error that names what it cannot resolve
    check_where(spark, condition)


def required_rows_query(spark: SparkSession, plan: LogicalPlan) -> LogicalPlan | None:
    """Build the query for the rows that an UPDATE, DELETE or MERGE matches.

    The optimised query shows which rows of the tables are required. Return None if subqueries in
    SET may require more rows.

    Args:
        spark: the session.
        plan: analysed plan of the statement.
    """
    kind = simple_name(plan)
    if kind == "MergeIntoTable":
        return merge_query(spark, plan)
    table = exposed(spark, plan.table())
    if kind != "UpdateTable":
        return _with_condition(spark, table, plan.condition())
    if jvm_planning(spark).assigned(plan.assignments()).hasSubquery():
        return None
    return _filtered(spark, table, plan.condition())


def update_rows(spark: SparkSession, plan: LogicalPlan, names: Mapping[str, str]) -> DataFrame:
    """Build the query for the rows that an ``UpdateTable`` matches, with all new values.

    Args:
        spark: the session.
        plan: result of ``analyze_update``.
        names: name of each new value, by column name, for all columns in order.
    """
    rows = _filtered(spark, exposed(spark, plan.table()), plan.condition())
    assignments = plan.assignments()
    columns = list(names)
    positions = json.loads(jvm_planning(spark).assigned(assignments).text())
    changed = [(columns[i], assignments.apply(i)) for i in positions if i < len(columns)]
    others = [assignments.apply(i) for i in range(len(columns), assignments.size())]
    # One text selects all columns that keep their values, which takes a single py4j call.
    assigned = dict(changed)
    kept = [f"{quote(c)} AS {quote(name)}" for c, name in names.items() if c not in assigned]
    values = [alias(spark, a.value(), names[column_name]) for column_name, a in changed]
    computed = [(a.key(), column(spark, a.value())) for a in others]
    if not computed:
        return frame_of(spark, with_columns(spark, rows, kept, values))
    first = with_attributes(frame_of(spark, with_columns(spark, rows, kept, [])), computed)
    return frame_of(spark, with_columns(spark, logical_plan(first), [], values))


def updated_columns(spark: SparkSession, plan: LogicalPlan) -> frozenset[int]:
    """Return the positions of the columns that an analysed ``UpdateTable`` changes."""
    return assigned_columns(spark, plan.assignments())


def assigned_columns(spark: SparkSession, assignments: JavaObject | None) -> frozenset[int]:
    """Return the positions of the assignments that do not assign a column to itself.

    Args:
        spark: the session.
        assignments: Scala ``Seq`` of one assignment per column of the table, followed by other
            assignments; or None.
    """
    if assignments is None:
        return frozenset()
    return frozenset(json.loads(jvm_planning(spark).assigned(assignments).text()))


def delete_rows(spark: SparkSession, plan: LogicalPlan) -> DataFrame:
    """Build the query for the rows that a ``DeleteFromTable`` matches.

    Args:
        spark: the session.
        plan: result of ``analyze_delete``.
    """
    table = exposed(spark, plan.table())
    return frame_of(spark, _with_condition(spark, table, plan.condition()))


def _filtered(spark: SparkSession, table: LogicalPlan, condition: Expression) -> LogicalPlan:
    return _with_condition(spark, table, condition.get()) if condition.isDefined() else table


def _with_condition(spark: SparkSession, table: LogicalPlan, condition: Expression) -> LogicalPlan:
    if condition.resolved() and condition.dataType().typeName() == "void":
        parser = session_state(spark).sqlParser()
        condition = parser.parseExpression("CAST(NULL AS BOOLEAN)")
    return jvm_class(spark, "org.apache.spark.sql.catalyst.plans.logical.Filter")(condition, table)


def qualify_target(spark: SparkSession, plan: LogicalPlan) -> LogicalPlan:
    """Qualify the target of an UPDATE, DELETE or MERGE after WITH by its database.

    Otherwise ``CTESubstitution`` would replace the target by a common table expression of the same
    name.
    """
    if simple_name(plan) != "UnresolvedWith":
        return plan
    statement = plan.child()
    side = _TARGETS.get(simple_name(statement))
    if side is None:
        return plan
    catalog, database = current_namespace(spark)
    if catalog != _SESSION_CATALOG:
        return plan
    target = getattr(statement, side)()
    leaf = target.collectLeaves().head()
    if simple_name(leaf) != "UnresolvedRelation" or leaf.multipartIdentifier().size() != 1:
        return plan
    (table,) = elements(leaf.multipartIdentifier())
    name = [catalog, database, str(table)]
    named = copy_node(spark, leaf, {"multipartIdentifier": scala_seq(spark, name)})
    changed = copy_node(spark, statement, {side: replace_relations(spark, target, [(leaf, named)])})
    return copy_node(spark, plan, {"child": changed})
