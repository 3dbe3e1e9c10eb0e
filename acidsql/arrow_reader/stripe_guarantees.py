"""Guarantees of stripes: value ranges of their columns, from the statistics of ORC.

Some columns are left out because their statistics are incomplete or have another meaning:
floating-point numbers (NaN), timestamps (time zones), days before the Gregorian calendar, CHAR
(blanks).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.arrow_reader.filters import all_of, between
from acidsql.format.calendar_days import FIRST_GREGORIAN_DAY
from acidsql.format.orc_tail import OrcTail
from acidsql.format.protobuf import Field, integer, octets, read_fields, zigzag_decode
from acidsql.streaming.column_types import ColumnType

_COLUMN_STATISTICS = 1
# ColumnStatistics
_VALUES, _INTEGERS, _STRINGS, _DATES = 1, 2, 4, 7
# StringStatistics: exact bounds, and truncated bounds
_LEAST, _MOST, _LOWER, _UPPER = 1, 2, 4, 5
_KINDS = {
    "byte": _INTEGERS,
    "short": _INTEGERS,
    "int": _INTEGERS,
    "long": _INTEGERS,
    "string": _STRINGS,
    "varchar": _STRINGS,
    "date": _DATES,
}

_Message = Mapping[int, Field]


def stripe_guarantee(
    tail: OrcTail, stripe: int, columns: Mapping[str, tuple[int, ColumnType]]
) -> pc.Expression:
    """Return the guarantee that holds for the rows of a stripe.

    Args:
        tail: tail of the file.
        stripe: number of the stripe.
        columns: for each column name, the column id in the file and the type in the table.
    """
    if not tail.stripe_statistics:
        return all_of(())
    message = tail.stripe_statistics[stripe]
    column_statistics = [octets(f) for f in read_fields(message) if f.number == _COLUMN_STATISTICS]
    return all_of(_guarantees(tail, column_statistics, columns))


def _guarantees(
    tail: OrcTail, statistics: list[bytes], columns: Mapping[str, tuple[int, ColumnType]]
) -> Iterator[pc.Expression]:
    for name, (column_id, kind) in columns.items():
        if column_id >= len(statistics):
            continue
        stored = tail.types[column_id].kind
        of_column = _message(statistics[column_id])
        if _VALUES in of_column and not integer(of_column[_VALUES]):
            yield pc.field(name).is_null()
        elif _KINDS.get(stored) in of_column and _is_compared(stored, kind):
            bounds = _bounds(stored, _message(octets(of_column[_KINDS[stored]])))
            if bounds is not None:
                yield between(name, *(pa.scalar(bound, kind.arrow) for bound in bounds))


def _is_compared(stored: str, kind: ColumnType) -> bool:
    """Return whether values compare in the table as they do in the file."""
    if stored in ("string", "varchar"):
        return kind.kind != "char" and pa.types.is_string(kind.arrow)
    if stored == "date":
        return bool(pa.types.is_date(kind.arrow))
    return bool(pa.types.is_integer(kind.arrow))


def _bounds(stored: str, statistics: _Message) -> tuple[object, object] | None:
    if stored in ("string", "varchar"):
        least = statistics.get(_LEAST, statistics.get(_LOWER))
        most = statistics.get(_MOST, statistics.get(_UPPER))
        if least is None or most is None:
            return None
        try:
            return octets(least).decode(), octets(most).decode()
        except UnicodeDecodeError:  # the truncation split a character
            return None
    if not {1, 2} <= statistics.keys():
        return None
    low, high = (zigzag_decode(integer(statistics[number])) for number in (1, 2))
    if stored == "date":
        if low < FIRST_GREGORIAN_DAY:
            return None
        return _day(low), _day(high)
    return low, high


def _day(days: int) -> object:
    return pa.scalar(days, pa.int32()).cast(pa.date32())


def _message(content: bytes) -> _Message:
    return {field.number: field for field in read_fields(content)}
