"""Conversion of Python values to Arrow arrays, before they are assigned to a type."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import Enum, auto
from typing import Any

import pyarrow as pa

from acidsql.streaming.refusals import Refused, first_line


class _Kind(Enum):
    """Kind of a value; Arrow can convert values of one kind together."""

    DAY = auto()
    LOCAL_TIME = auto()
    INSTANT = auto()
    OTHER = auto()


def split_by_kind(values: Sequence[Any]) -> list[list[int]]:
    """Return the positions of days, local times, instants and other values, in their order.

    Arrow gives all values of a list the kind of the first one. None belongs to any kind.

    Returns:
        An empty list if all values can be converted together.

    >>> split_by_kind([date(2024, 1, 1), None, datetime(2024, 1, 1)])
    [[0, 1], [2]]
    >>> split_by_kind([1, 2.5, "text"])
    []
    """
    types = set(map(type, values)) - {type(None)}
    if not any(issubclass(python_type, date) for python_type in types) or types == {date}:
        return []
    groups: dict[_Kind, list[int]] = {}
    for position, value in enumerate(values):
        kind = next(iter(groups), _Kind.OTHER) if value is None else _kind(value)
        groups.setdefault(kind, []).append(position)
    return list(groups.values()) if len(groups) > 1 else []


def _kind(value: object) -> _Kind:
    if isinstance(value, datetime):
        return _Kind.LOCAL_TIME if value.tzinfo is None else _Kind.INSTANT
    return _Kind.DAY if isinstance(value, date) else _Kind.OTHER


def as_array(values: Sequence[Any], target: pa.DataType) -> pa.Array:
    """Return an array of the target type if possible, otherwise of a type that Arrow infers.

    The target type is possible if all values have its Python type. This is faster, because Arrow
    infers no type and casts nothing.

    Raises:
        Refused: Arrow has no type for them.
    """
    python_type = _PYTHON_TYPES.get(target.id)
    if python_type is not None and set(map(type, values)) <= {python_type, type(None)}:
        try:
            return pa.array(values, target)
        except (pa.ArrowException, OverflowError, UnicodeEncodeError):
            pass  # a value does not fit, or must be rounded
    if pa.types.is_floating(target) and any(map(_is_negative_zero, values)):
        # Arrow's decimals have no negative zero.
        values = [float(value) if type(value) is Decimal else value for value in values]
    return _inferred(values)


def _is_negative_zero(value: object) -> bool:
    return type(value) is Decimal and not value and value.is_signed()


# Python type of the values that an Arrow type takes without conversion.
_PYTHON_TYPES = {
    pa.bool_().id: bool,
    pa.int8().id: int,
    pa.int16().id: int,
    pa.int32().id: int,
    pa.int64().id: int,
    pa.float64().id: float,
    pa.string().id: str,
    pa.date32().id: date,
    pa.decimal128(1).id: Decimal,
}


def _inferred(values: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except OverflowError:
        return pa.array([Decimal(v) if isinstance(v, int) else v for v in values])
    except UnicodeEncodeError as error:
        raise Refused(f"cannot be written as UTF-8: {error.reason}") from error
    except pa.ArrowException as error:
        kinds = sorted({type(v).__name__ for v in values if v is not None})
        if set(kinds) <= {"int", "float", "Decimal"}:
            return _inferred_numbers(values)
        raise Refused(f"cannot take {' and '.join(kinds)}: {first_line(error)}") from error


def _inferred_numbers(values: Sequence[Any]) -> pa.Array:
    """Convert numbers of several types to decimals, or to doubles if decimals cannot hold them."""
    try:
        exact = [
            v if v is None else Decimal(repr(v) if isinstance(v, float) else v) for v in values
        ]
        return pa.array(exact)
    except (ArithmeticError, ValueError, pa.ArrowException):
        try:
            return pa.array([v if v is None else float(v) for v in values], pa.float64())
        except (OverflowError, ValueError) as error:
            raise Refused(f"cannot take such a number: {error}") from error
