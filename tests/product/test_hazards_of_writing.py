"""Tests of what Spark could do to the files of a write job, each with a table that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from acidsql.errors import WriteJobError
from acidsql.format.names import STAGING_PREFIX
from acidsql.storage import staging
from tests.limits import set_limits
from tests.product.evidence import last_execution, plans_since, sorted_files

if TYPE_CHECKING:
    from tests.product.conftest import AcidFile, Lab

pytestmark = pytest.mark.spark

SPILL_AFTER = "spark.shuffle.spill.numElementsForceSpillThreshold"


@pytest.fixture
def spilling(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[None]:
    """Make every sort spill after a number of rows."""
    # In local mode the tasks read this very object.
    conf = spark.sparkContext._jsc.sc().conf()
    conf.set(SPILL_AFTER, str(request.param))
    yield
    conf.remove(SPILL_AFTER)


def row_ids_from_zero(files: dict[str, AcidFile]) -> None:
    """Check that each insert file of an uncompacted table counts from 0 without a gap."""
    for path, file in files.items():
        if "/delete_delta" not in f"/{path}":
            assert [row_id for _, _, row_id in file.keys] == list(range(len(file.keys))), path


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.parametrize("spilling", [100], indirect=True)
@pytest.mark.usefixtures("spilling")
@pytest.mark.parametrize(
    ("one_task", "settings"),
    [
        (True, {}),
        (False, {}),
        (False, {"spark__sql__optimizer__plannedWrite__enabled": "false"}),
        (False, {"spark__sql__adaptive__enabled": "false"}),
    ],
)
def test_rows_keep_their_order_when_sorts_spill(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, one_task: bool, settings: dict[str, str]
) -> None:
    set_limits(monkeypatch, one_task_bytes=2**62 if one_task else 0)
    t = lab.create("id bigint, v string", partitioned="p int")
    numbers = lab.spark.range(0, 3000, 1, 2)
    with lab.settings(**settings):
        lab.sql(f"INSERT INTO {t} SELECT id, 'a', id % 3 FROM {{r}}", r=numbers)
        files = sorted_files(lab, t)
        assert sum(len(file.events) for file in files.values()) == 3000
        assert lab.sql(f"UPDATE {t} SET v = 'b', p = p + id % 2") == [(3000, 3000)]
        files = sorted_files(lab, t)
        assert sum(len(file.events) for file in files.values()) == 9000
        lab.compact(t, "minor", "p = 1")
        lab.compact(t, "major", "p = 2")
        sorted_files(lab, t)
    assert lab.sql(f"SELECT count(*), sum(id), count_if(p = id % 3 + id % 2) FROM {t}") == [
        (3000, 4_498_500, 3000)
    ]


@pytest.mark.repeated
@pytest.mark.parametrize("spilling", [100], indirect=True)
@pytest.mark.usefixtures("spilling")
@pytest.mark.parametrize("planned", ["true", "false"])
def test_rows_of_a_constant_partition_keep_their_order_when_sorts_spill(
    lab: Lab, planned: str
) -> None:
    t = lab.create("id bigint", partitioned="p int, q string")
    with lab.settings(spark__sql__optimizer__plannedWrite__enabled=planned):
        lab.sql(f"INSERT INTO {t} SELECT id, 1, 'a' FROM {{r}}", r=lab.spark.range(0, 3000, 1, 2))
        lab.sql(f"INSERT INTO {t} SELECT id, id % 2, 'b' FROM {{r}}", r=lab.spark.range(3000))
        lab.sql(f"UPDATE {t} SET id = id + 1, q = 'c'")
        files = sorted_files(lab, t)
    assert sum(len(file.events) for file in files.values()) == 18_000


@pytest.mark.parametrize("spilling", [100], indirect=True)
@pytest.mark.usefixtures("spilling")
@pytest.mark.parametrize("planned", ["true", "false"])
def test_rows_of_a_constant_bucket_keep_their_order_when_sorts_spill(
    lab: Lab, planned: str
) -> None:
    t = lab.create("k int, id bigint", partitioned="p int", clustered="(k) INTO 2 BUCKETS")
    with lab.settings(spark__sql__optimizer__plannedWrite__enabled=planned):
        lab.sql(f"INSERT INTO {t} SELECT 7, id, id % 2 FROM {{r}}", r=lab.spark.range(3000))
        files = sorted_files(lab, t)
    assert sum(len(file.events) for file in files.values()) == 3000


@pytest.mark.slow
@pytest.mark.parametrize("spilling", [3000], indirect=True)
@pytest.mark.usefixtures("spilling")
def test_many_delete_events_are_sorted_by_a_job_that_spills(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(monkeypatch, driver_events=10)
    t = lab.create("id bigint", properties={"orc.stripe.size": "1024"})
    lab.sql(f"INSERT INTO {t} SELECT id FROM {{r}}", r=lab.spark.range(0, 24_000, 1, 2))
    assert lab.sql(f"DELETE FROM {t} WHERE id % 12000 > 5") == [(23_988, 23_988)]
    deletes = {p: f for p, f in sorted_files(lab, t).items() if p.startswith("delete_delta")}
    assert {p: len(f.events) for p, f in deletes.items()} == {
        f"delete_delta_0000002_0000002_0000/bucket_{b:05d}": 11_994 for b in range(2)
    }
    assert all(len(f.stripes) > 1 for f in deletes.values())
    assert all(f.metadata["hive.acid.stats"] == "0,0,11994" for f in deletes.values())
    assert sorted(i for (i,) in lab.rows(t)) == [*range(6), *range(12_000, 12_006)]


def test_rows_of_a_union_get_different_ids(lab: Lab) -> None:
    t = lab.create("id bigint")
    numbers = lab.spark.range(0, 20, 1, 2)
    lab.sql(f"INSERT INTO {t} SELECT id FROM {{r}} UNION ALL SELECT id + 20 FROM {{r}}", r=numbers)
    p = lab.create("id bigint", partitioned="p int")
    lab.sql(
        f"INSERT INTO {p} SELECT id, 1 FROM {{r}} UNION ALL SELECT id + 20, id % 2 FROM {{r}}",
        r=numbers,
    )
    row_ids_from_zero(sorted_files(lab, t))
    sorted_files(lab, p)
    for table in (t, p):
        assert lab.sql(f"SELECT count(DISTINCT row__id), count(DISTINCT id) FROM {table}") == [
            (40, 40)
        ]


@pytest.mark.parametrize("most", [2**30, -1])
def test_no_more_writers_than_bucket_ids(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    set_limits(monkeypatch, copied_once_bytes=most)
    monkeypatch.setattr(staging, "MAX_BUCKET_ID", 2)
    t = lab.create("id bigint")
    lab.sql(f"INSERT INTO {t} SELECT id FROM {{r}}", r=lab.spark.range(0, 70, 1, 7))
    files = sorted_files(lab, t)
    assert [path[-5:] for path in files] == ["00000", "00001", "00002"]
    row_ids_from_zero(files)
    assert lab.sql(f"SELECT count(DISTINCT id), count(DISTINCT row__id) FROM {t}") == [(70, 70)]


@pytest.mark.slow
def test_tasks_that_are_known_to_be_few_are_one_program(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(monkeypatch, copied_once_bytes=-1)
    t = lab.create("id bigint")
    before = last_execution(lab)
    lab.sql(f"INSERT INTO {t} SELECT id FROM {{r}} WHERE id >= 0", r=lab.spark.range(0, 70, 1, 7))
    assert not any("Coalesce" in plan for plan in plans_since(lab, before))
    before = last_execution(lab)
    lab.sql(f"INSERT INTO {t} SELECT DISTINCT id FROM {{r}}", r=lab.spark.range(70, 90, 1, 7))
    assert any("Coalesce" in plan for plan in plans_since(lab, before))
    files = sorted_files(lab, t)
    assert len([path for path in files if path.startswith("delta_0000001")]) == 7
    row_ids_from_zero(files)
    assert lab.sql(f"SELECT count(DISTINCT id), count(DISTINCT row__id) FROM {t}") == [(90, 90)]


@pytest.mark.parametrize("one_task", [True, False])
def test_few_rows_of_many_tasks_make_few_files(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, one_task: bool
) -> None:
    set_limits(monkeypatch, one_task_bytes=2**62 if one_task else 0)
    t = lab.create("id bigint, v int")
    lab.sql(f"INSERT INTO {t} SELECT id, 0 FROM {{r}}", r=lab.spark.range(0, 80, 1, 8))
    lab.sql(f"UPDATE {t} SET v = 1 WHERE id % 10 = 0")
    files = sorted_files(lab, t)
    written = [path for path in files if path.startswith("delta_0000002")]
    assert written == ["delta_0000002_0000002_0000/bucket_00000"]
    assert len(files[written[0]].events) == 8


def test_the_sessions_writer_settings_do_not_reach_the_files(lab: Lab) -> None:
    t = lab.create("id bigint, v int", partitioned="p int")
    s = lab.create("id bigint", properties={"orc.compress": "SNAPPY"})
    numbers = lab.spark.range(0, 60, 1, 1)
    with lab.settings(
        spark__sql__files__maxRecordsPerFile="10",
        spark__sql__orc__compression__codec="zstd",
        mapreduce__fileoutputcommitter__algorithm__version="2",
        mapreduce__fileoutputcommitter__marksuccessfuljobs="true",
        spark__sql__sources__partitionOverwriteMode="dynamic",
        spark__sql__orc__impl="hive",
        spark__sql__sources__useV1SourceList="",
    ):
        lab.sql(f"INSERT INTO {t} SELECT id, 0, id % 2 FROM {{r}}", r=numbers)
        lab.sql(f"UPDATE {t} SET v = 1")
        lab.sql(f"INSERT INTO {s} SELECT id FROM {{r}}", r=numbers)
        lab.sql(f"DELETE FROM {s} WHERE id % 2 = 0")
        files = sorted_files(lab, t)
        assert {(path[:3], len(file.events)) for path, file in files.items()} == {
            ("p=0", 30),
            ("p=1", 30),
        }
        assert len(files) == 6
        assert {file.codec for file in files.values()} == {"ZSTD"}
        assert {file.codec for file in sorted_files(lab, s).values()} == {"SNAPPY"}
        lab.compact(s, "major")
        lab.compact(t, "major")
    (base,) = sorted_files(lab, s).values()
    assert (base.codec, len(base.events)) == ("SNAPPY", 30)
    bases = sorted_files(lab, t)
    assert {(path[:9], len(f.events), f.codec) for path, f in bases.items()} == {
        ("p=0/base_", 30, "ZSTD"),
        ("p=1/base_", 30, "ZSTD"),
    }
    for table in (t, s):
        assert not [path for path in lab.tree(table) if "SUCCESS" in path or ".crc" in path]


def test_no_task_writes_a_partition_value_with_nul(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(monkeypatch, driver_read_bytes=-1)
    t = lab.create("id bigint", partitioned="p string")
    with pytest.raises(WriteJobError, match="WRITE_JOB_FAILED.*the character NUL"):
        lab.sql(rf"INSERT INTO {t} SELECT id, 'a\0b' FROM {{r}}", r=lab.spark.range(0, 9))
    assert lab.directories(t) == []


def test_what_tasks_wrote_goes_with_a_job_that_fails(lab: Lab) -> None:
    t = lab.create("id bigint", values="(1)")
    before = lab.tree(t)
    numbers = lab.spark.range(0, 40, 1, 8)
    with pytest.raises((PySparkException, WriteJobError), match="the last fails"):
        lab.sql(
            f"INSERT INTO {t} SELECT IF(id < 35, id, raise_error('the last fails')) FROM {{r}}",
            r=numbers,
        )
    assert lab.tree(t) == before
    assert [name for name in lab.directories(t) if name.startswith(STAGING_PREFIX)] == []


@pytest.mark.repeated
def test_partition_columns_may_be_called_like_acid_columns(lab: Lab) -> None:
    t = lab.create("v int", partitioned="`row` int, bucket string, operation int, rowid int")
    lab.insert(t, "(1, 1, 'a', 0, 5), (2, 2, 'b', 2, 6)")
    lab.sql(f"UPDATE {t} SET v = 3, operation = 7 WHERE `row` = 2 AND bucket = 'b'")
    lab.sql(f"DELETE FROM {t} WHERE rowid = 5")
    lab.sql(f"INSERT INTO {t} PARTITION (`row` = 9, bucket = 'x', operation, rowid) SELECT 4, 1, 8")
    lab.compact(t, "major")
    assert lab.rows(t) == [(3, 2, "b", 7, 6), (4, 9, "x", 1, 8)]
    assert lab.sql(f"SELECT v, row__id.rowid FROM {t} WHERE rowid = 8") == [(4, 0)]
    assert lab.sql(f"SHOW PARTITIONS {t}") == [
        ("row=1/bucket=a/operation=0/rowid=5",),
        ("row=2/bucket=b/operation=2/rowid=6",),
        ("row=2/bucket=b/operation=7/rowid=6",),
        ("row=9/bucket=x/operation=1/rowid=8",),
    ]


@pytest.mark.slow
def test_null_and_empty_partition_values_share_a_directory(lab: Lab) -> None:
    t = lab.create("v int", partitioned="p string")
    lab.insert(t, "(1, ''), (2, NULL), (3, 'a/b=c%'), (4, ' ')")
    lab.sql(f"INSERT INTO {t} PARTITION (p = '') VALUES (5)")
    lab.sql(f"INSERT INTO {t} PARTITION (p = NULL) VALUES (6)")
    assert lab.sql(f"SHOW PARTITIONS {t}") == [
        ("p= ",),
        ("p=__HIVE_DEFAULT_PARTITION__",),
        ("p=a%2Fb%3Dc%25",),
    ]
    assert lab.directories(t) == [
        "p= ",
        "p=__HIVE_DEFAULT_PARTITION__",
        "p=a%2Fb%3Dc%25",
    ]
    assert lab.rows(t) == [
        (1, None), (2, None), (3, "a/b=c%"), (4, " "), (5, None), (6, None),
    ]  # fmt: skip
    assert lab.sql(f"DELETE FROM {t} WHERE p IS NULL AND v > 1") == [(3, 3)]
    assert lab.sql(f"UPDATE {t} SET p = NULL WHERE v = 3") == [(1, 1)]
    assert lab.rows(t) == [(1, None), (3, None), (4, " ")]
    lab.compact(t, "major", "p = NULL")
    assert lab.rows(t) == [(1, None), (3, None), (4, " ")]


def test_partitions_are_named_by_hives_rules(lab: Lab) -> None:
    t = lab.create("v int", partitioned="d decimal(5,2), day date, b boolean")
    lab.insert(
        t,
        "(1, 1.50, DATE'2024-02-29', true), (2, 1.5, DATE'2024-02-29', true), "
        "(3, 100, DATE'0001-01-01', false), (4, -0.05, NULL, NULL)",
    )
    lab.sql(f"INSERT INTO {t} PARTITION (d = 1.500, day = '2024-02-29', b = true) VALUES (5)")
    assert lab.sql(f"SHOW PARTITIONS {t}") == [
        ("d=-0.05/day=__HIVE_DEFAULT_PARTITION__/b=__HIVE_DEFAULT_PARTITION__",),
        ("d=1.5/day=2024-02-29/b=true",),
        ("d=100/day=0001-01-01/b=false",),
    ]
    assert lab.sql(f"SELECT v, CAST(d AS STRING) FROM {t} WHERE d = 1.5 ORDER BY v") == [
        (1, "1.50"),
        (2, "1.50"),
        (5, "1.50"),
    ]
    assert lab.sql(f"SELECT count(*) FROM {t} WHERE day < DATE'1000-01-01' AND NOT b") == [(1,)]


def test_rows_are_numbered_anew_by_each_writer_of_a_partition(lab: Lab) -> None:
    t = lab.create("id bigint", partitioned="p bigint")
    source = lab.spark.range(0, 400, 1, 4).withColumn("p", F.col("id") % 4)
    lab.sql(f"INSERT INTO {t} SELECT id, p FROM {{r}}", r=source)
    sorted_files(lab, t)
    assert lab.sql(f"SELECT p, count(DISTINCT row__id) FROM {t} GROUP BY p ORDER BY p") == [
        (p, 100) for p in range(4)
    ]
