"""Refusal of expressions that cannot stand in UPDATE, DELETE and MERGE, under Spark's conditions.

Spark refuses them too, but only after its rules have made another plan of the statement. Its
condition therefore depends on the table's implementation, and its message shows that plan's
columns. The conditions here are those of Spark 4.3 over a table whose rows have ids
(``SupportsDelta``). MERGE has one condition where Spark's depends on the other clauses.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from acidsql.bridge.jvm import (
    CATALYST,
    Expression,
    JavaObject,
    elements,
    scala_object,
    simple_name,
)
from acidsql.errors import AcidAnalysisError

# Spark's mark of expressions that contain one of a kind.
_PATTERNS = {"WindowExpression": "WINDOW_EXPRESSION", "AggregateExpression": "AGGREGATE_EXPRESSION"}
# Their children are what they take from the row outside. Spark has checks of its own for these.
_SUBQUERIES = ("Exists", "ListQuery", "ScalarSubquery")


def check_where(spark: SparkSession, condition: Expression) -> None:
    """Refuse a WHERE of UPDATE or DELETE that is of several rows, or not deterministic.

    Args:
        condition: resolved.

    Raises:
        AcidAnalysisError: WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE, INVALID_WHERE_CONDITION,
            INVALID_NON_DETERMINISTIC_EXPRESSIONS.
    """
    window = _first(spark, condition, "WindowExpression")
    if window is not None:
        raise AcidAnalysisError(
            "WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE",
            f"WHERE has the window function {window.sql()}: compute it in a subquery, as in "
            "WHERE id IN (SELECT …)",
            {"clauseName": "WHERE"},
        )
    aggregate = _first(spark, condition, "AggregateExpression")
    if aggregate is not None:
        raise AcidAnalysisError(
            "INVALID_WHERE_CONDITION",
            f"WHERE has the aggregate function {aggregate.sql()}: compute it in a scalar subquery, "
            "as in WHERE v > (SELECT avg(v) …)",
            {"condition": _quoted(condition), "expressionList": str(aggregate.sql())},
        )
    if not condition.deterministic():
        raise AcidAnalysisError(
            "INVALID_NON_DETERMINISTIC_EXPRESSIONS",
            f"WHERE is not deterministic ({condition.sql()}), so that it does not say which rows "
            "are meant: store the value in a column first, and compare that",
            {"sqlExprs": _quoted(condition)},
        )


def check_merge_condition(spark: SparkSession, place: str, condition: Expression) -> None:
    """Refuse a condition that Spark refuses in MERGE.

    Args:
        place: ``SEARCH`` for ON, else the action of the WHEN clause: ``UPDATE``, ``DELETE`` or
            ``INSERT``.
        condition: resolved.

    Raises:
        AcidAnalysisError: UNSUPPORTED_MERGE_CONDITION, UNSUPPORTED_EXPR_FOR_OPERATOR.
    """
    clause = "ON" if place == "SEARCH" else f"WHEN … THEN {place}"
    subqueries = scala_object(spark, f"{CATALYST}.expressions.SubqueryExpression")
    subject = f"the {clause} condition {condition.sql()} of MERGE"
    parameters = {"condName": place, "cond": _quoted(condition)}
    if not condition.deterministic():
        raise AcidAnalysisError(
            "UNSUPPORTED_MERGE_CONDITION.NON_DETERMINISTIC",
            f"{subject} is not deterministic: compute the value in a column of the source",
            parameters,
        )
    if subqueries.hasSubquery(condition):
        raise AcidAnalysisError(
            "UNSUPPORTED_MERGE_CONDITION.SUBQUERY",
            f"{subject} has a subquery: join it in the source instead",
            parameters,
        )
    if _first(spark, condition, "AggregateExpression") is not None:
        raise AcidAnalysisError(
            "UNSUPPORTED_MERGE_CONDITION.AGGREGATE",
            f"{subject} has an aggregate function: compute it in a column of the source",
            parameters,
        )
    window = _first(spark, condition, "WindowExpression")
    if window is not None:
        raise _of_several_rows("MergeIntoTable", f"the {clause} condition of MERGE", window)


def check_set(spark: SparkSession, values: Sequence[Expression]) -> None:
    """Refuse values of UPDATE that are of several rows.

    Args:
        values: resolved.

    Raises:
        AcidAnalysisError: UNSUPPORTED_EXPR_FOR_OPERATOR, MISSING_GROUP_BY.
    """
    for value in values:
        aggregate = _first(spark, value, "AggregateExpression", outside="WindowExpression")
        if aggregate is not None:
            raise AcidAnalysisError(
                "MISSING_GROUP_BY",
                f"SET has the aggregate function {aggregate.sql()}, and an UPDATE has no GROUP BY: "
                "compute it in a scalar subquery, as in SET v = (SELECT max(v) …)",
            )
        window = _first(spark, value, "WindowExpression")
        if window is not None:
            raise _of_several_rows("UpdateTable", "SET of UPDATE", window)


def check_merge_values(spark: SparkSession, values: Sequence[Expression]) -> None:
    """Refuse values of MERGE that are of several rows: those of SET and of VALUES.

    Args:
        values: resolved.

    Raises:
        AcidAnalysisError: UNSUPPORTED_EXPR_FOR_OPERATOR.
    """
    for value in values:
        for kind in _PATTERNS:
            found = _first(spark, value, kind)
            if found is not None:
                raise _of_several_rows("MergeIntoTable", "SET or VALUES of MERGE", found)


def _of_several_rows(operator: str, place: str, found: Expression) -> AcidAnalysisError:
    what = "aggregate" if simple_name(found) == "AggregateExpression" else "window"
    return AcidAnalysisError(
        "UNSUPPORTED_EXPR_FOR_OPERATOR",
        f"{place} has the {what} function {found.sql()}, whose value is of several rows: compute "
        "it in a scalar subquery, or join a query that has it",
        {"operator": operator, "invalidExprSqls": _quoted(found)},
    )


def _quoted(expression: Expression) -> str:
    """Return the SQL text of an expression as Spark's parameters of messages have it."""
    return f'"{expression.sql()}"'


def _first(
    spark: SparkSession, expression: Expression, kind: str, *, outside: str = ""
) -> Expression | None:
    """Return the first expression of a kind in another, but none of its subqueries.

    Args:
        kind: simple name of the class.
        outside: a kind whose function is not looked at, but the arguments of that are: an aggregate
            over a window is not one over a group.
    """
    pattern = getattr(scala_object(spark, f"{CATALYST}.trees.TreePattern"), _PATTERNS[kind])()
    return _search(expression, kind, pattern, outside)


def _search(
    expression: Expression, kind: str, pattern: JavaObject, outside: str
) -> Expression | None:
    name = simple_name(expression)
    if name in _SUBQUERIES or not expression.containsPattern(pattern):
        return None
    if name == kind:
        return expression
    children = elements(expression.children())
    if name == outside:
        function, *others = children
        children = [*elements(function.children()), *others]
    found = (_search(child, kind, pattern, outside) for child in children)
    return next((f for f in found if f is not None), None)
