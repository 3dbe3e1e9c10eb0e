"""TIMESTAMP_LTZ columns in what moves and copies rows: each is the same instant afterwards."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.orc as pa_orc
import pyspark
import pytest

import acidsql
from acidsql.repl.main import main
from tests.product.conditions import condition

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

ZONE = "America/New_York"
COLUMNS = "id INT, ts TIMESTAMP_LTZ, local TIMESTAMP, a ARRAY<TIMESTAMP_LTZ>"
# 12:00 in summer, and both of the hour that comes twice in autumn, at 01:00.
NOON, FIRST, SECOND = 1_719_849_600, 1_730_610_000, 1_730_613_600
ROWS = [
    (1, NOON, "2024-07-01 12:00:00", NOON),
    (2, FIRST, "2024-11-03 01:00:00", SECOND),
    (3, SECOND, "2024-11-03 01:00:00", None),
]
READ = "id, unix_seconds(ts), CAST(local AS STRING), unix_seconds(get(a, 0))"


@pytest.fixture
def east(lab: Lab) -> Iterator[Lab]:
    """Yield the session in a zone that is not UTC."""
    with lab.settings(spark__sql__session__timeZone=ZONE):
        yield lab


def make(lab: Lab) -> str:
    return lab.create(
        COLUMNS,
        values=f"(1, timestamp_seconds({NOON}), TIMESTAMP'2024-07-01 12:00:00', "
        f"array(timestamp_seconds({NOON}))), (2, timestamp_seconds({FIRST}), "
        f"TIMESTAMP'2024-11-03 01:00:00', array(timestamp_seconds({SECOND}))), "
        f"(3, timestamp_seconds({SECOND}), TIMESTAMP'2024-11-03 01:00:00', NULL)",
    )


def seen(lab: Lab, table: str) -> list[tuple[Any, ...]]:
    return sorted(lab.rows(table, READ))


def write_orc(path: Path, *, instants: bool) -> None:
    """Write a row of ``COLUMNS``, with the instants as instants, or as local times of the zone."""
    local = datetime(2024, 7, 1, 12)  # noqa: DTZ001
    moment = datetime(2024, 7, 1, 16, tzinfo=UTC) if instants else local
    kind = pa.timestamp("us", "UTC") if instants else pa.timestamp("us")
    rows = pa.table(
        {
            "id": pa.array([9], pa.int32()),
            "ts": pa.array([moment], kind),
            "local": pa.array([local], pa.timestamp("us")),
            "a": pa.array([[moment]], pa.list_(kind)),
        }
    )
    pa_orc.write_table(rows, path, compression="zstd")


@pytest.mark.parametrize("instants", [True, False])
def test_loaded_files_have_the_same_instants_in_every_zone(
    east: Lab, tmp_path: Path, instants: bool
) -> None:
    """Local times in a file are those of the session that loads it."""
    t = make(east)
    write_orc(tmp_path / "one.orc", instants=instants)
    east.sql(f"LOAD DATA INPATH '{tmp_path}/one.orc' INTO TABLE {t}")
    name = "000000_0" if instants else "bucket_00000"
    assert f"delta_0000002_0000002_0000/{name}" in east.tree(t)
    expected = [*ROWS, (9, NOON, "2024-07-01 12:00:00", NOON)]
    with east.settings(spark__sql__session__timeZone="Asia/Tokyo"):
        assert seen(east, t) == expected
    found = acidsql.read_arrow(f"default.{t}", metastore=east.session.settings.metastore)
    assert found["ts"].cast(pa.int64()).to_pylist()[-1] == NOON * 1_000_000
    assert not (tmp_path / "one.orc").exists()
    assert east.sql(f"CHECK TABLE {t} FULL") == []


def test_instants_of_a_file_become_the_local_times_of_a_table(east: Lab, tmp_path: Path) -> None:
    plain = east.create("id INT, ts TIMESTAMP, local TIMESTAMP, a ARRAY<TIMESTAMP>")
    write_orc(tmp_path / "one.orc", instants=True)
    east.sql(f"LOAD DATA LOCAL INPATH '{tmp_path}/one.orc' INTO TABLE {plain}")
    with east.settings(spark__sql__session__timeZone="Asia/Tokyo"):
        texts = [("2024-07-01 12:00:00", "2024-07-01 12:00:00")]
        assert east.rows(plain, "CAST(ts AS STRING), CAST(a[0] AS STRING)") == texts
    ntz = east.create("id INT, ts TIMESTAMP_NTZ, local TIMESTAMP, a ARRAY<TIMESTAMP_LTZ>")
    load = f"LOAD DATA LOCAL INPATH '{tmp_path}/one.orc' INTO TABLE {ntz}"
    assert condition(east, load) == "LOAD_DATA_SCHEMA_MISMATCH"
    only = east.create(
        "id INT, ts TIMESTAMP, local TIMESTAMP, a ARRAY<TIMESTAMP>",
        properties={"transactional_properties": "insert_only"},
    )
    load = f"LOAD DATA LOCAL INPATH '{tmp_path}/one.orc' INTO TABLE {only}"
    assert condition(east, load) == "LOAD_DATA_SCHEMA_MISMATCH"


def test_imported_files_have_local_times(east: Lab, tmp_path: Path) -> None:
    """Instants in a file of an archive become local times of the session that imports it."""
    plain = "id INT, ts TIMESTAMP, local TIMESTAMP, a ARRAY<TIMESTAMP>"
    oldest, newest = "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"
    noon = "TIMESTAMP'2024-07-01 12:00:00'"
    table = east.create(plain)
    values = f"(1, TIMESTAMP'{oldest}', {noon}, array(TIMESTAMP'{newest}'))"
    east.insert(table, f"{values}, (9, {noon}, {noon}, array({noon}))")
    rows = "id, CAST(ts AS STRING), CAST(local AS STRING), CAST(a[0] AS STRING)"
    before = east.rows(table, rows)
    east.sql(f"EXPORT TABLE {table} TO '{tmp_path}/archive'")
    with east.settings(spark__sql__session__timeZone="Asia/Tokyo"):
        east.sql(f"IMPORT TABLE {table}_same FROM '{tmp_path}/archive'")
    assert east.rows(f"{table}_same", rows) == before
    assert "delta_0000001_0000001_0000/000000_0" in east.tree(f"{table}_same")
    write_orc(tmp_path / "archive" / "data" / "000000_0", instants=True)
    east.sql(f"IMPORT TABLE {table}_instants FROM '{tmp_path}/archive'")
    assert east.rows(f"{table}_instants", rows) == before[1:]
    assert "delta_0000001_0000001_0000/bucket_00000" in east.tree(f"{table}_instants")


def test_a_table_is_not_made_over_files_with_other_timestamps(east: Lab, tmp_path: Path) -> None:
    """Check that local times do not become instants that move with the session's zone."""
    made = east.create("id INT, a ARRAY<TIMESTAMP>", values="(1, array(TIMESTAMP'2024-07-01'))")
    shutil.copytree(east.root(made), tmp_path / "acid")
    (tmp_path / "plain").mkdir()
    write_orc(tmp_path / "plain" / "000000_0", instants=True)

    def create(name: str, columns: str, place: str) -> str:
        return (
            f"CREATE TABLE {name} ({columns}) STORED AS ORC LOCATION '{tmp_path}/{place}' "
            "TBLPROPERTIES ('transactional'='true')"
        )

    for columns, place in (
        ("id INT, a ARRAY<TIMESTAMP_LTZ>", "acid"),
        (COLUMNS.replace("TIMESTAMP_LTZ", "TIMESTAMP"), "plain"),
    ):
        assert condition(east, create("other", columns, place)) == "ADOPTED_SCHEMA_MISMATCH"
        assert east.sql("SHOW TABLES LIKE 'other'") == []
    east.sql(create("fitting", COLUMNS, "plain"))
    assert seen(east, "fitting") == [(9, NOON, "2024-07-01 12:00:00", NOON)]


def test_clones_and_earlier_versions_have_the_same_instants(east: Lab) -> None:
    t = make(east)
    east.sql(f"UPDATE {t} SET ts = ts + INTERVAL 1 HOUR WHERE id < 3")
    changed = [(1, NOON + 3600, *ROWS[0][2:]), (2, SECOND, *ROWS[1][2:]), ROWS[2]]
    east.sql(f"CREATE TABLE {t}_new CLONE {t}")
    east.sql(f"CREATE TABLE {t}_old CLONE {t} VERSION AS OF 1")
    assert east.sql(f"RESTORE TABLE {t} TO VERSION AS OF 1") == [(4, 2, 2)]
    with east.settings(spark__sql__session__timeZone="Asia/Tokyo"):
        assert seen(east, f"{t}_new") == changed
        assert seen(east, f"{t}_old") == seen(east, t) == ROWS
        assert sorted(east.sql(f"SELECT {READ} FROM {t} VERSION AS OF 2")) == changed
    kinds = {name: kind for name, kind, _ in east.sql(f"DESCRIBE {t}_old")}
    assert (kinds["ts"], kinds["a"]) == ("timestamp_ltz", "array<timestamp_ltz>")


def test_the_look_into_files_shows_instants_in_utc(
    east: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    t = make(east)
    east.sql(f"ALTER TABLE {t} ADD COLUMN m MAP<TIMESTAMP_LTZ, STRUCT<t: TIMESTAMP_LTZ>>")
    moment = f"timestamp_seconds({NOON})"
    nested = f"map({moment}, named_struct('t', {moment}))"
    east.sql(f"INSERT INTO {t} VALUES (4, NULL, NULL, NULL, {nested})")
    with pytest.raises(SystemExit, match="0"):
        main(["--format", "jsonl", "files", "--rows", str(east.root(t))])
    shown = [json.loads(json.loads(line)["row"]) for line in capsys.readouterr().out.splitlines()]
    first, second = "2024-11-03 05:00:00Z", "2024-11-03 06:00:00Z"
    summer, twice = "2024-07-01 16:00:00Z", "2024-11-03 01:00:00"
    assert shown == [
        {"id": 1, "ts": summer, "local": "2024-07-01 12:00:00", "a": [summer]},
        {"id": 2, "ts": first, "local": twice, "a": [second]},
        {"id": 3, "ts": second, "local": twice, "a": None},
        {"id": 4, "ts": None, "local": None, "a": None, "m": {summer: {"t": summer}}},
    ]


@pytest.mark.slow
@pytest.mark.skipif(pyspark.__version__ < "4", reason="PySpark 3.5 has no data sources in Python")
def test_the_data_source_reads_and_writes_instants(east: Lab) -> None:
    t = make(east)
    acidsql.register(east.spark)
    source = east.spark.read.format("acidsql").load(f"default.{t}")
    assert sorted(map(tuple, source.selectExpr(*READ.split(", ", 3)).collect())) == ROWS
    assert source.where(f"ts = timestamp_seconds({FIRST})").count() == 1
    copy = east.create(COLUMNS)
    acidsql.table(east.spark, t).write.format("acidsql").mode("append").save(f"default.{copy}")
    with east.settings(spark__sql__session__timeZone="Asia/Tokyo"):
        assert seen(east, copy) == ROWS
        changes = east.spark.read.format("acidsql").option("readChangeFeed", "true")
        rows = changes.option("startingVersion", "1").load(f"default.{copy}")
        assert sorted(map(tuple, rows.selectExpr("id", "unix_seconds(ts)").collect())) == [
            row[:2] for row in ROWS
        ]
