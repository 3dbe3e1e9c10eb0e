"""Comparison of two engines' answers to one query, by content.

Row order is ignored, because the queries' ORDER BY does not order ties. Integers and decimals
compare as numbers. A floating-point number equals another within 1e-9 of its size. It also equals a
decimal that it rounds to: DuckDB's ``avg`` and ``/`` return DOUBLE, whereas Spark's return DECIMAL
of limited scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

RELATIVE_TOLERANCE = 1e-9

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Rows that a query returned, in any order.

    Args:
        columns: column names.
        rows: rows as tuples of Python values.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def mismatch(expected: Answer, actual: Answer) -> str | None:
    """Describe the first difference between two answers; return None if they are equal.

    Column names are not compared, because engines name unnamed expressions differently.
    """
    if len(expected.columns) != len(actual.columns):
        return f"{len(expected.columns)} columns expected, {len(actual.columns)} found"
    if len(expected.rows) != len(actual.rows):
        return f"{len(expected.rows)} rows expected, {len(actual.rows)} found"
    inexact = _float_columns((*expected.rows, *actual.rows))
    pairs = zip(_ordered(expected.rows, inexact), _ordered(actual.rows, inexact), strict=True)
    for left, right in pairs:
        for name, a, b in zip(actual.columns, left, right, strict=True):
            if not equal(a, b):
                return f"column {name!r}: {a!r} expected, {b!r} found, in row {right!r}"
    return None


def equal(a: object, b: object) -> bool:
    """Return whether two values are equal by the rules in this module's docstring."""
    if isinstance(a, (int, float, Decimal)) and isinstance(b, (int, float, Decimal)):
        if not isinstance(a, float) and not isinstance(b, float):
            return a == b
        half_unit = max(_half_unit(a), _half_unit(b))
        return math.isclose(a, b, rel_tol=RELATIVE_TOLERANCE, abs_tol=half_unit)
    return type(a) is type(b) and a == b


def _half_unit(value: float | Decimal) -> float:
    """Return half a unit in the last place of a decimal; 0 for other numbers.

    The factor 1 + 1e-6 absorbs the conversion to float.
    """
    if not isinstance(value, Decimal):
        return 0.0
    exponent = value.as_tuple().exponent
    return 0.5 * (1 + 1e-6) * 10.0**exponent if isinstance(exponent, int) else 0.0


def _float_columns(rows: Sequence[Row]) -> frozenset[int]:
    return frozenset(
        index for row in rows for index, value in enumerate(row) if isinstance(value, float)
    )


def _ordered(rows: Sequence[Row], inexact: frozenset[int]) -> list[Row]:
    """Sort rows by their exact columns first, so that a last digit cannot reorder them."""

    def key(row: Row) -> tuple[list[tuple[int, Any]], list[float]]:
        exact = [_rank(value) for index, value in enumerate(row) if index not in inexact]
        floats = [-math.inf if row[i] is None else float(row[i]) for i in sorted(inexact)]
        return exact, floats

    return sorted(rows, key=key)


def _rank(value: Any) -> tuple[int, Any]:
    """Make values of different types and NULLs sortable together."""
    if value is None:
        return 0, 0
    if isinstance(value, (int, Decimal)):
        return 1, value
    return 2, str(value)
