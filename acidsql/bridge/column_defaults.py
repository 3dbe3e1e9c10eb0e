"""Check of the expression in a column's DEFAULT, by Spark's rules."""

from __future__ import annotations

from pyspark.sql import SparkSession

from acidsql.bridge.jvm import CATALYST, LogicalPlan, elements, scala_object, simple_name
from acidsql.bridge.plans import frame_of
from acidsql.bridge.sql_text import parse
from acidsql.errors import AcidAnalysisError
from acidsql.syntax.lexer import quote

_INSTEAD = (
    "give a constant or a function of the current time, user or database, or write the value in "
    "each statement"
)


def check_default(spark: SparkSession, name: str, default: str, type_text: str) -> None:
    """Reject a DEFAULT that Spark rejects when it creates a table or inserts a row.

    Spark's analyser resolves the expression without any columns, and a job casts its value.

    Args:
        spark: the session.
        name: name of the column.
        default: SQL text of the expression.
        type_text: SQL text of the column's type, without char and varchar.

    Raises:
        AcidAnalysisError: INVALID_DEFAULT_VALUE.
        AnalysisException: Spark cannot resolve the expression.
    """
    frame = frame_of(spark, parse(spark, f"SELECT CAST(({default}) AS {type_text})"))
    execution = frame._jdf.queryExecution()
    plan = execution.analyzed()
    patterns = scala_object(spark, f"{CATALYST}.trees.TreePattern")
    parameters = {"colName": quote(name), "defaultValue": default}
    if plan.containsPattern(patterns.PLAN_EXPRESSION()):
        raise AcidAnalysisError(
            "INVALID_DEFAULT_VALUE.SUBQUERY_EXPRESSION",
            f"the DEFAULT {default} of column {name} has a subquery: {_INSTEAD}",
            parameters,
        )
    if not plan.deterministic():
        raise AcidAnalysisError(
            "INVALID_DEFAULT_VALUE.NON_DETERMINISTIC",
            f"the DEFAULT {default} of column {name} is not deterministic: {_INSTEAD}",
            parameters,
        )
    if not _is_constant(execution.optimizedPlan()):
        raise AcidAnalysisError(
            "INVALID_DEFAULT_VALUE.NOT_CONSTANT",
            f"the DEFAULT {default} of column {name} has no value before a statement runs: "
            f"{_INSTEAD}",
            parameters,
        )
    frame.collect()


def _is_constant(plan: LogicalPlan) -> bool:
    """Return whether the optimiser knows the value of an optimised plan without tables."""
    if simple_name(plan) == "Project" and simple_name(plan.child()) == "OneRowRelation":
        return all(value.child().foldable() for value in elements(plan.projectList()))
    return simple_name(plan) == "LocalRelation"
