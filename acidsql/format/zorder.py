"""Z-order: rows sorted by the interleaved bits of range ids of several columns.

A range id says in which of some ranges of about the same number of rows a value is; the ranges come
from a sample of the rows, so that they are as even for skewed values. Rows that are close in one of
the columns are then close in the file, whichever column it is (Delta Lake: ``range_partition_id``,
``interleave_bits``).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from acidsql.syntax.lexer import quote

ZORDER_PROPERTY = "acidsql.zorder.columns"
# Bits of a range id, and of all range ids of a row together.
MOST_BITS, _ALL_BITS = 10, 62

_COLUMN = r"`(?:[^`]|``)+`"
_ORDER = re.compile(rf"zorder\({_COLUMN}(?:, {_COLUMN})*\)")


def order_text(columns: Sequence[str]) -> str:
    """Return what the queue of compactions has in the place of an ORDER BY.

    >>> order_text(["a", "b"])
    'zorder(`a`, `b`)'
    """
    return f"zorder({', '.join(map(quote, columns))})"


def zorder_columns(order_by: str) -> tuple[str, ...] | None:
    """Return the columns of a Z-order in the queue; None if it is another order.

    >>> zorder_columns("zorder(`a`, `b``c`)"), zorder_columns("a, b")
    (('a', 'b`c'), None)
    """
    if not _ORDER.fullmatch(order_by):
        return None
    return tuple(name[1:-1].replace("``", "`") for name in re.findall(_COLUMN, order_by))


def property_columns(text: str) -> tuple[str, ...]:
    """Return the names in the table property ``acidsql.zorder.columns``.

    >>> property_columns("a, b")
    ('a', 'b')
    """
    return tuple(name for name in map(str.strip, text.split(",")) if name)


def bits_of(columns: int) -> int:
    """Return the number of bits of a range id, if there are this many columns.

    >>> bits_of(2), bits_of(8)
    (10, 7)
    """
    return max(1, min(MOST_BITS, _ALL_BITS // columns))


class Ranges(NamedTuple):
    """Ranges of a column.

    Attributes:
        bounds: lowest value of each range but of the first one, all different.
        ids: range id of each range.
    """

    bounds: list[Any]
    ids: list[int]


def ranges_of(sample: Sequence[Any], bits: int) -> Ranges:
    """Divide the values of a column into ranges.

    A value that is frequent is in a range of its own; there are fewer ranges then. The id of a
    range is where the middle one of its rows is among all rows, so that the highest bit divides the
    rows into halves, as far as the values allow it.

    Args:
        sample: values that can be compared, none of which is None.
        bits: of a range id.

    >>> ranges_of(range(100), 2)
    Ranges(bounds=[25, 50, 75], ids=[0, 1, 2, 3])
    >>> ranges_of([0] * 20 + [1] * 60 + [2] * 20, 3)
    Ranges(bounds=[1, 2], ids=[0, 4, 7])
    """
    ordered = sorted(sample)
    if not ordered:
        return Ranges([], [0])
    most, total = 1 << bits, len(ordered)
    chosen = {ordered[total * number // most] for number in range(1, most)}
    bounds = sorted(chosen - {ordered[0]})
    starts = [0, *(bisect_left(ordered, bound) for bound in bounds), total]
    return Ranges(bounds, [(low + high) * most // (2 * total) for low, high in pairwise(starts)])


def interleaved(ids: Sequence[int], bits: int) -> int:
    """Return the range ids of a row as one number, the highest bits of all columns first.

    >>> interleaved([0b10, 0b01], 2)
    9
    """
    value = 0
    for bit in range(bits):
        for column, number in enumerate(ids):
            value |= (number >> bit & 1) << (bit * len(ids) + len(ids) - 1 - column)
    return value
