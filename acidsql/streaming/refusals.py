"""Refusal of values, and checks for values that files cannot store unchanged."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.format.calendar_days import FIRST_GREGORIAN_DAY, FIRST_MISSING_DAY
from acidsql.format.identifiers import folded

_MICROS = 1_000_000


class Refused(ValueError):  # noqa: N818 - what was refused is a value, by the rules
    """Refusal of a value; its message is the end of a sentence about the column."""


def first_line(error: BaseException) -> str:
    """Return the first line of an Arrow error's message; the other lines are details."""
    return str(error).partition("\n")[0]


def check_days(values: pa.Array) -> None:
    """Refuse days that the calendar of files lacks: readers would return later days."""
    days = values.cast(pa.date32(), safe=False).cast(pa.int32())
    earliest = pc.min(days).as_py()
    if earliest is None or earliest >= FIRST_GREGORIAN_DAY:
        return
    old = days.filter(pc.less(days, FIRST_GREGORIAN_DAY))
    if pc.max(old).as_py() >= FIRST_MISSING_DAY:
        raise Refused(
            "is a day from 1582-10-05 to 1582-10-14, which the calendar of ORC files does not have"
        )


def check_written_moments(values: pa.Array) -> None:
    """Refuse timestamps that Arrow's ORC writer damages because it divides towards zero."""
    micros = values.cast(pa.int64())
    rests = pc.subtract(micros, pc.multiply(pc.divide(micros, _MICROS), _MICROS))
    if pc.any(pc.less(rests, 0)).as_py():
        raise Refused(
            "is before 1970 with a fraction of a second, which Arrow cannot write into ORC: insert "
            "the row by a statement"
        )


def repeated_name(names: Iterable[str]) -> str | None:
    """Return a name that equals an earlier name except for its case; None if there is none.

    >>> repeated_name(["id", "name", "ID"])
    'ID'
    """
    seen: set[str] = set()
    for name in names:
        key = folded(str(name))
        if key in seen:
            return name
        seen.add(key)
    return None
