"""Trees of Trino statements, changed to have the same meaning when written for Spark.

A node is refused if its class is not named here. Classes are compared by name, because each release
of sqlglot adds some.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from acidsql.dialects.refusals import unsupported
from acidsql.dialects.trino_calls import Call, text_of
from acidsql.dialects.trino_casts import cast
from acidsql.dialects.trino_trees import StatementSource, operand_of, raw, shown, sql_of, string_of
from acidsql.dialects.trino_unnest import unnest, with_lateral_views

# Classes that sqlglot writes for Spark with the same meaning.
_SAME_NODES = """
    Add Alias And Array Between Boolean CTE Case Column ColumnDef Cube CurrentDate CurrentTimestamp
    Create DPipe DataType DataTypeParam Delete Distinct EQ Except Exists Fetch Filter From GT GTE
    Group GroupingSets HexString Having Identifier If IgnoreNulls In Insert Intersect Interval Is
    Join LT LTE Lambda Limit LimitOptions Literal Merge Mod Mul NEQ Neg Not Null NullSafeEQ
    NullSafeNEQ Offset Or Order Ordered Paren Placeholder RespectNulls Rollup Schema Star
    StrPosition Sub Subquery Substring Table TableAlias Tuple UnicodeString Union Update Values Var
    When Whens Where Window WindowSpec With
"""
_SAME = frozenset(_SAME_NODES.split())
# Parts of a date, and the expressions that extract them like Trino.
_PARTS = {
    "YEAR": "year({0})",
    "QUARTER": "quarter({0})",
    "MONTH": "month({0})",
    "WEEK": "weekofyear({0})",
    "DAY": "day({0})",
    "DAY_OF_MONTH": "day({0})",
    "DAYOFMONTH": "day({0})",
    "DAY_OF_WEEK": "(weekday({0}) + 1)",
    "DAYOFWEEK": "(weekday({0}) + 1)",
    "DOW": "(weekday({0}) + 1)",
    "DAY_OF_YEAR": "dayofyear({0})",
    "DAYOFYEAR": "dayofyear({0})",
    "DOY": "dayofyear({0})",
    "YEAR_OF_WEEK": "extract(YEAROFWEEK FROM {0})",
    "YOW": "extract(YEAROFWEEK FROM {0})",
    "HOUR": "hour({0})",
    "MINUTE": "minute({0})",
    "SECOND": "second({0})",
}
Rule = Callable[[StatementSource, Any], Any]


def written(source: StatementSource, tree: Any) -> Any:
    """Change a tree so that its text for Spark has the meaning of the tree in Trino.

    Raises:
        AcidDialectError: a part of the tree is not known to have the same meaning.
    """
    for node in reversed(list(tree.walk())):  # inner nodes first
        name = type(node).__name__
        rule = _RULES.get(name)
        if name == "Identifier" and str(node.this).lower() in source.names:
            # An alias with columns looks like a function.
            node.set("this", source.names[str(node.this).lower()][0])
        elif rule is not None:
            changed = rule(source, node)
            if node is tree:
                tree = changed
            elif changed is not node:
                node.replace(changed)
        elif name not in _SAME:
            source.refuse(
                name,
                f"{shown(source, node)} is not carried over from Trino to Spark",
                "write it otherwise, or the statement in Spark's dialect",
            )
    return tree


def _is_date(node: Any) -> bool:
    """Return whether the text shows that a value is a DATE."""
    text = sql_of(node)
    return bool(re.fullmatch(r"CAST\(.* AS DATE\)|CURRENT_DATE(\(\))?", text, re.DOTALL))


def _function(source: StatementSource, node: Any) -> Any:
    name, start = source.names.get(str(node.this).lower(), ("", 0))
    if not name:
        source.refuse(str(node.this), f"{node.this}() is not carried over to Spark", "leave it out")
    if any(type(child).__name__ == "Order" for child in node.expressions):
        raise unsupported(
            source.text,
            start,
            problem=f"ORDER BY in {name}() is not carried over to Spark",
            instead="leave it out, or write the statement in Spark's dialect",
        )
    call = Call(
        source=source.text,
        name=name,
        start=start,
        operands=tuple(map(operand_of, node.expressions)),
        strings=tuple(map(string_of, node.expressions)),
        is_date=tuple(map(_is_date, node.expressions)),
        is_plain=type(node.parent).__name__ not in ("Window", "Filter", "IgnoreNulls")
        and not any(type(child).__name__ == "Distinct" for child in node.expressions),
    )
    return raw(text_of(call))


def _div(source: StatementSource, node: Any) -> Any:
    """Refuse divisions of integers and decimals, whose results have other types in Spark."""
    if not any(_is_double(side) for side in (node.this, node.expression)):
        source.refuse(
            "/",
            f"{shown(source, node)} divides integers and decimals as Spark does not",
            "cast one side to DOUBLE",
        )
    return node


def _is_double(node: Any) -> bool:
    """Return whether the text shows that a number is a DOUBLE."""
    text = sql_of(node).strip("()")
    return bool(
        re.fullmatch(r"-?[\d.]+[eE][+-]?\d+", text)
        or re.fullmatch(r"(TRY_)?CAST\(.* AS DOUBLE", text, re.DOTALL)
        or re.fullmatch(r"(sqrt|exp|pow|power|stddev\w*|variance|var_\w+)\(.*", text, re.DOTALL)
    )


def _bracket(_source: StatementSource, node: Any) -> Any:
    """Return an element by its 1-based position; a missing element is an error."""
    key = node.expressions[0]
    # sqlglot has already subtracted 1 from a number.
    index = (
        int(str(key.this)) + 1 if type(key).__name__ == "Literal" and not key.is_string else None
    )
    text = sql_of(key) if index is None else str(index)
    return raw(f"element_at({sql_of(node.this)}, {text})")


def _like(_source: StatementSource, node: Any) -> Any:
    """Escape backslashes in a pattern, because only ESCAPE gives them a meaning in Trino."""
    if type(node.parent).__name__ == "Escape":
        return node
    value = string_of(node.expression)
    if value is None:
        pattern = rf"replace({sql_of(node.expression)}, '\\', '\\\\')"
        return raw(f"({operand_of(node.this)} LIKE {pattern})")
    if "\\" in value:
        node.expression.replace(type(node.expression).string(value.replace("\\", "\\\\")))
    return node


def _extract(source: StatementSource, node: Any) -> Any:
    part = str(node.this).upper()
    if part not in _PARTS:
        source.refuse("EXTRACT", f"EXTRACT({part} …) is not carried over", "use another part")
    return raw(_PARTS[part].format(operand_of(node.expression)))


def _map(_source: StatementSource, node: Any) -> Any:
    keys, values = node.args.get("keys"), node.args.get("values")
    if keys is None or not sql_of(keys):
        return raw("map()")
    return raw(f"map_from_arrays({sql_of(keys)}, {sql_of(values)})")


def _trim(source: StatementSource, node: Any) -> Any:
    if node.args.get("expression") is not None:
        return node
    trimmed = Call(
        source=source.text,
        name={"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position")), "trim"),
        start=0,
        operands=(operand_of(node.this),),
        strings=(None,),
        is_date=(False,),
        is_plain=True,
    )
    return raw(text_of(trimmed))


def _kept(_source: StatementSource, node: Any) -> Any:
    return node


_RULES: Mapping[str, Rule] = {
    "Anonymous": _function,
    "Bracket": _bracket,
    "Cast": cast,
    "Div": _div,
    "Escape": _kept,
    "Extract": _extract,
    "Like": _like,
    "Map": _map,
    "Select": with_lateral_views,
    "Trim": _trim,
    "TryCast": cast,
    "Unnest": unnest,
    "VarMap": _map,
}
