"""Thresholds of compactions, by Hive's names of settings and properties of tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from acidsql.errors import invalid_setting
from acidsql.format.durations import seconds

# Before the name of a setting: the property of a table that replaces the setting.
PROPERTY_PREFIX = "compactorthreshold."


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Thresholds of a table.

    Attributes:
        delta_num: number of deltas and delete deltas above which they are merged.
        delta_pct: size of the deltas, as a part of the base's, above which there is a new base.
        least_delta_bytes: size of the deltas from which on that part counts; acidsql's own, where
            looks come after every few writes and not every few minutes.
        aborted_num: number of aborted writes above which what they left is removed.
        aborted_seconds: age of an aborted write above which what it left is removed.
        failed_num: number of failures in a row after which no compaction is requested any more.
        failed_retry_seconds: time after the last failure after which one is requested again.
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
    """Replace thresholds by settings with Hive's names; settings of other names are passed over.

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
    """Return a number, or where the setting is a time, such as ``12h``, its seconds."""
    try:
        return seconds(text) if SETTINGS[name].endswith("_seconds") else float(text)
    except ValueError as error:
        raise invalid_setting(
            name, text, "give a number, or a time such as 12h where it is one"
        ) from error
