"""Views of one database are read from another, without a change of the session's current one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.catalog import Catalog

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.fixture
def upstairs(lab: Lab) -> Iterator[str]:
    """Create a database with tables of both kinds, and tables of the same names elsewhere."""
    lab.sql("CREATE DATABASE upstairs")
    for place, value in (("upstairs.", 1), ("", 2)):
        lab.sql(f"CREATE TABLE {place}pets (id INT) {ACID}")
        lab.sql(f"INSERT INTO {place}pets VALUES ({value})")
        lab.sql(f"CREATE TABLE {place}plain USING parquet AS SELECT {value} AS id")
    yield "upstairs"
    lab.sql("DROP TABLE pets")
    lab.sql("DROP TABLE plain")
    lab.sql("DROP DATABASE upstairs CASCADE")


@pytest.mark.slow
def test_names_in_a_view_are_those_of_its_database(
    lab: Lab, upstairs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The current database is that of all threads: another one's DELETE would go astray."""
    lab.sql(f"USE {upstairs}")
    lab.sql("CREATE VIEW both AS SELECT p.id, q.id AS other FROM pets p JOIN plain q USING (id)")
    lab.sql("CREATE VIEW above AS SELECT * FROM both WHERE id IN (SELECT id FROM pets)")
    lab.sql("USE default")

    def set_database(_: Catalog, name: str) -> None:
        raise AssertionError(name)

    monkeypatch.setattr(Catalog, "setCurrentDatabase", set_database)
    assert lab.rows(f"{upstairs}.both") == [(1, 1)]
    assert lab.rows(f"{upstairs}.above") == [(1, 1)]
    assert lab.rows("pets") == [(2,)]


@pytest.mark.slow
def test_persistent_functions_in_a_view_are_those_of_its_database(lab: Lab, upstairs: str) -> None:
    if lab.spark.version < "4":
        pytest.skip("functions in SQL came with Spark 4")
    for place, factor in (("upstairs", 10), ("default", 100)):
        lab.sql(f"CREATE FUNCTION {place}.grow(x INT) RETURNS INT RETURN x * {factor}")
    lab.sql(f"USE {upstairs}")
    lab.sql("CREATE VIEW grown AS SELECT grow(id) + abs(-1) AS n FROM pets WHERE grow(id) > 5")
    lab.sql("USE default")
    assert lab.rows(f"{upstairs}.grown") == [(11,)]
    lab.sql("DROP FUNCTION default.grow")
    lab.sql("DROP FUNCTION upstairs.grow")
