"""Global temporary views over ACID tables: all sessions of the application see them, and what they
show is current.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException

from tests.product.conditions import condition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


@pytest.fixture
def table(lab: Lab) -> Iterator[str]:
    """Make a table, and a global view of its rows above 1."""
    name = lab.create("id INT, v STRING", values="(1, 'a'), (2, 'b')")
    lab.sql(f"CREATE GLOBAL TEMPORARY VIEW big AS SELECT id AS n, v FROM {name} WHERE id > 1")
    yield name
    lab.spark.catalog.dropGlobalTempView("big")


def test_all_sessions_see_what_is_there_now(
    lab: Lab, new_lab: Callable[..., Lab], table: str
) -> None:
    other = new_lab()
    assert lab.sql("SELECT * FROM global_temp.big") == [(2, "b")]
    lab.sql(f"INSERT INTO {table} VALUES (3, 'c')")
    for own in (lab, other):
        assert own.sql("SELECT global_temp.big.n FROM global_temp.BIG ORDER BY n") == [(2,), (3,)]
    lab.sql(
        f"MERGE INTO {table} USING global_temp.big AS s ON {table}.id = s.n "
        "WHEN MATCHED THEN DELETE"
    )
    assert lab.rows(table) == [(1, "a")]


def test_views_over_views(lab: Lab, table: str) -> None:
    lab.sql("CREATE TEMPORARY VIEW own AS SELECT n FROM global_temp.big")
    lab.sql("CREATE GLOBAL TEMPORARY VIEW next AS SELECT n + 1 AS m FROM global_temp.big")
    lab.sql(f"UPDATE {table} SET id = 7 WHERE id = 2")
    assert lab.sql("SELECT * FROM own") == [(7,)]
    assert lab.sql("SELECT * FROM global_temp.next") == [(8,)]
    refused = {
        "CREATE GLOBAL TEMPORARY VIEW late AS SELECT * FROM own": "INVALID_TEMP_OBJ_REFERENCE",
        f"CREATE GLOBAL TEMPORARY VIEW big AS SELECT * FROM {table}": (
            "TEMP_TABLE_OR_VIEW_ALREADY_EXISTS"
        ),
        "CREATE OR REPLACE GLOBAL TEMPORARY VIEW big AS SELECT * FROM global_temp.big": (
            "RECURSIVE_VIEW"
        ),
        "CREATE VIEW stays AS SELECT * FROM global_temp.big": "INVALID_TEMP_OBJ_REFERENCE",
    }
    for text, expected in refused.items():
        assert condition(lab, text) == expected, text
    lab.sql(f"CREATE OR REPLACE GLOBAL TEMPORARY VIEW big AS SELECT v AS n FROM {table}")
    assert lab.sql("SELECT n FROM global_temp.big ORDER BY n") == [("a",), ("b",)]
    lab.sql("DROP VIEW global_temp.next")
    with pytest.raises(AnalysisException):
        lab.sql("SELECT * FROM global_temp.next")
    lab.sql("DROP VIEW own")
