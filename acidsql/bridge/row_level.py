"""Analysis of UPDATE, DELETE and MERGE: Spark's analyser resolves names and casts the values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import broadcast

from acidsql.bridge.jvm import (
    CATALYST,
    Expression,
    JavaObject,
    LogicalPlan,
    alias,
    column,
    copy_node,
    elements,
    jvm_class,
    scala_object,
    scala_seq,
    session_state,
    simple_name,
)
from acidsql.bridge.plans import analyze, exposed, frame_of, join, logical_plan
from acidsql.errors import AcidAnalysisError
from acidsql.syntax.lexer import quote

# The fields of MergeIntoTable that hold its WHEN clauses.
_ACTIONS = ("matchedActions", "notMatchedActions", "notMatchedBySourceActions")


def _align(
    spark: SparkSession, method: str, attributes: JavaObject, assignments: JavaObject
) -> JavaObject:
    """Align assignments with a table's columns by Spark's ``AssignmentUtils``: one value per
    column, in order, cast by the store-assignment policy.
    """
    utils = jvm_class(spark, f"{CATALYST}.analysis.AssignmentUtils")
    java_class = jvm_class(spark, "java.lang.Class").forName(f"{CATALYST}.analysis.AssignmentUtils")
    arity = next(m.getParameterCount() for m in java_class.getMethods() if m.getName() == method)
    return getattr(utils, method)(attributes, assignments, *([False] * (arity - 2)))


def _never_resolved(spark: SparkSession) -> Expression:
    """Build an expression that no analyser rule resolves and none rejects: a cast that does not
    exist.
    """
    return session_state(spark).sqlParser().parseExpression("CAST(array(1) AS INT)")


def _analyze_partly(
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
    return session_state(spark).analyzer().execute(held)


def _resolved(assignments: JavaObject) -> bool:
    return all(a.resolved() for a in elements(assignments))


def _analyze_update(spark: SparkSession, plan: LogicalPlan) -> tuple[JavaObject, set[str]]:
    """Analyse an ``UpdateTable``.

    Returns:
        The plan with one assignment per column of the table, in the table's order; and the names,
        in lower case, of the columns that SET assigns.
    """
    some = jvm_class(spark, "scala.Some")
    partly = _analyze_partly(spark, plan, "condition", some(_never_resolved(spark)))
    assignments = partly.assignments()
    if not (_resolved(assignments) and partly.table().resolved()):
        analyze(spark, plan)  # raises the error that names what it cannot resolve
        raise AcidAnalysisError("UNRESOLVED_ASSIGNMENT", "Spark cannot resolve a column of SET")
    aligned = _align(spark, "alignUpdateAssignments", partly.table().output(), assignments)
    condition = plan.condition()
    whole = copy_node(spark, partly, {"assignments": aligned, "condition": condition})
    roots = [a.key().references().toSeq().head() for a in elements(assignments)]
    return analyze(spark, whole), {str(root.name()).lower() for root in roots}


def analyze_merge(spark: SparkSession, plan: LogicalPlan) -> LogicalPlan:
    """Analyse a ``MergeIntoTable``; each action gets one assignment per column, in the table's
    order.

    Raises:
        AcidAnalysisError: a condition has a subquery or an aggregate or is not deterministic
            (UNSUPPORTED_MERGE_CONDITION).
        AnalysisException: Spark cannot resolve an expression.
    """
    both = jvm_class(spark, f"{CATALYST}.expressions.And")
    held = both(plan.mergeCondition(), _never_resolved(spark))
    partly = _analyze_partly(spark, plan, "mergeCondition", held)
    on = partly.mergeCondition().left()
    _check_merge_condition(spark, "ON", on)
    changes: dict[str, JavaObject] = {"mergeCondition": on}
    for field in _ACTIONS:
        actions = []
        for action in elements(getattr(partly, field)()):
            if action.condition().isDefined():
                _check_merge_condition(spark, "WHEN", action.condition().get())
            if not action.resolved():
                return analyze(spark, plan)
            actions.append(_aligned_action(spark, partly.targetTable().output(), action))
        changes[field] = scala_seq(spark, actions)
    # Executed without Spark's check, which would refuse rand() in values. The parts of the plan are
    # checked when DataFrames are made of them.
    return session_state(spark).analyzer().execute(copy_node(spark, partly, changes))


def _check_merge_condition(spark: SparkSession, clause: str, condition: Expression) -> None:
    """Refuse a condition that Spark refuses in MERGE, by the same condition names.

    Args:
        clause: ON or WHEN.
    """
    if not condition.resolved():
        return
    subqueries = scala_object(spark, f"{CATALYST}.expressions.SubqueryExpression")
    patterns = jvm_class(spark, f"{CATALYST}.trees.TreePattern")
    problems = {
        "SUBQUERY": subqueries.hasSubquery(condition),
        "AGGREGATE": condition.containsPattern(patterns.AGGREGATE_EXPRESSION()),
        "NON_DETERMINISTIC": not condition.deterministic(),
    }
    for problem, found in problems.items():
        if found:
            raise AcidAnalysisError(
                f"UNSUPPORTED_MERGE_CONDITION.{problem}",
                f"the {clause} condition {condition.sql()} of MERGE holds something that it may "
                f"not ({problem.lower().replace('_', ' ')}): compute it in the source instead",
            )


def _aligned_action(spark: SparkSession, output: JavaObject, action: LogicalPlan) -> JavaObject:
    kind = simple_name(action)
    if kind == "DeleteAction":
        return action
    method = "alignInsertAssignments" if kind == "InsertAction" else "alignUpdateAssignments"
    aligned = _align(spark, method, output, action.assignments())
    return copy_node(spark, action, {"assignments": aligned})


@dataclass(frozen=True)
class Clause:
    """WHEN clause of an analysed MERGE.

    Attributes:
        kind: ``update``, ``delete`` or ``insert``.
        condition: after AND, if there is one.
        values: one per column of the table; none of a delete.
    """

    kind: str
    condition: Column | None
    values: tuple[Column, ...]


@dataclass(frozen=True)
class MergePlan:
    """Parts of an analysed MERGE.

    Attributes:
        target: plan of the target, with its hidden columns.
        source: plan of the source.
        condition: of ON.
        matched: clauses in their order, as are the next two.
        not_matched: clauses of WHEN NOT MATCHED [BY TARGET].
        not_matched_by_source: clauses of WHEN NOT MATCHED BY SOURCE.
    """

    target: LogicalPlan
    source: LogicalPlan
    condition: Expression
    matched: tuple[Clause, ...]
    not_matched: tuple[Clause, ...]
    not_matched_by_source: tuple[Clause, ...]


_CLAUSE_KINDS = {"UpdateAction": "update", "DeleteAction": "delete", "InsertAction": "insert"}


def _option(spark: SparkSession, option: JavaObject) -> Column | None:
    return column(spark, option.get()) if option.isDefined() else None


def _values(spark: SparkSession, assignments: JavaObject) -> tuple[Column, ...]:
    return tuple(column(spark, a.value()) for a in elements(assignments))


def merge_pieces(spark: SparkSession, plan: LogicalPlan) -> MergePlan:
    """Split an analysed ``MergeIntoTable`` into its parts."""

    def clauses(actions: JavaObject) -> tuple[Clause, ...]:
        return tuple(
            Clause(
                kind=_CLAUSE_KINDS[simple_name(action)],
                condition=_option(spark, action.condition()),
                values=()
                if simple_name(action) == "DeleteAction"
                else _values(spark, action.assignments()),
            )
            for action in elements(actions)
        )

    return MergePlan(
        target=exposed(spark, plan.targetTable()),
        source=plan.sourceTable(),
        condition=plan.mergeCondition(),
        matched=clauses(plan.matchedActions()),
        not_matched=clauses(plan.notMatchedActions()),
        not_matched_by_source=clauses(plan.notMatchedBySourceActions()),
    )


def required_rows_query(spark: SparkSession, plan: LogicalPlan) -> LogicalPlan | None:
    """Build the query for the rows that an UPDATE, DELETE or MERGE matches.

    What the optimiser leaves of it tells which rows of the tables are required. None if subqueries
    in SET may require more.

    Args:
        plan: of the statement, not analysed.
    """
    kind = simple_name(plan)
    if kind == "MergeIntoTable":
        return _asked_by_merge(spark, plan)
    if kind == "UpdateTable":
        subqueries = scala_object(spark, f"{CATALYST}.expressions.SubqueryExpression")
        if any(subqueries.hasSubquery(a.value()) for a in elements(plan.assignments())):
            return None
        return _filtered(spark, plan.table(), plan.condition())
    return _with_condition(spark, plan.table(), plan.condition())


def _asked_by_merge(spark: SparkSession, plan: LogicalPlan) -> LogicalPlan:
    kind = _join_kind(
        not_matched=plan.notMatchedActions().nonEmpty(),
        not_matched_by_source=plan.notMatchedBySourceActions().nonEmpty(),
    )
    return join(spark, plan.targetTable(), plan.sourceTable(), kind, plan.mergeCondition())


def _join_kind(*, not_matched: bool, not_matched_by_source: bool) -> str:
    """Return the type of the join of target and source that a MERGE with such clauses needs."""
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
    """Join the target of a MERGE with its source, by the join type that its clauses need.

    Args:
        target: its rows, perhaps with more columns.
        source: the same of the source.
    """
    sides = logical_plan(target), logical_plan(source)
    return frame_of(spark, join(spark, *sides, _kind_of(pieces), pieces.condition))


def merge_with_broadcast_source(
    spark: SparkSession, pieces: MergePlan, target: DataFrame, source: DataFrame
) -> DataFrame:
    """Join as ``merge_join`` does for a MERGE that keeps all rows of its source, by two joins.

    Spark cannot broadcast the side of an outer join that keeps all of its rows, and would shuffle
    the whole target. Here the source is broadcast in an inner join that finds the matches, and
    these are joined with the source.

    Args:
        target: as in ``merge_join``.
        source: gives the same rows each time it runs; its last column identifies a row.
    """
    left, right = logical_plan(target), logical_plan(broadcast(source))
    number = right.output().last()
    matched = join(spark, left, right, "inner", pieces.condition)
    copied = alias(spark, number, f"{number.name()}_matched")
    project = jvm_class(spark, f"{CATALYST}.plans.logical.Project")
    found = project(_with(spark, left.output(), [copied]), matched)
    same = jvm_class(spark, f"{CATALYST}.expressions.EqualTo")(number, copied.toAttribute())
    return frame_of(spark, join(spark, logical_plan(source), found, "leftouter", same))


def _with(spark: SparkSession, seq: JavaObject, more: Sequence[JavaObject]) -> JavaObject:
    """Append elements to a Scala ``Seq``."""
    converters = jvm_class(spark, "scala.collection.JavaConverters")
    listed = jvm_class(spark, "java.util.ArrayList")(converters.seqAsJavaList(seq))
    for element in more:
        listed.add(element)
    return jvm_class(spark, "org.apache.spark.api.python.PythonUtils").toSeq(listed)


def update_rows(spark: SparkSession, plan: LogicalPlan, names: Mapping[str, str]) -> DataFrame:
    """Build the query for the rows that an ``UpdateTable`` matches, with a new value of each
    column.

    Args:
        plan: not analysed.
        names: of the new values, by the names of all columns in their order.

    Raises:
        AnalysisException: Spark cannot resolve the statement.
        AcidAnalysisError: it cannot resolve a column of SET (UNRESOLVED_ASSIGNMENT).
    """
    plan, set_names = _analyze_update(spark, plan)
    changed = {name for name in names if name.lower() in set_names}
    rows = _filtered(spark, exposed(spark, plan.table()), plan.condition())
    # Columns that SET does not assign are parsed as one text, which takes one call for all of them.
    kept = [f"{quote(c)} AS {quote(name)}" for c, name in names.items() if c not in changed]
    parsed = session_state(spark).sqlParser().parsePlan(f"SELECT {', '.join(['*', *kept])}")
    assignments = plan.assignments()
    values = [
        alias(spark, assignments.apply(position).value(), name)
        for position, (column_name, name) in enumerate(names.items())
        if column_name in changed
    ]
    project = jvm_class(spark, f"{CATALYST}.plans.logical.Project")
    return frame_of(spark, project(_with(spark, parsed.projectList(), values), rows))


def delete_rows(spark: SparkSession, plan: LogicalPlan) -> DataFrame:
    """Build the query for the rows that an analysed ``DeleteFromTable`` matches."""
    table = exposed(spark, plan.table())
    return frame_of(spark, _with_condition(spark, table, plan.condition()))


def _filtered(spark: SparkSession, table: LogicalPlan, condition: Expression) -> LogicalPlan:
    return _with_condition(spark, table, condition.get()) if condition.isDefined() else table


def _with_condition(spark: SparkSession, table: LogicalPlan, condition: Expression) -> LogicalPlan:
    if condition.resolved() and condition.dataType().typeName() == "void":
        parser = session_state(spark).sqlParser()
        condition = parser.parseExpression("CAST(NULL AS BOOLEAN)")
    return jvm_class(spark, "org.apache.spark.sql.catalyst.plans.logical.Filter")(condition, table)
