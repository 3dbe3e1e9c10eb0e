"""Durations in properties and settings: ``12h`` (Hive), ``interval 7 days`` (Delta Lake)."""

from __future__ import annotations

import re

_DURATION = re.compile(r"(?:interval\s+)?(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)
_UNITS = {
    "ms": 0.001,
    "msec": 0.001,
    "": 1,
    "s": 1,
    "sec": 1,
    "second": 1,
    "m": 60,
    "min": 60,
    "minute": 60,
    "h": 3600,
    "hour": 3600,
    "d": 86_400,
    "day": 86_400,
    "week": 7 * 86_400,
}


def seconds(text: str) -> float:
    """Return a duration in seconds; a number without a unit is in seconds.

    Raises:
        ValueError: the text is not a duration.

    >>> seconds("12h"), seconds("interval 7 days"), seconds("90")
    (43200.0, 604800.0, 90.0)
    """
    match = _DURATION.fullmatch(text.strip())
    unit = match[2].lower() if match else ""
    if match is None or (unit not in _UNITS and unit.removesuffix("s") not in _UNITS):
        raise ValueError(f"no time: {text!r}")
    return float(match[1]) * _UNITS.get(unit, _UNITS.get(unit.removesuffix("s"), 1))
