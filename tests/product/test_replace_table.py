"""Tests of CREATE OR REPLACE TABLE and REPLACE TABLE."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

import acidsql
from acidsql.acid_table import AcidTable
from acidsql.errors import (
    AcidAnalysisError,
    TableReplacedError,
    WriteConflictError,
    condition_of,
)
from acidsql.injection_points import Point
from tests.arrow_reader.beside_spark import assert_read_as_by_spark
from tests.injection import once
from tests.product.refusals import refusal

if TYPE_CHECKING:
    from tests.injection import Plan
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

ROWS = "(1, 'a', 10), (2, 'b', 20)"


def columns(lab: Lab, table: str) -> list[tuple[str, str]]:
    return [(f.name, f.dataType.simpleString()) for f in lab.frame(f"SELECT * FROM {table}").schema]


def history(lab: Lab, table: str) -> list[tuple[int, str, int | None]]:
    rows = lab.frame(f"DESCRIBE HISTORY {table}").collect()
    return [(row.writeId, row.operation, row.numInsertedRows) for row in rows]


def test_a_column_is_dropped_and_another_moved_by_a_query_of_the_table_itself(lab: Lab) -> None:
    t = lab.create("id INT, v STRING, n INT", values=ROWS)
    held = lab.frame(f"SELECT * FROM {t}")
    old = lab.root(t)
    assert lab.sql(f"CREATE OR REPLACE TABLE {t} AS SELECT n, id FROM {t}") == [(2, 2)]
    assert columns(lab, t) == [("n", "int"), ("id", "int")]
    assert lab.rows(t, "*, row__id.writeid") == [(10, 1, 2), (20, 2, 2)]
    new = lab.root(t)
    assert new.parent == old.parent
    assert new.name.startswith(f"{old.name}_acidsql_")
    assert lab.directories(t) == ["base_0000002"]
    assert sorted(map(tuple, held.collect())) == [(1, "a", 10), (2, "b", 20)]
    assert old.exists()
    del held
    acidsql.release(lab.spark)
    lab.sql(f"INSERT INTO {t} VALUES (30, 3)")
    assert not old.exists()
    assert sorted(p.name for p in old.parent.iterdir() if p.name.startswith(old.name + "_")) == [
        new.name
    ]
    assert lab.rows(t) == [(10, 1), (20, 2), (30, 3)]
    assert history(lab, t) == [
        (3, "INSERT", 1),
        (2, "CREATE OR REPLACE TABLE AS SELECT", 2),
        (1, "INSERT", 2),
    ]
    lab.sql(f"UPDATE {t} SET n = 11 WHERE id = 1")
    lab.compact(t, "major")
    assert lab.rows(t) == [(11, 1), (20, 2), (30, 3)]


def test_the_cleaner_removes_the_old_directory_when_nobody_reads_it(lab: Lab, other: Lab) -> None:
    t = lab.create("id INT, v STRING, n INT", values=ROWS)
    old, held = lab.root(t), other.frame(f"SELECT * FROM {t}")
    lab.sql(f"CREATE OR REPLACE TABLE {t} AS SELECT n, id FROM {t}")
    acidsql.run_cleaner(lab.spark)
    assert sorted(map(tuple, held.collect())) == [(1, "a", 10), (2, "b", 20)]
    del held
    acidsql.release(other.spark)
    acidsql.run_cleaner(lab.spark)
    assert not old.exists()
    assert lab.rows(t) == [(10, 1), (20, 2)]


def test_the_same_columns_stay_in_their_directory_with_their_old_versions(lab: Lab) -> None:
    t = lab.create("id INT, v STRING, n INT", values=ROWS, properties={"mine": "1"})
    held, place = lab.frame(f"SELECT * FROM {t}"), lab.root(t)
    lab.sql(
        f"CREATE OR REPLACE TABLE {t} TBLPROPERTIES ('other'='2') AS "
        f"SELECT id, upper(v) AS v, n FROM {t} WHERE id = 1"
    )
    assert lab.rows(t) == [(1, "A", 10)]
    assert lab.root(t) == place
    assert lab.directories(t) == ["base_0000002", "delta_0000001_0000001_0000"]
    assert sorted(map(tuple, held.collect())) == [(1, "a", 10), (2, "b", 20)]
    assert lab.rows(f"{t} VERSION AS OF 1") == [(1, "a", 10), (2, "b", 20)]
    properties = dict(lab.sql(f"SHOW TBLPROPERTIES {t}"))
    assert (properties["mine"], properties["other"]) == ("1", "2")
    lab.sql(f"RESTORE TABLE {t} TO VERSION AS OF 1")
    assert lab.rows(t) == [(1, "a", 10), (2, "b", 20)]


def test_a_column_more_at_the_end_stays_in_the_directory_too(lab: Lab) -> None:
    t, place = lab.create("id INT, v STRING, n INT", values=ROWS), None
    place = lab.root(t)
    lab.sql(f"REPLACE TABLE {t} AS SELECT *, id * 2 AS twice FROM {t}")
    assert lab.rows(t) == [(1, "a", 10, 2), (2, "b", 20, 4)]
    assert lab.root(t) == place
    assert sorted(lab.sql(f"SELECT * FROM {t} VERSION AS OF 1")) == [(1, "a", 10), (2, "b", 20)]


def test_versions_from_before_another_layout_are_refused(lab: Lab) -> None:
    t = lab.create("id INT, v STRING, n INT", values=ROWS)
    lab.sql(f"CREATE OR REPLACE TABLE {t} (w DATE) USING acidsql")
    assert lab.rows(t) == []
    assert columns(lab, t) == [("w", "date")]
    for text in (
        f"SELECT * FROM {t} VERSION AS OF 1",
        f"RESTORE TABLE {t} TO VERSION AS OF 1",
        f"SELECT * FROM table_changes('{t}', 1)",
        f"UNDO WRITE 2 OF {t}",
    ):
        assert refusal(lab, text) == "HISTORY_NOT_AVAILABLE"
    assert lab.sql(f"SELECT * FROM {t} VERSION AS OF 2") == []


def test_partitions_and_buckets_change(lab: Lab) -> None:
    t = lab.create("v INT", partitioned="p INT", values="(1, 1), (2, 2)")
    lab.sql(f"CREATE OR REPLACE TABLE {t} PARTITIONED BY (q) AS SELECT v, p * 10 AS q FROM {t}")
    assert lab.rows(t) == [(1, 10), (2, 20)]
    assert lab.sql(f"SHOW PARTITIONS {t}") == [("q=10",), ("q=20",)]
    lab.sql(f"INSERT INTO {t} VALUES (3, 20)")
    lab.sql(f"CREATE OR REPLACE TABLE {t} CLUSTERED BY (v) INTO 2 BUCKETS AS SELECT q, v FROM {t}")
    assert lab.rows(t) == [(10, 1), (20, 2), (20, 3)]
    assert sorted(lab.files(t)) == ["base_0000004/bucket_00000", "base_0000004/bucket_00001"]
    lab.sql(f"DELETE FROM {t} WHERE v = 2")
    assert lab.rows(t) == [(10, 1), (20, 3)]


def test_the_same_partitions_stay_and_are_emptied(lab: Lab) -> None:
    t = lab.create("v INT", partitioned="p INT", values="(1, 1), (2, 2)")
    lab.sql(f"CREATE OR REPLACE TABLE {t} PARTITIONED BY (p) AS SELECT v, p + 1 AS p FROM {t}")
    assert lab.rows(t) == [(1, 2), (2, 3)]
    assert lab.sql(f"SHOW PARTITIONS {t}") == [("p=1",), ("p=2",), ("p=3",)]
    assert lab.rows(f"{t} VERSION AS OF 1") == [(1, 1), (2, 2)]
    lab.sql(f"CREATE OR REPLACE TABLE {t} (v INT) PARTITIONED BY (p INT) USING acidsql")
    assert lab.rows(t) == []


def test_a_failed_query_leaves_the_table_as_it_was(lab: Lab) -> None:
    t = lab.create("id INT, v STRING, n INT", values=ROWS)
    before, beside = lab.state(t), sorted(p.name for p in lab.root(t).parent.iterdir())
    for text in (
        f"CREATE OR REPLACE TABLE {t} AS SELECT n, raise_error('no') AS x FROM {t}",
        f"CREATE OR REPLACE TABLE {t} AS SELECT id, raise_error('no') AS v, n FROM {t}",
        f"CREATE OR REPLACE TABLE {t} AS SELECT nothing FROM {t}",
        f"CREATE OR REPLACE TABLE {t} LOCATION '/elsewhere' AS SELECT 1 AS one",
        f"CREATE OR REPLACE TABLE {t} (id INT, ID INT)",
    ):
        assert refusal(lab, text) is not None
    assert lab.state(t) == before
    assert sorted(p.name for p in lab.root(t).parent.iterdir()) == beside


def test_replace_table_needs_a_table_and_create_or_replace_does_not(lab: Lab) -> None:
    assert refusal(lab, "REPLACE TABLE no_such USING acidsql AS SELECT 1 AS a") == (
        "TABLE_OR_VIEW_NOT_FOUND"
    )
    lab.sql("CREATE OR REPLACE TABLE made_anew USING acidsql AS SELECT 1 AS a")
    lab.sql("REPLACE TABLE made_anew AS SELECT 'x' AS a")
    assert lab.rows("made_anew") == [("x",)]
    text = "CREATE OR REPLACE TABLE made_anew USING delta AS SELECT 1 AS a"
    assert refusal(lab, text) == "TABLE_OR_VIEW_ALREADY_EXISTS"
    lab.sql("CREATE VIEW a_view AS SELECT * FROM made_anew")
    text = "CREATE OR REPLACE TABLE a_view USING acidsql AS SELECT 1 AS a"
    assert refusal(lab, text) == "EXPECT_TABLE_NOT_VIEW"
    lab.sql("DROP VIEW a_view")
    lab.sql("DROP TABLE made_anew")


def test_a_row_that_came_before_the_lock_is_not_lost(lab: Lab, other: Lab) -> None:
    t = lab.create("id INT, v STRING, n INT", values=ROWS)
    with once(Point.BEFORE_LOCKS) as plan:
        plan(lambda: other.sql(f"INSERT INTO {t} VALUES (3, 'c', 30)"))
        lab.sql(f"CREATE OR REPLACE TABLE {t} AS SELECT n, id FROM {t}")
    assert lab.rows(t) == [(10, 1), (20, 2), (30, 3)]


def test_queries_meanwhile_see_the_old_table_or_the_new_one(
    lab: Lab, other: Lab, before_commit: Plan
) -> None:
    t = lab.create("v INT", partitioned="p INT", values="(1, 1), (2, 2)")
    before_commit(lambda: found.append(other.rows(t)))
    found: list[list[tuple[int, ...]]] = []
    lab.sql(f"CREATE OR REPLACE TABLE {t} AS SELECT p, v FROM {t} WHERE p = 1")
    assert found == [[(1, 1), (2, 2)]]
    assert other.rows(t) == [(1, 1)]


def test_an_older_transaction_reads_no_mixture_and_writes_nothing(lab: Lab, other: Lab) -> None:
    t = lab.create("id INT, v STRING, n INT", values=ROWS)

    def run_in_older_transaction(text: str, columns: str) -> None:
        with acidsql.transaction(lab.spark):
            other.sql(f"CREATE OR REPLACE TABLE {t} AS SELECT {columns} FROM {t}")
            lab.sql(text)

    for text, columns in ((f"SELECT * FROM {t}", "n, v"), (f"UPDATE {t} SET n = 0", "v, n")):
        with pytest.raises(TableReplacedError) as caught:
            run_in_older_transaction(text, columns)
        assert condition_of(caught.value) == "TABLE_REPLACED"
    assert lab.rows(t) == [("a", 10), ("b", 20)]


def test_a_statement_that_looked_the_table_up_before_is_planned_again(lab: Lab, other: Lab) -> None:
    t = lab.create("v INT", partitioned="p INT", values="(1, 1), (2, 2)")
    with once(Point.BEFORE_READING) as plan:
        plan(lambda: other.sql(f"CREATE OR REPLACE TABLE {t} AS SELECT v + 5 AS w FROM {t}"))
        assert lab.rows(t) == [(6,), (7,)]


def test_save_as_table_replaces_the_table_if_it_is_told_so(on: Lab) -> None:
    t = on.create("id INT, v STRING, n INT", values=ROWS)
    rows = on.spark.table(t).selectExpr("n", "upper(v) AS v")
    with pytest.raises(AnalysisException):
        rows.withColumn("new", F.lit(1)).write.mode("overwrite").saveAsTable(t)
    writer = rows.write.format("acidsql").mode("overwrite").option("overwriteSchema", "true")
    writer.partitionBy("v").saveAsTable(t)
    assert on.rows(t) == [(10, "A"), (20, "B")]
    assert on.sql(f"SHOW PARTITIONS {t}") == [("v=A",), ("v=B",)]
    with pytest.raises(AcidAnalysisError) as caught:
        writer.option("replaceWhere", "n = 1").saveAsTable(t)
    assert condition_of(caught.value) == "UNSUPPORTED_FEATURE.WRITE_OPTION"


def test_builders_replace_tables(lab: Lab) -> None:
    t = lab.create("id INT, v STRING, n INT", values=ROWS)
    AcidTable.createOrReplace(lab.spark).tableName(t).addColumn("x", "INT").execute()
    assert columns(lab, t) == [("x", "int")]
    AcidTable.replace(lab.spark).tableName(t).addColumn("x", "DATE").execute()
    assert columns(lab, t) == [("x", "date")]
    with pytest.raises(AcidAnalysisError):
        AcidTable.replace(lab.spark).tableName("no_such").addColumn("x", "INT").execute()


def test_drop_table_takes_the_directories_that_were_replaced(lab: Lab) -> None:
    t = lab.create("id INT, v STRING, n INT", values=ROWS)
    held, place = lab.frame(f"SELECT * FROM {t}"), lab.root(t)
    lab.sql(f"CREATE OR REPLACE TABLE {t} AS SELECT n FROM {t}")
    lab.sql(f"CREATE OR REPLACE TABLE {t} AS SELECT n, n AS m FROM {t}")
    lab.sql(f"CREATE OR REPLACE TABLE {t} AS SELECT CAST(n AS STRING) AS n FROM {t}")
    assert place.exists()
    assert held.count() == 2
    lab.sql(f"DROP TABLE {t}")
    assert not [p for p in place.parent.iterdir() if p.name.startswith(place.name)]
    lab.sql(f"CREATE TABLE {t} USING acidsql AS SELECT 1 AS a")
    assert lab.root(t) == place


@pytest.mark.parametrize(
    ("alteration", "expected"),
    [
        ("DROP COLUMN v", [("n", "int"), ("id", "int"), ("p", "int")]),
        ("DROP COLUMNS (V, N)", [("id", "int"), ("p", "int")]),
        ("ALTER COLUMN id FIRST", [("id", "int"), ("n", "int"), ("v", "string"), ("p", "int")]),
        ("ALTER COLUMN n AFTER id", [("v", "string"), ("id", "int"), ("n", "int"), ("p", "int")]),
        ("REPLACE COLUMNS (n INT, v STRING)", [("n", "int"), ("v", "string"), ("p", "int")]),
    ],
)
@pytest.mark.sample(2)
def test_what_alter_table_refuses_tells_the_statement_that_does_it(
    lab: Lab, alteration: str, expected: list[tuple[str, str]]
) -> None:
    t = lab.create("n INT, v STRING, id INT", partitioned="p INT", values="(10, 'a', 1, 5)")
    with pytest.raises(AcidAnalysisError) as caught:
        lab.sql(f"ALTER TABLE {t} {alteration}")
    text = str(caught.value).partition("rewrite the rows: ")[2].partition(" SQLSTATE")[0]
    lab.sql(text)
    assert columns(lab, t) == expected
    assert len(lab.rows(t)) == 1
    assert lab.sql(f"SHOW PARTITIONS {t}") == [("p=5",)]


def test_a_drop_that_waited_for_a_replacement_deletes_the_new_directory(
    lab: Lab, other: Lab
) -> None:
    t = lab.create("id INT, v STRING, n INT", values=ROWS)
    place = lab.root(t)
    with once(Point.BEFORE_LOCKS) as plan:
        plan(lambda: other.sql(f"CREATE OR REPLACE TABLE {t} AS SELECT n FROM {t}"))
        lab.sql(f"DROP TABLE {t}")
    assert not [p for p in place.parent.iterdir() if p.name.startswith(f"{place.name}_acidsql")]
    assert not place.exists()


def test_a_serializable_statement_conflicts_with_the_replacement_of_what_it_read(
    lab: Lab, other: Lab, before_commit: Plan
) -> None:
    t, source = lab.create("id INT"), lab.create("id INT, v STRING, n INT", values=ROWS)
    before_commit(lambda: other.sql(f"CREATE OR REPLACE TABLE {source} AS SELECT 9 AS id"))
    with (
        lab.settings(spark__acidsql__isolation="serializable", spark__acidsql__retries="0"),
        pytest.raises(WriteConflictError),
    ):
        lab.sql(f"INSERT INTO {t} SELECT max(id) FROM {source}")
    assert lab.rows(t) == []


def test_an_update_that_began_before_loses_and_runs_again_on_the_new_table(
    lab: Lab, other: Lab
) -> None:
    t = lab.create("id INT, v STRING, n INT", values=ROWS)
    with once(Point.BEFORE_LOCKS) as plan:
        plan(lambda: other.sql(f"CREATE OR REPLACE TABLE {t} AS SELECT n, id FROM {t}"))
        lab.sql(f"UPDATE {t} SET n = 0 WHERE id = 2")
    assert lab.rows(t) == [(0, 2), (10, 1)]


@pytest.mark.slow
def test_tables_that_were_replaced_have_nothing_wrong(lab: Lab) -> None:
    t = lab.create("v INT", partitioned="p INT", values="(1, 1), (2, 2)")
    lab.sql(f"UPDATE {t} SET v = 5 WHERE p = 1")
    lab.sql(f"CREATE OR REPLACE TABLE {t} AS SELECT p, v FROM {t}")
    lab.sql(f"DELETE FROM {t} WHERE p = 1")
    lab.sql(f"CREATE OR REPLACE TABLE {t} PARTITIONED BY (v) AS SELECT p, v FROM {t}")
    lab.sql(f"INSERT INTO {t} VALUES (7, 7)")
    assert lab.sql(f"CHECK TABLE {t}") == []
    lab.compact(t, "major", "v = 7")
    lab.sql(f"VACUUM {t}")
    assert lab.sql(f"CHECK TABLE {t}") == []
    assert lab.rows(t) == [(2, 2), (7, 7)]
    assert_read_as_by_spark(lab.spark, t)
    lab.sql(f"CREATE OR REPLACE TABLE {t} (w DATE)")
    assert lab.sql(f"CHECK TABLE {t}") == []


@pytest.mark.repeated
def test_readers_see_whole_tables_while_these_are_replaced(
    lab: Lab, new_lab: Callable[..., Lab]
) -> None:
    """Each version has a column of its own name, whose values are the number of the version."""
    t = lab.create("c0 INT", values="(0), (0)")
    others = [new_lab() for _ in range(2)]
    done = threading.Event()

    def read(reader: Lab) -> int:
        number = 0
        while not done.is_set():
            frame = reader.frame(f"SELECT * FROM {t}")
            name = next(column for column in frame.columns if column != "p")
            assert [row[name] for row in frame.collect()] == [int(name[1:])] * 2
            number += 1
        return number

    with ThreadPoolExecutor() as pool:
        reading = [pool.submit(read, reader) for reader in others]
        try:
            for number in range(1, 13):
                layout = ("", "PARTITIONED BY (p)")[number % 2]
                more = ("", ", id % 2 AS p")[number % 2]
                lab.sql(
                    f"CREATE OR REPLACE TABLE {t} {layout} AS "
                    f"SELECT {number} AS c{number}{more} FROM range(2)"
                )
        finally:
            done.set()
        assert min(one.result() for one in reading) > 3
