"""Analysis of UPDATE and DELETE: the queries of the rows that they match."""

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
    copy_node,
    defined,
    elements,
    jvm_class,
    scala_seq,
    session_state,
    simple_name,
)
from acidsql.bridge.jvm_planning import jvm_planning
from acidsql.bridge.merge import merge_query
from acidsql.bridge.plans import analyze, exposed, frame_of, logical_plan, replace_relations
from acidsql.bridge.row_level_checks import check_set, check_where
from acidsql.errors import AcidAnalysisError
from acidsql.syntax.lexer import quote

# Child of a statement that is the table which it changes.
_TARGETS = {
    "DeleteFromTable": "table",
    "MergeIntoTable": "targetTable",
    "UpdateTable": "table",
}
_SESSION_CATALOG = "spark_catalog"


def analyze_update(spark: SparkSession, plan: LogicalPlan) -> LogicalPlan:
    """Analyse an ``UpdateTable``; it gets one assignment per column of the table, in the table's
    order, then those of ``apart``.

    Raises:
        AnalysisException: Spark cannot resolve the statement.
        AcidAnalysisError: it cannot resolve a column of SET (UNRESOLVED_ASSIGNMENT).
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
    # Executed without Spark's check, which would refuse rand() in values. The parts of the plan are
    # checked when DataFrames are made of them.
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
    """Refuse a WHERE that is not resolved, or that an UPDATE or DELETE cannot have.

    Args:
        plan: the parsed command, which errors of analysis show.
    """
    if not condition.resolved():
        analyze(spark, plan)  # raises the error that names what it cannot resolve
    check_where(spark, condition)


def required_rows_query(spark: SparkSession, plan: LogicalPlan) -> LogicalPlan | None:
    """Build the query for the rows that an UPDATE, DELETE or MERGE matches.

    What the optimiser leaves of it shows which rows of the tables are required. None if subqueries
    in SET may require more.

    Args:
        plan: of the statement, analysed.
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
    """Build the query for the rows that an ``UpdateTable`` matches, with a new value of each
    column.

    Args:
        plan: as ``analyze_update`` returns it.
        names: of the new values, by the names of all columns in their order.
    """
    rows = _filtered(spark, exposed(spark, plan.table()), plan.condition())
    assignments = plan.assignments()
    columns = list(names)
    found = json.loads(jvm_planning(spark).assigned(assignments).text())
    changed = [(columns[i], assignments.apply(i)) for i in found if i < len(columns)]
    others = [assignments.apply(i) for i in range(len(columns), assignments.size())]
    # Columns that keep their values are selected by one text, which takes a single py4j call.
    assigned = dict(changed)
    kept = [f"{quote(c)} AS {quote(name)}" for c, name in names.items() if c not in assigned]
    values = [alias(spark, a.value(), names[column_name]) for column_name, a in changed]
    computed = [(a.key(), column(spark, a.value())) for a in others]
    if not computed:
        return frame_of(spark, with_columns(spark, rows, kept, values))
    first = with_attributes(frame_of(spark, with_columns(spark, rows, kept, [])), computed)
    return frame_of(spark, with_columns(spark, logical_plan(first), [], values))


def updated_columns(spark: SparkSession, plan: LogicalPlan) -> frozenset[int]:
    """Return the positions of the columns that an analysed ``UpdateTable`` assigns to."""
    return assigned_columns(spark, plan.assignments())


def assigned_columns(spark: SparkSession, assignments: JavaObject | None) -> frozenset[int]:
    """Return the positions of the assignments that are to something else than the column itself.

    Args:
        assignments: Scala ``Seq`` with one per column of the table, then others; None: there are
            none.
    """
    if assignments is None:
        return frozenset()
    return frozenset(json.loads(jvm_planning(spark).assigned(assignments).text()))


def delete_rows(spark: SparkSession, plan: LogicalPlan) -> DataFrame:
    """Build the query for the rows that a ``DeleteFromTable`` matches.

    Args:
        plan: as ``analyze_delete`` returns it.
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
    """Name the table that an UPDATE, DELETE or MERGE after WITH changes with its database.

    ``CTESubstitution`` would take a common table expression of the same name for the table.
    """
    if simple_name(plan) != "UnresolvedWith":
        return plan
    statement = plan.child()
    side = _TARGETS.get(simple_name(statement))
    if side is None or spark.catalog.currentCatalog() != _SESSION_CATALOG:
        return plan
    target = getattr(statement, side)()
    leaf = target.collectLeaves().head()
    if simple_name(leaf) != "UnresolvedRelation" or leaf.multipartIdentifier().size() != 1:
        return plan
    (own,) = elements(leaf.multipartIdentifier())
    name = [_SESSION_CATALOG, spark.catalog.currentDatabase(), str(own)]
    named = copy_node(spark, leaf, {"multipartIdentifier": scala_seq(spark, name)})
    changed = copy_node(spark, statement, {side: replace_relations(spark, target, [(leaf, named)])})
    return copy_node(spark, plan, {"child": changed})
