"""Thresholds of compactions, with Hive's names for settings and table properties."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from acidsql.errors import invalid_setting

# With this prefix, the name of a setting is the name of a table property that overrides it.
PROPERTY_PREFIX = "compactorthreshold."
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Thresholds of a table.

    Attributes:
        delta_num: number of deltas and delete deltas above which they are merged.
        delta_pct: size of the deltas, as a fraction of the base's size, above which a new base is
            written.
        least_delta_bytes: size of the deltas from which on ``delta_pct`` applies. Hive lacks this
            threshold; acidsql needs it because it checks after every few writes instead of every
            few minutes.
        aborted_num: number of aborted writes above which their files are removed.
        aborted_seconds: age of an aborted write above which its files are removed.
        failed_num: number of consecutive failures after which no more compactions are requested.
        failed_retry_seconds: time after the last failure when a compaction is requested again.
    """

    delta_num: int = 10
    delta_pct: float = 0.1
    least_delta_bytes: int = 0
    aborted_num: int = 1000
    aborted_seconds: float = 12 * 3600
    failed_num: int = 2
    failed_retry_seconds: float = 7 * 86400


# Hive's settings, and the fields that they set.
SETTINGS = MappingProxyType(
    {
        "hive.compactor.delta.num.threshold": "delta_num",
        "hive.compactor.delta.pct.threshold": "delta_pct",
        "hive.compactor.abortedtxn.threshold": "aborted_num",
        "hive.compactor.aborted.txn.time.threshold": "aborted_seconds",
        "hive.compactor.initiator.failed.compacts.threshold": "failed_num",
        "hive.compactor.initiator.failed.retry.time": "failed_retry_seconds",
    }
)


def with_settings(thresholds: Thresholds, settings: Mapping[str, str]) -> Thresholds:
    """Replace thresholds by settings with Hive's names; other settings are ignored.

    Raises:
        AcidAnalysisError: INVALID_CONF_VALUE.
    """
    given = {
        field: _number(name, settings[name]) for name, field in SETTINGS.items() if name in settings
    }
    return replace(
        thresholds,
        **{  # type: ignore[arg-type]
            field: int(value) if field.endswith("_num") else value for field, value in given.items()
        },
    )


def of_table(thresholds: Thresholds, properties: Mapping[str, str]) -> Thresholds:
    """Replace thresholds by the properties of a table (``compactorthreshold.hive.compactor.…``).

    Raises:
        AcidAnalysisError: INVALID_CONF_VALUE.
    """
    return with_settings(
        thresholds,
        {
            name.removeprefix(PROPERTY_PREFIX): value
            for name, value in properties.items()
            if name.startswith(PROPERTY_PREFIX)
        },
    )


def _number(name: str, text: str) -> float:
    """Return the number in a setting, or the seconds of a duration (``12h``)."""
    try:
        return duration_seconds(text) if SETTINGS[name].endswith("_seconds") else float(text)
    except ValueError as error:
        raise invalid_setting(
            name, text, "give a number, or a time such as 12h where it is one"
        ) from error


def duration_seconds(text: str) -> float:
    """Return a duration (Hive: ``12h``, Delta Lake: ``interval 7 days``) in seconds.

    A number without a unit is in seconds.

    Raises:
        ValueError: the text is not a duration.

    >>> [duration_seconds(text) for text in ("12h", "interval 7 days", "90")]
    [43200.0, 604800.0, 90.0]
    """
    match = _DURATION.fullmatch(text.strip())
    unit = match[2].lower() if match else ""
    if match is None or (unit not in _UNITS and unit.removesuffix("s") not in _UNITS):
        raise ValueError(f"no time: {text!r}")
    return float(match[1]) * _UNITS.get(unit, _UNITS.get(unit.removesuffix("s"), 1))
