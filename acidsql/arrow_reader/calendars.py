"""Days and local times of files as Spark reads them: calendars, time zones, fractions of a second.

Writers before 2020, and Spark's writer, number days by the hybrid calendar: Julian before
1582-10-15, Gregorian from then on. Spark and Arrow use the proleptic Gregorian calendar. When Spark
reads a hybrid day, it keeps the year, month and day (``RebaseDateTime``).
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
# Java reads a time before 1970 as one second later if it has more nanoseconds than this
# (``TimestampTreeReader``).
_UNCOUNTED_NANOS = 999_999
# Java's time zone rules begin here; before, a zone has its current standard offset.
_FIRST_RULES = -2_208_988_800
_UTC_NAMES = frozenset({"UTC", "GMT", "Z", "Etc/UTC", "Etc/GMT", "UCT", "Zulu", "Universal"})
# Julian day number of 1970-01-01.
_JULIAN_DAY = 2_440_588
# Time zone tables end in 2037. After that, rules apply, and they change offsets only at quarters of
# an hour.
_LAST_TABLES = 2_114_380_800
_QUARTER_HOUR = 900
# The Gregorian calendar, with its days of the week, repeats every 400 years.
_CALENDAR_CYCLE = 146_097 * 86_400


def proleptic_days(days: Numbers, *, is_proleptic: bool) -> Numbers:
    """Convert days of a file to days since 1970 in the proleptic Gregorian calendar.

    Args:
        days: days of a file, shape (rows,).
        is_proleptic: whether the file already uses the proleptic Gregorian calendar.

    Raises:
        FormatError: UNSUPPORTED_FEATURE.ARROW_VALUE, the hybrid calendar lacks a day of a
            proleptic file, so Spark reads it as another day.
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

    If the Gregorian calendar lacks 29 February, it becomes 1 March.
    """
    # E. G. Richards, "Mapping Time": from day numbers to Julian dates, and from Gregorian dates to
    # day numbers.
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
        seconds: seconds in the file: since 2015-01-01 00:00:00 in the writer's zone, truncated
            towards zero; shape (rows,).
        nanos: nanoseconds within the second; shape (rows,).
        zone: name of the writer's time zone.
        is_proleptic: see ``proleptic_days``.

    Raises:
        FormatError: UNSUPPORTED_FEATURE.ARROW_VALUE, the zone is unknown; see also
            ``proleptic_days``.
    """
    moments = seconds + _base(zone)
    moments = moments - ((moments < 0) & (nanos > _UNCOUNTED_NANOS))
    micros = (moments + _offsets(moments, zone)) * _MICROS + nanos // _NANOS_OF_MICRO
    days = micros // _DAY_MICROS
    made: Numbers = micros + (proleptic_days(days, is_proleptic=is_proleptic) - days) * _DAY_MICROS
    return made


def _base(zone: str) -> int:
    """Return the seconds from 1970 to 2015-01-01 00:00:00 in a time zone."""
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
    """Return the offsets from UTC in seconds, for moments in seconds since 1970."""
    offsets = np.zeros(len(moments), np.int64)
    if zone in _UTC_NAMES:
        return offsets
    rules = _zone(zone)
    old, late = moments < _FIRST_RULES, moments >= _LAST_TABLES
    today = datetime.now(UTC).astimezone(rules)
    offsets[old] = _seconds(today.utcoffset()) - _seconds(today.dst())
    offsets[late] = _late_offsets(moments[late], rules)
    listed = moments[~old & ~late]
    try:
        local = pc.local_timestamp(array_of(listed, pa.timestamp("s", zone)))
    except pa.ArrowException as error:
        raise _unknown_zone(zone) from error
    offsets[~old & ~late] = numbers_of(local) - listed
    return offsets


def _late_offsets(moments: Numbers, zone: ZoneInfo) -> Numbers:
    """Return the offsets of moments after the end of Arrow's time zone tables.

    The last rules of the zone determine these offsets.
    """
    cycles = np.maximum(0, (moments - _LAST_TABLES) // _CALENDAR_CYCLE)
    quarters, places = np.unique(
        (moments - cycles * _CALENDAR_CYCLE) // _QUARTER_HOUR, return_inverse=True
    )
    local = (datetime.fromtimestamp(q * _QUARTER_HOUR, zone) for q in quarters.tolist())
    offsets = np.fromiter((_seconds(one.utcoffset()) for one in local), np.int64)
    return offsets[places] if len(offsets) else np.empty(0, np.int64)


def _seconds(difference: timedelta | None) -> int:
    return int(difference.total_seconds()) if difference else 0
