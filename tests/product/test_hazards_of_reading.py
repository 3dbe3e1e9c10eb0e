"""Tests of session settings and later filters that could change the result of a scan."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyorc
import pytest
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

SETTINGS = {
    "the defaults": {},
    "nested pruning off": {
        "spark__sql__optimizer__nestedSchemaPruning__enabled": "false",
        "spark__sql__codegen__wholeStage": "false",
    },
    "nested vectors and AQE off": {
        "spark__sql__orc__enableNestedColumnVectorizedReader": "false",
        "spark__sql__adaptive__enabled": "false",
    },
    "vectors off": {
        "spark__sql__orc__enableVectorizedReader": "false",
        "spark__sql__caseSensitive": "true",
    },
    "other readers": {
        "spark__sql__orc__impl": "hive",
        "spark__sql__sources__useV1SourceList": "",
        "spark__sql__orc__mergeSchema": "true",
        "spark__sql__orc__filterPushdown": "false",
        "spark__sql__orc__aggregatePushdown": "true",
        "spark__sql__ansi__enabled": "false",
    },
    "errors ignored": {
        "spark__sql__files__ignoreMissingFiles": "true",
        "spark__sql__files__ignoreCorruptFiles": "true",
        "spark__sql__maxConcurrentOutputFileWriters": "5",
        "spark__sql__autoBroadcastJoinThreshold": "-1",
    },
}


@pytest.mark.slow
@pytest.mark.sample("vectors off")
@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_the_session_change_no_answer(lab: Lab, name: str) -> None:
    with lab.settings(**SETTINGS[name]):
        t = lab.create("id int, s struct<a:int,b:string>, v string", partitioned="p int")
        lab.insert(
            t,
            "(1, named_struct('a', 1, 'b', 'x'), 'one', 1),"
            "(2, named_struct('a', 2, 'b', 'y'), NULL, 1), (3, NULL, 'three', 2)",
        )
        assert lab.sql(f"UPDATE {t} SET s.a = s.a + 10, v = 'two' WHERE s.b = 'y'") == [(1, 1)]
        assert lab.sql(
            f"""MERGE INTO {t} USING (SELECT 3 AS id, 'drei' AS v UNION ALL SELECT 4, 'vier') s
            ON {t}.id = s.id
            WHEN MATCHED THEN UPDATE SET v = s.v, p = 1
            WHEN NOT MATCHED THEN INSERT (id, v, p) VALUES (s.id, s.v, 3)"""
        ) == [(2, 1, 0, 1)]
        assert lab.sql(f"DELETE FROM {t} WHERE id = 1") == [(1, 1)]
        expected = [(2, (12, "y"), "two", 1), (3, None, "drei", 1), (4, None, "vier", 3)]
        for compaction in (None, "minor", "major"):
            if compaction:
                lab.compact(t, compaction)
            assert lab.rows(t) == expected
            assert lab.sql(f"SELECT count(*), count(v), max(s.a) FROM {t}") == [(3, 3, 12)]
            assert lab.sql(f"SELECT id FROM {t} WHERE s.a > 5 AND p = 1") == [(2,)]
            assert lab.sql(f"SELECT id, row__id.writeid FROM {t} WHERE s IS NULL AND p = 3") == [
                (4, 3)
            ]
            assert lab.sql(
                f"SELECT x.id, y.id FROM {t} x JOIN {t} y ON x.p = y.p AND x.id < y.id"
            ) == [(2, 3)]


def test_a_delete_file_that_is_gone_raises_and_resurrects_no_row(lab: Lab) -> None:
    with lab.settings(
        spark__sql__files__ignoreMissingFiles="true", spark__sql__files__ignoreCorruptFiles="true"
    ):
        t = lab.create("id int", values="(1), (2)")
        lab.sql(f"DELETE FROM {t} WHERE id = 1")
        (file,) = lab.root(t).glob("delete_delta*/bucket_00000")
        content = file.read_bytes()
        frame = lab.frame(f"SELECT * FROM {t}")
        file.unlink()
        with pytest.raises(Exception, match="(?i)FILE_NOT_EXIST|FileNotFound|does not exist"):
            frame.collect()
        file.write_bytes(content[: len(content) // 2])
        with pytest.raises(Exception, match=r"(?i)corrupt|malformed|ORC|postscript|bucket_00000"):
            lab.rows(t)
        file.write_bytes(content)
        assert lab.rows(t) == [(2,)]


@pytest.mark.slow
def test_filters_added_to_a_returned_frame_are_right(lab: Lab) -> None:
    t = lab.create("id int, v string, s struct<a:int>", partitioned="p int")
    lab.insert(t, "(1, 'a', named_struct('a', 1), 1), (2, NULL, NULL, 2), (3, 'c', NULL, NULL)")
    lab.sql(f"UPDATE {t} SET v = 'z' WHERE id = 2")
    frame = lab.frame(f"SELECT *, row__id FROM {t}")

    def ids(condition: Any) -> list[int]:
        return sorted(row.id for row in frame.where(condition).collect())

    assert ids("id > 1") == [2, 3]
    assert ids("v IS NULL") == []
    assert ids("v = 'z'") == [2]
    assert ids("s.a = 1") == [1]
    assert ids("s IS NOT NULL") == [1]
    assert ids("p IS NULL OR p = 1") == [1, 3]
    assert ids("row__id.writeid = 2") == [2]
    assert ids("row__id.writeid = 1 AND row__id.rowid >= 0 AND id < 3") == [1]
    assert ids("row__id IS NULL") == []
    assert ids(F.col("row__id.bucketid") == 536870912) == [1, 2, 3]
    assert ids("v = (SELECT max(x) FROM VALUES ('c'), ('b') AS q(x))") == [3]
    # Pushed to ORC, a comparison with NULL would fail there.
    assert ids("v > (SELECT max(x) FROM VALUES ('c') AS q(x) WHERE x = 'none')") == []
    assert ids("id = (SELECT x FROM VALUES (1) AS q(x) WHERE x = 2)") == []
    assert ids("false") == []
    assert ids("v IN ('a', 'z', NULL)") == [1, 2]
    assert ids("rand() >= 0") == [1, 2, 3]
    assert frame.where("id = 3").select("p").collect() == [(None,)]
    assert frame.select("id").where("id < 2").count() == 1
    assert frame.limit(2).count() == 2
    assert frame.join(frame.select("row__id"), "row__id").count() == 3
    with lab.settings(spark__sql__caseSensitive="true"):
        assert ids("id > 1") == [2, 3]


ACID_NAMES = "operation int, bucket int, `row` struct<`row`:int>, rowId bigint, "
ACID_NAMES += "originalTransaction bigint, currentTransaction bigint"
INTERNAL_NAMES = ", ".join(
    f"`{name}` int"
    for name in (
        "event", "__row_id", "__old_0", "__source", "__branch", "__target", "__part_0", "__bucket",
        "__partition", "__pad", "__d_rowId", "__again", "__place", "__acidsql_0", "c0",
        "__acidsql_row_id", "__acidsql__source", "__field_0", "__field_1", "row__id_rowid",
    )
)  # fmt: skip


@pytest.mark.slow
def test_user_columns_may_be_called_like_acid_columns(lab: Lab) -> None:
    t = lab.create(ACID_NAMES)
    lab.insert(
        t, "(1, 2, named_struct('row', 3), 4, 5, 6), (2, 3, named_struct('row', 4), 5, 6, 7)"
    )
    assert lab.sql(f"UPDATE {t} SET bucket = 0, `row`.`row` = rowId WHERE operation = 2") == [
        (1, 1)
    ]
    assert lab.sql(
        f"""MERGE INTO {t} USING (SELECT 1 AS operation, 70 AS bucket) s
        ON {t}.operation = s.operation
        WHEN MATCHED THEN UPDATE SET bucket = s.bucket, rowId = originalTransaction"""
    ) == [(1, 1, 0, 0)]
    expected = [(1, 70, (3,), 5, 5, 6), (2, 0, (5,), 5, 6, 7)]
    for compaction in (None, "minor", "major"):
        if compaction:
            lab.compact(t, compaction)
        assert lab.rows(t) == expected
        assert lab.sql(f"SELECT row__id.rowid, rowId FROM {t} WHERE `row`.`row` = 5") == [(0, 5)]
        assert lab.sql(f"SELECT sum(bucket) FROM {t} WHERE currentTransaction > 6") == [(0,)]


@pytest.mark.repeated
def test_user_columns_may_be_called_like_columns_of_the_product(lab: Lab) -> None:
    t = lab.create(INTERNAL_NAMES, partitioned="__part_1 int")
    count = INTERNAL_NAMES.count("`") // 2
    row = ", ".join(map(str, range(count)))
    lab.insert(t, f"({row}, 1), ({row}, 2)")
    assert lab.sql(f"UPDATE {t} SET event = 100, __pad = __old_0 WHERE __part_1 = 2") == [(1, 1)]
    source = lab.frame(f"SELECT * FROM {t} WHERE event = 100")
    assert lab.sql(
        f"""MERGE INTO {t} AS x USING {{s}} AS __source ON x.event = __source.event
        WHEN MATCHED AND x.__row_id = 1 THEN UPDATE SET __target = __source.__source + 50
        WHEN NOT MATCHED BY SOURCE THEN DELETE""",
        s=source,
    ) == [(2, 1, 1, 0)]
    lab.compact(t, "major")
    values = list(range(count))
    values[0], values[5], values[9] = 100, 53, 2
    assert lab.rows(t) == [(*values, 2)]


def wall_clocks(lab: Lab, table: str) -> list[tuple[Any, ...]]:
    """Return all columns of a table as text."""
    return lab.rows(table, "id, CAST(ts AS STRING), CAST(s AS STRING), CAST(a AS STRING), "
                           "CAST(m AS STRING)")  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("writer", "reader"), [("America/New_York", "Asia/Kolkata")])
def test_timestamps_keep_their_wall_clock(
    lab: Lab, new_lab: Callable[..., Lab], writer: str, reader: str
) -> None:
    west = new_lab(spark__sql__session__timeZone=writer)
    east = new_lab(spark__sql__session__timeZone=reader)
    t = west.create(
        "id int, ts timestamp, s struct<t:timestamp,n:int>, a array<timestamp>, "
        "m map<string,struct<t:timestamp>>"
    )
    clocks = [
        "2024-07-01 12:34:56.789",
        "1969-12-31 23:59:58.5",  # ORC itself loses a second of the last one before 1970
        "1900-01-01 00:00:00",
        "9999-12-31 23:59:59.999999",
        "0001-01-01 00:00:00",
    ]
    for i, clock in enumerate(clocks):
        stamp = f"TIMESTAMP'{clock}'"
        west.insert(
            t,
            f"({i}, {stamp}, named_struct('t', {stamp}, 'n', 1), array({stamp}, NULL), "
            f"map('k', named_struct('t', {stamp})))",
        )
    west.insert(t, "(9, NULL, NULL, NULL, NULL)")
    expected = [
        *((i, c, f"{{{c}, 1}}", f"[{c}, null]", f"{{k -> {{{c}}}}}") for i, c in enumerate(clocks)),
        (9, None, None, None, None),
    ]
    assert wall_clocks(west, t) == expected
    assert wall_clocks(east, t) == expected
    assert wall_clocks(lab, t) == expected
    assert east.sql(f"SELECT id FROM {t} WHERE ts = TIMESTAMP'2024-07-01 12:34:56.789'") == [(0,)]
    # Hive reads the same wall clock.
    (file,) = lab.root(t).glob("delta_0000001_*/bucket_00000")
    with file.open("rb") as stream:
        stored = next(iter(pyorc.Reader(stream)))[5][1]
    assert stored.replace(tzinfo=None) == datetime(2024, 7, 1, 12, 34, 56, 789000)  # noqa: DTZ001

    east.sql(f"UPDATE {t} SET id = id + 10 WHERE id = 1")
    assert east.sql(
        f"""MERGE INTO {t} USING (SELECT TIMESTAMP'2024-07-01 12:34:56.789' AS ts) s
        ON {t}.ts = s.ts WHEN MATCHED THEN UPDATE SET id = 20"""
    ) == [(1, 1, 0, 0)]
    east.compact(t, "major")
    moved = sorted(
        ((20 if row[0] == 0 else 11 if row[0] == 1 else row[0], *row[1:]) for row in expected),
        key=repr,
    )
    for session in (west, east, lab):
        assert wall_clocks(session, t) == moved


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "settings",
    [
        {"spark__sql__hive__filesourcePartitionFileCacheSize": "0"},
        {"spark__sql__hive__manageFilesourcePartitions": "false"},
    ],
)
def test_partition_values_do_not_depend_on_sparks_cache_of_listings(
    lab: Lab, settings: dict[str, str]
) -> None:
    with lab.settings(**settings):
        t = lab.create("id int", partitioned="p int", values="(1, 10), (2, 20)")
        lab.sql(f"UPDATE {t} SET id = 3 WHERE p = 20")
        assert lab.rows(t) == [(1, 10), (3, 20)]
        assert lab.sql(f"SELECT id FROM {t} WHERE p = 20") == [(3,)]


def test_a_table_of_the_same_name_has_nothing_of_the_dropped_one(lab: Lab) -> None:
    def life(deleted: int) -> list[tuple[object, ...]]:
        lab.sql(
            "CREATE TABLE phoenix (id int) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
        )
        lab.insert("phoenix", "(1)")
        lab.insert("phoenix", "(2)")
        lab.sql(f"DELETE FROM phoenix WHERE id = {deleted}")
        rows = lab.rows("phoenix")
        lab.sql("DROP TABLE phoenix")
        return rows

    # The delete files of the two have the same path and length, and concern other write ids.
    assert life(deleted=1) == [(2,)]
    assert life(deleted=2) == [(1,)]


@pytest.mark.parametrize("kind", ["default", "insert_only"])
def test_columns_may_have_the_names_of_those_of_acid_files(lab: Lab, kind: str) -> None:
    """As in HIVE-26394."""
    t = lab.create(
        "operation INT, originalTransaction BIGINT, bucket INT, rowId BIGINT, "
        "currentTransaction BIGINT, row STRUCT<id: INT, v: STRING>",
        properties={"transactional_properties": kind},
    )
    lab.insert(
        t, "(0, 1, 536870912, 0, 1, named_struct('id', 7, 'v', 'x')), (2, 1, 536870912, 1, 2, NULL)"
    )
    assert lab.sql(f"SELECT rowId, row.v FROM {t} WHERE operation = 0 AND bucket > 1") == [(0, "x")]
    assert lab.sql(f"SELECT max(rowId), count(row.id) FROM {t}") == [(1, 1)]
    if kind == "insert_only":
        return
    lab.sql(f"UPDATE {t} SET rowId = rowId + 5, row.v = 'y' WHERE operation = 0")
    for compaction in ("minor", "major"):
        assert lab.rows(t, "operation, rowId, row") == [(0, 5, (7, "y")), (2, 1, None)]
        lab.compact(t, compaction)
