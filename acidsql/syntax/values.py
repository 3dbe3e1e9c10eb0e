"""Conversion of Python values to SQL text: the only way to write a value into a statement."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from types import NoneType
from typing import Any

from acidsql.errors import AcidAnalysisError
from acidsql.syntax.literals import string_value

_INT, _LONG = 1 << 31, 1 << 63
MOST_DIGITS = 38
"""Digits of the widest DECIMAL."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_PLAIN = frozenset({NoneType, bool, bytes, date, datetime, Decimal, dict, float, int, list, str})
_SHOWN = 60  # characters of a value in a message


def unsupported_value(value: object) -> AcidAnalysisError:
    """Return the error for a value of a type without an SQL literal."""
    kind = type(value)
    remedy = {
        "NAType": "pass None for NULL",
        "NaTType": "pass None for NULL",
        "UUID": "pass its text, str(value)",
    }.get(kind.__name__, "pass a text, a number, or another value that SQL has a literal for")
    if isinstance(value, Enum):
        remedy = "pass its name or its value"
    return AcidAnalysisError(
        "UNSUPPORTED_FEATURE.PARAMETER_TYPE",
        f"{_shown(value)} is a {kind.__module__}.{kind.__qualname__}, which cannot be the value of "
        f"a parameter: {remedy}",
    )


def _invalid(value: object, why: str) -> AcidAnalysisError:
    return AcidAnalysisError(
        "INVALID_PARAMETER_VALUE.OUT_OF_RANGE", f"the value {_shown(value)} {why}"
    )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def plain(value: Any) -> Any:
    """Convert a scalar of numpy or pandas to the equivalent Python value.

    A member of an enumeration that is also a number or text becomes that number or text. Other
    values are returned unchanged, and so is numpy's float32, which is a FLOAT.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.PARAMETER_TYPE.
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Enum) and isinstance(value, int | str):
        return value.value
    module = type(value).__module__
    if module.startswith("pandas"):
        if type(value).__name__ in ("NAType", "NaTType"):
            raise unsupported_value(value)
        if hasattr(value, "to_pydatetime"):
            return value.to_pydatetime(warn=False)
        return value.to_pytimedelta() if hasattr(value, "to_pytimedelta") else value
    if module != "numpy":
        return value
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if hasattr(value, "tolist") and value.ndim:
        return list(value)
    if kind in "Mm":  # datetime64, timedelta64
        converted = value.astype(f"{kind}8[us]").item()
        if converted is None:
            raise unsupported_value(value)
        return converted if isinstance(converted, datetime | timedelta) else value
    if kind and kind in "biuUS":
        return value.item()
    return float(value) if value.dtype.name == "float64" else value


def literal(value: Any, other: Callable[[object], str] | None = None) -> str:
    """Write a value as an expression of its Spark type, with the same value under all settings.

    Args:
        value: None, a bool, number, text, bytes, date, datetime or duration, or a scalar of numpy
            or pandas. A list or tuple of these becomes an array, and a mapping becomes a map. A
            datetime without a zone is a local time of this process, as in PySpark.
        other: function that writes values of other types, which are refused by default.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE.OUT_OF_RANGE, no Spark type can hold the value;
            UNSUPPORTED_FEATURE.PARAMETER_TYPE, SQL has no literal for the type.

    >>> literal(None), literal(True), literal(5), literal(1 << 40), literal(1.5), literal("it's")
    ('NULL', 'true', '5', '1099511627776L', '1.5D', "CAST(X'69742773' AS STRING)")
    >>> literal([Decimal("1.50"), date(999, 1, 2)])
    "array(1.50BD, DATE '0999-01-02')"
    >>> literal(datetime(1500, 3, 1, 12, tzinfo=UTC))
    "TIMESTAMP '1500-03-01 12:00:00Z'"
    """
    value = plain(value)
    if isinstance(value, list | tuple):
        return f"array({', '.join(literal(one, other) for one in value)})"
    if isinstance(value, Mapping):
        return f"map({', '.join(literal(one, other) for pair in value.items() for one in pair)})"
    for kinds, write in _WRITERS:
        if isinstance(value, kinds):
            return write(value)
    if type(value).__module__ == "numpy" and type(value).__name__ == "float32":
        return f"CAST({_floating(float(value))} AS FLOAT)"
    if other is None:
        raise unsupported_value(value)
    return other(value)


def _integer(value: int) -> str:
    if -_INT <= value < _INT:
        return str(int(value))
    if -_LONG <= value < _LONG:
        return f"{int(value)}L"
    raise _invalid(value, "does not fit into a BIGINT: pass a Decimal")


def _floating(value: float) -> str:
    if math.isfinite(value):
        return f"{float(value)!r}D"
    name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return f"CAST('{name}' AS DOUBLE)"


def decimal_type(value: Decimal) -> tuple[int, int]:
    """Return the precision and the scale of the DECIMAL literal of a number.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE.OUT_OF_RANGE, the number is NaN or infinite, or
            has more digits than a DECIMAL.

    >>> decimal_type(Decimal("1.50")), decimal_type(Decimal("0.001")), decimal_type(Decimal("1E+3"))
    ((3, 2), (3, 3), (4, 0))
    """
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise _invalid(value, "is no DECIMAL: pass a float for NaN and infinity, None for NULL")
    scale = max(-exponent, 0)
    precision = max(len(digits) + max(exponent, 0), scale) if value else max(scale, 1)
    if precision > MOST_DIGITS:
        raise _invalid(value, f"has more than the {MOST_DIGITS} digits of a DECIMAL: round it")
    return precision, scale


def _decimal(value: Decimal) -> str:
    _, scale = decimal_type(value)
    return f"{value:.{scale}f}BD"


def _text(value: str) -> str:
    try:
        return string_value(value)
    except UnicodeEncodeError as error:
        raise _invalid(value, "has half of a surrogate pair, which is no character") from error


def microseconds(value: datetime) -> int:
    """Return the microseconds from 1970 in UTC to a datetime.

    Python uses the proleptic Gregorian calendar for all years. A datetime without a zone is a local
    time of this process.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE.OUT_OF_RANGE, the machine cannot convert the
            local time.
    """
    if value.tzinfo is not None:
        return (value - _EPOCH) // _MICROSECOND
    try:
        return int(time.mktime(value.timetuple())) * 1_000_000 + value.microsecond
    except OverflowError as error:
        raise _invalid(value, "is no time of the local time zone: give it a time zone") from error


def _timestamp(value: datetime) -> str:
    elapsed = microseconds(value)
    try:
        moment = _EPOCH + elapsed * _MICROSECOND
    except OverflowError:  # before the year 1 or after 9999 in UTC
        return f"timestamp_micros({elapsed}L)"
    return f"TIMESTAMP '{moment.replace(tzinfo=None).isoformat(' ')}Z'"


def _duration(value: timedelta) -> str:
    elapsed = value // _MICROSECOND
    if not -_LONG < elapsed < _LONG:
        raise _invalid(value, "is longer than an INTERVAL DAY TO SECOND")
    seconds, fraction = divmod(abs(elapsed), 1_000_000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    sign = "-" if elapsed < 0 else ""
    text = f"{sign}{days} {hour:02}:{minute:02}:{second:02}.{fraction:06}"
    return f"INTERVAL '{text}' DAY TO SECOND"


def _octets(value: bytes | bytearray) -> str:
    return f"X'{value.hex()}'"


# bool is a subclass of int, and datetime a subclass of date, so they must come first.
_WRITERS: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    (type(None), lambda _: "NULL"),
    (bool, lambda value: "true" if value else "false"),
    (int, _integer),
    (float, _floating),
    (Decimal, _decimal),
    (str, _text),
    (bytes | bytearray, _octets),
    (datetime, _timestamp),
    (date, lambda value: f"DATE '{value.isoformat()}'"),
    (timedelta, _duration),
)
