"""Columns of a scan: the table's columns, its partition columns and the virtual columns."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from acidsql.format.partitions import DEFAULT_PARTITION
from acidsql.metastore.model import Table
from acidsql.scan.snapshot import TableSnapshot
from acidsql.schema.acid_file import IS_DELETED_COLUMN, ROW_ID_COLUMN
from acidsql.schema.columns import data_schema, partition_schema
from acidsql.session.acid_session import AcidSession

# Column of events with the ordinal of a row's partition, its index in the snapshot.
ORDINAL = "__partition"
_ROW_ID_TYPE = StructType(
    [
        StructField("writeid", LongType()),
        StructField("bucketid", IntegerType()),
        StructField("rowid", LongType()),
    ]
)


def scan_schema(spark: SparkSession, table: Table) -> StructType:
    """Return the schema of a scan: the table's, the partition and then the virtual columns."""
    fields = [*data_schema(spark, table).fields, *partition_schema(spark, table).fields]
    types = {ROW_ID_COLUMN: _ROW_ID_TYPE, IS_DELETED_COLUMN: BooleanType()}
    virtual = [StructField(name, types[name], nullable=False) for name in virtual_columns(table)]
    return StructType([*fields, *virtual])


def virtual_columns(table: Table) -> tuple[str, ...]:
    """Return the names of the virtual columns, the last of a scan.

    They are ``row__id`` and ``row__is__deleted``. Insert-only tables have none. Changes of a table
    have only the first, and so does a table where the user has declared a column
    ``row__is__deleted``, which Hive allows.
    """
    if table.insert_only:
        return ()
    names = {c.key for c in (*table.columns, *table.partition_columns)}
    if IS_DELETED_COLUMN in names or table.changes is not None:
        return (ROW_ID_COLUMN,)
    return (ROW_ID_COLUMN, IS_DELETED_COLUMN)


def partition_columns(session: AcidSession, snapshot: TableSnapshot) -> list[Column]:
    """Build the partition columns of rows that contain their partition's ordinal (``ORDINAL``)."""
    every = range(len(snapshot.partitions))
    return list(partition_values(session, snapshot, every, ORDINAL).values())


def partition_values(
    session: AcidSession, snapshot: TableSnapshot, ordinals: Sequence[int], place: str
) -> dict[str, Column]:
    """Build the partition columns of rows that contain an index into a list of partitions.

    Args:
        ordinals: the list, as ordinals of partitions in the snapshot.
        place: name of the column with the index.

    Returns:
        Columns by name.
    """
    values = [snapshot.partitions[ordinal].values for ordinal in ordinals]
    return typed_values(session, snapshot.table, values, place)


def typed_values(
    session: AcidSession, table: Table, values: Sequence[Sequence[str]], place: str
) -> dict[str, Column]:
    """Build partition columns as ``partition_values`` does, from given values.

    Args:
        values: values of each partition, as texts from the metastore.
        place: name of the column with the index of the partition.
    """
    columns = {}
    for i, field in enumerate(partition_schema(session.spark, table).fields):
        value = _partition_value([row[i] for row in values], field.dataType, place)
        columns[field.name] = value.alias(field.name, metadata=field.metadata)
    return columns


def _partition_value(values: Sequence[str], data_type: DataType, place: str) -> Column:
    """Build the value of a partition column as an element of a constant array.

    Spark can evaluate this expression for each file, and prunes files by it.
    """
    texts = [None if v == DEFAULT_PARTITION else v for v in values]
    array = F.from_json(F.lit(json.dumps(texts)), ArrayType(StringType())).cast(
        ArrayType(data_type)
    )
    return F.get(array, F.col(place))
