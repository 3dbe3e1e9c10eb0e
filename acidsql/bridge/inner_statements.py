"""Statements inside other statements: EXECUTE IMMEDIATE, scripts, and SQL functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from acidsql.bridge.jvm import (
    CATALYST,
    Expression,
    JavaObject,
    LogicalPlan,
    alias,
    defined,
    elements,
    jvm_class,
    scala_seq,
    simple_name,
)
from acidsql.bridge.jvm_planning import field_names
from acidsql.bridge.plans import frame_of

_EXECUTE = ("ExecuteImmediateQuery", "UnresolvedExecuteImmediate")
_FUNCTIONS = ("CreateSQLFunctionCommand", "CreateUserDefinedFunction")
# Statements of a script that write, with the field that contains the table.
_WRITES = {
    "DeleteFromTable": "table",
    "InsertIntoStatement": "table",
    "MergeIntoTable": "targetTable",
    "UpdateTable": "table",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecuteImmediate:
    """EXECUTE IMMEDIATE with its values.

    Attributes:
        text: text of the statement that it runs.
        names: names of the arguments after USING, None for an argument without a name.
        values: values of these arguments.
        targets: names of the variables after INTO, as SQL.
    """

    text: str
    names: Sequence[str | None]
    values: Sequence[object]
    targets: Sequence[str]


def execute_immediate(spark: SparkSession, plan: LogicalPlan) -> ExecuteImmediate | None:
    """Read a parsed EXECUTE IMMEDIATE; return None for other plans, or if its text is NULL.

    Raises:
        AnalysisException: an argument cannot be evaluated before the statement runs.
    """
    if simple_name(plan) not in _EXECUTE:
        return None
    arguments = elements(plan.args())
    row = _values(spark, [_text_of(spark, plan), *arguments])
    names = [str(a.name()) if simple_name(a) == "Alias" else None for a in arguments]
    targets = [str(variable.sql()) for variable in elements(plan.targetVariables())]
    if row[0] is None:
        return None
    return ExecuteImmediate(text=str(row[0]), names=names, values=row[1:], targets=targets)


def _text_of(spark: SparkSession, plan: LogicalPlan) -> Expression:
    if "sqlStmtStr" in field_names(spark, plan):
        return plan.sqlStmtStr()
    either = plan.query()
    if not either.isLeft():
        return either.right().get()
    literal = jvm_class(spark, f"{CATALYST}.expressions.Literal")
    return literal.apply(str(either.left().get()))


def _values(spark: SparkSession, expressions: Sequence[Expression]) -> list[object]:
    """Evaluate expressions that do not refer to columns."""
    logical = f"{CATALYST}.plans.logical"
    columns = [
        alias(spark, e.child() if simple_name(e) == "Alias" else e, f"c{i}")
        for i, e in enumerate(expressions)
    ]
    nothing = jvm_class(spark, f"{logical}.OneRowRelation")()
    project = jvm_class(spark, f"{logical}.Project")(scala_seq(spark, columns), nothing)
    return list(frame_of(spark, project).collect()[0])


def function_text(spark: SparkSession, plan: LogicalPlan) -> str | None:
    """Return the query or expression of a CREATE FUNCTION … RETURN as text.

    Return None for other plans.
    """
    if simple_name(plan) not in _FUNCTIONS or "queryText" not in field_names(spark, plan):
        return None
    for text in defined(plan.queryText()):
        return str(text)
    for text in defined(plan.exprText()):
        return f"SELECT {text}"
    return None


def written_in_script(plan: LogicalPlan) -> Iterator[tuple[str, ...]]:
    """Yield the names of the tables whose rows a script (``BEGIN … END``) changes."""
    if simple_name(plan) == "CompoundBody":
        yield from _written(plan)


def _written(node: JavaObject) -> Iterator[tuple[str, ...]]:
    kind = simple_name(node)
    if kind == "SingleStatement":  # its children are the children of its plan
        node = node.parsedPlan()
        kind = simple_name(node)
    if kind in _WRITES:
        target = getattr(node, _WRITES[kind])()
        while simple_name(target) == "SubqueryAlias":
            target = target.child()
        if simple_name(target) == "UnresolvedRelation":
            yield tuple(elements(target.multipartIdentifier()))
    for child in elements(node.children()):
        yield from _written(child)
