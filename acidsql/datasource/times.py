"""Times that options name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from acidsql.errors import AcidAnalysisError
from acidsql.metastore.moments import TimeMoment


def moment_of_time(option: str, text: str, zone: ZoneInfo) -> TimeMoment:
    """Return the moment of a text; without a zone it is a local time.

    Args:
        option: its name.
        text: its value.
        zone: time zone of local times.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE.
    """
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise AcidAnalysisError(
            "INVALID_PARAMETER_VALUE",
            f"{option} is {text!r}: give a time such as 2024-07-01 12:00:00",
            {"parameter": option},
        ) from error
    if found.tzinfo is None:
        found = found.replace(tzinfo=zone)
    since = found - datetime(1970, 1, 1, tzinfo=UTC)
    return TimeMoment(microseconds=since // timedelta(microseconds=1))
