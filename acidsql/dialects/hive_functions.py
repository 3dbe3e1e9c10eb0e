"""Functions that differ between Hive 4.1 and Spark, and their replacements.

The answers of both engines were compared (``tests/dialects/hive_answers.jsonl``). If Hive also has
the replacement of a function, it has the same meaning in Hive as the function.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from acidsql.dialects.splicing import Call, Rule
from acidsql.dialects.tokens import Group, Node, Token, split_at, word_of

_RENAMED = {
    "STD": "stddev_pop",
    "STDDEV": "stddev_pop",
    "VARIANCE": "var_pop",
}

# Keys are the name and the number of arguments.
_TEMPLATES = {
    # Hive returns NULL outside the domain, Spark NaN.
    ("ACOS", 1): "nullif(acos({0}), CAST('NaN' AS DOUBLE))",
    ("ASIN", 1): "nullif(asin({0}), CAST('NaN' AS DOUBLE))",
    ("SQRT", 1): "nullif(sqrt({0}), CAST('NaN' AS DOUBLE))",
    # In Hive, the last day of a month becomes the last day of another month.
    ("ADD_MONTHS", 2): (
        "if(last_day({0}) = to_date({0}), last_day(add_months({0}, {1})), add_months({0}, {1}))"
    ),
    ("ARRAY_CONTAINS", 2): "coalesce(array_contains({0}, {1}), false)",
    # Hive returns the first byte, as a signed number.
    ("ASCII", 1): "CAST(CAST(ascii(decode(encode({0}, 'UTF-8'), 'ISO-8859-1')) AS TINYINT) AS INT)",
    ("BASE64", 1): r"translate(base64({0}), '\r\n', '')",
    ("FLOOR_DAY", 1): "date_trunc('DAY', {0})",
    ("FLOOR_HOUR", 1): "date_trunc('HOUR', {0})",
    ("FLOOR_MINUTE", 1): "date_trunc('MINUTE', {0})",
    ("FLOOR_MONTH", 1): "date_trunc('MONTH', {0})",
    ("FLOOR_QUARTER", 1): "date_trunc('QUARTER', {0})",
    ("FLOOR_SECOND", 1): "date_trunc('SECOND', {0})",
    ("FLOOR_WEEK", 1): "date_trunc('WEEK', {0})",
    ("FLOOR_YEAR", 1): "date_trunc('YEAR', {0})",
    ("INDEX", 2): "{0}[{1}]",
    ("MAP_KEYS", 1): "coalesce(map_keys({0}), array())",
    ("MAP_VALUES", 1): "coalesce(map_values({0}), array())",
    ("STR_TO_MAP", 1): "coalesce(str_to_map({0}), CAST(map() AS MAP<STRING, STRING>))",
    ("STR_TO_MAP", 3): "coalesce(str_to_map({0}, {1}, {2}), CAST(map() AS MAP<STRING, STRING>))",
    ("TO_EPOCH_MILLI", 1): "unix_millis({0})",
}

# Functions that are refused: how they differ, and what to write instead.
_MASK = "use mask() of a substr(), and concat()"
_REFUSED = {
    "ARRAY_SLICE": ("Spark has no array_slice()", "use slice(), which counts from 1"),
    "CONTEXT_NGRAMS": ("Spark has no context_ngrams()", "use sentences() and explode()"),
    "HASH": ("hash() has other values in Spark", "use md5, sha2 or crc32, which have the same"),
    "IN_FILE": ("Spark has no in_file()", "read the file with Spark, and use IN"),
    "MASK_FIRST_N": ("Spark has no mask_first_n()", _MASK),
    "MASK_HASH": ("Spark has no mask_hash()", "use sha2(x, 256)"),
    "MASK_LAST_N": ("Spark has no mask_last_n()", _MASK),
    "MASK_SHOW_FIRST_N": ("Spark has no mask_show_first_n()", _MASK),
    "MASK_SHOW_LAST_N": ("Spark has no mask_show_last_n()", _MASK),
    "MURMUR_HASH": ("Spark has no murmur_hash()", "use md5, sha2 or crc32, which are the same"),
    "NGRAMS": ("Spark has no ngrams()", "use sentences() and explode()"),
    "PARSE_URL_TUPLE": ("Spark has no parse_url_tuple()", "use parse_url() for each part"),
    "PERCENTILE_APPROX": (
        "percentile_approx() interpolates in Hive, and gives one of the values in Spark",
        "use percentile(), which is exact and the same in both",
    ),
    "SURROGATE_KEY": ("Spark has no surrogate_key()", "use uuid() or row_number()"),
}

_CASTS = {
    "BOOLEAN": (
        "if(typeof({0}) = 'string', "
        "lower(CAST({0} AS STRING)) NOT IN ('', 'false', 'off', 'no', '0'), "
        "CAST({0} AS BOOLEAN))"
    ),
    "CHAR": "rtrim(substr(CAST({0} AS STRING), 1, {1}))",
    "VARCHAR": "substr(CAST({0} AS STRING), 1, {1})",
}
# In Hive, a string without a day is not a date or time; Spark takes the first day of its period.
_WITH_DAY = (
    "CASE WHEN typeof({{0}}) = 'string' AND length(trim(CAST({{0}} AS STRING))) < 8 THEN NULL "
    "ELSE {} END"
)
_CASTS |= {
    "DATE": _WITH_DAY.format("CAST({0} AS DATE)"),
    "TIMESTAMP": _WITH_DAY.format("CAST({0} AS TIMESTAMP)"),
}
_TRUNC_FORMATS = {
    **dict.fromkeys(("YEAR", "YYYY", "YY"), "YEAR"),
    **dict.fromkeys(("QUARTER", "Q"), "QUARTER"),
    **dict.fromkeys(("MONTH", "MON", "MM"), "MONTH"),
}
_SHA2_BITS = frozenset({"0", "224", "256", "384", "512"})


def _renamed(name: str, call: Call) -> str:
    return f"{name}({', '.join(call.arguments)})"


def _template(call: Call) -> str | None:
    template = _TEMPLATES.get((call.name.upper(), len(call.nodes)))
    return call.filled(template) if template else None


def _refused(call: Call) -> str:
    what, instead = _REFUSED[call.name.upper()]
    call.refuse(what, instead)


def _extremum(call: Call) -> str | None:
    """Make ``greatest`` and ``least`` return NULL if an argument is NULL."""
    if len(call.nodes) < 2:
        return None
    places = [f"{{{index}}}" for index in range(len(call.nodes))]
    is_null = " OR ".join(f"{place} IS NULL" for place in places)
    listed = ", ".join(places)
    return call.filled(f"CASE WHEN {is_null} THEN NULL ELSE {call.name}({listed}) END")


def _substr(call: Call) -> str | None:
    """Return an empty string if the result would begin before the string."""
    if len(call.nodes) not in (2, 3):
        return None
    begin = call.literal(1)
    if begin is not None and not begin.startswith("-"):
        return _renamed("substr", call) if call.name == "mid" else None
    back = "-{1}" if begin is None else begin[1:]
    rest = ", {2}" if len(call.nodes) == 3 else ""
    return call.filled(
        f"if({back} > length({{0}}), substr({{0}}, 1, 0), substr({{0}}, {begin or '{1}'}{rest}))"
    )


def _pad(call: Call) -> str | None:
    """Return NULL if the padding is empty."""
    if len(call.nodes) != 3 or call.literal(2) not in (None, "''", '""'):
        return None
    return call.filled(f"{call.name}({{0}}, {{1}}, nullif({{2}}, ''))")


def _pmod(call: Call) -> str | None:
    """Give the result the sign of the divisor; Spark does so only for a negative dividend."""
    divisor = call.literal(1)
    if len(call.nodes) != 2 or (divisor is not None and not divisor.startswith("-")):
        return None
    return call.filled("((({0}) % ({1}) + ({1})) % ({1}))")


def _log(call: Call) -> str | None:
    """Return NULL for a base that is not greater than 1."""
    base = call.literal(0)
    if len(call.nodes) != 2 or (base is not None and base.isdigit() and int(base) > 1):
        return None
    return call.filled("CASE WHEN {0} > 1 THEN log({0}, {1}) END")


def _trunc(call: Call) -> str:
    unit = call.literal(1)
    if unit is None or unit[0] not in "'\"":
        call.refuse(
            "trunc() of numbers, or with a format that is no literal, is not in Spark",
            "use floor, ceil or round for numbers, and write the format, as in trunc(d, 'MM')",
        )
    if unit[1:-1] not in _TRUNC_FORMATS:
        call.refuse(
            f"trunc() with the format {unit} is always NULL in Hive",
            f"use one of {', '.join(_TRUNC_FORMATS)}, in upper case",
        )
    return f"trunc({call.arguments[0]}, '{_TRUNC_FORMATS[unit[1:-1]]}')"


def _add_months(call: Call) -> str | None:
    if len(call.nodes) == 3:
        call.refuse(
            "Spark's add_months() takes no format", "use date_format(add_months(d, n), format)"
        )
    return _template(call)


def _sha2(call: Call) -> str | None:
    bits = call.literal(1)
    if len(call.nodes) == 2 and bits not in _SHA2_BITS:
        call.refuse(
            f"sha2() with the length {call.arguments[1]} differs in Spark",
            f"write one of {', '.join(sorted(_SHA2_BITS))}",
        )
    return None


def _empty_literal(index: int, call: Call) -> str | None:
    """Refuse an argument that is an empty string."""
    if call.literal(index) in ("''", '""'):
        call.refuse(
            f"{call.name}() with an empty string as argument {index + 1} differs in Spark",
            "write what is meant otherwise",
        )
    return None


def _get_json_object(call: Call) -> str | None:
    path = call.literal(1) or ""
    if "['" in path or '["' in path:
        call.refuse(
            f"get_json_object() with the path {path} is always NULL in Hive",
            "write the path with dots, as in '$.a.b'",
        )
    return None


def _field(call: Call) -> str | None:
    if len(call.nodes) < 2:
        return None
    value, *listed = call.arguments
    return f"CAST(coalesce(array_position(array({', '.join(listed)}), {value}), 0) AS INT)"


def _floor(call: Call) -> str | None:
    """Rewrite ``floor(ts TO HOUR)`` to ``date_trunc``."""
    parts = split_at(call.nodes[0], "TO") if len(call.nodes) == 1 else []
    if len(parts) != 2:
        return None
    return f"date_trunc('{call.text_of(parts[1]).upper()}', {call.text_of(parts[0])})"


def _extract(call: Call) -> str | None:
    """Extract whole seconds; Spark's have a fraction."""
    parts = split_at(call.nodes[0], "FROM") if len(call.nodes) == 1 else []
    if len(parts) != 2 or call.text_of(parts[0]).upper() != "SECOND":
        return None
    return f"second({call.text_of(parts[1])})"


def _cast(call: Call) -> str | None:
    """Truncate strings to their length, and convert strings to booleans and times like Hive."""
    nodes = call.nodes[0] if len(call.nodes) == 1 else ()
    at = max((i for i, node in enumerate(nodes) if word_of(node) == "AS"), default=len(nodes))
    value, kind = nodes[:at], nodes[at + 1 :]
    if any(word_of(node) == "FORMAT" for node in kind):
        call.refuse("Spark has no CAST with FORMAT", "use to_date, date_format or from_unixtime")
    name = word_of(next(iter(kind), None))
    template = _CASTS.get(name)
    if template is None or (name in ("DATE", "TIMESTAMP") and _has_day(value)):
        return None
    return call.filled_with(template, [value, _length(kind)])


def _has_day(value: tuple[Node, ...]) -> bool:
    """Return whether a value is a literal string that is long enough to contain a day."""
    if len(value) != 1:
        return False
    (only,) = value
    return isinstance(only, Token) and only.is_string and len(only.text.strip("'\" ")) >= 8


def _to_date(call: Call) -> str | None:
    if len(call.nodes) != 1 or _has_day(call.nodes[0]):
        return None
    return call.filled(_WITH_DAY.format("to_date({0})"))


def _length(kind: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return the nodes in the parentheses of a type."""
    last = kind[-1]
    return last.inside if isinstance(last, Group) else ()


RULES: Mapping[str, Rule] = {
    **{name: partial(_renamed, new) for name, new in _RENAMED.items()},
    **{name: _template for name, _ in _TEMPLATES},
    **dict.fromkeys(_REFUSED, _refused),
    "ADD_MONTHS": _add_months,
    "CAST": _cast,
    "EXTRACT": _extract,
    "FIELD": _field,
    "FLOOR": _floor,
    "GET_JSON_OBJECT": _get_json_object,
    "GREATEST": _extremum,
    "INSTR": partial(_empty_literal, 1),
    "LEAST": _extremum,
    "LOCATE": partial(_empty_literal, 0),
    "LOG": _log,
    "LPAD": _pad,
    "MID": _substr,
    "PMOD": _pmod,
    "REPLACE": partial(_empty_literal, 1),
    "RPAD": _pad,
    "SHA2": _sha2,
    "SPLIT": partial(_empty_literal, 1),
    "SUBSTR": _substr,
    "SUBSTRING": _substr,
    "TO_DATE": _to_date,
    "TRUNC": _trunc,
}
"""Rules that replace calls, by the name of the function in upper case."""
