"""Tests of ``AcidTable.append`` and ``overwrite``: rows and partitions afterwards."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import acidsql
from acidsql import AcidTable, IdentityGenerator
from acidsql.errors import AcidAnalysisError
from tests.product.conditions import condition_of

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

STEPS = IdentityGenerator(start=-10, step=-3)


def pets(lab: Lab) -> tuple[str, AcidTable]:
    t = lab.create("id int, name string DEFAULT 'new', age int", values="(1, 'Rex', 3)")
    return t, AcidTable.forName(lab.spark, t)


def parts(lab: Lab) -> tuple[str, AcidTable]:
    t = lab.create("v int", partitioned="p int, q string")
    lab.insert(t, "(1, 1, 'a'), (2, 1, 'b'), (3, 2, 'a')")
    return t, AcidTable.forName(lab.spark, t)


def frame(lab: Lab, schema: str, *rows: tuple[Any, ...]) -> DataFrame:
    return lab.spark.createDataFrame(rows, schema)


@pytest.mark.slow
def test_append_matches_columns_by_name_and_fills_in_defaults(lab: Lab) -> None:
    t, table = pets(lab)
    counts = table.append(frame(lab, "age int, id int", (5, 2), (7, 3))).collect()
    assert [tuple(row) for row in counts] == [(2, 2)]
    assert lab.rows(t) == [(1, "Rex", 3), (2, "new", 5), (3, "new", 7)]
    table.append(frame(lab, "ID int, NAME string, AGE int", (4, "Ada", 9)))
    assert lab.rows(t)[-1] == (4, "Ada", 9)


def test_append_by_position_takes_no_heed_of_names(lab: Lab) -> None:
    t, table = pets(lab)
    table.append(frame(lab, "x int, y string, x2 int", (2, "Tom", 5)), by="position")
    same_name = frame(lab, "id int", (3,)).select("id", F.lit("Ada").alias("id"), "id")
    table.append(same_name, by="position")
    assert lab.rows(t) == [(1, "Rex", 3), (2, "Tom", 5), (3, "Ada", 3)]


def test_frames_of_another_session_and_of_the_table_itself(
    lab: Lab, new_lab: Callable[..., Lab]
) -> None:
    t, table = pets(lab)
    table.append(frame(new_lab(), "id int, name string, age int", (2, "Tom", 5)))
    assert lab.rows(t) == [(1, "Rex", 3), (2, "Tom", 5)]
    table.overwrite(table.toDF().where("id = 2").withColumn("id", F.col("id") + 10))
    assert lab.rows(t) == [(12, "Tom", 5)]
    assert [v.name for v in lab.spark.catalog.listTables() if v.isTemporary] == []


@pytest.mark.slow
def test_overwrite_replaces_the_whole_table(lab: Lab) -> None:
    t, table = parts(lab)
    counts = table.overwrite(frame(lab, "q string, v int, p int", ("c", 9, 3))).collect()
    assert [tuple(row) for row in counts] == [(1, 1)]
    assert lab.rows(t) == [(9, 3, "c")]
    table.overwrite(frame(lab, "v int, p int, q string"))
    assert lab.rows(t) == []
    flat, only = pets(lab)
    only.overwrite(frame(lab, "id int, name string, age int"))
    assert lab.rows(flat) == []


@pytest.mark.repeated
def test_overwrite_of_partitions_that_are_named(lab: Lab) -> None:
    t, table = parts(lab)
    table.overwrite(frame(lab, "v int", (10,), (11,)), partitions={"P": 1, "q": "a"})
    assert lab.rows(t) == [(10, 1, "a"), (11, 1, "a"), (2, 1, "b"), (3, 2, "a")]
    table.overwrite(frame(lab, "v int, q string", (20, "c")), {"p": 1})
    assert lab.rows(t) == [(20, 1, "c"), (3, 2, "a")]
    table.overwrite(frame(lab, "v int, p int", (30, 5)), {"q": "a"})
    assert lab.rows(t) == [(20, 1, "c"), (30, 5, "a")]
    table.overwrite(frame(lab, "v int, q string"), {"p": 5})
    assert lab.rows(t) == [(20, 1, "c")]
    table.overwrite(frame(lab, "x int, y string", (40, "d")), {"p": 1}, by="position")
    table.overwrite(frame(lab, "x int, y int", (50, 1)), {"q": "e"}, by="position")
    assert lab.rows(t) == [(40, 1, "d"), (50, 1, "e")]


@pytest.mark.repeated
def test_dynamic_overwrite_replaces_the_partitions_that_get_rows(lab: Lab) -> None:
    t, table = parts(lab)
    news = frame(lab, "v int, p int, q string", (10, 1, "a"), (11, 4, "d"))
    table.overwrite(news, partition_overwrite_mode="dynamic")
    expected = [(10, 1, "a"), (11, 4, "d"), (2, 1, "b"), (3, 2, "a")]
    assert lab.rows(t) == expected
    of_session = frame(lab, "v int, p int, q string", (12, 4, "d"))
    with lab.settings(spark__sql__sources__partitionOverwriteMode="dynamic"):
        table.overwrite(of_session)
        assert lab.rows(t) == [(10, 1, "a"), (12, 4, "d"), (2, 1, "b"), (3, 2, "a")]
        table.overwrite(frame(lab, "v int, q string", (13, "a")), {"p": 1})
        assert lab.rows(t) == [(12, 4, "d"), (13, 1, "a"), (2, 1, "b"), (3, 2, "a")]
        table.overwrite(of_session, partition_overwrite_mode="STATIC")
    assert lab.rows(t) == [(12, 4, "d")]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("string", 'it\'s \\n ${env:HOME} "x" `y`'),
        ("string", "\\"),
        ("string", ""),
        ("char(3)", "abc"),
        ("string", None),
        ("date", date(2024, 2, 29)),
        ("decimal(5,2)", -1.5),
        ("boolean", True),
    ],
)
@pytest.mark.parametrize("escaped", ["false", "true"])
def test_partition_values_arrive_as_they_are(lab: Lab, kind: str, value: Any, escaped: str) -> None:
    t = lab.create("v int", partitioned=f"p {kind}")
    table = AcidTable.forName(lab.spark, t)
    with lab.settings(spark__sql__parser__escapedStringLiterals=escaped):
        table.overwrite(frame(lab, "v int", (1,)), {"p": value})
        table.overwrite(frame(lab, "v int", (2,)), {"p": value})
    assert lab.rows(t) == [(2, None if value == "" else value)]


def test_writes_that_are_refused_change_nothing(lab: Lab) -> None:
    t, table = parts(lab)
    before = lab.state(t)
    good = frame(lab, "v int, p int, q string", (1, 1, "a"))
    analysis: dict[str, Callable[[], Any]] = {
        "NON_PARTITION_COLUMN": lambda: table.overwrite(good, {"v": 1}),
        "STATIC_PARTITION_COLUMN_IN_INSERT_COLUMN_LIST": lambda: table.overwrite(good, {"Q": "a"}),
        "INVALID_PARTITION_OVERWRITE_MODE": lambda: table.overwrite(
            good, partition_overwrite_mode="all"
        ),
        "INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS": lambda: table.append(
            good.withColumn("extra", F.lit(1))
        ),
        "INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS": lambda: table.append(
            good.select("v", "p"), by="position"
        ),
        "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST": lambda: table.append(
            good.withColumn("v", F.array("v"))
        ),
    }
    for expected, write in analysis.items():
        with pytest.raises((AcidAnalysisError, AnalysisException)) as caught:
            write()
        assert condition_of(caught.value) == expected
    wrong: list[Callable[[], Any]] = [
        lambda: table.append("rows"),
        lambda: table.overwrite(None),
        lambda: table.overwrite(good, {}),
        lambda: table.append(good, by="magic"),
    ]
    for write in wrong:
        with pytest.raises(TypeError):
            write()
    assert lab.state(t) == before


def test_insert_only_tables_are_written_too(lab: Lab) -> None:
    t = lab.create("id int", properties={"transactional_properties": "insert_only"}, values="(1)")
    table = AcidTable.forName(lab.spark, t)
    table.append(frame(lab, "id int", (2,)))
    assert lab.rows(t) == [(1,), (2,)]
    table.overwrite(frame(lab, "id int", (3,)))
    assert lab.rows(t) == [(3,)]


@pytest.mark.slow
def test_a_table_is_joined_with_dataframes(lab: Lab) -> None:
    t, _ = pets(lab)
    lab.insert(t, "(2, 'Tom', 5)")
    owners = frame(lab, "id int, owner string", (1, "Ann"), (3, "Bob"))
    rows = acidsql.table(lab.spark, t)
    assert rows.join(owners, "id").collect() == [(1, "Rex", 3, "Ann")]
    joined = owners.join(rows, owners["id"] == rows["id"], "left").select(owners["id"], rows["age"])
    assert sorted(tuple(r) for r in joined.collect()) == [(1, 3), (3, None)]
    twice = rows.alias("a").join(acidsql.table(lab.spark, t).alias("b"), F.expr("a.id < b.id"))
    assert twice.select("a.id", "b.id", "b.row__id.writeid").collect() == [(1, 2, 2)]


def test_identity_columns(lab: Lab) -> None:
    builder = AcidTable.create(lab.spark).tableName("numbers_of_a_builder")
    builder = builder.addColumn("id", "BIGINT", nullable=False, generatedAlwaysAs=STEPS)
    builder = builder.addColumn("name", "STRING", comment="of it")
    table = builder.addColumn("n", "BIGINT", generatedByDefaultAs=IdentityGenerator()).execute()
    table.append(lab.spark.sql("SELECT 'a' AS name"))
    table.append(lab.spark.sql("SELECT 'b' AS name, CAST(7 AS BIGINT) AS n"))
    assert lab.rows("numbers_of_a_builder") == [(-10, "a", 1), (-13, "b", 7)]
    with pytest.raises(PySparkException) as caught:
        table.append(lab.spark.sql("SELECT CAST(7 AS BIGINT) AS id"))
    assert condition_of(caught.value) == "IDENTITY_COLUMN_VALUE"
    lab.sql("DROP TABLE numbers_of_a_builder")


def test_constraints_and_generated_columns(lab: Lab) -> None:
    builder = AcidTable.create(lab.spark).tableName("toys_of_a_builder").addColumn("id", "INT")
    toys = builder.addColumn("twice", "INT", generatedAlwaysAs="id * 2").execute()
    toys.addConstraint("small one", F.col("id") < 5)
    one = lab.spark.sql("SELECT 3 AS id")
    assert toys.append(one).collect() == [(1, 1)]
    with pytest.raises(PySparkException) as caught:
        toys.append(lab.spark.sql("SELECT 7 AS id"))
    assert condition_of(caught.value) == "CHECK_CONSTRAINT_VIOLATION"
    with pytest.raises(PySparkException) as caught:
        toys.addConstraint("none", "id > 3")
    assert condition_of(caught.value) == "NEW_CHECK_CONSTRAINT_VIOLATION"
    toys.dropConstraint("none", if_exists=True)
    with pytest.raises(PySparkException) as caught:
        toys.dropConstraint("none")
    assert condition_of(caught.value) == "CONSTRAINT_DOES_NOT_EXIST"
    toys.dropConstraint("Small One")
    more = lab.spark.sql("SELECT 7 AS id, 'x' AS note")
    with pytest.raises(PySparkException):
        toys.append(more)
    assert toys.append(more, merge_schema=True).collect() == [(1, 1)]
    assert lab.rows("toys_of_a_builder", "id, twice, note") == [(3, 6, None), (7, 14, "x")]
