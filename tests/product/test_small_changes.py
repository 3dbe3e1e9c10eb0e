"""Tests of changes that the driver writes, compared with those of a write job."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

from acidsql import bridge
from acidsql.commands import events
from acidsql.errors import WriteJobError
from acidsql.storage import staging
from tests.limits import set_limits

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

COLUMNS = """
    id bigint, b boolean, t tinyint, f float, d double, e decimal(38,10), n decimal(7,2), s string,
    c char(4), v varchar(5), x binary, day date, at timestamp, st struct<a:int,b:array<string>>,
    m map<string,decimal(9,3)>"""
ROWS = """
    SELECT /*+ COALESCE(1) */ id, id % 3 = 0, CAST(id AS TINYINT), CAST(id / 7 AS FLOAT),
    IF(id = 5, double('NaN'), id / 7), id / CAST(7 AS DECIMAL(38,10)), CAST(id / 7 AS DECIMAL(7,2)),
    IF(id = 6, NULL, concat('é\\n', id)), 'ab', 'abc', encode(concat('\\0', id), 'UTF-8'),
    date_add(DATE'0001-01-01', CAST(id * 20000 AS INT)),
    TIMESTAMP'1700-02-28 12:34:56.123456' + make_interval(CAST(id * 9 AS INT)),
    IF(id = 7, NULL, named_struct('a', CAST(id AS INT), 'b', array('x', NULL))),
    map('k', CAST(id AS DECIMAL(9,3))), CAST(id % 2 AS INT), IF(id % 3 = 0, NULL, 'a/b')
    FROM range(40)"""


def _changed(lab: Lab, clustered: str) -> tuple[Any, ...]:
    """Change a table; return its tree, its rows, and properties of its files."""
    t = lab.create(COLUMNS, partitioned="p int, q string", clustered=clustered)
    lab.sql(f"INSERT INTO {t} {ROWS}")
    before = lab.rows(t)
    assert lab.sql(f"UPDATE {t} SET s = s WHERE id % 4 = 1") == [(10, 10)]
    assert repr(sorted(lab.rows(t))) == repr(sorted(before))
    assert lab.sql(f"UPDATE {t} SET p = 9, e = -e WHERE id = 5 OR id = 9") == [(2, 2)]
    assert lab.sql(f"DELETE FROM {t} WHERE id IN (1, 2, 5)") == [(3, 3)]
    assert lab.sql(f"DELETE FROM {t} WHERE id = -1") == [(0, 0)]
    # A task that writes several partitions numbers their rows together.
    looks = {
        path: (file.fields, file.row_fields, file.codec, len(file.events), file.metadata.keys())
        for path, file in lab.files(t).items()
        if file.metadata["hive.acid.key.index"] == file.expected_key_index
    }
    return lab.tree(t), repr(lab.rows(t)), looks


@pytest.mark.repeated
@pytest.mark.parametrize("clustered", ["", "(id) INTO 3 BUCKETS"])
def test_the_driver_writes_what_a_job_would(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, clustered: str
) -> None:
    by_driver = _changed(lab, clustered)
    set_limits(monkeypatch, driver_read_bytes=-1)
    assert _changed(lab, clustered) == by_driver
    tree, _, looks = by_driver
    assert {path for path in tree if "/bucket_" in path} == looks.keys()


@pytest.mark.slow
def test_the_driver_numbers_rows_as_one_task_would(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = []
    for most in (2**30, -1):
        set_limits(monkeypatch, driver_read_bytes=most)
        t = lab.create("id int, v string", values="(1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')")
        assert lab.sql(f"UPDATE {t} SET v = 'e' WHERE id IN (2, 4)") == [(2, 2)]
        assert lab.sql(f"UPDATE {t} SET v = 'f' WHERE id = 4") == [(1, 1)]
        assert lab.sql(f"DELETE FROM {t} WHERE id IN (3, 4)") == [(2, 2)]
        assert lab.rows(t, "row__id, *") == [
            ((1, 536870912, 0), 1, "a"),
            ((2, 536870912, 0), 2, "e"),
        ]
        files.append(lab.files(t))
    assert files[0] == files[1]
    assert [len(file.events) for file in files[0].values()] == [2, 1, 2, 4, 2, 1]


@pytest.mark.repeated
def test_more_events_than_the_driver_takes_are_written_by_a_job(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = lab.create("id bigint, v string")
    lab.sql(f"INSERT INTO {t} SELECT id, 'a' FROM {{r}}", r=lab.spark.range(0, 100, 1, 2))
    set_limits(monkeypatch, driver_rows=12)
    set_limits(monkeypatch, driver_events=12)
    for wanted in ("id < 5", "id < 6", "id > 50 AND id < 90", "id > -1"):
        count = lab.sql(f"SELECT count(*) FROM {t} WHERE {wanted}")[0][0]
        assert lab.sql(f"UPDATE {t} SET v = concat(v, 'b') WHERE {wanted}") == [(count, count)]
    assert lab.sql(f"SELECT v, count(*) FROM {t} GROUP BY v ORDER BY v") == [
        ("ab", 55),
        ("abb", 40),
        ("abbb", 5),
    ]
    assert lab.sql(f"DELETE FROM {t} WHERE id % 10 = 0") == [(10, 10)]
    assert lab.sql(f"DELETE FROM {t} WHERE id % 5 > 0") == [(80, 80)]
    assert [i for (i,) in lab.sql(f"SELECT id FROM {t} ORDER BY id")] == [*range(5, 100, 10)]


@pytest.mark.slow
def test_the_driver_takes_more_events_of_a_statement_that_reads_many_partitions(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = lab.create("id bigint, v string", partitioned="p int")
    lab.sql(f"INSERT INTO {t} SELECT id, 'a', id % 6 FROM {{r}}", r=lab.spark.range(0, 12))
    staged = _staged_by_jobs(monkeypatch)
    # Eight rows of six partitions, and two of one.
    set_limits(monkeypatch, driver_rows=2, driver_rows_partitions=2)
    assert lab.sql(f"UPDATE {t} SET v = 'b' WHERE id < 7") == [(7, 7)]
    assert staged == []
    assert lab.sql(f"UPDATE {t} SET v = 'c' WHERE id < 8") == [(8, 8)]
    assert lab.sql(f"UPDATE {t} SET v = 'd' WHERE p = 5") == [(2, 2)]
    assert staged == ["by a job"] * 2
    assert lab.sql(f"SELECT v, count(*) FROM {t} GROUP BY v ORDER BY v") == [
        ("a", 3),
        ("c", 7),
        ("d", 2),
    ]
    assert lab.sql(f"SELECT DISTINCT row__id.bucketid FROM {t}") == [(536870912,)]


def test_rows_that_are_larger_than_a_result_may_be_are_written_by_a_job(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(1)
    rows = [(i, random.randbytes(8192).hex()) for i in range(20)]
    t = lab.create("id bigint, v string")
    lab.sql(f"INSERT INTO {t} SELECT * FROM {{r}}", r=lab.spark.createDataFrame(rows))
    staged = _staged_by_jobs(monkeypatch)
    settings = lab.spark.sparkContext._jsc.sc().conf()
    settings.set("spark.driver.maxResultSize", "64k")
    try:
        assert lab.sql(f"UPDATE {t} SET id = id + 100") == [(20, 20)]
    finally:
        settings.remove("spark.driver.maxResultSize")
    assert staged == ["by a job"]
    assert lab.rows(t) == [(i + 100, text) for i, text in rows]


@pytest.mark.slow
def test_the_driver_does_not_try_to_write_what_probably_changes_many_rows(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = lab.create("id bigint, v string", partitioned="p int")
    lab.sql(f"INSERT INTO {t} VALUES (1, 'a', 0), (2, 'b', 0), (3, 'c', 1), (4, NULL, 1)")
    staged = _staged_by_jobs(monkeypatch)
    set_limits(monkeypatch, driver_scan_bytes=0)
    assert lab.sql(f"UPDATE {t} SET v = 'x' WHERE id = '1'") == [(1, 1)]
    assert lab.sql(f"UPDATE {t} SET v = 'y' WHERE p = 0 AND (id > 1 + 1 OR v = 'b')") == [(1, 1)]
    assert staged == []
    for number, condition in enumerate(("id % 4 = 3", "p = 1 AND upper(v) = 'Z'", "v IS NOT NULL")):
        update = f"UPDATE {t} SET v = 'z' WHERE {condition}"
        assert "the driver if" not in str(lab.sql(f"EXPLAIN {update}"))
        lab.sql(update)
        assert staged == ["by a job"] * (number + 1)
    assert sorted(lab.rows(t)) == [(1, "z", 0), (2, "z", 0), (3, "z", 1), (4, None, 1)]


@pytest.mark.slow
def test_the_driver_writes_a_merge_of_few_rows_into_a_table_that_is_dear_to_join(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = lab.create("id bigint, v string", values="(1, 'a'), (2, 'a'), (3, 'a'), (3, 'b'), (4, 'a')")
    staged = _staged_by_jobs(monkeypatch)
    set_limits(monkeypatch, driver_join_bytes=-1, driver_rows=3)
    merge = f"MERGE INTO {t} USING {{}} s ON {t}.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v"
    two = "(SELECT * FROM VALUES (1, 'x'), (9, 'y') AS s(id, v))"
    assert lab.sql(f"{merge.format(two)} WHEN NOT MATCHED THEN INSERT *") == [(2, 1, 0, 1)]
    assert staged == []
    # Rows of the target that the source does not match may be many.
    gone = f"WHEN NOT MATCHED BY SOURCE AND {t}.id = 4 THEN DELETE"
    assert lab.sql(f"{merge.format(two)} {gone}") == [(3, 2, 1, 0)]
    assert staged == ["by a job"]
    # It is not known how many rows of the target a row of the source matches.
    three = "(SELECT * FROM VALUES (3, 'z') AS s(id, v))"
    set_limits(monkeypatch, driver_rows=2)
    assert lab.sql(merge.format(three)) == [(2, 2, 0, 0)]
    # Spark does not know how many rows the source has.
    unknown = "(SELECT explode(array(2)) AS id, 'u' AS v)"
    assert lab.sql(merge.format(unknown)) == [(1, 1, 0, 0)]
    assert staged == ["by a job"] * 3
    assert sorted(lab.rows(t)) == [(1, "x"), (2, "u"), (3, "z"), (3, "z"), (9, "y")]


def _staged_by_jobs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets an entry for each write job from now on."""
    staged: list[str] = []

    def write_events(*arguments: Any, **others: Any) -> None:
        staged.append("by a job")
        staging.write_events(*arguments, **others)

    monkeypatch.setattr(events, "write_events", write_events)
    return staged


def test_no_task_sends_more_row_ids_than_the_driver_can_take_from_all(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check spark.driver.maxResultSize, above which Spark ends a job."""
    t = lab.create("id bigint")
    lab.sql(f"INSERT INTO {t} SELECT id FROM {{r}}", r=lab.spark.range(0, 100, 1, 2))
    staged = _staged_by_jobs(monkeypatch)
    monkeypatch.setattr(bridge, "rows_per_task", lambda *_: 12)
    assert lab.sql(f"DELETE FROM {t} WHERE id < 11 OR id >= 89") == [(22, 22)]
    assert staged == []
    assert lab.sql(f"DELETE FROM {t} WHERE id < 23") == [(12, 12)]
    assert staged == ["by a job"]
    assert lab.sql(f"DELETE FROM {t} WHERE id < 23") == [(0, 0)]
    assert lab.sql(f"DELETE FROM {t} WHERE id != 50") == [(65, 65)]
    assert staged == ["by a job"] * 2
    assert lab.rows(t) == [(50,)]


def test_rows_of_a_task_are_those_of_all_tasks_together(lab: Lab) -> None:
    few_tasks = lab.spark.range(5)
    joined = few_tasks.join(lab.spark.range(9), "id")
    assert lab.spark.sparkContext.getConf().get("spark.driver.maxResultSize", "1g") == "1g"
    assert bridge.rows_per_task(few_tasks, 0, 32) == 2**29 // (2 * 32)
    assert bridge.rows_per_task(few_tasks, 0, 33) == 2**29 // (2 * 32) // 2
    assert bridge.rows_per_task(few_tasks, 2**30, 32) == 2**29 // (8 * 32)
    with lab.settings(spark__sql__shuffle__partitions="8"):
        assert bridge.rows_per_task(joined, 0, 64) == 2**29 // (8 * 64)


def test_a_small_change_is_one_job(lab: Lab) -> None:
    t = lab.create("id int, v string", partitioned="p int", values="(1, 'a', 1), (2, 'b', 2)")
    tracker = lab.spark.sparkContext.statusTracker()
    for name, text in {
        "one-update": f"UPDATE {t} SET v = 'c' WHERE id = 1",
        "one-delete": f"DELETE FROM {t} WHERE id = 2",
    }.items():
        lab.spark.sparkContext.setJobGroup(name, name)
        try:
            answer = lab.frame(text)
        finally:
            for key in ("spark.jobGroup.id", "spark.job.description"):
                lab.spark.sparkContext.setLocalProperty(key, None)
        assert len(tracker.getJobIdsForGroup(name)) == 1
        assert answer.collect()[0].num_affected_rows == 1
    assert lab.rows(t) == [(1, "c", 1)]


def test_a_small_change_that_fails_leaves_nothing(lab: Lab) -> None:
    t = lab.create("id int NOT NULL, v int", values="(1, 1), (2, 0)")
    before = lab.state(t)
    with pytest.raises((WriteJobError, PySparkException), match="NOT_NULL_ASSERT_VIOLATION"):
        lab.sql(f"UPDATE {t} SET id = IF(v = 0, NULL, id)")
    assert lab.state(t) == before


def test_an_update_finds_columns_by_names_of_any_case_and_sign(lab: Lab) -> None:
    t = lab.create("id int, `a b` string, `c``d` int, st struct<x:int,y:int>, `e.f` date")
    lab.sql(f"INSERT INTO {t} VALUES (1, 'u', 2, named_struct('x', 3, 'y', 4), DATE'2024-02-29')")
    lab.sql(f"UPDATE {t} AS Of SET of.`A B` = upper(`a b`), OF.St.Y = of.`C``D` * 10")
    assert lab.sql(f"SELECT id, `a b`, `c``d`, st.x, st.y, string(`e.f`) FROM {t}") == [
        (1, "U", 2, 3, 20, "2024-02-29")
    ]
    lab.sql(f"UPDATE {t} SET `E.F` = `e.f` + 1, `C``d` = id")
    assert lab.sql(f"SELECT id, `a b`, `c``d`, st.x, st.y, string(`e.f`) FROM {t}") == [
        (1, "U", 1, 3, 20, "2024-03-01")
    ]


@pytest.mark.repeated
def test_rows_of_many_partitions_are_deleted_where_they_are(lab: Lab) -> None:
    t = lab.create("id INT", partitioned="p INT, q STRING")
    lab.sql(
        f"INSERT INTO {t} SELECT CAST(id AS INT), CAST(id % 67 AS INT), "
        "element_at(array('a', 'ä', ' '), CAST(id % 2 + 1 AS INT)) FROM range(700)"
    )
    assert lab.sql(f"DELETE FROM {t} WHERE id % 5 < 2 OR p = 11") == [(286, 286)]
    kept = [id_ for id_ in range(700) if id_ % 5 >= 2 and id_ % 67 != 11]
    assert sorted(id_ for (id_,) in lab.rows(t, "id")) == kept
