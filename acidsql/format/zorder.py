"""Order of rows along a curve through the range ids of several columns (``ZORDER BY``).

A range id is the id of the range that contains a value. All ranges have about the same number of
rows, even for skewed values, because they come from a sample of the rows. Rows that are close in
any one of the columns are then close in the file (as in Delta Lake's "Hilbert clustering").
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

ZORDER_PROPERTY = "acidsql.zorder.columns"
# Bits of a range id.
BITS = 10
# Largest number of columns of a curve: its table grows with the square of two to their number.
MOST_COLUMNS = 5

_COLUMN = r"`(?:[^`]|``)+`"
_ORDER = re.compile(rf"zorder\({_COLUMN}(?:, {_COLUMN})*\)")


def order_text(columns: Sequence[str]) -> str:
    """Return the text of a Z-order that the queue of compactions has instead of an ORDER BY.

    >>> order_text(["a", "b"])
    'zorder(`a`, `b`)'
    """
    quoted = ("`" + column.replace("`", "``") + "`" for column in columns)
    return f"zorder({', '.join(quoted)})"


def zorder_columns(order_by: str) -> tuple[str, ...] | None:
    """Return the columns of a Z-order in the queue; None for other orders.

    >>> zorder_columns("zorder(`a`, `b``c`)"), zorder_columns("a, b")
    (('a', 'b`c'), None)
    """
    if not _ORDER.fullmatch(order_by):
        return None
    return tuple(name[1:-1].replace("``", "`") for name in re.findall(_COLUMN, order_by))


def property_columns(text: str) -> tuple[str, ...]:
    """Return the names in the table property of clustering (``ZORDER_PROPERTY``).

    >>> property_columns("a, b")
    ('a', 'b')
    """
    return tuple(name for name in map(str.strip, text.split(",")) if name)


class Ranges(NamedTuple):
    """Ranges of a column.

    Attributes:
        bounds: lowest value of each range except the first, all different.
        ids: range id of each range.
    """

    bounds: list[Any]
    ids: list[int]


def ranges_of(sample: Sequence[Any], bits: int) -> Ranges:
    """Divide the values of a column into ranges.

    A frequent value gets its own range, and there are fewer ranges then. The id of a range is the
    position of its middle row among all rows. The highest bit therefore divides the rows into
    halves, if the values allow it.

    Args:
        sample: values that can be compared, without None.
        bits: number of bits of a range id.

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


def hilbert_table(columns: int) -> list[int]:
    """Return the table that converts interleaved bits to a place on a Hilbert curve.

    Each step uses one bit of each column, the highest first. The entry of a step is at
    ``state << columns | bits``. It contains the bits of the place, and above them the next state.
    The first state is 0. (C. Hamilton, Compact Hilbert Indices, 2006: a state is an entry point and
    a direction.)

    >>> hilbert_table(1)
    [0, 1, 3, 2]
    """
    table = []
    mask = (1 << columns) - 1
    for state in range(columns << columns):
        direction, entry = divmod(state, 1 << columns)
        for bits in range(1 << columns):
            place = _gray_rank(_rotated(bits ^ entry, -direction - 1, columns))
            inner, turn = _corner(place, columns)
            next_entry = entry ^ _rotated(inner, direction + 1, columns)
            next_direction = (direction + turn + 1) % columns
            following = next_direction << columns | next_entry & mask
            table.append(following << columns | place)
    return table


def hilbert_place(ids: Sequence[int], bits: int) -> int:
    """Return the place of a row on a Hilbert curve through all range ids.

    Consecutive rows on the curve are close in all columns, and no column takes precedence. A curve
    of interleaved bits would have jumps.

    >>> [hilbert_place(ids, 1) for ids in ((0, 0), (0, 1), (1, 1), (1, 0))]
    [0, 1, 2, 3]
    """
    columns, table, state, place = len(ids), hilbert_table(len(ids)), 0, 0
    for bit in reversed(range(bits)):
        step = 0
        for column, number in enumerate(ids):
            step |= (number >> bit & 1) << column
        entry = table[state << columns | step]
        place = place << columns | entry & (1 << columns) - 1
        state = entry >> columns
    return place


def _rotated(bits: int, by: int, width: int) -> int:
    """Rotate bits to the left; to the right if ``by`` is negative."""
    by %= width
    return (bits << by | bits >> (width - by)) & ((1 << width) - 1)


def _gray_rank(bits: int) -> int:
    """Return the rank of bits among the reflected Gray codes."""
    rank = 0
    while bits:
        rank ^= bits
        bits >>= 1
    return rank


def _corner(place: int, columns: int) -> tuple[int, int]:
    """Return the entry point and the turn of the curve in the part of a cube with this place."""
    if place == 0:
        return 0, 0
    entry = 2 * ((place - 1) // 2)
    ones = place if place % 2 else place - 1
    trailing = (~ones & (ones + 1)).bit_length() - 1
    return entry ^ entry >> 1, trailing % columns
