"""CACHE TABLE of ACID tables and views: queries use what is cached, and read what is current."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.product.conditions import condition

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


def uses_cache(lab: Lab, query: str) -> bool:
    plan = lab.frame(query)._jdf.queryExecution().executedPlan().toString()
    return "InMemoryTableScan" in str(plan)


@pytest.mark.parametrize("partitioned", ["", "p INT"])
def test_queries_use_what_is_cached_and_read_what_is_current(lab: Lab, partitioned: str) -> None:
    t = lab.create("id INT, v STRING", partitioned=partitioned)
    part = ", 1" if partitioned else ""
    lab.insert(t, f"(1, 'a'{part}), (2, 'b'{part})")
    query = f"SELECT v FROM {t} WHERE id > 1" + (" AND p = 1" if partitioned else "")
    assert not uses_cache(lab, query)
    assert lab.sql(f"CACHE TABLE {t}") == []
    assert uses_cache(lab, query)
    assert uses_cache(lab, f"SELECT a.v FROM {t} a JOIN {t} b ON a.id = b.id")
    assert lab.sql(query) == [("b",)]
    assert lab.sql(f"SELECT count(*) FROM {t} a JOIN {t} b ON a.id = b.id") == [(2,)]
    lab.sql(f"UPDATE {t} SET v = 'x' WHERE id = 2")
    assert uses_cache(lab, query)
    assert lab.sql(query) == [("x",)]
    assert lab.sql(f"SELECT row__id.writeid, id FROM {t} ORDER BY id") == [(1, 1), (2, 2)]
    assert lab.sql(f"SELECT v FROM {t} VERSION AS OF 1 WHERE id = 2") == [("b",)]
    lab.compact(t, "major")
    assert lab.sql(query) == [("x",)]
    assert lab.sql(f"UNCACHE TABLE {t}") == []
    assert not uses_cache(lab, query)
    assert lab.sql(query) == [("x",)]
    lab.sql(f"UNCACHE TABLE {t}")


def test_what_others_write_is_read(lab: Lab, new_lab: Callable[..., Lab]) -> None:
    t = lab.create("id INT", values="(1)")
    lab.sql(f"CACHE LAZY TABLE {t} OPTIONS ('storageLevel' = 'MEMORY_ONLY')")
    assert lab.rows(t) == [(1,)]
    new_lab().sql(f"INSERT INTO {t} VALUES (2)")
    assert sorted(lab.rows(t)) == [(1,), (2,)]
    lab.sql(f"DROP TABLE {t}")
    lab.sql(f"CREATE TABLE {t} (id INT) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')")
    lab.sql(f"INSERT INTO {t} VALUES (3)")
    assert lab.rows(t) == [(3,)]
    lab.sql("CLEAR CACHE")
    assert not uses_cache(lab, f"SELECT * FROM {t}")


def test_views(lab: Lab) -> None:
    t = lab.create("id INT, v STRING", values="(1, 'a'), (2, 'b')")
    lab.sql(f"CREATE VIEW lasting AS SELECT upper(v) AS u FROM {t}")
    lab.sql(f"CACHE TABLE made AS SELECT id + 1 AS n FROM {t}")
    lab.sql("CACHE TABLE lasting")
    for query, rows in (
        ("SELECT n FROM made ORDER BY n", [(2,), (3,)]),
        ("SELECT u FROM lasting ORDER BY u", [("A",), ("B",)]),
    ):
        assert uses_cache(lab, query)
        assert lab.sql(query) == rows
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    assert lab.sql("SELECT n FROM made") == [(3,)]
    assert lab.sql("SELECT u FROM lasting") == [("B",)]
    assert condition(lab, f"CACHE TABLE made AS SELECT * FROM {t}") == (
        "TEMP_TABLE_OR_VIEW_ALREADY_EXISTS"
    )
    lab.sql("DROP VIEW lasting")
    lab.sql("UNCACHE TABLE IF EXISTS lasting")
    lab.sql("UNCACHE TABLE made")
    lab.sql("DROP VIEW made")


def test_a_transaction_reads_what_it_has_written(lab: Lab) -> None:
    t = lab.create("id INT", values="(1)")
    lab.sql(f"CACHE TABLE {t}")
    lab.sql("START TRANSACTION")
    lab.sql(f"INSERT INTO {t} VALUES (2)")
    assert sorted(lab.rows(t)) == [(1,), (2,)]
    lab.sql("ROLLBACK")
    assert lab.rows(t) == [(1,)]
    lab.sql(f"UNCACHE TABLE {t}")


def test_what_is_refused(lab: Lab) -> None:
    t = lab.create("id INT", values="(1)")
    bad = f"CACHE TABLE {t} OPTIONS ('storageLevel' = 'NOWHERE')"
    assert condition(lab, bad) == "INVALID_PARAMETER_VALUE"
    assert condition(lab, "UNCACHE TABLE nowhere") == "TABLE_OR_VIEW_NOT_FOUND"
    assert lab.sql("UNCACHE TABLE IF EXISTS nowhere") == []
