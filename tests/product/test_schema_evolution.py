"""WITH SCHEMA EVOLUTION: rows and the columns that they bring are committed together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import acidsql
from acidsql import AcidTable
from tests.product.conditions import condition

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

MERGE = (
    "MERGE WITH SCHEMA EVOLUTION INTO {t} AS t USING ({query}) AS s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET {set} WHEN NOT MATCHED THEN INSERT {insert}"
)


def columns(lab: Lab, table: str) -> list[tuple[str, str]]:
    found = lab.session.metastore.table("default", table).columns
    return [(c.name, c.type.lower()) for c in found]


def merge(lab: Lab, table: str, query: str, set_: str = "*", insert: str = "*") -> None:
    lab.sql(MERGE.format(t=table, query=query, set=set_, insert=insert))


def test_columns_and_rows_of_a_merge_are_one_write(lab: Lab) -> None:
    t = lab.create("id int, v string", partitioned="p int")
    lab.insert(t, "(1, 'a', 1), (2, 'b', 2)")
    before = lab.session.metastore.next_write_id("default", t)
    merge(lab, t, "SELECT 5 AS p, 2 AS id, 'c' AS v, 7 AS N UNION ALL SELECT 6, 3, 'd', 8")
    assert columns(lab, t) == [("id", "int"), ("v", "string"), ("N", "int")]
    assert lab.session.metastore.next_write_id("default", t) == before + 1
    rows = [(1, "a", None, 1), (2, "c", 7, 5), (3, "d", 8, 6)]
    assert lab.rows(t) == rows
    lab.compact(t, "major", "p=5")
    assert lab.rows(t) == rows
    assert lab.state(t).locks == lab.state(t).open_writers == 0


def test_only_assigned_columns_are_added(lab: Lab) -> None:
    t = lab.create("id int, v int", values="(1, 1), (2, 2)")
    query = "SELECT 1 AS id, 10 AS v, 11 AS w, 12 AS x, named_struct('a', 1) AS c"
    merge(lab, t, query, "w = s.w, v = s.x", "(id, t.c) VALUES (s.id, s.c)")
    assert columns(lab, t) == [("id", "int"), ("v", "int"), ("w", "int"), ("c", "struct<a: int>")]
    assert lab.rows(t, "id, v, w") == [(1, 12, 11), (2, 2, None)]
    merge(lab, t, query, "v = 0", "VALUES (9, 9, 9, NULL)")
    assert len(columns(lab, t)) == 4


def test_without_new_columns_a_merge_is_as_without_the_clause(lab: Lab) -> None:
    t = lab.create("id int, v int DEFAULT 5", values="(1, 1)")
    held = lab.session.metastore.table("default", t)
    merge(lab, t, "SELECT 1 AS id UNION ALL SELECT 2")
    assert lab.rows(t) == [(1, 1), (2, 5)]
    assert lab.session.metastore.table("default", t) == held


def test_nested_fields_come_last_in_structs_arrays_and_maps(lab: Lab) -> None:
    t = lab.create(
        "id int, s struct<a: int>, l array<struct<a: int>>, m map<string, struct<a: int>>",
        values="(1, named_struct('a', 1), array(named_struct('a', 1)), "
        "map('k', named_struct('a', 1)))",
    )
    new = "named_struct('a', 2, 'b', 'x')"
    merge(lab, t, f"SELECT 2 AS id, {new} AS s, array({new}) AS l, map('k', {new}) AS m")
    assert columns(lab, t)[1:] == [
        ("s", "struct<a: int, b: string>"),
        ("l", "array<struct<a: int, b: string>>"),
        ("m", "map<string, struct<a: int, b: string>>"),
    ]
    rows = [
        (1, (1, None), [(1, None)], {"k": (1, None)}),
        (2, (2, "x"), [(2, "x")], {"k": (2, "x")}),
    ]
    assert lab.rows(t) == rows
    assert lab.sql(f"SELECT id FROM {t} WHERE s.b IS NULL OR l[0].b = 'y'") == [(1,)]
    arrow = acidsql.read_arrow(f"default.{t}", metastore=lab.session.settings.metastore)
    assert arrow.column("s").to_pylist() == [{"a": 1, "b": None}, {"a": 2, "b": "x"}]
    assert arrow.column("l").to_pylist() == [[{"a": 1, "b": None}], [{"a": 2, "b": "x"}]]
    lab.compact(t, "minor")
    assert lab.rows(t) == rows
    lab.compact(t, "major")
    assert lab.rows(t) == rows


def test_numbers_widen_as_alter_column_does(lab: Lab) -> None:
    t = lab.create("id int, d decimal(5,2)", values="(1, 1.25)")
    merge(lab, t, "SELECT 5000000000 AS id, CAST(1.2345 AS DECIMAL(9,4)) AS d")
    assert columns(lab, t) == [("id", "bigint"), ("d", "decimal(9,4)")]
    assert lab.rows(t, "id, CAST(d AS STRING)") == [(1, "1.2500"), (5000000000, "1.2345")]
    held = lab.session.metastore.table("default", t), lab.state(t)
    text = MERGE.format(t=t, query="SELECT 1 AS id, 1.5D AS d", set="*", insert="*")
    assert condition(lab, text) == "NOT_SUPPORTED_CHANGE_COLUMN"
    text = MERGE.format(t=t, query="SELECT 'x' AS id", set="*", insert="*")
    assert condition(lab, text).startswith("INCOMPATIBLE_DATA_FOR_TABLE")
    text = MERGE.format(t=t, query="SELECT 1L AS id, NULL AS n", set="*", insert="*")
    assert condition(lab, text) == "UNSUPPORTED_DATATYPE"
    assert (lab.session.metastore.table("default", t), lab.state(t)) == held


def test_a_failed_statement_leaves_no_column(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    held = lab.session.metastore.table("default", t)
    query = "SELECT 1 AS id, CAST(x AS INT) AS n FROM VALUES ('no') AS v(x)"
    with lab.settings(spark__sql__ansi__enabled="true"):
        text = MERGE.format(t=t, query=query, set="*", insert="*")
        assert condition(lab, text) == "CAST_INVALID_INPUT"
    assert lab.session.metastore.table("default", t) == held
    assert lab.state(t).locks == lab.state(t).open_writers == 0


def test_insert_adds_columns_by_position_by_name_and_of_its_list(lab: Lab) -> None:
    t = lab.create("id int", partitioned="p int")
    lab.insert(t, "(1, 1)")
    lab.sql(f"INSERT WITH SCHEMA EVOLUTION INTO {t} SELECT 2, 'x' AS v, 1")
    lab.sql(f"INSERT WITH SCHEMA EVOLUTION INTO {t} SELECT 2, 'x' AS v, 1")
    lab.sql(f"DELETE FROM {t} WHERE row__id.writeid = 3")
    assert lab.rows(t) == [(1, None, 1), (2, "x", 1)]
    lab.sql(f"INSERT WITH SCHEMA EVOLUTION INTO {t} BY NAME SELECT 7 AS w, 3 AS id, 2 AS p")
    lab.sql(f"INSERT WITH SCHEMA EVOLUTION INTO {t} (id, z, p) VALUES (4, 'z', 2)")
    lab.sql(
        f"INSERT WITH SCHEMA EVOLUTION INTO {t} PARTITION (p = 3) SELECT 5, 'y', 8, 'z', 9 AS q"
    )
    assert columns(lab, t) == [
        ("id", "int"),
        ("v", "string"),
        ("w", "int"),
        ("z", "string"),
        ("q", "int"),
    ]
    assert lab.rows(t) == [
        (1, None, None, None, None, 1),
        (2, "x", None, None, None, 1),
        (3, None, 7, None, None, 2),
        (4, None, None, "z", None, 2),
        (5, "y", 8, "z", 9, 3),
    ]
    lab.sql(
        f"INSERT WITH SCHEMA EVOLUTION OVERWRITE {t} PARTITION (p = 3) SELECT 6, 'y', 8, 'z', 9L"
    )
    assert columns(lab, t)[-1] == ("q", "bigint")
    assert (6, "y", 8, "z", 9, 3) in lab.rows(t)


def test_a_source_that_reads_the_target_sees_the_old_rows(lab: Lab) -> None:
    t = lab.create("id int, v int", values="(1, 1), (2, 2)")
    lab.sql(f"CREATE VIEW {t}_view AS SELECT id, v * 10 AS n FROM {t} WHERE id = 2")
    merge(lab, t, f"SELECT * FROM {t}_view")
    assert lab.rows(t) == [(1, 1, None), (2, 2, 20)]
    merge(lab, t, f"SELECT *, id + 1 AS k FROM {t} WHERE id = 2", "k = s.k")
    assert lab.rows(t) == [(1, 1, None, None), (2, 2, 20, 3)]
    lab.sql(
        f"INSERT WITH SCHEMA EVOLUTION INTO {t} SELECT a.*, b.id AS m "
        f"FROM {t} a JOIN {t} b USING (id)"
    )
    assert lab.rows(t) == [
        (1, 1, None, None, 1),
        (1, 1, None, None, None),
        (2, 2, 20, 3, 2),
        (2, 2, 20, 3, None),
    ]
    lab.sql(f"DROP VIEW {t}_view")


def test_several_statements_cannot_add_columns(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    lab.sql("START TRANSACTION")
    merge(lab, t, "SELECT 2 AS id")
    text = MERGE.format(t=t, query="SELECT 2 AS id, 1 AS n", set="*", insert="*")
    assert condition(lab, text) == "NOT_ALLOWED_IN_TRANSACTION"
    lab.sql("COMMIT")
    assert lab.rows(t) == [(1,), (2,)]


def test_explain_names_the_columns(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    ((plan,),) = lab.sql(f"EXPLAIN INSERT WITH SCHEMA EVOLUTION INTO {t} SELECT 1, 'x' AS v")
    assert "Columns: v STRING" in plan
    text = MERGE.format(t=t, query="SELECT 2 AS id, 1 AS n", set="*", insert="*")
    ((plan,),) = lab.sql(f"EXPLAIN {text}")
    assert "Columns: n INT" in plan
    assert columns(lab, t) == [("id", "int")]


def test_merge_builders_evolve(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    news = lab.spark.createDataFrame([(1, 5), (2, 6)], "id int, n int")
    merging = AcidTable.forName(lab.spark, t).alias("t").merge(news.alias("s"), "t.id = s.id")
    merging.withSchemaEvolution().whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert lab.rows(t) == [(1, 5), (2, 6)]


def test_a_sink_adds_the_columns_of_its_batches(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    write = acidsql.sink(t, app_id="evolving", merge_schema=True, spark=lab.spark)
    batch = lab.spark.createDataFrame([(2, "x")], "id int, v string")
    write(batch, 0)
    write(batch, 0)
    assert lab.rows(t) == [(1, None), (2, "x")]
    merging = acidsql.sink(
        t, mode="merge", on="id", app_id="merging", merge_schema=True, spark=lab.spark
    )
    merging(lab.spark.createDataFrame([(1, 5)], "id int, n int"), 0)
    assert lab.rows(t) == [(1, None, 5), (2, "x", None)]
