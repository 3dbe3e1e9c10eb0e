"""The session's time zone counts for each statement as it is then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from acidsql.streaming import JsonWriter, connect

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

NOON = "TIMESTAMP'2024-07-01 12:00:00'"
"""Wall clock that means another instant in each zone."""


def shown(lab: Lab, table: str) -> list[tuple[object, ...]]:
    return sorted(lab.sql(f"SELECT id, CAST(ts AS STRING), CAST(s.at[0] AS STRING) FROM {table}"))


INSERT_ONLY = {"transactional_properties": "insert_only"}


@pytest.mark.slow
@pytest.mark.parametrize("properties", [{}, INSERT_ONLY], ids=["acid", "insert_only"])
def test_set_time_zone_counts_from_the_next_statement_on(
    new_lab: Callable[..., Lab], properties: dict[str, str]
) -> None:
    lab = new_lab(spark__sql__session__timeZone="UTC")
    t = lab.create("id INT, ts TIMESTAMP, s STRUCT<at: ARRAY<TIMESTAMP>>", properties=properties)
    row = f"{NOON}, named_struct('at', array({NOON}))"
    wall = "2024-07-01 12:00:00"
    # The session has run statements in its own zone, and the plans of its columns are known.
    lab.sql(f"INSERT INTO {t} VALUES (1, {row})")
    assert shown(lab, t) == [(1, wall, wall)]
    with lab.settings(spark__sql__session__timeZone="Europe/Berlin"):
        lab.sql(f"INSERT INTO {t} VALUES (2, {row})")
        before = lab.frame(f"SELECT * FROM {t} WHERE ts = {NOON}")
    lab.sql("SET TIME ZONE 'Asia/Tokyo'")
    lab.sql(f"INSERT INTO {t} SELECT id + 2, ts, s FROM {t} WHERE ts = {NOON}")
    expected = [(number, wall, wall) for number in (1, 2, 3, 4)]
    assert shown(lab, t) == expected
    # A DataFrame keeps the instants that it was made with.
    instants = before.select(F.date_format("ts", "HH:mm").alias("at")).distinct().collect()
    assert [row.at for row in instants] == ["19:00"]
    lab.compact(t, "major")
    other = new_lab(spark__sql__session__timeZone="America/New_York")
    assert shown(other, t) == shown(lab, t) == expected
    if not properties:
        lab.sql(f"UPDATE {t} SET ts = ts + INTERVAL 1 HOUR WHERE ts = {NOON} AND id > 2")
        later = "2024-07-01 13:00:00"
        assert shown(other, t) == [*expected[:2], (3, later, wall), (4, later, wall)]


def test_compaction_keeps_times_that_the_session_does_not_have(lab: Lab) -> None:
    t = lab.create("id INT, ts TIMESTAMP", properties=INSERT_ONLY)
    gap = "2024-03-31 02:30:00"  # is left out in Berlin
    for number in (1, 2):
        lab.sql(f"INSERT INTO {t} VALUES ({number}, TIMESTAMP'{gap}')")
    with lab.settings(spark__sql__session__timeZone="Europe/Berlin"):
        lab.compact(t, "major")
    assert sorted(lab.rows(t, "id, CAST(ts AS STRING)")) == [(1, gap), (2, gap)]


def test_local_times_are_the_same_in_every_zone(lab: Lab) -> None:
    """In the first zone the clock has no 02:30, in the last that hour is there twice."""
    t = lab.create("id INT, n TIMESTAMP_NTZ, ts TIMESTAMP, s ARRAY<TIMESTAMP_NTZ>")
    zones = {
        "Europe/Berlin": "2024-03-31 02:30:00",
        "UTC": "0001-01-01 00:00:00",
        "Europe/Paris": "2024-10-27 02:30:00.123456",
    }
    for number, (zone, wall) in enumerate(zones.items()):
        with lab.settings(spark__sql__session__timeZone=zone):
            local = f"TIMESTAMP_NTZ'{wall}'"
            lab.sql(f"INSERT INTO {t} VALUES ({number}, {local}, {NOON}, array({local}))")
            lab.sql(f"UPDATE {t} SET id = id WHERE n = {local}")
    expected = [(i, wall, "2024-07-01 12:00:00", wall) for i, wall in enumerate(zones.values())]
    columns = "id, CAST(n AS STRING), CAST(ts AS STRING), CAST(s[0] AS STRING)"
    for zone in zones:
        with lab.settings(spark__sql__session__timeZone=zone):
            assert sorted(lab.rows(t, columns)) == expected
            assert sorted(lab.rows(t, "id, CAST(ts AS STRING)")) == [
                (i, m) for i, _, m, _ in expected
            ]
            lab.compact(t, "major")


def test_a_timestamp_stays_one_where_spark_takes_the_word_for_local_times(lab: Lab) -> None:
    t = lab.create("id INT, ts TIMESTAMP", values=f"(1, {NOON})")
    with lab.settings(spark__sql__timestampType="TIMESTAMP_NTZ"):
        assert lab.sql(f"SELECT typeof(ts) FROM {t}") == [("timestamp",)]
        local = lab.create(
            "id INT, ts TIMESTAMP", partitioned="day TIMESTAMP", values=f"(1, {NOON}, {NOON})"
        )
    assert lab.sql(f"SELECT typeof(ts), typeof(day), CAST(day AS STRING) FROM {local}") == [
        ("timestamp_ntz", "timestamp_ntz", "2024-07-01 12:00:00")
    ]


def test_ingest_agrees_with_the_sessions_of_its_zone(lab: Lab) -> None:
    t = lab.create("id INT, ts TIMESTAMP")
    with lab.settings(spark__sql__session__timeZone="Europe/Berlin"):
        lab.sql(f"INSERT INTO {t} VALUES (1, {NOON})")
        with (
            connect(
                metastore=lab.session.settings.metastore,
                table=t,
                time_zone="Europe/Berlin",
                writer=JsonWriter(),
                synchronous=False,
            ) as connection,
            connection.transaction(),
        ):
            connection.write_all(
                [
                    '{"id": 2, "ts": "2024-07-01 12:00:00"}',
                    '{"id": 3, "ts": "2024-07-01T10:00:00Z"}',
                ]
            )
        assert sorted(lab.sql(f"SELECT id FROM {t} WHERE ts = {NOON}")) == [(1,), (2,), (3,)]
    assert sorted(lab.rows(t, "id, CAST(ts AS STRING)")) == [
        (number, "2024-07-01 12:00:00") for number in (1, 2, 3)
    ]
