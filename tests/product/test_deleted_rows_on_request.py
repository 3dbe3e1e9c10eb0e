"""Tests of deleted rows on request: ``acid.fetch.deleted.rows`` and ``row__is__deleted``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import acidsql
from acidsql.errors import AcidAnalysisError

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


def _history(lab: Lab, partitioned: str = "") -> str:
    """Make a table with five write ids: two inserts, an update, a delete, an aborted delete."""
    name = lab.create("id INT, v STRING", partitioned=partitioned)
    place = ", 7" if partitioned else ""
    lab.insert(name, ", ".join(f"({i}, 'a'{place})" for i in range(4)))
    lab.insert(name, f"(4, 'b'{place}), (5, 'b'{', 8' if partitioned else ''})")
    lab.sql(f"UPDATE {name} SET v = 'c' WHERE id = 1")
    lab.sql(f"DELETE FROM {name} WHERE id IN (2, 5)")
    with acidsql.transaction(lab.spark) as transaction:
        lab.sql(f"DELETE FROM {name} WHERE id = 3")
        transaction.rollback()
    return name


def _shown(lab: Lab, table: str, condition: str = "true") -> list[tuple[object, ...]]:
    rows = acidsql.table(lab.spark, table, deleted_rows=True).where(condition)
    return sorted(map(tuple, rows.select("id", "row__is__deleted", "row__id.writeid").collect()))


# id, whether the row was deleted, and the write id that inserted it, or deleted it
_ALL = [
    (0, False, 1),
    (1, False, 3),
    (1, True, 3),
    (2, True, 4),
    (3, False, 1),
    (4, False, 2),
    (5, True, 4),
]


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.parametrize("partitioned", ["p INT", ""])
def test_deleted_rows_have_the_write_id_that_deleted_them(lab: Lab, partitioned: str) -> None:
    table = _history(lab, partitioned)
    assert _shown(lab, table) == _ALL
    assert _shown(lab, table, "row__is__deleted AND id > 1") == [(2, True, 4), (5, True, 4)]
    live = [(0, False, 1), (3, False, 1)]
    assert _shown(lab, table, "v = 'a' AND NOT row__is__deleted") == live
    frame = acidsql.table(lab.spark, table, deleted_rows=True)
    assert "row__is__deleted" not in frame.columns
    # The tails of the files show how many rows are left, which is not the question.
    assert frame.count() == 7
    if partitioned:
        assert frame.where("p = 8").count() == 1
        assert [r.p for r in frame.select("p").distinct().orderBy("p").collect()] == [7, 8]


def test_without_the_request_no_row_is_deleted(lab: Lab) -> None:
    table = _history(lab)
    found = lab.rows(table, "id, row__is__deleted")
    assert found == [(0, False), (1, False), (3, False), (4, False)]
    assert lab.sql(f"SELECT count(*) FROM {table} WHERE row__is__deleted") == [(0,)]


@pytest.mark.slow
def test_the_table_property_asks_for_queries_and_other_tables(lab: Lab) -> None:
    table = _history(lab)
    lab.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('acid.fetch.deleted.rows'='TRUE')")
    assert lab.sql(f"SELECT count(*) FROM {table}") == [(7,)]
    lab.sql(
        f"CREATE TABLE {table}_copy STORED AS ORC TBLPROPERTIES ('transactional'='true') AS "
        f"SELECT id, row__is__deleted AS gone FROM {table}"
    )
    assert lab.sql(f"SELECT count_if(gone), count(*) FROM {table}_copy") == [(3, 7)]
    # A statement that changes the table sees only its rows.
    assert lab.sql(f"UPDATE {table} SET v = 'd' WHERE id < 3") == [(2, 2)]
    assert lab.sql(f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table})") == [(4, 4)]
    lab.sql(f"ALTER TABLE {table} UNSET TBLPROPERTIES ('acid.fetch.deleted.rows')")
    assert lab.rows(table) == []


@pytest.mark.slow
def test_a_query_asks_for_each_reference(lab: Lab) -> None:
    if lab.spark.version < "4":
        pytest.skip("Spark 3.5 has no options of a reference")
    table = _history(lab)
    asked = f"{table} WITH ('acid.fetch.deleted.rows' = 'true')"
    assert lab.sql(f"SELECT count(*) FROM {asked}") == [(7,)]
    both = lab.sql(
        f"SELECT g.id, g.v, l.v FROM {asked} g JOIN {table} l ON g.id = l.id AND g.row__is__deleted"
    )
    assert both == [(1, "a", "c")]
    in_hive = f"SELECT g.ROW__IS__DELETED, g.id FROM {table}('acid.fetch.deleted.rows'='true') g"
    found = acidsql.sql(lab.spark, f"{in_hive} WHERE g.id = 2", dialect="hive").collect()
    assert [tuple(row) for row in found] == [(True, 2)]
    lab.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('acid.fetch.deleted.rows'='true')")
    unasked = f"{table} WITH ('acid.fetch.deleted.rows' = 'false')"
    assert lab.sql(f"SELECT count(*) FROM {unasked}") == [(4,)]
    lab.sql(f"CREATE VIEW {table}_live AS SELECT * FROM {unasked}")
    assert lab.sql(f"SELECT count(*) FROM {table}_live") == [(4,)]
    with pytest.raises(AcidAnalysisError) as caught:
        lab.sql(f"SELECT * FROM {table}_live WITH ('acid.fetch.deleted.rows' = 'true')")
    assert caught.value.getCondition() == "UNSUPPORTED_FEATURE.DELETED_ROWS"


def test_what_a_compaction_has_merged_is_gone(lab: Lab) -> None:
    table = _history(lab)
    lab.compact(table, "minor")
    assert _shown(lab, table) == _ALL
    lab.compact(table, "major")
    assert _shown(lab, table) == [(0, False, 1), (1, False, 3), (3, False, 1), (4, False, 2)]


def test_an_older_snapshot_has_its_own_deleted_rows(lab: Lab) -> None:
    table = _history(lab)
    seen = f"default.{table}:3:9223372036854775807::"
    rows = acidsql.table(lab.spark, table, valid_write_ids=seen, deleted_rows=True)
    assert sorted(r.id for r in rows.where("row__is__deleted").collect()) == [1]
    assert rows.count() == 7


def test_a_row_that_a_transaction_has_deleted_is_shown_in_it(lab: Lab) -> None:
    table = _history(lab)
    with acidsql.transaction(lab.spark):
        lab.sql(f"DELETE FROM {table} WHERE id = 4")
        assert (4, True, 6) in _shown(lab, table)


def test_files_without_row_ids(lab: Lab, tmp_path: Path) -> None:
    table = lab.create("id INT, v STRING")
    lab.spark.sql("SELECT 1 AS id, 'a' AS v UNION ALL SELECT 2, 'b'").coalesce(1).write.orc(
        f"{tmp_path}/files"
    )
    lab.sql(f"LOAD DATA INPATH '{tmp_path}/files' INTO TABLE {table}")
    lab.sql(f"DELETE FROM {table} WHERE id = 2")
    assert _shown(lab, table) == [(1, False, 1), (2, True, 2)]


def test_explain_tells_how_they_are_found(lab: Lab) -> None:
    table = _history(lab)
    lab.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('acid.fetch.deleted.rows'='true')")
    ((plan,),) = lab.sql(f"EXPLAIN SELECT id FROM {table}")
    assert "Delete events: 3 in 2 files, whose rows are shown" in plan


def test_what_has_no_row_ids_cannot_show_them(lab: Lab) -> None:
    only = lab.create("id INT", properties={"transactional_properties": "insert_only"})
    with pytest.raises(AcidAnalysisError) as caught:
        acidsql.table(lab.spark, only, deleted_rows=True)
    assert caught.value.getCondition() == "UNSUPPORTED_FEATURE.DELETED_ROWS"
    with pytest.raises(AcidAnalysisError) as caught:
        lab.create("row__is__deleted BOOLEAN")
    assert caught.value.getCondition() == "RESERVED_COLUMN_NAME"
