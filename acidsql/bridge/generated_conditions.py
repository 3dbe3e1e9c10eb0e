"""Conditions on a function of a column, derived from comparisons of the column with literals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from acidsql.bridge.conditions import Conjunct, attributes_in, conjunct
from acidsql.bridge.jvm import (
    CATALYST,
    Expression,
    elements,
    java_type,
    jvm_class,
    scala_seq,
    simple_name,
)
from acidsql.bridge.jvm_planning import rebound
from acidsql.bridge.row_conditions import RowCondition

_EXPRESSIONS = f"{CATALYST}.expressions"
_OPERATORS = {
    "EqualTo": "=",
    "EqualNullSafe": "=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
}
_TURNED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_CLASSES = {"=": "EqualTo", "<=": "LessThanOrEqual", ">=": "GreaterThanOrEqual"}


@dataclass(frozen=True, slots=True)
class ComparedColumn:
    """Comparison of a column with values, which must be true for at least one value.

    Attributes:
        column: name of the column.
        operator: ``=``, ``<``, ``<=``, ``>`` or ``>=``, with the column on the left.
        values: Catalyst literals of the column's type.
    """

    column: str
    operator: str
    values: tuple[Expression, ...]


def compared_column(condition: Conjunct) -> ComparedColumn | None:
    """Read a condition that compares a column with literals; return None for other conditions."""
    expression = condition.expression
    kind = simple_name(expression)
    if kind == "In" and simple_name(expression.value()) == "AttributeReference":
        values = elements(expression.list())
        return _compared(expression.value(), "=", values)
    if kind not in _OPERATORS:
        return None
    left, right, operator = expression.left(), expression.right(), _OPERATORS[kind]
    if simple_name(right) == "AttributeReference":
        left, right, operator = right, left, _TURNED[operator]
    if simple_name(left) != "AttributeReference":
        return None
    return _compared(left, operator, [right])


def _compared(
    attribute: Expression, operator: str, values: Sequence[Expression]
) -> ComparedColumn | None:
    known = all(
        simple_name(value) == "Literal" and value.dataType().equals(attribute.dataType())
        for value in values
    )
    return ComparedColumn(str(attribute.name()), operator, tuple(values)) if known else None


def functions_of_column(value: RowCondition) -> tuple[str, ...] | None:
    """Return the names of the functions that are applied to one column, the outermost first.

    The name of a cast contains its source and target types. The name of a substring contains its
    start. A cast to the same type is omitted.

    Returns:
        None if a function has other arguments than one value and constants.
    """
    names = []
    expression = value.expression
    while simple_name(expression) != "AttributeReference":
        inner = [child for child in elements(expression.children()) if not child.foldable()]
        if len(inner) != 1:
            return None
        name = _function_name(expression, inner[0])
        names += [name] if name else []
        expression = inner[0]
    return tuple(names)


def _function_name(expression: Expression, inner: Expression) -> str:
    name = simple_name(expression)
    if name == "Cast":
        if expression.dataType().equals(inner.dataType()):
            return ""
        return f"Cast {inner.dataType().sql()} {expression.dataType().sql()}"
    if name == "Substring":
        return f"Substring from {expression.pos().toString()}"
    return name


def partition_attributes(
    spark: SparkSession, schema: StructType, conditions: Sequence[Conjunct]
) -> Mapping[str, Expression]:
    """Return an attribute for each partition column, taken from conditions that name the column."""
    types = jvm_class(spark, f"{CATALYST}.types.DataTypeUtils")
    made = {str(a.name()): a for a in elements(types.toAttributes(java_type(spark, schema)))}
    for condition in conditions:
        given = attributes_in(condition.expression)
        made |= {name: a for name, a in given.items() if name in made}
    return made


def result_condition(
    value: RowCondition, compared: ComparedColumn, operator: str, attribute: Expression
) -> Conjunct:
    """Build the condition that an attribute is NULL or matches the function of a compared value.

    It compares the attribute with the result of the function for each value, and one comparison
    must be true.

    Args:
        value: the function of the compared column.
        compared: the comparison of the column.
        operator: ``=``, ``<=`` or ``>=``, with the attribute on the left.
        attribute: attribute with the type of the function's result.
    """
    spark = value.spark
    names = [str(a.name()) for a in elements(value.output)]
    place = names.index(compared.column)
    compare = jvm_class(spark, f"{_EXPRESSIONS}.{_CLASSES[operator]}")
    either = jvm_class(spark, f"{_EXPRESSIONS}.Or")
    alternatives = [jvm_class(spark, f"{_EXPRESSIONS}.IsNull")(attribute)]
    for literal in compared.values:
        others = elements(value.output)
        others[place] = literal
        result = rebound(spark, value.expression, value.output, scala_seq(spark, others))
        alternatives.append(compare(attribute, result))
    return conjunct(reduce(either, alternatives))
