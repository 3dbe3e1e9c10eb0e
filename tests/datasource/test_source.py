"""Tests of the data source as Spark's processes use it, without a JVM."""

from __future__ import annotations

import pickle
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.cloudpickle import dumps
from pyspark.sql.types import (
    ArrayType,
    DateType,
    DecimalType,
    IntegerType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

pytest.importorskip("pyspark.sql.datasource")

from pyspark.sql.worker.plan_data_source_read import records_to_arrow_batches

from acidsql.datasource import AcidDataSource
from acidsql.datasource.filters import KEEPS_PLANS
from acidsql.datasource.options import QUERY, Defaults
from acidsql.datasource.source import FilteringReader
from acidsql.errors import AcidAnalysisError
from acidsql.syntax.constraints import Constraint, ConstraintKind
from tests.streaming.conftest import Shelf

_COLUMNS = (
    "id int; c char(3); n decimal(7,2); at timestamp; m map<string,array<timestamp>>; "
    "s struct<`a b`:int,d:date>"
)
_SCHEMA = StructType(
    [
        StructField("id", IntegerType()),
        StructField("c", StringType()),
        StructField("n", DecimalType(7, 2)),
        StructField("at", TimestampType()),
        StructField("m", MapType(StringType(), ArrayType(TimestampType()))),
        StructField(
            "s", StructType([StructField("a b", IntegerType()), StructField("d", DateType())])
        ),
        StructField("p", StringType()),
    ]
)


ONE_QUERY = {QUERY: "rows"}


def registered(shelf: Shelf) -> type[Any]:
    """Return the class as ``register`` makes it, after its way to another process."""
    defaults = Defaults(metastore=str(shelf.path), time_zone="Europe/Berlin", synchronous=False)
    made = type("AcidDataSource", (AcidDataSource,), {"defaults": defaults})
    sent: type[Any] = pickle.loads(dumps(made))
    assert sent.defaults == defaults
    return sent


def rows_of(source: Any, schema: StructType, filters: tuple[Any, ...] = ()) -> list[dict[str, Any]]:
    """Return the rows as Spark's processes return them, which check the types of all columns."""
    reader = source.reader(schema)
    if filters:
        assert list(reader.pushFilters(list(filters))) == list(filters)
    sent = pickle.loads(dumps((reader, reader.partitions())))
    found: list[dict[str, Any]] = []
    for partition in sent[1]:
        batches = records_to_arrow_batches(sent[0].read(partition), 100, schema, source)
        found.extend(row for batch in batches for row in batch.to_pylist())
    return found


def test_rows_with_sparks_types(shelf: Shelf) -> None:
    shelf.create(_COLUMNS, partitioned="p string")
    local = datetime(2024, 7, 1, 12)  # noqa: DTZ001 - a local time in Berlin
    instant = local.replace(hour=10, tzinfo=UTC)
    row = {
        "id": 1,
        "c": "a",
        "n": Decimal("1.50"),
        "at": local,
        "m": {"k": [local, None]},
        "s": {"a b": 7, "d": date(2024, 7, 1)},
        "p": "x",
    }
    with shelf.connect() as connection, connection.transaction():
        connection.write_all([row, {"id": 2}])
    source = registered(shelf)(options={"path": "t"})
    assert source.schema() == (
        "`id` int, `c` string, `n` decimal(7,2), `at` timestamp, "
        "`m` map<string,array<timestamp>>, `s` struct<`a b`:int,`d`:date>, `p` string"
    )
    found = sorted(rows_of(source, _SCHEMA), key=lambda one: one["id"])
    assert found[0] == {**row, "c": "a  ", "at": instant, "m": [("k", [instant, None])]}
    assert found[1] == {**dict.fromkeys(row), "id": 2}
    some = registered(shelf)(options={"path": "t", "columns": "p,ID"})
    assert some.schema() == "`p` string, `id` int"
    none = StructType([StructField("id", IntegerType()), StructField("missing", IntegerType())])
    one_query = registered(shelf)(options={"path": "t", **ONE_QUERY})
    assert sorted(rows_of(one_query, _SCHEMA), key=lambda one: one["id"]) == found
    with pytest.raises(AcidAnalysisError) as caught:
        one_query.reader(none).partitions()
    assert caught.value.condition == "COLUMN_NOT_FOUND"


def test_filters_reach_the_files(shelf: Shelf) -> None:
    filters = pytest.importorskip("pyspark.sql.datasource")
    if not hasattr(filters, "EqualTo"):
        pytest.skip("PySpark 4.0 has no filters")
    shelf.create("id int", partitioned="p string")
    with shelf.connect() as connection, connection.transaction():
        connection.write_all([(1, "a"), (2, "b")])
    schema = StructType([StructField("id", IntegerType()), StructField("p", StringType())])
    source = registered(shelf)(options={"path": "t", QUERY: "filtered"})
    assert isinstance(source.reader(schema), FilteringReader)
    assert rows_of(source, schema, (filters.EqualTo(("p",), "b"),)) == [{"id": 2, "p": "b"}]
    reader = source.reader(schema)
    reader.pushFilters([filters.EqualTo(("p",), "c")])
    assert list(reader.partitions()) == []


@pytest.mark.skipif(not KEEPS_PLANS, reason="PySpark 4.0 plans each query")
def test_what_is_planned_for_a_relation_tells_nothing_of_its_rows(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.create("id int; at timestamp")
    schema = StructType([StructField("id", IntegerType()), StructField("at", TimestampType())])
    monkeypatch.chdir(shelf.path.parent)
    source = AcidDataSource(options={"path": "t", "metastore": shelf.path.name, "timeZone": "UTC"})
    sent = dumps((source.reader(schema), source.reader(schema).partitions()))
    monkeypatch.chdir("/")  # as a worker elsewhere
    seen = []
    for number in range(3):
        with shelf.connect(transaction_batch_size=1) as connection, connection.transaction():
            connection.write((number, datetime(2024, 7, 1)))  # noqa: DTZ001
        reader, (partition,) = pickle.loads(sent)
        batches = list(records_to_arrow_batches(reader.read(partition), 100, schema, source))
        seen.append(sorted(row["id"] for batch in batches for row in batch.to_pylist()))
    assert seen == [[0], [0, 1], [0, 1, 2]]
    assert not shelf.metastore.valid_txns().open


def test_a_version_is_read(shelf: Shelf) -> None:
    shelf.create("id int")
    schema = StructType([StructField("id", IntegerType())])
    for number in (1, 2):
        with shelf.connect(transaction_batch_size=1) as connection, connection.transaction():
            connection.write((number,))
    kind = registered(shelf)
    assert rows_of(kind(options={"path": "t", "versionAsOf": "1"}), schema) == [{"id": 1}]
    assert len(rows_of(kind(options={"path": "t"}), schema)) == 2


def test_tasks_write_and_the_driver_commits_or_aborts(shelf: Shelf) -> None:
    shelf.create("id int; at timestamp", partitioned="p string")
    schema = StructType(
        [
            StructField("p", StringType()),
            StructField("id", IntegerType()),
            StructField("at", TimestampType()),
        ]
    )
    instant = datetime(2024, 7, 1, 10, tzinfo=UTC)
    rows = pa.RecordBatch.from_arrays(
        [
            pa.array(["x", "y"]),
            pa.array([1, 2], pa.int32()),
            pa.array([instant, None], pa.timestamp("us", "UTC")),
        ],
        names=["p", "id", "at"],
    )
    source = registered(shelf)(options={"path": "t"})
    for commits in (False, True):
        writer = pickle.loads(dumps(source.writer(schema, False)))
        messages = [pickle.loads(dumps(writer.write(iter(some)))) for some in ([rows], [])]
        assert messages[1].path is None
        assert shelf.rows() == []
        if commits:
            writer.commit(messages)
        else:
            writer.abort([messages[0], None])
        assert not list((shelf.home / "t").glob("_acidsql_datasource_*"))
    local = datetime(2024, 7, 1, 12)  # noqa: DTZ001
    # pyorc gives the local times of a file as times in UTC.
    found = [(i, at and at.replace(tzinfo=None), p) for i, at, p in (r[-3:] for r in shelf.rows())]
    assert sorted(found) == [(1, local, "p=x"), (2, None, "p=y")]


def test_what_is_not_written(shelf: Shelf) -> None:
    shelf.create("id int")
    schema = StructType([StructField("id", IntegerType())])
    source = registered(shelf)(options={"path": "t"})
    with pytest.raises(AcidAnalysisError) as caught:
        source.writer(schema, True)
    assert caught.value.condition == "UNSUPPORTED_FEATURE.DATA_SOURCE_OVERWRITE"
    with pytest.raises(AcidAnalysisError) as unnamed:
        source.streamWriter(schema, False)
    assert unnamed.value.condition in ("INVALID_PARAMETER_VALUE", "UNSUPPORTED_SPARK_VERSION")


_SMALL = Constraint(kind=ConstraintKind.CHECK, name="small", expression="id < 5")


def test_a_check_and_a_generated_column_are_refused_before_rows_are_staged(shelf: Shelf) -> None:
    shelf.create("id int; twice int")
    schema = StructType([StructField("id", IntegerType())])
    source = registered(shelf)(options={"path": "t", "stream": "s"})
    table = shelf.metastore.table("default", "t")
    first, second = table.columns
    generated = replace(table, columns=(first, replace(second, generated="id * 2")))
    for changed in (replace(table, constraints=(_SMALL,)), generated):
        shelf.metastore.alter_table(changed)
        for make in (source.writer, source.streamWriter):
            with pytest.raises(AcidAnalysisError) as caught:
                make(schema, False)
            assert caught.value.condition in (
                "UNSUPPORTED_FEATURE.STREAMING_CHECK",
                "UNSUPPORTED_SPARK_VERSION",
            )
    assert not list((shelf.home / "t").iterdir())
    shelf.metastore.alter_table(replace(table, constraints=(replace(_SMALL, enabled=False),)))
    assert source.writer(schema, False) is not None


def test_a_check_that_comes_before_the_commit_keeps_rows_out(shelf: Shelf) -> None:
    shelf.create("id int")
    schema = StructType([StructField("id", IntegerType())])
    writer = registered(shelf)(options={"path": "t"}).writer(schema, False)
    rows = pa.RecordBatch.from_arrays([pa.array([1, 7], pa.int32())], names=["id"])
    message = writer.write(iter([rows]))
    table = shelf.metastore.table("default", "t")
    shelf.metastore.alter_table(replace(table, constraints=(_SMALL,)))
    with pytest.raises(AcidAnalysisError) as caught:
        writer.commit([message])
    assert caught.value.condition == "UNSUPPORTED_FEATURE.STREAMING_CHECK"
    writer.abort([message])
    assert shelf.rows() == []
    assert not list((shelf.home / "t").iterdir())


def test_null_in_a_column_that_is_not_null_is_refused(shelf: Shelf) -> None:
    shelf.create("id int not null; s string")
    schema = StructType([StructField("id", IntegerType())])
    source = registered(shelf)(options={"path": "t"})
    for given, expected in (([1, None], "INVALID_RECORD"), ([1, 2], None)):
        rows = pa.RecordBatch.from_arrays([pa.array(given, pa.int32())], names=["id"])
        writer = source.writer(schema, False)
        message = writer.write(iter([rows]))
        if expected is None:
            writer.commit([message])
            continue
        with pytest.raises(AcidAnalysisError) as caught:
            writer.commit([message])
        writer.abort([message])
        assert caught.value.condition == expected
        assert shelf.rows() == []
    assert [row[-2:] for row in shelf.rows()] == [(1, None), (2, None)]


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(
    "given",
    [
        {"mergeSchema": "true"},
        {"overwriteSchema": "TRUE"},
        {"REPLACEWHERE": "id = 1"},
        {"partitionOverwriteMode": "dynamic"},
    ],
)
def test_options_of_other_writers_are_refused(
    shelf: Shelf, given: dict[str, str], overwrite: bool
) -> None:
    shelf.create("id int")
    schema = StructType([StructField("id", IntegerType()), StructField("more", IntegerType())])
    kind = registered(shelf)
    with pytest.raises(AcidAnalysisError) as caught:
        kind(options={"path": "t", "stream": "s", **given}).writer(schema, overwrite)
    assert caught.value.condition == "UNSUPPORTED_FEATURE.WRITE_OPTION"
    assert next(iter(given)).lower() in str(caught.value).lower()
    off = kind(options={"path": "t", "mergeSchema": "false"})
    assert off.writer(StructType(schema.fields[:1]), False) is not None


def test_spark_finds_the_source_by_itself() -> None:
    module = pytest.importorskip("pyspark_acidsql")
    assert module.DefaultSource is AcidDataSource
    assert module.DefaultSource.name() == "acidsql"
