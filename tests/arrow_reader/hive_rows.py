"""Golden tables in an embedded metastore, and Arrow's rows as Hive prints them, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import types as spark_types

from acidsql.arrow_reader.cached_files import CachedFiles
from acidsql.arrow_reader.reading import batches_of, wanted_of
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import Column, FileFormat, Partition, Table
from acidsql.scan.snapshot import take_snapshot
from acidsql.storage.listings import Listings
from acidsql.storage.local_files import LocalFiles
from acidsql.streaming.column_types import ColumnType, parse_type
from tests.hive_tables import HiveTable, Pair
from tests.hive_values import Identified, Row, in_order, row_of_hive

_KEYS = ("writeid", "bucketid", "rowid")


def create_table(metastore: EmbeddedMetastore, golden: HiveTable, root: Path) -> Table:
    """Enter a golden table as ``default.t``."""
    table = Table(
        database="default",
        name="t",
        columns=_columns(golden.columns),
        partition_columns=_columns(golden.partition_columns),
        location=f"file:{root}",
        properties=golden.properties,
        file_format=FileFormat[{"TEXTFILE": "TEXT"}.get(golden.file_format, golden.file_format)],
        bucket_columns=golden.bucket_columns,
        num_buckets=max(0, golden.buckets),
    )
    metastore.create_table(table)
    partitions = [
        Partition(
            values=p.values,
            location=f"file:{root}/{p.location}",
            columns=_columns(p.columns) if p.columns != golden.columns else None,
        )
        for p in golden.partitions
    ]
    metastore.add_partitions("default", "t", partitions)
    return table


def read_under(
    metastore: EmbeddedMetastore,
    golden: HiveTable,
    table: Table,
    columns: Sequence[str] | None = None,
    given: Any = None,
) -> pa.Table:
    """Read a golden table under Hive's snapshot."""
    files = LocalFiles()
    txns = ValidTxnList.from_string(golden.valid_txns)
    lists = ValidWriteIdList.from_string(golden.valid_write_ids), txns
    listings = Listings(files, None)
    snapshot = take_snapshot(files, metastore, table, txns, listings, lists=lists)
    wanted = wanted_of(table, columns, given)
    return pa.Table.from_batches(batches_of(CachedFiles(files), snapshot, wanted), wanted.schema)


def spark_types_of(golden: HiveTable) -> list[spark_types.DataType]:
    """Return the types of all columns as Spark's, partition columns last."""
    pairs = (*golden.columns, *golden.partition_columns)
    return [_spark_type(parse_type(kind)) for _, kind in pairs]


def rows_of(table: pa.Table, kinds: Sequence[spark_types.DataType]) -> list[Row]:
    """Return rows as texts of Hive, sorted by their text."""
    found = zip(*(map(_value, column.to_pylist()) for column in table.columns), strict=True)
    return sorted((row_of_hive(row, kinds) for row in found), key=repr)


def rows_with_ids(table: pa.Table, kinds: Sequence[spark_types.DataType]) -> list[Identified]:
    """Return rows with their ids, which are the last column, sorted by these."""
    columns = [list(map(_value, column.to_pylist())) for column in table.columns]
    ids = [tuple(one[key] for key in _KEYS) for one in columns.pop()]
    rows = zip(*columns, strict=True)
    return in_order(
        ((i[0], i[1], i[2]), row_of_hive(row, kinds)) for i, row in zip(ids, rows, strict=True)
    )


def _value(value: Any) -> Any:
    """Return a value with bytes as Hive prints them, in hexadecimal."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | tuple):
        return [_value(one) for one in value]
    if isinstance(value, dict):
        return {key: _value(one) for key, one in value.items()}
    return f"{value:f}" if type(value).__name__ == "Decimal" else value


def _columns(pairs: Sequence[Pair]) -> tuple[Column, ...]:
    return tuple(Column(name=name, type=kind) for name, kind in pairs)


def _spark_type(kind: ColumnType) -> spark_types.DataType:
    children = [_spark_type(child) for child in kind.children]
    if kind.kind == "list":
        return spark_types.ArrayType(children[0])
    if kind.kind == "map":
        return spark_types.MapType(*children)
    if kind.kind == "struct":
        fields = zip(kind.names, children, strict=True)
        return spark_types.StructType([spark_types.StructField(*field) for field in fields])
    if pa.types.is_decimal(kind.arrow):
        return spark_types.DecimalType(kind.arrow.precision, kind.arrow.scale)
    return _LEAVES.get(kind.arrow, spark_types.StringType)()


_LEAVES = {
    pa.float32(): spark_types.FloatType,
    pa.float64(): spark_types.DoubleType,
    pa.binary(): spark_types.BinaryType,
    pa.timestamp("us"): spark_types.TimestampType,
}
