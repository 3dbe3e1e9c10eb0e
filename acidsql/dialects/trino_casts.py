"""Casts of Trino, and the expressions that replace them in Spark."""

from __future__ import annotations

from typing import Any, NoReturn

from acidsql.dialects.templates import filled
from acidsql.dialects.trino_trees import StatementSource, operand_of, raw, sql_of, string_of

_INTEGERS = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT"})
_TYPES = frozenset({"BOOLEAN", "DOUBLE", "FLOAT", "DATE", "VARBINARY"})
_PRECISIONS = frozenset({"3", "6"})
# In Trino, casts to integers round. In Spark, they truncate.
_ROUNDED = (
    "CASE WHEN typeof({0}) IN ('double', 'float') THEN {1}(round(CAST({0} AS DOUBLE)) AS {2}) "
    "WHEN typeof({0}) LIKE 'decimal%' THEN {1}(round(CAST({0} AS DECIMAL(38, 9))) AS {2}) "
    "ELSE {1}({0} AS {2}) END"
)


def cast(source: StatementSource, node: Any) -> Any:
    """Return the expression that replaces a CAST or TRY_CAST."""
    function = "TRY_CAST" if type(node).__name__ == "TryCast" else "CAST"
    return raw(_cast_to(source, function, node.this, operand_of(node.this), node.args["to"]))


def _cast_to(source: StatementSource, function: str, node: Any, value: str, kind: Any) -> str:
    """Return the text of a cast.

    Args:
        source: the statement.
        function: CAST or TRY_CAST.
        node: the value to cast; None for the elements of an array.
        value: text of the value.
        kind: type to cast to.
    """
    name, parameters = kind.this.name, [sql_of(parameter) for parameter in kind.expressions]
    if name == "DECIMAL":
        precision = ", ".join([*(parameters or ["38"]), "0"][:2])
        return f"{function}({value} AS DECIMAL({precision}))"
    if name in _INTEGERS:
        return _integer(source, function, node, value, name)
    if name == "VARCHAR":
        cut = "substr({0}({1} AS STRING), 1, {2})" if parameters else "{0}({1} AS STRING)"
        return cut.format(function, value, *parameters)
    if name == "ARRAY" and function == "CAST":
        element = _cast_to(source, function, None, "v", kind.expressions[0])
        return f"transform({value}, v -> {element})"
    is_time = name == "TIMESTAMP" and _keeps_fraction(node, parameters)
    if name not in _TYPES and not is_time:
        source.refuse(
            function,
            f"{function} AS {kind.sql(dialect='trino')} is not carried over to Spark",
            "cast to another type, or write the statement in Spark's dialect",
        )
    return f"{function}({value} AS {'TIMESTAMP' if is_time else sql_of(kind)})"


def _keeps_fraction(value: Any, parameters: list[str]) -> bool:
    """Return whether a cast to TIMESTAMP keeps all fractional digits of a second."""
    literal = string_of(value)
    if literal is None:
        return not parameters or set(parameters) <= _PRECISIONS
    return len(literal.partition(".")[2]) <= int(parameters[0] if parameters else "3")


def _integer(source: StatementSource, function: str, node: Any, value: str, name: str) -> str:
    is_literal = type(node).__name__ == "Literal"
    if is_literal and (node.is_string or str(node.this).isdigit()):
        return f"{function}({value} AS {name})"

    def refuse(problem: str, instead: str) -> NoReturn:
        source.refuse(function, problem, instead)

    template = _ROUNDED.replace("{1}", function).replace("{2}", name)
    return filled(template, [value], refuse)
