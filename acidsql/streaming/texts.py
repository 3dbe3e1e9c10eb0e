"""Conversion between texts and values as in Spark's CAST, without Spark.

ANSI rules apply: a text that is not a value of the type is an error (``Cast``, ``UTF8String``,
``DateTimeUtils``).
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

TRUE = frozenset({"t", "true", "y", "yes", "1"})
FALSE = frozenset({"f", "false", "n", "no", "0"})
_DATE = r"(?P<year>[0-9]{4,7})(?:-(?P<month>[0-9]{1,2})(?:-(?P<day>[0-9]{1,2}))?)?"
_DATE_TEXT = re.compile(_DATE + r"(?:[ T].*)?")
_TIMESTAMP_TEXT = re.compile(
    _DATE
    + r"(?:[ T](?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{1,2})(?::(?P<second>[0-9]{1,2})"
    + r"(?:\.(?P<fraction>[0-9]{0,9}))?)?\s*(?P<zone>\S.*)?)?"
)
_OFFSET = re.compile(r"(?:UTC|GMT)?(?P<sign>[+-])(?P<hours>[0-9]{1,2})(?::?(?P<minutes>[0-9]{2}))?")
# Java's Double.toString uses an exponent for numbers outside this range.
_LEAST_PLAIN, _MOST_PLAIN = 1e-3, 1e7
_DIGITS = 76  # precision of an intermediate decimal


def boolean(text: str) -> bool:
    """Parse a BOOLEAN.

    >>> boolean("Yes")
    True
    """
    word = text.strip().lower()
    if word not in TRUE | FALSE:
        raise ValueError(text)
    return word in TRUE


def day(text: str) -> date:
    """Parse a DATE; text after the day is ignored, as in Spark.

    >>> day("2024-2")
    datetime.date(2024, 2, 1)
    """
    match = _DATE_TEXT.fullmatch(text.strip())
    if match is None:
        raise ValueError(text)
    return date(int(match["year"]), int(match["month"] or 1), int(match["day"] or 1))


def local_time(text: str, zone: ZoneInfo) -> datetime:
    """Parse a text to a local time in ``zone``; the text may name another time zone.

    >>> local_time("2024-01-01 12:00:00Z", ZoneInfo("Europe/Berlin"))
    datetime.datetime(2024, 1, 1, 13, 0)
    """
    moment = _time(text)
    return moment if moment.tzinfo is None else moment.astimezone(zone).replace(tzinfo=None)


def instant(text: str, zone: ZoneInfo) -> datetime:
    """Parse a text to an instant; a text without a time zone is a local time in ``zone``.

    >>> instant("2024-01-01 12:00:00", ZoneInfo("Europe/Berlin")).astimezone(UTC).hour
    11
    """
    moment = _time(text)
    return moment.replace(tzinfo=zone) if moment.tzinfo is None else moment


def _time(text: str) -> datetime:
    """Parse a text to a time, with the time zone that the text names."""
    match = _TIMESTAMP_TEXT.fullmatch(text.strip())
    if match is None:
        raise ValueError(text)
    fraction = (match["fraction"] or "").ljust(6, "0")[:6]
    local = datetime(  # noqa: DTZ001 - a local time
        int(match["year"]),
        int(match["month"] or 1),
        int(match["day"] or 1),
        int(match["hour"] or 0),
        int(match["minute"] or 0),
        int(match["second"] or 0),
        int(fraction),
    )
    if match["zone"] is None:
        return local
    return _in_zone(local, match["zone"].strip())


def _in_zone(local: datetime, name: str) -> datetime:
    offset = _OFFSET.fullmatch(name)
    if name in ("Z", "UTC", "GMT"):
        return local.replace(tzinfo=UTC)
    if offset is not None:
        hours, minutes = int(offset["hours"]), int(offset["minutes"] or 0)
        shift = timedelta(hours=hours, minutes=minutes) * (-1 if offset["sign"] == "-" else 1)
        return (local - shift).replace(tzinfo=UTC)
    try:
        return local.replace(tzinfo=ZoneInfo(name))
    except (KeyError, OSError) as error:  # not the name of a zone
        raise ValueError(name) from error


def number(text: str) -> float:
    """Parse a DOUBLE, with the suffixes and words that Spark accepts.

    >>> number("1.5d"), number("-Infinity")
    (1.5, -inf)
    """
    word = text.strip().lower()
    if "_" in word:
        raise ValueError(text)
    return float(word[:-1] if word[-1:] in ("d", "f") and word not in ("inf", "-inf") else word)


def decimal(value: Decimal | str | float, precision: int, scale: int) -> Decimal:
    """Return a DECIMAL, rounded half up.

    Raises:
        ValueError: the value is not a number, or has too many digits.

    >>> decimal("1.005", 3, 2)
    Decimal('1.01')
    """
    try:
        with localcontext(prec=_DIGITS):
            # A double converts by its shortest text, as in Java's BigDecimal.valueOf.
            text = repr(value) if isinstance(value, float) else value
            exact = Decimal(text.strip() if isinstance(text, str) else text)
            rounded = exact.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
    except InvalidOperation as error:
        raise ValueError(f"{value} is out of range or no number") from error
    if not rounded.is_finite() or len(rounded.as_tuple().digits) > precision:
        raise ValueError(f"{value} does not fit into {precision} digits")
    return rounded


def of_double(value: float) -> str:
    """Return the text of a DOUBLE, in the form of Java's ``Double.toString``.

    >>> of_double(1e10), of_double(0.5), of_double(-1.25e-7)
    ('1.0E10', '0.5', '-1.25E-7')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return _java(repr(value), value)


def of_float(value: float) -> str:
    """Return the text of a FLOAT: the shortest one that parses to the same value."""
    if not math.isfinite(value):
        return of_double(value)
    return _java(str(np.format_float_scientific(np.float32(value), unique=True)), value)


def _java(text: str, value: float) -> str:
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    shortest = Decimal(text)
    if _LEAST_PLAIN <= abs(value) < _MOST_PLAIN:
        plain = f"{shortest:f}"
        if "." not in plain:
            return f"{plain}.0"
        plain = plain.rstrip("0")
        return f"{plain}0" if plain.endswith(".") else plain
    sign, digits, _ = shortest.as_tuple()
    figures = "".join(map(str, digits)).rstrip("0") or "0"
    return f"{'-' if sign else ''}{figures[0]}.{figures[1:] or '0'}E{shortest.adjusted()}"


def of_decimal(value: Decimal) -> str:
    """Return the text of a DECIMAL, without an exponent."""
    return f"{value:f}"


def of_timestamp(value: datetime) -> str:
    """Return the text of a local time, without trailing zeros in the fraction.

    >>> of_timestamp(datetime(2024, 1, 1, 0, 0, 0, 500))
    '2024-01-01 00:00:00.0005'
    """
    text = f"{value:%H:%M:%S.%f}".rstrip("0").rstrip(".")
    return f"{value.date().isoformat()} {text}"


def octets(text: str) -> bytes:
    """Return the BINARY of a text: its UTF-8 bytes."""
    return text.encode()


def octets_of_base64(text: str) -> bytes:
    """Decode a BINARY from base64, as in JSON."""
    return base64.b64decode(text, validate=True)


def reader(target: pa.DataType, zone: ZoneInfo) -> Callable[[str], object]:
    """Return the function that parses texts as values of a type; it raises ValueError."""
    if pa.types.is_boolean(target):
        return boolean
    if pa.types.is_integer(target):
        return _integer
    if pa.types.is_floating(target):
        return number
    if pa.types.is_decimal(target):
        return lambda text: decimal(text, target.precision, target.scale)
    if pa.types.is_date(target):
        return day
    if pa.types.is_timestamp(target):
        return lambda text: (local_time if target.tz is None else instant)(text, zone)
    return octets


def writer(source: pa.DataType) -> Callable[..., str] | None:
    """Return the function that formats values of a type; None if Arrow's cast does so."""
    if pa.types.is_float32(source):
        return of_float
    if pa.types.is_float64(source):
        return of_double
    if pa.types.is_decimal(source):
        return of_decimal
    return of_timestamp if pa.types.is_timestamp(source) else None


def _integer(text: str) -> int:
    word = text.strip()
    if not re.fullmatch(r"[+-]?[0-9]+", word):
        raise ValueError(text)
    return int(word)
