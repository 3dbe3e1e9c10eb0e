"""Days and local times of files as Spark reads them: calendars, time zones, fractions of a second.

Writers before 2020, and Spark's, number days by the hybrid calendar: Julian before 1582-10-15,
Gregorian from then on. Spark, like Arrow, has the proleptic Gregorian one, and keeps year, month
and day (``RebaseDateTime``).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.arrow_reader.arrays import array_of, numbers_of
from acidsql.errors import FormatError
from acidsql.format.calendar_days import FIRST_GREGORIAN_DAY, FIRST_MISSING_DAY

Numbers = npt.NDArray[np.int64]

_MICROS, _NANOS_OF_MICRO = 1_000_000, 1_000
_DAY_MICROS = 86_400 * _MICROS
# Java takes a time before 1970 for one second later if it has more nanoseconds than these
# (``TimestampTreeReader``).
_UNCOUNTED_NANOS = 999_999
# Java's rules of time zones begin here; before, a zone has its standard offset of today.
_FIRST_RULES = -2_208_988_800
_UTC_NAMES = frozenset({"UTC", "GMT", "Z", "Etc/UTC", "Etc/GMT", "UCT", "Zulu", "Universal"})
# Days since 1970 of day 0 of the Julian day number.
_JULIAN_DAY = 2_440_588
# Tables of time zones end in 2037; rules follow, which change offsets at quarters of an hour only.
_LAST_TABLES = 2_114_380_800
_QUARTER_HOUR = 900
# After 400 years the Gregorian calendar repeats, with the same day of the week.
_CALENDAR_CYCLE = 146_097 * 86_400


def proleptic_days(days: Numbers, *, is_proleptic: bool) -> Numbers:
    """Return days since 1970 by the proleptic Gregorian calendar.

    Args:
        days: of a file, shape (rows,).
        is_proleptic: whether the file numbers them by that calendar already.

    Raises:
        FormatError: UNSUPPORTED_FEATURE.ARROW_VALUE, a day of a proleptic file that Spark reads as
            another one, since the hybrid calendar lacks it.
    """
    is_old = days < FIRST_GREGORIAN_DAY
    if not is_old.any():
        return days
    if is_proleptic:
        if (days[is_old] >= FIRST_MISSING_DAY).any():
            raise FormatError(
                "UNSUPPORTED_FEATURE.ARROW_VALUE",
                "a day between 1582-10-05 and 1582-10-14 is not one of the calendar that Spark "
                "reads ORC by: read the table with acidsql.table",
            )
        return days
    made = days.copy()
    made[is_old] = _of_julian(days[is_old])
    return made


def _of_julian(days: Numbers) -> Numbers:
    """Return the days that have the same year, month and day in the Gregorian calendar.

    The 29th of February becomes the 1st of March where that calendar lacks it.
    """
    # E. G. Richards, "Mapping Time": day numbers to the Julian calendar, and from the Gregorian.
    rest = days + _JULIAN_DAY + 32_082
    years = (4 * rest + 3) // 1_461
    day_of_year = rest - 1_461 * years // 4
    months = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * months + 2) // 5 + 1
    number = day + (153 * months + 2) // 5 + 365 * years
    number += years // 4 - years // 100 + years // 400
    made: Numbers = number - 32_045 - _JULIAN_DAY
    return made


def local_micros(seconds: Numbers, nanos: Numbers, zone: str, *, is_proleptic: bool) -> Numbers:
    """Return the local times of timestamps, in microseconds since 1970-01-01 00:00:00 local time.

    Args:
        seconds: as the file has them: since 2015-01-01 00:00:00 in the writer's zone, cut towards
            zero; shape (rows,).
        nanos: of the second; shape (rows,).
        zone: name of the writer's time zone.
        is_proleptic: as of ``proleptic_days``.

    Raises:
        FormatError: UNSUPPORTED_FEATURE.ARROW_VALUE, the zone is not known; as ``proleptic_days``.
    """
    moments = seconds + _base(zone)
    moments = moments - ((moments < 0) & (nanos > _UNCOUNTED_NANOS))
    micros = (moments + _offsets(moments, zone)) * _MICROS + nanos // _NANOS_OF_MICRO
    days = micros // _DAY_MICROS
    made: Numbers = micros + (proleptic_days(days, is_proleptic=is_proleptic) - days) * _DAY_MICROS
    return made


def _base(zone: str) -> int:
    """Return the seconds from 1970 to 2015-01-01 00:00:00 in a zone."""
    return int(datetime(2015, 1, 1, tzinfo=_zone(zone)).timestamp())


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo("UTC" if name in _UTC_NAMES else name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise _unknown_zone(name) from error


def _unknown_zone(name: str) -> FormatError:
    return FormatError(
        "UNSUPPORTED_FEATURE.ARROW_VALUE",
        f"a file has timestamps of the time zone {name!r}, which this machine does not know: "
        "install tzdata, or read the table with acidsql.table",
    )


def _offsets(moments: Numbers, zone: str) -> Numbers:
    """Return the offsets from UTC, in seconds, of moments, in seconds since 1970."""
    offsets = np.zeros(len(moments), np.int64)
    if zone in _UTC_NAMES:
        return offsets
    own = _zone(zone)
    old, late = moments < _FIRST_RULES, moments >= _LAST_TABLES
    today = datetime.now(UTC).astimezone(own)
    offsets[old] = _seconds(today.utcoffset()) - _seconds(today.dst())
    offsets[late] = _late_offsets(moments[late], own)
    listed = moments[~old & ~late]
    try:
        local = pc.local_timestamp(array_of(listed, pa.timestamp("s", zone)))
    except pa.ArrowException as error:
        raise _unknown_zone(zone) from error
    offsets[~old & ~late] = numbers_of(local) - listed
    return offsets


def _late_offsets(moments: Numbers, zone: ZoneInfo) -> Numbers:
    """Return the offsets of moments that are not in the tables of zones, which Arrow has, but
    follow from their last rules.
    """
    cycles = np.maximum(0, (moments - _LAST_TABLES) // _CALENDAR_CYCLE)
    quarters, places = np.unique(
        (moments - cycles * _CALENDAR_CYCLE) // _QUARTER_HOUR, return_inverse=True
    )
    local = (datetime.fromtimestamp(q * _QUARTER_HOUR, zone) for q in quarters.tolist())
    found = np.fromiter((_seconds(one.utcoffset()) for one in local), np.int64)
    return found[places] if len(found) else np.empty(0, np.int64)


def _seconds(difference: timedelta | None) -> int:
    return int(difference.total_seconds()) if difference else 0
