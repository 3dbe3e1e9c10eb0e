"""Analysis of MERGE, and the join of its target with its source."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import broadcast

from acidsql.bridge.assignments import align, analyze_partly, apart, never_resolved
from acidsql.bridge.jvm import (
    CATALYST,
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
from acidsql.bridge.jvm_planning import copy_node
from acidsql.bridge.plans import analyze, exposed, frame_of, join, logical_plan
from acidsql.bridge.row_level_checks import check_merge_condition, check_merge_values

# The fields of MergeIntoTable that contain its WHEN clauses.
_ACTIONS = ("matchedActions", "notMatchedActions", "notMatchedBySourceActions")


def _kind(action: LogicalPlan) -> str:
    """Return the kind of an action: ``update``, ``delete`` or ``insert``."""
    return simple_name(action).removesuffix("Action").lower()


def analyze_merge(spark: SparkSession, plan: LogicalPlan) -> LogicalPlan:
    """Analyse a ``MergeIntoTable``.

    In the result, each action has one assignment per column, in the table's order, followed by the
    assignments of ``apart``.

    Raises:
        AcidAnalysisError: a condition or a value contains an invalid expression
            (UNSUPPORTED_MERGE_CONDITION, UNSUPPORTED_EXPR_FOR_OPERATOR).
        AnalysisException: Spark cannot resolve an expression.
    """
    both = jvm_class(spark, f"{CATALYST}.expressions.And")
    held = both(plan.mergeCondition(), never_resolved(spark))
    partly = analyze_partly(spark, plan, "mergeCondition", held)
    on = partly.mergeCondition().left()
    if not on.resolved():
        return analyze(spark, plan)
    check_merge_condition(spark, "SEARCH", on)
    changes: dict[str, JavaObject] = {"mergeCondition": on}
    for field in _ACTIONS:
        actions = []
        for action in elements(getattr(partly, field)()):
            if not action.resolved():
                return analyze(spark, plan)
            for condition in defined(action.condition()):
                check_merge_condition(spark, _kind(action).upper(), condition)
            actions.append(_aligned_action(spark, partly.targetTable().output(), action))
        changes[field] = scala_seq(spark, actions)
    return session_state(spark).analyzer().execute(copy_node(spark, partly, changes))


def _aligned_action(spark: SparkSession, output: JavaObject, action: LogicalPlan) -> JavaObject:
    kind = _kind(action)
    if kind == "delete":
        return action
    method = "alignInsertAssignments" if kind == "insert" else "alignUpdateAssignments"
    check_merge_values(spark, [a.value() for a in elements(action.assignments())])
    kept, computed = apart(spark, action.assignments())
    aligned = align(spark, method, output, kept)
    return copy_node(spark, action, {"assignments": appended(spark, aligned, computed)})


@dataclass(frozen=True)
class Clause:
    """WHEN clause of an analysed MERGE.

    Attributes:
        kind: ``update``, ``delete`` or ``insert``.
        condition: condition after AND, or None.
        assignments: Scala ``Seq`` of one assignment per column of the table, followed by other
            assignments; None for a delete.
        computed: nondeterministic values, and the attributes by which ``assignments`` refers to
            them.
    """

    kind: str
    condition: Column | None
    assignments: JavaObject | None
    computed: tuple[tuple[Expression, Column], ...]


@dataclass(frozen=True)
class MergePlan:
    """Parts of an analysed MERGE.

    Attributes:
        target: plan of the target, with its hidden columns.
        source: plan of the source.
        condition: condition of ON.
        matched: clauses of WHEN MATCHED, in order.
        not_matched: clauses of WHEN NOT MATCHED [BY TARGET], in order.
        not_matched_by_source: clauses of WHEN NOT MATCHED BY SOURCE, in order.
    """

    target: LogicalPlan
    source: LogicalPlan
    condition: Expression
    matched: tuple[Clause, ...]
    not_matched: tuple[Clause, ...]
    not_matched_by_source: tuple[Clause, ...]


def _clause(spark: SparkSession, action: LogicalPlan, columns: int) -> Clause:
    """Build a clause from an analysed action.

    Args:
        spark: the session.
        action: the action.
        columns: number of the table's columns.
    """
    kind = _kind(action)
    assignments = None if kind == "delete" else action.assignments()
    others = [] if assignments is None else elements(assignments.drop(columns))
    conditions = [column(spark, condition) for condition in defined(action.condition())]
    return Clause(
        kind=kind,
        condition=conditions[0] if conditions else None,
        assignments=assignments,
        computed=tuple((a.key(), column(spark, a.value())) for a in others),
    )


def merge_pieces(spark: SparkSession, plan: LogicalPlan) -> MergePlan:
    """Split an analysed ``MergeIntoTable`` into its parts."""
    columns = int(plan.targetTable().output().size())

    def clauses(actions: JavaObject) -> tuple[Clause, ...]:
        return tuple(_clause(spark, action, columns) for action in elements(actions))

    return MergePlan(
        target=exposed(spark, plan.targetTable()),
        source=plan.sourceTable(),
        condition=plan.mergeCondition(),
        matched=clauses(plan.matchedActions()),
        not_matched=clauses(plan.notMatchedActions()),
        not_matched_by_source=clauses(plan.notMatchedBySourceActions()),
    )


def merge_query(spark: SparkSession, plan: LogicalPlan) -> LogicalPlan:
    """Build the join of the target of a MERGE with its source.

    Args:
        spark: the session.
        plan: result of ``analyze_merge``.
    """
    kind = _join_kind(
        not_matched=plan.notMatchedActions().nonEmpty(),
        not_matched_by_source=plan.notMatchedBySourceActions().nonEmpty(),
    )
    target = exposed(spark, plan.targetTable())
    return join(spark, target, plan.sourceTable(), kind, plan.mergeCondition())


def _join_kind(*, not_matched: bool, not_matched_by_source: bool) -> str:
    """Return the join type that a MERGE with these clauses needs for target and source."""
    kinds = {(True, True): "fullouter", (True, False): "rightouter", (False, True): "leftouter"}
    return kinds.get((not_matched, not_matched_by_source), "inner")


def _kind_of(pieces: MergePlan) -> str:
    return _join_kind(
        not_matched=bool(pieces.not_matched),
        not_matched_by_source=bool(pieces.not_matched_by_source),
    )


def merge_join(
    spark: SparkSession, pieces: MergePlan, target: DataFrame, source: DataFrame
) -> DataFrame:
    """Join the target of a MERGE with its source, with the join type that its clauses need.

    Args:
        spark: the session.
        pieces: parts of the MERGE.
        target: rows of the target, which can have more columns.
        source: rows of the source, which can have more columns.
    """
    sides = logical_plan(target), logical_plan(source)
    return frame_of(spark, join(spark, *sides, _kind_of(pieces), pieces.condition))


def merge_with_broadcast_source(
    spark: SparkSession, pieces: MergePlan, target: DataFrame, source: DataFrame
) -> DataFrame:
    """Join like ``merge_join``, but by two joins, for a MERGE that retains all rows of its source.

    Spark cannot broadcast the side of an outer join whose rows are all retained, and would shuffle
    the whole target. Here, an inner join with the broadcast source finds the matches. A second join
    combines the matches with the source.

    Args:
        spark: the session.
        pieces: parts of the MERGE.
        target: as in ``merge_join``.
        source: rows of the source, which must be the same whenever the plan runs. The last column
            identifies a row.
    """
    left, right = logical_plan(target), logical_plan(broadcast(source))
    number = right.output().last()
    matched = join(spark, left, right, "inner", pieces.condition)
    copied = alias(spark, number, f"{number.name()}_matched")
    project = jvm_class(spark, f"{CATALYST}.plans.logical.Project")
    matches = project(appended(spark, left.output(), [copied]), matched)
    same = jvm_class(spark, f"{CATALYST}.expressions.EqualTo")(number, copied.toAttribute())
    return frame_of(spark, join(spark, logical_plan(source), matches, "leftouter", same))
