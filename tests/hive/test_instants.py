"""Hive's TIMESTAMP WITH LOCAL TIME ZONE in a metastore that both use.

Hive 4.1 has the type, and a type of ORC for it, but reads no values of that one from files
(``RecordReaderImpl.nextValue``).
"""

from __future__ import annotations

import pytest

import acidsql
from tests.hive.conftest import Ours
from tests.hive.hive import Hive, HiveError

pytestmark = [pytest.mark.hive, pytest.mark.spark]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
ZONES = ("America/New_York", "UTC", "Europe/Berlin")


@pytest.mark.parametrize("maker", ["hive", "ours"])
def test_instants_of_a_table_of_either_side(ours: Ours, hive: Hive, t: str, maker: str) -> None:
    kind = "TIMESTAMP WITH LOCAL TIME ZONE"
    create = f"CREATE TABLE {t} (id INT, ts {kind}, s STRUCT<a:{kind}>, l TIMESTAMP) {ACID}"
    if maker == "hive":
        hive.run(create)
    else:
        ours.sql(create)
    shown = {str(row[0]).strip(): str(row[1]).strip() for row in hive.run(f"DESCRIBE {t}")}
    assert (shown["ts"], shown["l"]) == ("timestamp with local time zone", "timestamp")
    assert shown["s"] == "struct<a:timestamp with local time zone>"
    described = {row[0]: row[1] for row in ours.sql(f"DESCRIBE {t}")}
    assert (described["ts"], described["l"]) == ("timestamp_ltz", "timestamp")
    # The second clock time comes twice in New York; the last is before the Gregorian calendar.
    walls = ("2024-07-01 12:00:00.000001", "2024-11-03 01:30:00", "1500-03-01 00:00:00")
    own = str(ours.spark.conf.get("spark.sql.session.timeZone"))
    expected: list[tuple[object, ...]] = []
    try:
        for zone in ZONES:
            ours.spark.conf.set("spark.sql.session.timeZone", zone)
            for wall in walls:
                literal = f"TIMESTAMP'{wall}'"
                ((value,),) = ours.sql(f"SELECT unix_micros({literal})")
                ours.sql(
                    f"INSERT INTO {t} SELECT {len(expected)}, {literal}, "
                    f"named_struct('a', {literal}), {literal}"
                )
                expected.append((len(expected), value))
            found = ours.sql(f"SELECT id, unix_micros(ts) FROM {t}")
            assert found == ours.sql(f"SELECT id, unix_micros(s.a) FROM {t}") == expected
        with pytest.raises(HiveError, match="TIMESTAMP_INSTANT"):
            hive.run(f"SELECT id, CAST(ts AS STRING) FROM {t}")
        hive.compact(t, "minor")
        acidsql.release(ours.spark)
        assert ours.sql(f"SELECT id, unix_micros(ts) FROM {t}") == expected
        ours.sql(f"DELETE FROM {t} WHERE ts = timestamp_micros({expected[0][1]})")
        ours.sql(f"ALTER TABLE {t} COMPACT 'major'")
        assert ours.sql(f"SELECT id, unix_micros(ts) FROM {t}") == expected[1:]
    finally:
        ours.spark.conf.set("spark.sql.session.timeZone", own)
