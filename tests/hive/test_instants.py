"""Hive's TIMESTAMP WITH LOCAL TIME ZONE, in which both sides see the same instants."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import acidsql
from tests.hive.conftest import Ours
from tests.hive.hive import Hive

pytestmark = [pytest.mark.hive, pytest.mark.spark]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
ZONES = ("America/New_York", "UTC", "Europe/Berlin")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def hive_micros(hive: Hive, table: str, column: str = "ts") -> list[tuple[int, int | None]]:
    """Return the ids and instants that Hive reads, in microseconds since 1970."""
    hive.run("SET hive.local.time.zone=UTC")
    rows = hive.run(f"SELECT id, CAST({column} AS STRING) FROM {table}")
    return sorted((int(i), None if text is None else _micros(text)) for i, text in rows)


def _micros(text: str) -> int:
    time, _, zone = text.rpartition(" ")
    assert zone == "UTC"
    whole, _, fraction = time.partition(".")
    found = datetime.strptime(whole, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    micros = int(fraction.ljust(6, "0")[:6] or 0)
    return (found - _EPOCH) // timedelta(microseconds=1) + micros


def our_micros(ours: Ours, table: str, column: str = "ts") -> list[tuple[object, ...]]:
    return sorted(ours.sql(f"SELECT id, unix_micros({column}) FROM {table}"))


@pytest.mark.parametrize("maker", ["hive", "ours"])
def test_instants_agree_in_three_zones(ours: Ours, hive: Hive, t: str, maker: str) -> None:
    kind = "TIMESTAMP WITH LOCAL TIME ZONE"
    create = f"CREATE TABLE {t} (id INT, ts {kind}, s STRUCT<a:{kind}>, l TIMESTAMP) {ACID}"
    if maker == "hive":
        hive.run(create)
    else:
        ours.sql(create)
    shown = {str(row[0]).strip(): str(row[1]).strip() for row in hive.run(f"DESCRIBE {t}")}
    assert (shown["ts"], shown["l"]) == ("timestamp with local time zone", "timestamp")
    assert shown["s"] == "struct<a:timestamp with local time zone>"
    # The second clock time comes twice in New York; the last is before the Gregorian calendar.
    walls = ("2024-07-01 12:00:00.000001", "2024-11-03 01:30:00", "1500-03-01 00:00:00")
    own = str(ours.spark.conf.get("spark.sql.session.timeZone"))
    expected = []
    number = 0
    try:
        for zone in ZONES:
            ours.spark.conf.set("spark.sql.session.timeZone", zone)
            for wall in walls:
                literal = f"TIMESTAMP'{wall}'"
                ((value,),) = ours.sql(f"SELECT unix_micros({literal})")
                ours.sql(
                    f"INSERT INTO {t} SELECT {number}, {literal}, named_struct('a', {literal}), "
                    f"{literal}"
                )
                hive.run(f"SET hive.local.time.zone={zone}")
                hive.run(
                    f"INSERT INTO {t} (id, ts) SELECT {number + 1}, CAST('{wall} {zone}' AS {kind})"
                )
                expected += [(number, value), (number + 1, value)]
                number += 2
            acidsql.release(ours.spark)
            assert hive_micros(hive, t) == expected
            assert our_micros(ours, t) == expected
            # Hive itself cannot insert a struct with such a field.
            nested = [(i, None if i % 2 else value) for i, value in expected]
            assert our_micros(ours, t, "s.a") == hive_micros(hive, t, "s.a") == nested
        summer = [i for i, v in expected if v == expected[0][1]]
        found = ours.sql(f"SELECT id FROM {t} WHERE ts = timestamp_micros({expected[0][1]})")
        assert sorted(found) == [(i,) for i in summer]
        hive.run(f"DELETE FROM {t} WHERE id = 1")
        ours.sql(f"UPDATE {t} SET ts = ts + INTERVAL 1 HOUR WHERE id = 0")
        expected = [(0, expected[0][1] + 3_600_000_000), *expected[2:]]
        assert hive_micros(hive, t) == our_micros(ours, t) == expected
        hive.compact(t, "major")
        acidsql.release(ours.spark)
        assert hive_micros(hive, t) == our_micros(ours, t) == expected
        hive.run(f"UPDATE {t} SET id = id + 100 WHERE id < 3")
        acidsql.release(ours.spark)
        ours.sql(f"ALTER TABLE {t} COMPACT 'major'")
        expected = sorted((i + 100 if i < 3 else i, v) for i, v in expected)
        assert hive_micros(hive, t) == our_micros(ours, t) == expected
    finally:
        ours.spark.conf.set("spark.sql.session.timeZone", own)
