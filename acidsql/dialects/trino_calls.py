"""Calls of Trino's functions, and the expressions that replace them in Spark."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from acidsql.dialects.refusals import unsupported
from acidsql.dialects.templates import filled
from acidsql.dialects.trino_functions import INSTEAD, SAME, TEMPLATES

# Interval of {1} units.
_UNITS = {
    "millisecond": "{1} * INTERVAL '0.001' SECOND",
    "second": "{1} * INTERVAL '1' SECOND",
    "minute": "{1} * INTERVAL '1' MINUTE",
    "hour": "{1} * INTERVAL '1' HOUR",
    # With this type of interval, a DATE stays a DATE.
    "day": "CAST({1} AS INTERVAL DAY)",
    "week": "CAST({1} * 7 AS INTERVAL DAY)",
    "month": "{1} * INTERVAL '1' MONTH",
    "quarter": "{1} * INTERVAL '3' MONTH",
    "year": "{1} * INTERVAL '1' YEAR",
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
# Full months. The last one ends on the same day of the month as {0}, or at the end of its month.
_MONTHS_AFTER = (
    "(timestampdiff(MONTH, {0}, {1}) + if("
    "{0} + (timestampdiff(MONTH, {0}, {1}) + 1) * INTERVAL '1' MONTH <= {1}, 1, 0))"
)
_MONTHS_BETWEEN = (
    f"(CASE WHEN {{1}} >= {{0}} THEN {_MONTHS_AFTER} "
    f"ELSE -{_MONTHS_AFTER.replace('{0}', '{2}').replace('{1}', '{0}').replace('{2}', '{1}')} END)"
)
# Letters of MySQL's date formats, which Trino uses, with Spark's letters to write and to read.
_LETTERS = {
    "Y": ("yyyy", "yyyy"), "y": ("yy", "yy"), "m": ("MM", "M"), "c": ("M", "M"), "d": ("dd", "d"),
    "e": ("d", "d"), "H": ("HH", "H"), "k": ("H", "H"), "h": ("hh", "h"), "I": ("hh", "h"),
    "l": ("h", "h"), "i": ("mm", "m"), "s": ("ss", "s"), "S": ("ss", "s"), "f": ("SSSSSS", None),
    "p": ("a", "a"), "M": ("MMMM", "MMMM"), "b": ("MMM", "MMM"), "W": ("EEEE", None),
    "a": ("EEE", None), "j": ("DDD", "D"), "T": ("HH:mm:ss", "H:m:s"),
    "r": ("hh:mm:ss a", "h:m:s a"), "%": ("%", "%"),
}  # fmt: skip
_JSON_PATH = re.compile(r"\$(?:\.\w+|\[\d+\])*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A function call.

    Attributes:
        source: the statement.
        name: the function, in lower case.
        start: offset of the name.
        operands: texts of the arguments for Spark.
        strings: value of each argument if it is a string literal, otherwise None.
        is_date: for each argument, whether the text shows that it is a DATE.
        is_plain: whether the call has no DISTINCT, ORDER BY or window.
    """

    source: str
    name: str
    start: int
    operands: tuple[str, ...]
    strings: tuple[str | None, ...]
    is_date: tuple[bool, ...]
    is_plain: bool

    def refuse(self, problem: str, instead: str) -> NoReturn:
        """Raise the error that the call cannot be translated."""
        raise unsupported(self.source, self.start, problem=problem, instead=instead)

    def filled(self, template: str) -> str:
        """Fill the template with the arguments."""
        return filled(template, self.operands, self.refuse)


def text_of(call: Call) -> str:
    """Return the expression that replaces a call in Spark.

    Raises:
        AcidDialectError: the function cannot be translated.
    """
    count = len(call.operands)
    if count in SAME.get(call.name, ()):
        return f"{call.name}({', '.join(call.operands)})"
    special = _SPECIAL.get(call.name)
    if special is not None and count in _COUNTS.get(call.name, range(1, 100)):
        return special(call)
    template = TEMPLATES.get((call.name, count))
    if template is None:
        call.refuse(
            f"Trino's {call.name}() with {count} argument{'' if count == 1 else 's'} is not "
            "carried over to Spark",
            INSTEAD.get(call.name, "use other functions, or Spark's dialect"),
        )
    return call.filled(template)


def _extremum(call: Call) -> str:
    """Return NULL if an argument is NULL."""
    places = [f"{{{index}}}" for index in range(len(call.operands))]
    is_null = " OR ".join(f"{place} IS NULL" for place in places)
    return call.filled(f"CASE WHEN {is_null} THEN NULL ELSE {call.name}({', '.join(places)}) END")


def _array_agg(call: Call) -> str:
    """Keep NULL elements, and return NULL if there are no rows."""
    if not call.is_plain:
        call.refuse("this array_agg() is not carried over to Spark", INSTEAD["array_agg"])
    listed = "transform(collect_list(named_struct('v', {0})), s -> s.v)"
    return call.filled(f"nullif({listed}, array())")


def _unit(call: Call) -> str:
    unit = (call.strings[0] or "").lower()
    if unit not in _UNITS:
        call.refuse(
            f"{call.name}() with the unit {call.operands[0]} is not carried over to Spark",
            f"write one of {', '.join(_UNITS)}",
        )
    return unit


def _date_add(call: Call) -> str:
    return call.filled(f"({{2}} + {_UNITS[_unit(call)]})")


def _date_diff(call: Call) -> str:
    unit = _unit(call)
    if unit not in _MONTHS:
        return call.filled(f"timestampdiff({unit.upper()}, {{1}}, {{2}})")
    months = filled(_MONTHS_BETWEEN, call.operands[1:], call.refuse)
    return months if unit == "month" else f"({months} DIV {_MONTHS[unit]})"


def _date_trunc(call: Call) -> str:
    unit = _unit(call)
    if call.is_date[1]:
        return call.filled(f"trunc({{1}}, '{unit.upper()}')") if unit != "day" else call.operands[1]
    return call.filled(f"date_trunc('{unit.upper()}', {{1}})")


def _pattern(call: Call, *, reading: bool) -> str:
    """Convert the second argument to a Spark pattern, in quotes."""
    given = call.strings[1]
    if given is None:
        call.refuse(f"{call.name}() needs its format in the text", "write it as a string")
    # When reading, numbers can have fewer digits if other characters separate them.
    form = 1 if reading and not re.search("%.%", given) else 0
    pieces = []
    for letter, other in re.findall(r"%(.)|([^%]+)", given, re.DOTALL):
        pattern = _LETTERS.get(letter, (None, None))[form]
        if letter and (pattern is None or (reading and _LETTERS[letter][1] is None)):
            call.refuse(f"%{letter} in a date format is not carried over to Spark", "leave it out")
        if "'" in other or "\\" in other:
            call.refuse("quotes in a date format are not carried over to Spark", "use concat()")
        pieces.append(pattern or re.sub("[A-Za-z]+", r"\\'\g<0>\\'", other))
    return f"'{''.join(pieces)}'"


def _date_format(call: Call) -> str:
    return f"date_format({call.operands[0]}, {_pattern(call, reading=False)})"


def _date_parse(call: Call) -> str:
    return f"to_timestamp({call.operands[0]}, {_pattern(call, reading=True)})"


def _delimiter(call: Call) -> str:
    """Return a regular expression that matches the second argument literally."""
    if call.strings[1] == "":
        call.refuse(f"{call.name}() at an empty string is not carried over to Spark", "name one")
    return r"concat('\\Q', {1}, '\\E')"


def _split(call: Call) -> str:
    limit = ", {2}" if len(call.operands) == 3 else ""
    return call.filled(f"split({{0}}, {_delimiter(call)}{limit})")


def _split_part(call: Call) -> str:
    """Return NULL for a part after the last one."""
    return call.filled(f"try_element_at(split({{0}}, {_delimiter(call)}), {{2}})")


def _replace(call: Call) -> str:
    if call.strings[1] == "":
        call.refuse("replace() of an empty string differs in Spark", "write what is meant")
    new = "''" if len(call.operands) == 2 else "{2}"
    return call.filled(f"replace({{0}}, {{1}}, {new})")


def _substr(call: Call) -> str:
    """Return an empty string if the result would begin at 0 or before the string."""
    rest = ", {2}" if len(call.operands) == 3 else ""
    whole = f"substr({{0}}, {{1}}{rest})"
    if re.fullmatch(r"[1-9]\d*", call.operands[1]):
        return call.filled(whole)
    return call.filled(f"if({{1}} = 0 OR -{{1}} > length({{0}}), substr({{0}}, 1, 0), {whole})")


def _json_extract_scalar(call: Call) -> str:
    """Return NULL for arrays and objects."""
    if _JSON_PATH.fullmatch(call.strings[1] or "") is None:
        call.refuse(
            "json_extract_scalar() with this path is not carried over to Spark",
            "write a path of names and numbers, as in '$.a[0].b'",
        )
    scalar = "get_json_object({0}, {1})"
    return call.filled(
        f"CASE WHEN json_array_length({scalar}) IS NULL AND json_object_keys({scalar}) IS NULL "
        f"THEN {scalar} END"
    )


_SPECIAL: Mapping[str, Callable[[Call], str]] = {
    "array_agg": _array_agg,
    "date_add": _date_add,
    "date_diff": _date_diff,
    "date_format": _date_format,
    "date_parse": _date_parse,
    "date_trunc": _date_trunc,
    "greatest": _extremum,
    "json_extract_scalar": _json_extract_scalar,
    "least": _extremum,
    "replace": _replace,
    "split": _split,
    "split_part": _split_part,
    "substr": _substr,
    "substring": _substr,
}
_COUNTS: Mapping[str, range] = {
    "array_agg": range(1, 2),
    "date_add": range(3, 4),
    "date_diff": range(3, 4),
    "date_format": range(2, 3),
    "date_parse": range(2, 3),
    "date_trunc": range(2, 3),
    "json_extract_scalar": range(2, 3),
    "replace": range(2, 4),
    "split": range(2, 4),
    "split_part": range(3, 4),
    "substr": range(2, 4),
    "substring": range(2, 4),
}
