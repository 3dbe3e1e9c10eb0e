"""Tests of days and local times of files, with Python's own calendar and zones beside."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.arrow_reader.calendars import local_micros, proleptic_days
from acidsql.errors import FormatError
from acidsql.format.calendar_days import FIRST_GREGORIAN_DAY

_EPOCH = date(1970, 1, 1)


def _converted(days: list[int]) -> list[date]:
    made = proleptic_days(np.array(days, np.int64), is_proleptic=False)
    return [_EPOCH + timedelta(int(day)) for day in made]


def test_the_calendar_was_changed_between_two_days() -> None:
    last = FIRST_GREGORIAN_DAY - 1
    assert _converted([last, last + 1, 0]) == [date(1582, 10, 4), date(1582, 10, 15), _EPOCH]


def test_known_julian_days() -> None:
    # Julian 0001-01-01 is two days before the Gregorian one. Only in it 1500 was a leap year.
    first = (date(1, 1, 1) - _EPOCH).days - 2
    leap = (date(1500, 3, 10) - _EPOCH).days
    assert _converted([first, leap - 1, leap, leap + 1]) == [
        date(1, 1, 1),
        date(1500, 2, 28),
        date(1500, 3, 1),
        date(1500, 3, 1),
    ]


@given(st.integers(-719_164, FIRST_GREGORIAN_DAY - 2))
def test_one_day_later_is_the_next_day_but_for_the_29th_of_february(day: int) -> None:
    one, next_one = _converted([day, day + 1])
    assert (next_one - one).days in (0, 1)
    assert (next_one - one).days == 1 or one == date(one.year, 3, 1)


def test_days_that_only_the_proleptic_calendar_has_are_refused() -> None:
    days = np.array([FIRST_GREGORIAN_DAY - 11, FIRST_GREGORIAN_DAY - 1], np.int64)
    assert proleptic_days(days[:1], is_proleptic=True).tolist() == days[:1].tolist()
    with pytest.raises(FormatError) as error:
        proleptic_days(days, is_proleptic=True)
    assert error.value.condition == "UNSUPPORTED_FEATURE.ARROW_VALUE"


_FIRST, _LAST = datetime(1900, 1, 2), datetime(9999, 12, 30)  # noqa: DTZ001


def _local(seconds: int, nanos: int, zone: str) -> datetime:
    made = local_micros(
        np.array([seconds], np.int64), np.array([nanos], np.int64), zone, is_proleptic=False
    )
    return datetime(1970, 1, 1) + timedelta(microseconds=int(made[0]))  # noqa: DTZ001


@given(
    st.datetimes(_FIRST, _LAST),
    st.sampled_from(["UTC", "Europe/Berlin", "America/Los_Angeles", "Asia/Kolkata"]),
)
def test_local_times_are_those_of_the_writer(wall: datetime, name: str) -> None:
    zone = ZoneInfo(name)
    moment = wall.replace(tzinfo=zone).astimezone(UTC)
    if moment.astimezone(zone).replace(tzinfo=None) != wall:
        return  # a local time that the zone does not have
    base = datetime(2015, 1, 1, tzinfo=zone)
    # Java's writer: milliseconds divided towards zero.
    millis = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    seconds = abs(millis) // 1000 * (1 if millis >= 0 else -1)
    found = _local(seconds - int(base.timestamp()), wall.microsecond * 1000, name)
    if -1000 < millis < 0 and wall.microsecond > 999:
        assert found == wall + timedelta(seconds=1)  # a flaw of ORC's, which Spark's readers see
    else:
        assert found == wall


def test_before_1900_a_zone_has_the_offset_of_today() -> None:
    base = int(datetime(2015, 1, 1, tzinfo=ZoneInfo("America/Los_Angeles")).timestamp())
    moment = int(datetime(1850, 5, 1, 8, tzinfo=UTC).timestamp())
    assert _local(moment - base, 0, "America/Los_Angeles") == datetime(1850, 5, 1)  # noqa: DTZ001


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(FormatError) as error:
        _local(0, 0, "Nowhere/Land")
    assert error.value.condition == "UNSUPPORTED_FEATURE.ARROW_VALUE"
