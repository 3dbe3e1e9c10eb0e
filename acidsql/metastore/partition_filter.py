"""Partition filters: conditions on partition columns that a metastore evaluates.

A filter spares a statement the values of all partitions. A metastore may return partitions that do
not meet the filter, but never fewer than meet it, because the statement's own condition is
evaluated on all partitions that come back.

A partition value is a text, and programs spell one value in several ways (``07`` for 7). Each
condition therefore also accepts every text that is not in the usual spelling.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

MOST_VALUES = 100

_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_WHOLE_NUMBER = re.compile(r"-?[0-9]+")
_USUAL_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_HIVE_NAME = re.compile(r"[a-z][a-z0-9_]*")
_HIVE_UNQUOTABLE = re.compile(r"[\"'\\\x00-\x1f]")
_ISO_DATE = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionComparison:
    """Comparison of a partition column with constants.

    Attributes:
        ordinal: position of the column among the partition columns, from 0.
        operator: ``=``, ``<``, ``<=``, ``>`` or ``>=``.
        values: constants of one type, at most ``MOST_VALUES``. Several are alternatives of ``=``.
    """

    ordinal: int
    operator: str
    values: tuple[int | str | date, ...]


PartitionFilter = tuple[tuple[PartitionComparison, ...], ...]
"""Alternatives (OR), each the comparisons that must hold together (AND). An empty filter, and an
empty alternative, accept all partitions."""


def accepts(accepted: PartitionFilter, values: Sequence[str]) -> bool:
    """Return whether a filter accepts a partition.

    >>> accepts(((Comparison(ordinal=0, operator=">", values=(7,)),),), ["8"])
    True
    """
    return not accepted or any(
        all(_meets(comparison, values[comparison.ordinal]) for comparison in alternative)
        for alternative in accepted
    )


def _meets(comparison: PartitionComparison, text: str) -> bool:
    first = comparison.values[0]
    if isinstance(first, int):
        if not _WHOLE_NUMBER.fullmatch(text):
            return True
        return _compare(comparison, int(text))
    if isinstance(first, date) and not _USUAL_DATE.fullmatch(text):
        return True
    return _compare(comparison, text.encode())


def _compare(comparison: PartitionComparison, value: int | bytes) -> bool:
    constants = [v if isinstance(v, int) else str(v).encode() for v in comparison.values]
    return any(_OPERATORS[comparison.operator](value, constant) for constant in constants)


def sqlite_condition(accepted: PartitionFilter, values: str) -> tuple[str, list[int | str]]:
    """Return a filter as a condition of SQLite and its parameters.

    Args:
        accepted: the filter.
        values: name of the column with a partition's values, a JSON array of texts.
    """
    parameters: list[int | str] = []

    def text_of(comparison: PartitionComparison) -> str:
        text = f"json_extract({values}, '$[{comparison.ordinal}]')"
        first, symbol = comparison.values[0], comparison.operator
        marks = ", ".join("?" * len(comparison.values))
        right = f"IN ({marks})" if symbol == "=" else f"{symbol} ?"
        parameters.extend(str(v) if isinstance(v, date) else v for v in comparison.values)
        if isinstance(first, int):
            return f"(CAST({text} AS INTEGER) {right} OR {text} GLOB '*[^-0-9]*')"
        if isinstance(first, date):
            return f"({text} {right} OR {text} NOT GLOB '{_ISO_DATE}')"
        return f"{text} {right}"

    if not all(accepted):
        return "1", []
    alternatives = [" AND ".join(map(text_of, alternative)) for alternative in accepted]
    return " OR ".join(f"({alternative})" for alternative in alternatives) or "1", parameters


def hive_filter(accepted: PartitionFilter, columns: Sequence[str]) -> str | None:
    """Return a filter in the language of a Hive Metastore, or None if that would not be sound.

    Only equality with texts is given to a server. The collation of its database determines the
    order of texts. A server does not find the number 7 in the text ``07``, or a date in another
    spelling.

    Args:
        accepted: the filter.
        columns: names of the partition columns in lower case.
    """
    alternatives = [list(_hive_comparisons(alternative, columns)) for alternative in accepted]
    if not alternatives or not all(alternatives):
        return None
    return " or ".join(f"({' and '.join(alternative)})" for alternative in alternatives)


def _hive_comparisons(
    alternative: Sequence[PartitionComparison], columns: Sequence[str]
) -> Iterator[str]:
    for comparison in alternative:
        column = columns[comparison.ordinal]
        if comparison.operator != "=" or not _HIVE_NAME.fullmatch(column):
            continue
        constants = [_hive_constant(value) for value in comparison.values]
        if None not in constants:
            equal = " or ".join(f"{column} = {constant}" for constant in constants)
            yield f"({equal})"


def _hive_constant(value: int | str | date) -> str | None:
    if isinstance(value, str) and not _HIVE_UNQUOTABLE.search(value):
        return f'"{value}"'
    return None
