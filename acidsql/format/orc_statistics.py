"""Merging of ORC column statistics: the statistics of stripes become the statistics of a file.

If a part lacks a bound or sum, the result lacks it too. Readers treat a missing bound as unlimited.
Layout: ``ColumnStatistics`` of ``orc_proto.proto``.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Context, Decimal

from acidsql.format.protobuf import (
    Field,
    integer,
    octets,
    read_fields,
    read_packed,
    write_integer,
    write_octets,
    write_varint,
    zigzag_decode,
    zigzag_encode,
)

_VALUES, _HAS_NULL, _BYTES_ON_DISK = 1, 10, 11
_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1
_DECIMAL_DIGITS = 38  # largest precision of Hive's decimals
_EXACT = Context(prec=200)

# Fields of a message by number; the last field of a number counts.
_Message = Mapping[int, Field]
# Merges the statistics of one kind (integer, string, …) over parts; returns None if they are
# unknown.
_Merge = Callable[[Sequence[_Message]], bytes | None]


def merge_columns(parts: Sequence[Sequence[bytes]]) -> list[bytes]:
    """Merge the statistics of each column over all parts.

    Args:
        parts: ``ColumnStatistics`` by column id, for at least one part.
    """
    return [merge_statistics(column) for column in zip(*parts, strict=True)]


def merge_statistics(parts: Sequence[bytes]) -> bytes:
    """Merge the statistics of one column over at least one part.

    Raises:
        FormatError: the bytes are damaged (INVALID_ORC_TAIL).
    """
    messages = [_fields(part) for part in parts]
    merged = write_integer(_VALUES, _total(messages, _VALUES))
    # Parts without values have no bounds, and do not affect the bounds of the other parts.
    filled = [m for m in messages if _number(m, _VALUES)]
    merged += b"" if filled else b"".join(messages[0][k].raw for k in _KINDS if k in messages[0])
    for kind, merge in _KINDS.items():
        if filled and all(kind in m for m in filled):
            content = merge([_fields(octets(m[kind])) for m in filled])
            if content is not None:
                merged += write_octets(kind, content)
    if all(_HAS_NULL in m for m in messages):
        merged += write_integer(_HAS_NULL, max(integer(m[_HAS_NULL]) for m in messages))
    if all(_BYTES_ON_DISK in m for m in messages):
        merged += write_integer(_BYTES_ON_DISK, _total(messages, _BYTES_ON_DISK))
    return merged


def _fields(message: bytes) -> _Message:
    return {field.number: field for field in read_fields(message)}


def _number(message: _Message, number: int) -> int:
    return integer(message[number]) if number in message else 0


def _total(messages: Iterable[_Message], number: int) -> int:
    return sum(_number(m, number) for m in messages)


def _signed(parts: Sequence[_Message], number: int) -> list[int] | None:
    """Return the ``sint`` values of a field in all parts; None if a part lacks it."""
    if not all(number in part for part in parts):
        return None
    return [zigzag_decode(integer(part[number])) for part in parts]


def _bounds(parts: Sequence[_Message], first: int, last: int) -> bytes | None:
    lows, highs = _signed(parts, first), _signed(parts, last)
    if lows is None or highs is None:
        return None
    return _sint(first, min(lows)) + _sint(last, max(highs))


def _sint(number: int, value: int) -> bytes:
    return write_integer(number, zigzag_encode(value))


def _sum(parts: Sequence[_Message], number: int) -> bytes:
    """Add the sums of all parts; as in writers, the sum is left out if it overflows."""
    values = _signed(parts, number)
    total = None if values is None else sum(values)
    return _sint(number, total) if total is not None and _LONG_MIN <= total <= _LONG_MAX else b""


def _integers(parts: Sequence[_Message]) -> bytes | None:
    bounds = _bounds(parts, 1, 2)
    return None if bounds is None else bounds + _sum(parts, 3)


def _doubles(parts: Sequence[_Message]) -> bytes | None:
    merged = b""
    for number, chosen in ((1, min), (2, max), (3, sum)):
        if not all(number in part for part in parts):
            return None
        values = [struct.unpack("<d", octets(part[number]))[0] for part in parts]
        if any(map(math.isnan, values)):
            return None
        merged += write_varint(number << 3 | 1) + struct.pack("<d", chosen(values))
    return merged


def _strings(parts: Sequence[_Message]) -> bytes | None:
    """Merge the bounds of strings; truncated long bounds are in separate fields."""
    # If two bounds have the same text, the truncated one is weaker.
    lows = [(octets(p[n]), n == 1) for p in parts for n in (1, 4) if n in p]
    highs = [(octets(p[n]), n == 5) for p in parts for n in (2, 5) if n in p]
    if len(lows) < len(parts) or len(highs) < len(parts):
        return None
    (low, is_exact), (high, is_cut) = min(lows), max(highs)
    return (
        write_octets(1 if is_exact else 4, low)
        + write_octets(5 if is_cut else 2, high)
        + _sum(parts, 3)
    )


def _buckets(parts: Sequence[_Message]) -> bytes | None:
    counts = [list(read_packed(part[1].value)) if 1 in part else [] for part in parts]
    if len({len(c) for c in counts}) != 1:
        return None
    totals = [sum(column) for column in zip(*counts, strict=True)]
    return write_octets(1, b"".join(map(write_varint, totals)))


def _decimals(parts: Sequence[_Message]) -> bytes | None:
    merged = b""
    for number, chosen in ((1, min), (2, max)):
        if not all(number in part for part in parts):
            return None
        texts = [octets(part[number]) for part in parts]
        merged += write_octets(number, chosen(texts, key=lambda text: Decimal(text.decode())))
    if all(3 in part for part in parts):
        values = [Decimal(octets(part[3]).decode()) for part in parts]
        total = Decimal(0)
        for value in values:
            total = _EXACT.add(total, value)
        if len(total.as_tuple().digits) <= _DECIMAL_DIGITS:
            merged += write_octets(3, f"{total:f}".encode())
    return merged


def _dates(parts: Sequence[_Message]) -> bytes | None:
    return _bounds(parts, 1, 2)


def _binaries(parts: Sequence[_Message]) -> bytes | None:
    return _sum(parts, 1) or None


def _timestamps(parts: Sequence[_Message]) -> bytes | None:
    """Merge bounds in milliseconds and their nanoseconds.

    The nanoseconds are in other fields, with 1 added.
    """
    if not all({3, 4} <= part.keys() for part in parts):
        return None
    lows = _signed(parts, 3) or []
    highs = _signed(parts, 4) or []
    low = min(
        zip(lows, (_number(p, 5) - 1 if 5 in p else 0 for p in parts), parts, strict=True),
        key=lambda bound: bound[:2],
    )[2]
    high = max(
        zip(highs, (_number(p, 6) - 1 if 6 in p else 999_999 for p in parts), parts, strict=True),
        key=lambda bound: bound[:2],
    )[2]
    kept = [*((low, n) for n in (1, 3, 5)), *((high, n) for n in (2, 4, 6))]
    return b"".join(part[n].raw for part, n in sorted(kept, key=lambda k: k[1]) if n in part)


def _collections(parts: Sequence[_Message]) -> bytes | None:
    if not all({1, 2, 3} <= part.keys() for part in parts):
        return None
    return (
        write_integer(1, min(_number(p, 1) for p in parts))
        + write_integer(2, max(_number(p, 2) for p in parts))
        + write_integer(3, _total(parts, 3))
    )


_KINDS: Mapping[int, _Merge] = {
    2: _integers,
    3: _doubles,
    4: _strings,
    5: _buckets,
    6: _decimals,
    7: _dates,
    8: _binaries,
    9: _timestamps,
    12: _collections,
}
