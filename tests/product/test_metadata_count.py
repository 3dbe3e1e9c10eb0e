"""Tests of ``count(*)`` from the tails of files: its conditions and its result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

import acidsql
from acidsql import bridge
from acidsql.planning.name_resolution import acid_table
from acidsql.scan.columns import scan_schema
from tests.limits import set_limits

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


def _count(lab: Lab, text: str) -> tuple[int, bool]:
    """Return the number that a query gives, and whether it runs without a scan."""
    frame = lab.frame(text)
    ((found,),) = frame.collect()
    plan = frame._jdf.queryExecution().executedPlan().toString()
    return found, plan.count("BatchScan") == plan.count("statistics of the files")


def _both(lab: Lab, table: str) -> tuple[int, bool]:
    found, without_scan = _count(lab, f"SELECT count(*) FROM {table}")
    assert found == len(lab.rows(table))
    return found, without_scan


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.parametrize("partitioned", ["", "p INT"])
def test_rows_are_counted_after_every_kind_of_change(lab: Lab, partitioned: str) -> None:
    t = lab.create("id INT, v INT" + ("" if partitioned else ", p INT"), partitioned=partitioned)
    lab.insert(t, "(1, 1, 1), (2, 2, 1), (3, 3, 2), (4, 4, 2)")
    assert _both(lab, t) == (4, True)
    # In a partitioned table rows of two partitions may have the same row ids.
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    assert _both(lab, t) == (3, True)
    lab.sql(f"UPDATE {t} SET v = 9 WHERE id >= 3")
    assert _both(lab, t) == (3, True)
    lab.sql(
        f"MERGE INTO {t} USING (SELECT * FROM VALUES (2), (5) AS s(id)) s ON {t}.id = s.id "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id, 5, 5)"
    )
    assert _both(lab, t) == (3, True)
    if partitioned:
        lab.sql(f"ALTER TABLE {t} DROP PARTITION (p = 5)")
        assert _both(lab, t) == (2, True)
        return
    lab.compact(t, "minor")
    # One file has the rows of three write ids now, each in a stripe without gaps.
    assert _both(lab, t) == (3, True)
    lab.compact(t, "major")
    assert _both(lab, t) == (3, True)
    lab.sql(f"DELETE FROM {t} WHERE id = 5")
    assert _both(lab, t) == (2, True)
    lab.insert(t, "(6, 6, 1), (7, 7, 1), (8, 8, 1)")
    lab.sql(f"DELETE FROM {t} WHERE id = 7")
    lab.compact(t, "major")
    # Only a scan can determine whether the row that an event deletes was there before.
    lab.sql(f"DELETE FROM {t} WHERE id = 8")
    assert _both(lab, t) == (3, False)


@pytest.mark.slow
def test_what_is_asked_decides(lab: Lab) -> None:
    t = lab.create("id INT NOT NULL, v INT", values="(1, NULL), (2, 2), (3, 3)")
    lab.sql(f"DELETE FROM {t} WHERE id = 3")
    for text, expected in {
        f"SELECT count(1) + 1 FROM {t}": (3, True),
        f"SELECT count(id) FROM {t}": (2, True),
        f"SELECT count(v) FROM {t}": (1, False),
        f"SELECT sum(2) FROM {t} AS a": (4, False),
        f"SELECT count(*) FROM {t} WHERE v IS NULL": (1, False),
        f"SELECT count(*) FROM {t} WHERE id IS NOT NULL": (2, True),
        f"SELECT count(row__id) FROM {t}": (2, True),
        f"SELECT count(*) FROM {t}, {t} AS b": (4, False),
        f"SELECT count(*) FROM (SELECT v FROM {t} LIMIT 1)": (1, False),
        f"SELECT count(*) FROM (SELECT DISTINCT v FROM {t})": (2, False),
        f"SELECT (SELECT count(*) FROM {t})": (2, True),
        f"WITH w AS (SELECT * FROM {t}) "
        "SELECT (SELECT count(*) FROM w) + (SELECT max(id) FROM w)": (4, False),
    }.items():
        assert _count(lab, text) == expected, text


def test_a_frame_of_rows_can_be_filtered_by_columns_that_it_does_not_show(lab: Lab) -> None:
    t = lab.create("id INT", values="(1), (2), (3)")
    assert lab.frame(f"SELECT 1 AS one FROM {t}").where("id > 1").count() == 2


@pytest.mark.slow
def test_a_change_may_depend_on_a_count(lab: Lab) -> None:
    t = lab.create("id INT, v INT", values="(1, 0), (2, 0)")
    lab.sql(f"UPDATE {t} SET v = (SELECT count(*) FROM {t}) WHERE id = 2")
    lab.sql(f"DELETE FROM {t} WHERE id < (SELECT count(*) FROM {t})")
    assert lab.rows(t) == [(2, 2)]


def test_changes_of_open_and_aborted_transactions_do_not_count(
    lab: Lab, other: Lab, before_commit: Callable[[Callable[[], object]], None]
) -> None:
    t = lab.create("id INT", values="(1), (2), (3)")
    seen: list[tuple[int, bool]] = []

    def look() -> None:
        seen.append(_both(other, t))
        raise InterruptedError

    before_commit(look)
    with pytest.raises(InterruptedError):
        lab.sql(f"DELETE FROM {t} WHERE id = 2")
    assert seen == [(3, True)]
    assert _both(lab, t) == (3, True)


def test_files_without_row_ids_have_statistics(lab: Lab, tmp_path: Path) -> None:
    lab.spark.range(5).coalesce(1).write.orc(str(tmp_path / "plain"))
    (file,) = (tmp_path / "plain").glob("*.orc")
    t = lab.create("id BIGINT", values="(7)")
    file.rename(tmp_path / "plain" / "000000_0")
    lab.sql(f"LOAD DATA LOCAL INPATH '{tmp_path}/plain/000000_0' INTO TABLE {t}")
    assert _both(lab, t) == (6, True)


def test_many_delete_events_are_not_counted(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    t = lab.create("id INT", values="(1), (2), (3)")
    lab.sql(f"DELETE FROM {t} WHERE id > 1")
    assert _both(lab, t) == (1, True)
    set_limits(monkeypatch, counted_events=1)
    assert _both(lab, t) == (1, False)


def test_a_value_that_nobody_should_need_is_an_error(lab: Lab) -> None:
    t = lab.create("id INT NOT NULL, s STRING, st STRUCT<a: INT>", partitioned="p DATE")
    schema = scan_schema(lab.spark, acid_table(lab.session, (t,)))
    rows = bridge.count_only_rows(lab.spark, 2, schema).frame()
    assert [(f.name, f.dataType, f.nullable) for f in rows.schema] == [
        (f.name, f.dataType, f.nullable) for f in schema
    ]
    assert rows.count() == 2
    for name in rows.columns:
        with pytest.raises(
            (PySparkException, Py4JJavaError), match="only the number of rows is known"
        ):
            rows.select(name).collect()
    acidsql.release(lab.spark)
