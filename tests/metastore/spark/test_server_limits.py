"""Statements with what a server cannot keep: refused before anything is made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql.types import IntegerType, StructField, StructType

import acidsql
from acidsql.commands import write_frame
from acidsql.commands.write_frame import NewTable
from acidsql.errors import AcidSqlError
from acidsql.metastore.model import Column
from tests.metastore.spark.conftest import Client

pytestmark = [pytest.mark.metastore, pytest.mark.spark]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
_NULL = "named_struct('a', CAST(NULL AS INT), 'b', 1)"


def test_what_a_server_cannot_keep_is_refused(client: Callable[[str], Client]) -> None:
    ann = client("4.1.0")
    store = ann.session.metastore
    ann.sql(f"CREATE TABLE t (id INT, s STRUCT<a: INT>) {ACID}")
    ann.sql("CREATE VIEW viewed AS SELECT id FROM t")
    warehouse = Path(acidsql.location(ann.spark, "t").removeprefix("file:")).parent
    database = str(ann.spark.catalog.currentDatabase())
    txns = store.valid_txns().high_water_mark
    required, comment = "STRUCT<a: INT NOT NULL, b: INT>", f"COMMENT '{'c' * 257}'"
    default = f"DEFAULT '{'d' * 254}'"
    for text, condition in {
        f"CREATE TABLE n (s {required}) {ACID}": "UNSUPPORTED_FEATURE.TABLE_CONSTRAINT",
        f"CREATE TABLE n (s ARRAY<{required}>) {ACID}": "UNSUPPORTED_FEATURE.TABLE_CONSTRAINT",
        f"ALTER TABLE t ADD COLUMNS (n {required})": "UNSUPPORTED_FEATURE.TABLE_CONSTRAINT",
        "ALTER TABLE t CHANGE s s STRUCT<a: INT NOT NULL>": "NOT_SUPPORTED_CHANGE_COLUMN",
        f"CREATE TABLE n (id INT {comment}) {ACID}": "COMMENT_TOO_LONG",
        f"ALTER TABLE t ADD COLUMNS (n INT {comment})": "COMMENT_TOO_LONG",
        f"ALTER TABLE t ALTER COLUMN id {comment}": "COMMENT_TOO_LONG",
        f"CREATE VIEW n (id {comment}) AS SELECT id FROM t": "COMMENT_TOO_LONG",
        f"CREATE OR REPLACE VIEW viewed (id {comment}) AS SELECT id FROM t": "COMMENT_TOO_LONG",
        f"CREATE TABLE n (v STRING {default}) {ACID}": "INVALID_DEFAULT_VALUE.TOO_LONG",
        f"CREATE DATABASE {'n' * 129}": "INVALID_SCHEMA_OR_RELATION_NAME",
        f"CREATE DATABASE n COMMENT '{'c' * 4001}'": "COMMENT_TOO_LONG",
    }.items():
        with pytest.raises(AcidSqlError) as raised:
            ann.sql(text)
        assert raised.value.condition == condition, text
    # None of them has opened a transaction that may write.
    assert store.valid_txns().high_water_mark == txns
    assert [path.name for path in warehouse.iterdir()] == ["t"]
    assert store.tables(database) == ("t", "viewed")
    assert ann.sql("SHOW LOCKS") == []
    ann.sql(
        f"CREATE TABLE p (id INT) PARTITIONED BY (p STRING, q STRING, r STRING, s STRING) {ACID}"
    )
    for values in ("'x', 'x', 'x', repeat('p', 240)", "'x', 'x', 'x', 'x'"):
        ann.sql(f"INSERT INTO p SELECT 1, {values}")
    with pytest.raises(AcidSqlError, match="INVALID_PARTITION_NAME.*keeps 767"):
        ann.sql(f"INSERT INTO p SELECT 1{', repeat(chr(112), 195)' * 4}")
    assert ann.sql("SELECT count(*) FROM p") == [(2,)]
    assert sorted(path.name for path in (warehouse / "p").iterdir()) == ["p=x"]


def test_fields_of_rows_may_be_null_in_the_table_that_they_make(
    client: Callable[[str], Client],
) -> None:
    ann = client("4.1.0")
    ann.sql(f"CREATE TABLE t {ACID} AS SELECT 1 AS id, named_struct('a', 1, 'b', 2) AS s")
    schema = StructType([StructField("s", StructType([StructField("a", IntegerType(), False)]))])
    frame = ann.spark.createDataFrame([((1,),)], schema)
    properties = {"transactional": "true"}
    write_frame.create_as(
        ann.session, NewTable(name=("made",), stored_as="orc", properties=properties), frame
    )
    store, database = ann.session.metastore, str(ann.spark.catalog.currentDatabase())
    assert store.table(database, "t").columns == (
        Column(name="id", type="int"),
        Column(name="s", type="struct<a:int,b:int>"),
    )
    assert store.table(database, "made").columns == (Column(name="s", type="struct<a:int>"),)
    ann.sql(f"INSERT INTO t VALUES (2, {_NULL})")
    assert ann.sql("SELECT id, s.a FROM t") == [(1, 1), (2, None)]
