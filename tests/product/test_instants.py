"""TIMESTAMP_LTZ columns: files have the instant, Hive's ``timestamp with local time zone``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

ZONES = ("America/New_York", "UTC", "Europe/Berlin")


def micros(lab: Lab, table: str, column: str = "ts") -> list[tuple[object, ...]]:
    return sorted(lab.rows(table, f"id, unix_micros({column})"))


def test_an_instant_is_the_same_in_every_zone(lab: Lab) -> None:
    t = lab.create("id INT, ts TIMESTAMP_LTZ, local TIMESTAMP")
    expected = []
    for number, zone in enumerate(ZONES):
        with lab.settings(spark__sql__session__timeZone=zone):
            noon = "TIMESTAMP'2024-07-01 12:00:00'"
            ((value,),) = lab.sql(f"SELECT unix_micros({noon})")
            lab.sql(f"INSERT INTO {t} VALUES ({number}, {noon}, {noon})")
            lab.sql(f"UPDATE {t} SET id = id WHERE ts = {noon}")
            expected.append((number, value))
    for zone in ZONES:
        with lab.settings(spark__sql__session__timeZone=zone):
            assert micros(lab, t) == expected
            assert set(lab.rows(t, "CAST(local AS STRING)")) == {("2024-07-01 12:00:00",)}
            lab.compact(t, "major")
