"""TIMESTAMP_LTZ columns: files have the instant, Hive's ``timestamp with local time zone``."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest

import acidsql
from acidsql.streaming import JsonWriter, connect
from tests.product.conditions import condition

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

ZONES = ("America/New_York", "UTC", "Europe/Berlin")
INSTANTS = "TIMESTAMP WITH LOCAL TIME ZONE"
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


def micros(lab: Lab, table: str, column: str = "ts") -> list[tuple[object, ...]]:
    return sorted(lab.rows(table, f"id, unix_micros({column})"))


def types(lab: Lab, table: str) -> dict[str, str]:
    return {name: kind for name, kind, _ in lab.sql(f"DESCRIBE {table}") if kind}


def in_files(lab: Lab, table: str) -> set[pa.DataType]:
    """Return the types of the columns ``ts`` in the files of rows of a table."""
    files = [f for f in Path(lab.root(table)).rglob("bucket_*") if "delete_delta" not in str(f)]
    return {pa_orc.ORCFile(f).schema.field("row").type.field("ts").type for f in files}


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
    assert in_files(lab, t) == {pa.timestamp("ns", "UTC")}
    for zone in ZONES:
        with lab.settings(spark__sql__session__timeZone=zone):
            assert micros(lab, t) == expected
            assert set(lab.rows(t, "CAST(local AS STRING)")) == {("2024-07-01 12:00:00",)}
            lab.compact(t, "major")
    assert in_files(lab, t) == {pa.timestamp("ns", "UTC")}
    assert lab.sql(f"CHECK TABLE {t} FULL") == []


def test_both_moments_of_an_hour_that_comes_twice_are_kept(lab: Lab) -> None:
    """So are years before the Gregorian calendar, in both orders of files and of compactions."""
    values = [1_729_987_200_000_000, 1_729_990_800_000_000, -62_135_000_000_000_001, -1_000_001, 0]
    values += [-12_220_156_800_000_001, -12_219_292_800_000_000, 253_402_300_799_999_999]
    with lab.settings(spark__sql__session__timeZone="Europe/Berlin"):
        t = lab.create("id INT, ts TIMESTAMP_LTZ, s STRUCT<a: MAP<STRING, TIMESTAMP_LTZ>>")
        row = "{0}, timestamp_micros({1}), named_struct('a', map('k', timestamp_micros({1})))"
        for number, value in enumerate(values):
            lab.sql(f"INSERT INTO {t} SELECT {row.format(number, value)}")
            assert lab.sql(f"SELECT id FROM {t} WHERE ts = timestamp_micros({value})") == [
                (number,)
            ]
    expected = list(enumerate(values))
    assert micros(lab, t) == micros(lab, t, "s.a['k']") == expected
    lab.compact(t, "minor")
    lab.sql(f"DELETE FROM {t} WHERE id = 0")
    lab.compact(t, "major")
    assert micros(lab, t) == micros(lab, t, "s.a['k']") == expected[1:]
    found = acidsql.read_arrow(f"default.{t}", metastore=lab.session.settings.metastore)
    assert found.schema.field("ts").type == pa.timestamp("us", "UTC")
    assert sorted(found["ts"].cast(pa.int64()).to_pylist()) == sorted(values[1:])


def test_the_setting_says_what_a_timestamp_of_a_new_column_is(lab: Lab) -> None:
    plain = lab.create("id INT, ts TIMESTAMP")
    with lab.settings(spark__acidsql__timestampType=INSTANTS):
        t = lab.create("id INT, ts TIMESTAMP, n TIMESTAMP_NTZ", partitioned="p TIMESTAMP")
        lab.sql(f"ALTER TABLE {t} ADD COLUMN s STRUCT<a: TIMESTAMP>")
        lab.sql(f"ALTER TABLE {plain} ADD COLUMNS (more TIMESTAMP)")
        lab.sql(f"CREATE TABLE made {ACID} AS SELECT 1 AS id, TIMESTAMP'2024-01-01 00:00:00' AS ts")
    shown = types(lab, t)
    assert shown["ts"] == "timestamp_ltz"
    assert (shown["n"], shown["s"]) == ("timestamp_ntz", "struct<a:timestamp_ltz>")
    assert shown["p"] == "timestamp"
    assert types(lab, plain) == {"id": "int", "ts": "timestamp", "more": "timestamp_ltz"}
    assert in_files(lab, "made") == {pa.timestamp("ns", "UTC")}
    lab.sql(f"ALTER TABLE {t} ADD COLUMN s.b TIMESTAMP")
    assert types(lab, t)["s"] == "struct<a:timestamp_ltz,b:timestamp>"
    lab.sql("CREATE TABLE same LIKE made")
    assert types(lab, "same")["ts"] == "timestamp_ltz"
    ((text,),) = lab.sql("SHOW CREATE TABLE made")
    assert "ts` TIMESTAMP_LTZ" in text or "ts TIMESTAMP_LTZ" in text
    with lab.settings(spark__acidsql__timestampType="DATE"):
        assert condition(lab, f"CREATE TABLE no (ts TIMESTAMP) {ACID}") == "INVALID_CONF_VALUE"
    for name in ("made", "same"):
        lab.sql(f"DROP TABLE {name}")


def test_the_long_name_and_all_that_a_column_may_have(lab: Lab) -> None:
    lab.sql(
        "CREATE TABLE named (id INT, /* TIMESTAMP_LTZ */ `timestamp_ltz` STRING COMMENT "
        "'TIMESTAMP_LTZ', ts TIMESTAMP WITH LOCAL TIME ZONE DEFAULT TIMESTAMP_LTZ'2024-01-01 "
        f"00:00:00Z', local TIMESTAMP, CHECK (ts > TIMESTAMP'2000-01-01 00:00:00')) {ACID}"
    )
    try:
        assert types(lab, "named") == {
            "id": "int",
            "timestamp_ltz": "string",
            "ts": "timestamp_ltz",
            "local": "timestamp",
        }
        lab.sql("INSERT INTO named (id) VALUES (1)")
        value = 1_704_067_200_000_000
        assert micros(lab, "named") == [(1, value)]
        late = "INSERT INTO named (id, ts) VALUES (2, TIMESTAMP'1999-01-01 00:00:00')"
        assert condition(lab, late) == "CHECK_CONSTRAINT_VIOLATION"
        assert lab.sql("SELECT unix_micros(ts) FROM table_changes('named', 1)") == [(value,)]
        lab.sql("ANALYZE TABLE named COMPUTE STATISTICS FOR COLUMNS ts")
        for change in ("ALTER COLUMN local TYPE TIMESTAMP_LTZ", "CHANGE local local TIMESTAMP_LTZ"):
            changed = condition(lab, f"ALTER TABLE named {change}")
            assert changed == "NOT_SUPPORTED_CHANGE_COLUMN", change
        lab.sql("ALTER TABLE named DROP CONSTRAINT named_chk_1")
        lab.sql("ALTER TABLE named CHANGE ts later TIMESTAMP")
        assert types(lab, "named")["later"] == "timestamp_ltz"
    finally:
        lab.sql("DROP TABLE named")


def test_what_cannot_be_an_instant(lab: Lab) -> None:
    insert_only = "STORED AS ORC TBLPROPERTIES ('transactional'='true', {})".format(
        "'transactional_properties'='insert_only'"
    )
    refused = {
        f"CREATE TABLE no (id INT) PARTITIONED BY (p TIMESTAMP_LTZ) {ACID}": (
            "INVALID_PARTITION_COLUMN_DATA_TYPE"
        ),
        f"CREATE TABLE no (id INT, p TIMESTAMP_LTZ) PARTITIONED BY (p) {ACID}": (
            "INVALID_PARTITION_COLUMN_DATA_TYPE"
        ),
        f"CREATE TABLE no (id TIMESTAMP_LTZ) CLUSTERED BY (id) INTO 2 BUCKETS {ACID}": (
            "UNSUPPORTED_FEATURE.BUCKET_COLUMN_TYPE"
        ),
        f"CREATE TABLE no (id INT, ts TIMESTAMP_LTZ) {insert_only}": "UNSUPPORTED_DATATYPE",
    }
    assert {text: condition(lab, text) for text in refused} == refused
    with lab.settings(spark__acidsql__timestampType=INSTANTS):
        lab.sql(f"CREATE TABLE no (id INT, ts TIMESTAMP) {insert_only}")
    assert types(lab, "no")["ts"] == "timestamp"
    lab.sql("DROP TABLE no")


def test_a_streaming_client_writes_instants(lab: Lab) -> None:
    t = lab.create("id INT, ts TIMESTAMP_LTZ, a ARRAY<TIMESTAMP_LTZ>")

    def write(rows: list[object], writer: JsonWriter | None) -> None:
        with (
            connect(
                metastore=lab.session.settings.metastore,
                table=t,
                time_zone="Europe/Berlin",
                writer=writer,
                synchronous=False,
            ) as connection,
            connection.transaction(),
        ):
            connection.write_all(rows)

    write(
        [
            '{"id": 1, "ts": "2024-07-01 12:00:00", "a": ["2024-07-01 12:00:00Z"]}',
            '{"id": 2, "ts": "2024-03-31 02:30:00", "a": null}',
        ],
        JsonWriter(),
    )
    write([{"id": 3, "ts": datetime(2024, 7, 1, 12, tzinfo=UTC), "a": []}], None)
    write(
        [{"id": 4, "ts": datetime(2024, 10, 27, 2, 30), "a": None}],  # noqa: DTZ001
        None,
    )
    noon = 1_719_828_000_000_000
    expected = [
        (1, noon),
        (2, 1_711_848_600_000_000),
        (3, noon + 7_200_000_000),
        (4, 1_729_989_000_000_000),
    ]
    assert in_files(lab, t) == {pa.timestamp("ns", "UTC")}
    assert micros(lab, t) == expected
    assert micros(lab, t, "get(a, 0)")[0] == (1, noon + 7_200_000_000)
    lab.compact(t, "major")
    assert micros(lab, t) == expected
