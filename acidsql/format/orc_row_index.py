"""Row indexes of ORC: the lowest and highest value of a column in each row group.

Layout: ``RowIndex`` and ``ColumnStatistics`` of ``orc_proto.proto``.
"""

from __future__ import annotations

import math
import os
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import accumulate
from typing import Any, NamedTuple

from acidsql.format import orc_compression
from acidsql.format.orc_tail import OrcTail
from acidsql.format.protobuf import Field, corrupt, integer, octets, read_fields, zigzag_decode

# Stream.Kind
ROW_INDEX = 6
_ENTRY, _STATISTICS = 1, 2
_VALUES = 1


class GroupBounds(NamedTuple):
    """Values of a column in a row group.

    Attributes:
        values: number of values that are not null.
        lowest: lowest value or a lower bound; None if it is not known.
        highest: highest value or an upper bound; None if it is not known.
    """

    values: int
    lowest: Any
    highest: Any


def parse_row_index(section: bytes, tail: OrcTail) -> list[GroupBounds]:
    """Parse the row index of a column in a stripe.

    Args:
        section: bytes of the stream.
        tail: tail of the file.

    Raises:
        FormatError: the bytes are damaged (INVALID_ORC_TAIL), or their codec cannot be read
            (UNSUPPORTED_ORC_COMPRESSION).
    """
    message = orc_compression.decompress(section, tail.compression, tail.block_size)
    entries = [octets(field) for field in read_fields(message) if field.number == _ENTRY]
    return [_group(entry) for entry in entries]


def _group(entry: bytes) -> GroupBounds:
    fields = {field.number: field for field in read_fields(entry)}
    return bounds(octets(fields[_STATISTICS]) if _STATISTICS in fields else b"")


def bounds(statistics: bytes) -> GroupBounds:
    """Return the bounds in a ``ColumnStatistics``.

    Raises:
        FormatError: the message is damaged (INVALID_ORC_TAIL).
    """
    fields = {field.number: field for field in read_fields(statistics)}
    values = integer(fields[_VALUES]) if _VALUES in fields else 0
    for kind, (names, read) in _KINDS.items():
        if kind in fields:
            inner = {field.number: field for field in read_fields(octets(fields[kind]))}
            low, high = (next((inner[n] for n in numbers if n in inner), None) for numbers in names)
            if low is not None and high is not None:
                return GroupBounds(values, read(low), read(high))
    return GroupBounds(values, None, None)


def _signed(field: Field) -> int:
    return zigzag_decode(integer(field))


def _double(field: Field) -> float:
    value: float = struct.unpack("<d", octets(field))[0]
    return value


def _decimal(field: Field) -> Decimal:
    try:
        return Decimal(octets(field).decode("ascii", "replace"))
    except InvalidOperation as error:
        raise corrupt("a bound of decimals is none") from error


# For each kind of statistics: the fields of the lower and upper bounds, and the function that
# decodes them.
_Fields = tuple[tuple[int, ...], tuple[int, ...]]
_KINDS: Mapping[int, tuple[_Fields, Callable[[Field], Any]]] = {
    2: (((1,), (2,)), _signed),  # integers
    3: (((1,), (2,)), _double),
    4: (((1, 4), (2, 5)), octets),  # texts, whole or truncated
    6: (((1,), (2,)), _decimal),
    7: (((1,), (2,)), _signed),  # dates
    9: (((3, 1), (4, 2)), _signed),  # timestamps, in UTC if these bounds exist
}


def point_read_share(groups: Sequence[GroupBounds]) -> float | None:
    """Return the share of row groups that a condition on one value of the column reads.

    The share is the mean over the values of the column, on the assumption that the values of a row
    group are spread evenly between its bounds. A group with unknown bounds is always read, and a
    group without values is never read.

    Returns:
        None if there are no row groups.

    >>> point_read_share([GroupBounds(10, 0, 4), GroupBounds(10, 5, 9)])
    0.5
    >>> point_read_share([GroupBounds(10, 0, 9), GroupBounds(10, 0, 9), GroupBounds(0, None, None)])
    0.6666666666666666
    """
    if not groups:
        return None
    spans = _spans([group for group in groups if group.values and group.lowest is not None])
    always = sum(1 for group in groups if group.values) - len(spans)
    read = _mean_overlap(spans) if spans else 0.0
    return (always + read) / len(groups)


def _spans(groups: Sequence[GroupBounds]) -> list[tuple[float, float, int]]:
    """Return the bounds of row groups as numbers, with the number of values.

    Texts are converted by the eight bytes after the common prefix of all bounds. An integer counts
    as an interval of width 1. Groups with infinite bounds are left out.
    """
    texts = [b for group in groups for b in group[1:] if isinstance(b, bytes)]
    common = len(os.path.commonprefix([min(texts), max(texts)])) if texts else 0  # noqa: RUF071 - of texts
    spans = []
    for values, lowest, highest in groups:
        if isinstance(lowest, bytes):
            low, high = (int.from_bytes(b[common:][:8].ljust(8, b"\0")) for b in (lowest, highest))
        else:
            low, high = lowest, highest
        half = 0.5 if isinstance(lowest, int) else 0.0
        if math.isfinite(low) and math.isfinite(high):
            spans.append((float(low) - half, float(high) + half, values))
    return spans


def _mean_overlap(spans: Sequence[tuple[float, float, int]]) -> float:
    """Return the number of spans that contain a value, as the mean over the values of all spans."""
    first = min(low for low, _, _ in spans)
    lows = sorted(low - first for low, _, _ in spans)
    highs = sorted(high - first for _, high, _ in spans)
    low_sums, high_sums = ([0.0, *accumulate(ends)] for ends in (lows, highs))

    def area(point: float) -> float:
        """Return the total length of the parts of all spans before a point."""
        begun, ended = bisect_left(lows, point), bisect_left(highs, point)
        return begun * point - low_sums[begun] - (ended * point - high_sums[ended])

    total = 0.0
    for low, high, values in spans:
        start, end = low - first, high - first
        if end > start:
            mean = (area(end) - area(start)) / (end - start)
        else:
            mean = bisect_right(lows, start) - bisect_left(highs, start)
        total += values * mean
    return total / sum(values for _, _, values in spans)
