"""Values that are not deterministic: each is computed once for a row, and what is written stays."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

from acidsql import AcidTable
from acidsql.errors import AcidAnalysisError
from tests.limits import set_limits
from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", autouse=True)
def functions(spark: SparkSession) -> Iterator[None]:
    """Register a function of Python that gives a new text each time."""

    def drawn(_: int) -> str:
        return str(uuid.uuid4())

    spark.udf.register("drawn", F.udf(drawn, "string").asNondeterministic())
    yield
    spark.sql("DROP TEMPORARY FUNCTION drawn")


@pytest.fixture(
    params=[
        pytest.param({}, id="by the driver"),
        # The driver gives up, and a job computes all values again and shuffles them.
        pytest.param({"driver_rows": 5, "one_task_bytes": 0}, id="by a job, after the driver"),
    ]
)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Choose a way of writing; return a CLUSTERED BY clause for the table."""
    set_limits(monkeypatch, **request.param)
    return "(v) INTO 3 BUCKETS" if request.param else ""


def _read_twice(lab: Lab, table: str, columns: str = "id, v, p") -> list[tuple[Any, ...]]:
    rows = lab.rows(table, columns)
    assert lab.rows(table, columns) == rows
    return sorted(rows)


@pytest.mark.slow
@pytest.mark.sample(1)
def test_update_and_merge_write_what_they_count(lab: Lab, way: str) -> None:
    t = lab.create("id INT, v STRING", partitioned="p INT", clustered=way)
    lab.sql(f"INSERT INTO {t} SELECT id, concat('old', id), id % 2 FROM range(0, 40, 1, 3)")

    some = f"UPDATE {t} SET v = uuid(), p = CAST(3 + 3 * rand() AS INT) WHERE id < 30"
    assert lab.sql(some) == [(30, 30)]
    rows = _read_twice(lab, t)
    assert [i for i, _, _ in rows] == list(range(40))
    assert len({v for _, v, _ in rows}) == 40
    assert {p for _, _, p in rows[:30]} <= {3, 4, 5}
    assert rows[30:] == [(i, f"old{i}", i % 2) for i in range(30, 40)]

    merged = lab.sql(
        f"MERGE INTO {t} t USING (SELECT id, uuid() AS u FROM range(20, 50, 1, 3)) s "
        "ON t.id = s.id "
        "WHEN MATCHED AND t.id < 30 THEN UPDATE SET v = u, p = CAST(6 + 3 * rand() AS INT) "
        "WHEN MATCHED THEN UPDATE SET v = drawn(s.id) "
        "WHEN NOT MATCHED THEN INSERT VALUES (s.id, drawn(s.id), CAST(6 + 3 * rand() AS INT)) "
        "WHEN NOT MATCHED BY SOURCE AND t.id < 5 THEN UPDATE SET v = concat('new', uuid())"
    )
    assert merged == [(35, 25, 0, 10)]
    before, rows = rows, _read_twice(lab, t)
    assert [i for i, _, _ in rows] == list(range(50))
    assert len({v for _, v, _ in rows} | {v for _, v, _ in before}) == 40 + 35
    assert [r for r in rows if r in before] == before[5:20]
    assert {p for _, _, p in rows[20:30] + rows[40:]} <= {6, 7, 8}
    ((ids,),) = lab.sql(f"SELECT count(DISTINCT p, row__id) FROM {t}")
    assert ids == 50


# A new text in each call, with no seed: twice in a struct, and as key and value of a map.
_TWICE = "transform(array(reflect('java.util.UUID', 'randomUUID')), x -> struct(x AS a, x AS b))"


@pytest.mark.slow
def test_a_value_of_several_parts_is_computed_once(lab: Lab) -> None:
    """Check that both parts are of one call, although Spark casts each of them by itself."""
    pair, entry = f"{_TWICE}[0]", f"map_from_entries({_TWICE})"
    t = lab.create("id INT, s STRUCT<a:VARCHAR(50),b:VARCHAR(50)>, m MAP<VARCHAR(50),VARCHAR(50)>")
    lab.sql(f"INSERT INTO {t} SELECT id, NULL, NULL FROM range(3)")
    columns = "id, s.a, s.b, map_keys(m)[0], map_values(m)[0]"
    lab.sql(f"UPDATE {t} SET s = {pair}, m = {entry} WHERE id < 2")
    updated = _read_twice(lab, t, columns)
    lab.sql(
        f"MERGE INTO {t} t USING (SELECT id FROM range(2, 4)) s ON t.id = s.id "
        f"WHEN MATCHED THEN UPDATE SET s = {pair}, m = {entry} "
        f"WHEN NOT MATCHED THEN INSERT VALUES (s.id, {pair}, {entry})"
    )
    merged = _read_twice(lab, t, columns)
    assert merged[:2] == updated[:2]
    assert all(a == b and key == value for _, a, b, key, value in merged)
    assert len({row[1] for row in merged} | {row[3] for row in merged}) == 8


def test_the_current_time_stays_that_of_the_statement(lab: Lab) -> None:
    t = lab.create("id INT, v STRING, at TIMESTAMP", values="(1, '', NULL), (2, '', NULL)")
    now = "concat(substr(uuid(), 1, 1), current_timestamp())"
    lab.sql(f"UPDATE {t} SET v = {now}, at = current_timestamp()")
    lab.sql(
        f"MERGE INTO {t} t USING (SELECT id FROM range(2, 4)) s ON t.id = s.id "
        f"WHEN MATCHED THEN UPDATE SET v = {now}, at = current_timestamp() "
        f"WHEN NOT MATCHED THEN INSERT VALUES (s.id, {now}, now())"
    )
    rows = lab.sql(f"SELECT at, count(*), bool_and(substr(v, 2) = at) FROM {t} GROUP BY at")
    assert sorted(row[1:] for row in rows) == [(1, True), (2, True)]


def test_fields_and_numbers(lab: Lab) -> None:
    t = lab.create("id INT, s STRUCT<a:INT,b:INT>, n BIGINT, l ARRAY<INT>")
    lab.sql(f"INSERT INTO {t} SELECT id, struct(1, 2), 0, array(1, 2, 3) FROM range(0, 4, 1, 1)")
    lab.sql(
        f"UPDATE {t} SET s.b = CAST(10 + rand() AS INT), l = shuffle(l), "
        "n = monotonically_increasing_id() WHERE id % 2 = 1"
    )
    rows = lab.rows(t, "id, s.a, s.b, array_sort(l)")
    assert rows == [(i, 1, 10 if i % 2 else 2, [1, 2, 3]) for i in range(4)]
    ((one,), (other,)) = lab.sql(f"SELECT n FROM {t} WHERE id % 2 = 1")
    assert one != other


@pytest.mark.slow
@pytest.mark.sample("drawn(id)-1")
@pytest.mark.parametrize(
    ("value", "kept"), [("concat(v, 'x')", 0), ("uuid()", 0), ("drawn(id)", 1)]
)
def test_rows_are_kept_before_a_shuffle_if_a_task_could_compute_others(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, value: str, kept: int
) -> None:
    set_limits(monkeypatch, driver_rows=1, one_task_bytes=0)
    t = lab.create("id INT, v STRING", partitioned="p INT", values="(1, 'a', 1), (2, 'b', 2)")
    stored = lab.spark.sparkContext._jsc.getPersistentRDDs
    before = set(stored())
    assert lab.sql(f"UPDATE {t} SET v = {value}") == [(2, 2)]
    assert len(set(stored()) - before) == kept
    assert len(_read_twice(lab, t)) == 2


def test_columns_of_pyspark(lab: Lab) -> None:
    t = lab.create("id INT, v DOUBLE", values="(1, 5), (2, 5), (3, 5)")
    table = AcidTable.forName(lab.spark, t)
    table.update("id < 3", {"v": F.rand()})
    table.merge(lab.spark.range(3, 5).toDF("k"), "id = k").whenMatchedUpdate(
        set={"v": F.randn() + 100}
    ).whenNotMatchedInsert(values={"id": "k", "v": F.lit(200) + F.rand()}).execute()
    values = [v for _, v, _ in _read_twice(lab, t, "id, v, 0")]
    assert [v // 50 for v in values] in ([0, 0, 1, 4], [0, 0, 2, 4])
    assert len(set(values)) == 4
    before = lab.state(t)
    for window in (Window.orderBy("id"), Window.orderBy("id").rowsBetween(0, 1)):
        with pytest.raises(AcidAnalysisError) as caught:
            table.update(set={"v": F.sum("id").over(window)})
        assert caught.value.getCondition() == "UNSUPPORTED_EXPR_FOR_OPERATOR"
        with pytest.raises(AcidAnalysisError) as caught:
            table.delete(F.sum("id").over(window) > 1)
        assert caught.value.getCondition() == "WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE"
    assert lab.state(t) == before


def test_a_default_beside_them(lab: Lab) -> None:
    t = lab.create("id INT, v STRING DEFAULT 'none'", values="(1, 'x')")
    lab.sql(f"UPDATE {t} SET v = DEFAULT, id = CAST(5 + rand() AS INT)")
    assert lab.rows(t) == [(5, "none")]
