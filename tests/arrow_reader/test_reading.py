"""Tests of ``read_arrow`` and ``arrow_batches`` on tables of an embedded metastore."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyorc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import acidsql
from acidsql.errors import (
    AcidAnalysisError,
    AcidLookupError,
    FormatError,
    MetastoreError,
    TransactionStateError,
)
from acidsql.format.orc_tail import parse_tail
from acidsql.metastore.model import Column, FileFormat, TableType, TxnState, TxnType
from tests.streaming.conftest import Shelf

_UTC = ZoneInfo("UTC")


def read(shelf: Shelf, **options: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = acidsql.read_arrow(
        "t", metastore=shelf.path, **options
    ).to_pylist()
    return rows


def open_txns(shelf: Shelf) -> list[TxnType]:
    return [t.type for t in shelf.metastore.open_txns() if t.state is TxnState.OPEN]


def insert(shelf: Shelf, *transactions: list[tuple[Any, ...]]) -> None:
    """Insert rows, those of a transaction as a stripe of one file."""
    with shelf.connect() as connection:
        for rows in transactions:
            with connection.transaction():
                connection.write_all(rows)


def lay_original(shelf: Shelf, schema: str, rows: list[tuple[Any, ...]]) -> None:
    """Write rows without row ids, as from before the table became transactional."""
    with (
        (shelf.home / "t" / "000000_0").open("wb") as stream,
        pyorc.Writer(stream, schema, timezone=_UTC) as writer,
    ):
        writer.writerows(rows)


# -- what a snapshot has ------------------------------------------------------------------------
def test_rows_of_committed_transactions_are_read(shelf: Shelf) -> None:
    shelf.create("id int; s string")
    with shelf.connect() as connection:
        with connection.transaction():
            connection.write((1, "a"))
        connection.begin()
        connection.write((2, "aborted"))
        connection.abort()
        with connection.transaction():
            connection.write((3, None))
        assert read(shelf) == [{"id": 1, "s": "a"}, {"id": 3, "s": None}]
        connection.begin()
        connection.write((4, "open"))
        assert [row["id"] for row in read(shelf)] == [1, 3]
        connection.commit()
        assert [row["id"] for row in read(shelf)] == [1, 3, 4]


def test_an_empty_table_has_its_columns(shelf: Shelf) -> None:
    shelf.create("id int; n decimal(10,2); m map<string,array<int>>", partitioned="p date")
    found = acidsql.read_arrow("T", metastore=shelf.path)
    assert found.num_rows == 0
    assert found.schema == pa.schema(
        [
            ("id", pa.int32()),
            ("n", pa.decimal128(10, 2)),
            ("m", pa.map_(pa.string(), pa.list_(pa.int32()))),
            ("p", pa.date32()),
        ]
    )


def test_row_ids_are_a_column_that_is_named(shelf: Shelf) -> None:
    shelf.create("id int")
    insert(shelf, [(1,), (2,)])
    assert read(shelf, columns=["row__id", "ID"]) == [
        {"row__id": {"writeid": 1, "bucketid": 536870912, "rowid": i}, "id": i + 1}
        for i in range(2)
    ]
    second = pc.field("row__id", "rowid") == 1
    assert read(shelf, columns=["id"], filter=second) == [{"id": 2}]


def test_columns_have_the_order_in_which_they_are_named(shelf: Shelf) -> None:
    shelf.create("a int; b string; c int", partitioned="p int")
    insert(shelf, [(1, "x", 2, 7)])
    found = acidsql.read_arrow("t", columns=["p", "c", "a"], metastore=shelf.path)
    assert found.column_names == ["p", "c", "a"]
    assert found.to_pylist() == [{"p": 7, "c": 2, "a": 1}]


def test_no_columns_are_a_number_of_rows(shelf: Shelf) -> None:
    shelf.create("id int")
    insert(shelf, [(i,) for i in range(5)], [(5,)])
    assert acidsql.read_arrow("t", columns=[], metastore=shelf.path).num_rows == 6
    few = acidsql.read_arrow("t", columns=[], filter=[("id", "<", 2)], metastore=shelf.path)
    assert few.num_rows == 2


def test_files_are_held_back_from_cleaners_while_they_are_read(shelf: Shelf) -> None:
    shelf.create("id int")
    insert(shelf, [(1,)], [(2,)])
    reader = acidsql.arrow_batches("t", metastore=shelf.path)
    assert open_txns(shelf) == [TxnType.READ_ONLY]
    assert reader.read_all().to_pylist() == [{"id": 1}, {"id": 2}]
    assert open_txns(shelf) == []


def test_a_reader_that_is_given_up_holds_nothing_back(shelf: Shelf) -> None:
    shelf.create("id int")
    insert(shelf, [(1,)], [(2,)])
    reader = acidsql.arrow_batches("t", metastore=shelf.path)
    assert reader.read_next_batch().to_pylist() == [{"id": 1}]
    del reader
    assert open_txns(shelf) == []


def test_a_reading_that_timed_out_says_so_when_its_files_are_gone(shelf: Shelf) -> None:
    shelf.create("id int")
    insert(shelf, *[[(i,)] for i in range(9)])
    reader = acidsql.arrow_batches("t", metastore=shelf.path, txn_timeout=0.2)
    assert reader.read_next_batch().num_rows == 1
    (txn,) = [t for t in shelf.metastore.open_txns() if t.state is TxnState.OPEN]
    shelf.metastore.abort_txns([txn.txn_id])
    shutil.rmtree(shelf.home / "t")
    time.sleep(0.5)  # the next heartbeats
    with pytest.raises(TransactionStateError) as error:
        reader.read_all()
    assert error.value.condition == "TXN_ABORTED"


def test_a_file_that_is_gone_is_named(shelf: Shelf) -> None:
    shelf.create("id int")
    insert(shelf, *[[(i,)] for i in range(9)])
    reader = acidsql.arrow_batches("t", metastore=shelf.path)
    (file,) = (shelf.home / "t").rglob("bucket_00000")
    file.unlink()
    with pytest.raises(FormatError) as error:
        reader.read_all()
    assert error.value.condition == "FAILED_READ_FILE"
    assert str(file) in error.value.message


# -- filters ------------------------------------------------------------------------------------
_ROWS: list[list[tuple[Any, ...]]] = [
    [(i, f"s{i % 7}", date(2024, 1, 1 + i % 28), 1) for i in range(40)],
    [(i, None, None, 1) for i in range(40, 60)],
    [(None, f"s{i}", date(1969, 1, 1 + i), 2) for i in range(20)],
    [(i, "zz", date(2030, 1, 1), 3) for i in range(1000, 1010)],
]


@pytest.fixture
def filled(shelf: Shelf) -> Shelf:
    shelf.create("id int; s string; d date", partitioned="p int")
    insert(shelf, *_ROWS)
    return shelf


_COMPARED = {
    "id": st.integers(-5, 1020),
    "s": st.sampled_from(["s0", "s3", "s19", "zz", "", "t"]),
    "d": st.dates(date(1968, 12, 30), date(2030, 1, 2)),
    "p": st.integers(0, 4),
}
_SIGNS = ["=", "!=", "<", "<=", ">", ">="]
_TERM = st.sampled_from(sorted(_COMPARED)).flatmap(
    lambda name: st.one_of(
        st.tuples(st.just(name), st.sampled_from(_SIGNS), _COMPARED[name]),
        st.tuples(
            st.just(name),
            st.sampled_from(["in", "not in"]),
            st.lists(_COMPARED[name], min_size=1, max_size=3),
        ),
    )
)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.lists(_TERM, min_size=1, max_size=3), min_size=1, max_size=2))
def test_a_filter_gives_the_rows_that_it_gives_of_the_whole(
    filled: Shelf, terms: list[list[tuple[str, str, Any]]]
) -> None:
    from pyarrow.parquet import filters_to_expression  # noqa: PLC0415

    whole = acidsql.read_arrow("t", metastore=filled.path)
    expected = whole.filter(filters_to_expression(terms)).to_pylist()
    assert sorted(read(filled, filter=terms), key=repr) == sorted(expected, key=repr)


def test_expressions_of_pyarrow_filter(filled: Shelf) -> None:
    nulls = pc.field("id").is_null() & (pc.field("s") == "s3")
    assert [row["s"] for row in read(filled, filter=nulls)] == ["s3"]
    computed = pc.multiply(pc.field("id"), 2) == 2010
    assert read(filled, columns=["p"], filter=computed) == [{"p": 3}]


def test_stripes_and_partitions_without_such_rows_are_not_read(filled: Shelf) -> None:
    """Those bytes are damaged that need not be read."""
    damaged = filled.home / "t" / "p=1"
    (file,) = damaged.rglob("bucket_00000")
    content = bytearray(file.read_bytes())
    first, _ = parse_tail(bytes(content), len(content)).stripes
    start = first.offset + first.index_length
    content[start : start + first.data_length] = bytes(first.data_length)
    file.write_bytes(content)
    assert len(read(filled, filter=[("p", ">", 1)])) == 30
    assert [row["id"] for row in read(filled, filter=[("id", "=", 55)])] == [55]
    assert len(read(filled, filter=[[("id", ">", 900)], [("d", "<", date(1970, 1, 1))]])) == 30
    with pytest.raises(FormatError) as error:
        read(filled)
    assert error.value.condition == "FAILED_READ_FILE"
    assert str(file) in error.value.message


@pytest.mark.parametrize(
    "given_filter",
    [
        [("nowhere", "=", 1)],
        pc.field("nowhere") == 1,
        [("id", "=")],
        [("id", "~", 1)],
        [("id", "=", "text")],
        "id = 1",
        pc.field("id"),
    ],
)
def test_a_filter_that_is_none_is_refused(filled: Shelf, given_filter: Any) -> None:
    with pytest.raises(AcidAnalysisError) as error:
        read(filled, filter=given_filter)
    assert error.value.condition == "INVALID_PARAMETER_VALUE"
    assert error.value.getMessageParameters() == {"parameter": "filter"}


# -- values -------------------------------------------------------------------------------------
def test_values_of_every_type(shelf: Shelf) -> None:
    shelf.create(
        "b boolean; t tinyint; f float; x double; n decimal(38,10); c char(4); v varchar(3);"
        " bin binary; a array<struct<d:date,m:map<string,timestamp>>>"
    )
    schema = (
        "struct<b:boolean,t:tinyint,f:float,x:double,n:decimal(38,10),c:char(4),v:varchar(3),"
        "bin:binary,a:array<struct<d:date,m:map<string,timestamp>>>>"
    )
    inner = [
        (date(2024, 2, 29), {"k": datetime(2500, 12, 31, 23, 59, 59, 999999, _UTC), "n": None})
    ]
    rows = [
        (True, -128, 1.5, float("inf"), Decimal("-0.0000000001"), "ä", "b", b"\0\xff", inner),
        (None,) * 9,
        (False, 127, -0.0, 1e308, Decimal("12345678901234567890.5"), "", "", b"", []),
        (True, 0, 0.0, 0.0, Decimal(0), "abcd", "abc", b"x", [None, *inner]),
    ]
    lay_original(shelf, schema, rows)
    found = read(shelf)
    moment = {
        "d": date(2024, 2, 29),
        "m": [("k", datetime(2500, 12, 31, 23, 59, 59, 999999)), ("n", None)],  # noqa: DTZ001
    }
    names = ["b", "t", "f", "x", "n", "c", "v", "bin", "a"]
    expected = [
        (*rows[0][:5], "ä   ", *rows[0][6:8], [moment]),
        rows[1],
        (*rows[2][:5], "    ", *rows[2][6:]),
        (*rows[3][:8], [None, moment]),
    ]
    assert found == [dict(zip(names, row, strict=True)) for row in expected]


def test_files_without_row_ids_number_their_rows(shelf: Shelf) -> None:
    shelf.create("id int; added string")
    lay_original(shelf, "struct<id:int>", [(i,) for i in range(3)])
    found = read(shelf, columns=["row__id", "id", "added"], filter=[("id", ">", 1)])
    assert found == [
        {"row__id": {"writeid": 0, "bucketid": 536870912, "rowid": 2}, "id": 2, "added": None}
    ]


_CHANGES = [
    ("int", "bigint", -5, -5),
    ("int", "double", 7, 7.0),
    ("int", "decimal(12,2)", 7, Decimal("7.00")),
    ("bigint", "decimal(38,18)", -(2**63), Decimal(f"{-(2**63)}.{18 * '0'}")),
    ("int", "string", -7, "-7"),
    ("float", "double", 1.1, 1.100000023841858),
    ("decimal(5,2)", "decimal(10,4)", Decimal("1.25"), Decimal("1.2500")),
    ("varchar(3)", "string", "abc", "abc"),
    ("string", "char(5)", "abc", "abc  "),
    ("date", "string", date(2024, 2, 29), "2024-02-29"),
]


@pytest.mark.parametrize(("old", "new", "value", "expected"), _CHANGES, ids=str)
def test_values_of_a_type_that_the_column_had_before(
    shelf: Shelf, old: str, new: str, value: object, expected: object
) -> None:
    shelf.create(f"v {new}")
    lay_original(shelf, f"struct<v:{old}>", [(value,), (None,)])
    assert [row["v"] for row in read(shelf)] == [expected, None]
    assert read(shelf, filter=[("v", "=", expected)]) == [{"v": expected}]


def test_fields_that_a_file_lacks_are_null(shelf: Shelf) -> None:
    shelf.create("v struct<a:int,b:struct<c:string>,d:array<int>>")
    lay_original(shelf, "struct<v:struct<a:int>>", [((1,),), (None,)])
    assert [row["v"] for row in read(shelf)] == [{"a": 1, "b": None, "d": None}, None]


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [
        ("string", "int", "5"),
        ("bigint", "int", 5),
        ("double", "float", 1.5),
        ("decimal(10,4)", "decimal(5,2)", Decimal(1)),
        ("int", "array<int>", 5),
        ("struct<a:int>", "struct<b:int>", (1,)),
        ("timestamp", "string", datetime(2024, 1, 1, tzinfo=_UTC)),
        ("string", "timestamp", "2024-01-01"),
        ("int", "boolean", 1),
        ("timestamp", "bigint", datetime(2024, 1, 1, tzinfo=_UTC)),
        ("struct<a:timestamp>", "struct<a:bigint>", (datetime(2024, 1, 1, tzinfo=_UTC),)),
    ],
    ids=str,
)
def test_another_type_is_refused(shelf: Shelf, old: str, new: str, value: object) -> None:
    shelf.create(f"v {new}; id int")
    lay_original(shelf, f"struct<v:{old},id:int>", [(value, 1)])
    assert read(shelf, columns=["id"]) == [{"id": 1}]
    with pytest.raises(FormatError) as error:
        read(shelf)
    assert error.value.condition == "UNSUPPORTED_FEATURE.ARROW_TYPE_CHANGE"


def test_partition_columns_have_their_types(shelf: Shelf) -> None:
    shelf.create("id int", partitioned="d date; n decimal(5,1); b boolean; s string")
    insert(
        shelf, [(1, date(2024, 2, 29), Decimal("1.5"), True, "a/b"), (2, None, None, None, None)]
    )
    found = acidsql.read_arrow("t", metastore=shelf.path)
    assert found.schema.types[1:] == [pa.date32(), pa.decimal128(5, 1), pa.bool_(), pa.string()]
    assert sorted(map(tuple, (row.values() for row in found.to_pylist())), key=repr) == [
        (1, date(2024, 2, 29), Decimal("1.5"), True, "a/b"),
        (2, None, None, None, None),
    ]
    leap = read(shelf, columns=["id"], filter=[("d", "=", date(2024, 2, 29))])
    assert leap == [{"id": 1}]
    assert read(shelf, columns=["id"], filter=pc.field("n").is_null()) == [{"id": 2}]


# -- refusals -----------------------------------------------------------------------------------
def test_what_is_no_table_of_the_metastore_is_refused(shelf: Shelf, tmp_path: Path) -> None:
    with pytest.raises(AcidLookupError) as lookup:
        read(shelf)
    assert lookup.value.condition == "TABLE_OR_VIEW_NOT_FOUND"
    with pytest.raises(MetastoreError) as missing:
        acidsql.read_arrow("t", warehouse=tmp_path / "elsewhere" / "warehouse")
    assert missing.value.condition == "METASTORE_UNAVAILABLE"


@pytest.mark.parametrize(
    "change",
    [
        {"table_type": TableType.VIEW, "view_text": "SELECT 1"},
        {"file_format": FileFormat.PARQUET},
        {"location": "hdfs://host/t"},
    ],
)
def test_a_table_that_needs_spark_is_refused(shelf: Shelf, change: dict[str, Any]) -> None:
    shelf.create("id int", **{k: v for k, v in change.items() if k != "location"})
    if "location" in change:
        shelf.metastore.alter_table(replace(shelf.metastore.table("default", "t"), **change))
    with pytest.raises(AcidAnalysisError) as error:
        read(shelf)
    assert error.value.condition == "UNSUPPORTED_FEATURE.ARROW_TABLE"


def test_wrong_columns_are_refused(shelf: Shelf) -> None:
    shelf.create("id int")
    for columns, condition in (
        (["nowhere"], "COLUMN_NOT_FOUND"),
        (["id", "ID"], "INVALID_PARAMETER_VALUE"),
        ("id", "INVALID_PARAMETER_VALUE"),
    ):
        with pytest.raises(AcidAnalysisError) as error:
            read(shelf, columns=columns)
        assert error.value.condition == condition
    shelf.metastore.alter_table(
        replace(
            shelf.metastore.table("default", "t"),
            columns=(Column(name="u", type="uniontype<int,string>"),),
        )
    )
    with pytest.raises(AcidAnalysisError) as unknown:
        read(shelf)
    assert unknown.value.condition == "UNSUPPORTED_DATATYPE"


# -- programs -----------------------------------------------------------------------------------
def test_neither_a_jvm_nor_pandas_is_loaded(shelf: Shelf) -> None:
    shelf.create("id int; ts timestamp")
    insert(shelf, [(1, datetime(2024, 2, 29))])  # noqa: DTZ001
    program = (
        "import sys, acidsql\n"
        f"rows = acidsql.read_arrow('t', metastore={str(shelf.path)!r})\n"
        "from pyspark import SparkContext\n"
        "print(rows.num_rows, SparkContext._gateway, 'pandas' in sys.modules,"
        " 'acidsql.bridge' in sys.modules)\n"
    )
    root = str(Path(acidsql.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "1 None False False\n"


def test_duckdb_queries_a_reader(filled: Shelf) -> None:
    reader = acidsql.arrow_batches("t", columns=["id", "p"], metastore=filled.path)
    found = duckdb.from_arrow(reader).aggregate("p, count(id) AS n, max(id) AS m", "p").order("p")
    assert found.fetchall() == [(1, 60, 59), (2, 0, None), (3, 10, 1009)]
    assert open_txns(filled) == []
