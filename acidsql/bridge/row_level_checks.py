"""Rejection of invalid expressions in UPDATE, DELETE and MERGE, under Spark's error conditions.

Spark rejects these expressions only after its rules have rewritten the statement's plan. Its error
condition therefore depends on the table's implementation, and its message shows columns of the
rewritten plan. The conditions here are those of Spark 4.3 for a table whose rows have ids
(``SupportsDelta``). For MERGE, Spark's condition also depends on the other clauses. Here it is
always the same.
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

# Spark's tree pattern that marks expressions which contain a node of each kind.
_PATTERNS = {"WindowExpression": "WINDOW_EXPRESSION", "AggregateExpression": "AGGREGATE_EXPRESSION"}
# Their children are references to the outer row, which Spark checks itself.
_SUBQUERIES = ("Exists", "ListQuery", "ScalarSubquery")


def check_where(spark: SparkSession, condition: Expression) -> None:
    """Reject a WHERE of UPDATE or DELETE that uses several rows or is nondeterministic.

    Args:
        spark: the session.
        condition: the resolved condition.

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
    """Reject a condition that Spark rejects in MERGE.

    Args:
        spark: the session.
        place: ``SEARCH`` for ON, or the action of the WHEN clause: ``UPDATE``, ``DELETE`` or
            ``INSERT``.
        condition: the resolved condition.

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
    """Reject values of UPDATE that depend on several rows.

    Args:
        spark: the session.
        values: the resolved values.

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
    """Reject values in SET or VALUES of MERGE that depend on several rows.

    Args:
        spark: the session.
        values: the resolved values.

    Raises:
        AcidAnalysisError: UNSUPPORTED_EXPR_FOR_OPERATOR.
    """
    for value in values:
        for kind in _PATTERNS:
            function = _first(spark, value, kind)
            if function is not None:
                raise _of_several_rows("MergeIntoTable", "SET or VALUES of MERGE", function)


def _of_several_rows(operator: str, place: str, function: Expression) -> AcidAnalysisError:
    what = "aggregate" if simple_name(function) == "AggregateExpression" else "window"
    return AcidAnalysisError(
        "UNSUPPORTED_EXPR_FOR_OPERATOR",
        f"{place} has the {what} function {function.sql()}, whose value is of several rows: "
        "compute it in a scalar subquery, or join a query that has it",
        {"operator": operator, "invalidExprSqls": _quoted(function)},
    )


def _quoted(expression: Expression) -> str:
    """Return the SQL text of an expression in the format of Spark's message parameters."""
    return f'"{expression.sql()}"'


def _first(
    spark: SparkSession, expression: Expression, kind: str, *, outside: str = ""
) -> Expression | None:
    """Return the first expression of a kind in an expression, outside its subqueries.

    Args:
        spark: the session.
        expression: the expression to search.
        kind: simple name of the class.
        outside: simple name of a class whose function is skipped, while the function's arguments
            are searched. An aggregate over a window, for example, does not need GROUP BY.
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
    matches = (_search(child, kind, pattern, outside) for child in children)
    return next((match for match in matches if match is not None), None)
