"""Projection of insert events to the columns of a table, its partition columns and ``row__id``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

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

from acidsql import bridge
from acidsql.format.partitions import DEFAULT_PARTITION
from acidsql.metastore.model import Column as TableColumn
from acidsql.metastore.model import Table
from acidsql.scan.char_padding import with_blanks
from acidsql.scan.snapshot import TableSnapshot
from acidsql.scan.time_zones import to_zone, zone_of_columns
from acidsql.schema.acid_file import (
    IS_DELETED_COLUMN,
    KEYS,
    ROW_ID_COLUMN,
    read_name,
    row_field,
)
from acidsql.schema.columns import data_schema, partition_schema, schema_of
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.lexer import quote

# Column of events with the ordinal of a row's partition, its index in the snapshot.
ORDINAL = "__partition"
# Fields of row__id by Hive's names, with the columns of ACID files that they are read from.
_ROW_ID_FIELDS = dict(zip(("writeid", "bucketid", "rowid"), KEYS, strict=True))


_ROW_ID_TYPE = StructType(
    [
        StructField("writeid", LongType()),
        StructField("bucketid", IntegerType()),
        StructField("rowid", LongType()),
    ]
)


def scan_schema(spark: SparkSession, table: Table) -> StructType:
    """Return the schema of a scan: the columns of the table, its partition columns, then the
    virtual columns.
    """
    fields = [*data_schema(spark, table).fields, *partition_schema(spark, table).fields]
    types = {ROW_ID_COLUMN: _ROW_ID_TYPE, IS_DELETED_COLUMN: BooleanType()}
    virtual = [StructField(name, types[name], nullable=False) for name in virtual_columns(table)]
    return StructType([*fields, *virtual])


def virtual_columns(table: Table) -> tuple[str, ...]:
    """Return the names of the virtual columns, the last of a scan: ``row__id`` and
    ``row__is__deleted``.

    Insert-only tables have none. Changes of a table have only the first, and so has a table with a
    column ``row__is__deleted`` of its own, which Hive allows.
    """
    if table.insert_only:
        return ()
    own = {c.key for c in (*table.columns, *table.partition_columns)}
    if IS_DELETED_COLUMN in own or table.changes is not None:
        return (ROW_ID_COLUMN,)
    return (ROW_ID_COLUMN, IS_DELETED_COLUMN)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumns:
    """Projections that every scan of a table shares; they are cached, since PySpark makes columns
    slowly.

    Attributes:
        data: columns of the table that are stored in files, computed from insert events.
        ids: fields of ``row__id``, computed from insert events, each as a column.
        row_id: SQL of ``row__id``, a struct of these columns.
        is_deleted: name that no column of the table has, for whether a row was deleted.
    """

    data: bridge.NamedColumns
    ids: bridge.NamedColumns
    row_id: str
    is_deleted: str


def columns_of_table(session: AcidSession, table: Table) -> TableColumns:
    """Return the projections of a table; they are cached from Spark 4 on."""
    zone = zone_of_columns(session, table.columns)
    if bridge.aliases_are_fresh(session.spark):
        return _known_columns(session, table.columns, table.partition_columns, zone)
    return _made_columns(session, table.columns, table.partition_columns, zone)


def _made_columns(
    session: AcidSession,
    columns: tuple[TableColumn, ...],
    partition_columns: tuple[TableColumn, ...],
    zone: str,
) -> TableColumns:
    spark = session.spark
    schema = schema_of(spark, columns)
    data = bridge.struct_fields(spark, "row", [read_name(c.stored_name) for c in columns], schema)
    converted = {}
    for i, (field, stored) in enumerate(zip(schema.fields, columns, strict=True)):
        if not _may_be_converted(session, stored, zone):
            continue
        value = bridge.no_pushdown(spark, row_field(stored.stored_name), nullable=field.nullable)
        value = to_zone(session, value, field.dataType, zone)
        value = with_blanks(value, bridge.parse_type(spark, stored.type))
        converted[i] = value.alias(field.name, metadata=field.metadata)
    taken = {c.key for c in (*columns, *partition_columns)}
    prefix = ROW_ID_COLUMN
    while any(name.startswith(prefix) for name in taken):
        prefix += "_"
    names = {field: f"{prefix}_{field}" for field in _ROW_ID_FIELDS}
    fields = ", ".join(f"'{field}', {quote(name)}" for field, name in names.items())
    return TableColumns(
        data=bridge.with_columns_at(spark, data, converted),
        ids=bridge.named_columns(
            spark,
            [
                bridge.no_pushdown(spark, F.col(key), nullable=True).alias(names[field])
                for field, key in _ROW_ID_FIELDS.items()
            ],
        ),
        row_id=f"named_struct({fields})",
        is_deleted=f"{prefix}_is_deleted",
    )


def _may_be_converted(session: AcidSession, column: TableColumn, zone: str) -> bool:
    """Return whether values of a column may differ from those in files: by blanks of CHAR, or by a
    time zone.
    """
    declared = column.type.lower()
    return "char" in declared or ("timestamp" in declared and zone != session.jvm_time_zone)


_known_columns = bridge.cached_per_session(256)(_made_columns)


def project(
    session: AcidSession,
    snapshot: TableSnapshot,
    parts: Sequence[bridge.UnresolvedPlan],
    *others: Column,
) -> list[bridge.UnresolvedPlan]:
    """Project insert events to the table's columns, its partition columns, the fields of the row
    id, and other columns, each with an alias.
    """
    fresh = bridge.aliases_are_fresh(session.spark)
    columns = None
    projected = []
    for part in parts:
        if columns is None or not fresh:
            columns = _wanted(session, snapshot)
            columns += [bridge.named_columns(session.spark, others)] if others else []
        projected.append(part.project(columns))
    return projected


def _wanted(session: AcidSession, snapshot: TableSnapshot) -> list[bridge.NamedColumns]:
    columns = columns_of_table(session, snapshot.table)
    of_partition = partition_columns(session, snapshot)
    if not of_partition:
        return [columns.data, columns.ids]
    return [columns.data, bridge.named_columns(session.spark, of_partition), columns.ids]


def partition_columns(session: AcidSession, snapshot: TableSnapshot) -> list[Column]:
    """Build the partition columns of rows that have the ordinal of their partition
    (``ORDINAL``).
    """
    every = range(len(snapshot.partitions))
    return list(partition_values(session, snapshot, every, ORDINAL).values())


def partition_values(
    session: AcidSession, snapshot: TableSnapshot, ordinals: Sequence[int], place: str
) -> dict[str, Column]:
    """Build the partition columns of rows that have an index into a list of partitions.

    Args:
        ordinals: of the partitions in that list, in the snapshot.
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
        values: of each partition, texts as the metastore has them.
        place: name of the column with the index of the partition.
    """
    columns = {}
    for i, field in enumerate(partition_schema(session.spark, table).fields):
        value = _partition_value([own[i] for own in values], field.dataType, place)
        columns[field.name] = value.alias(field.name, metadata=field.metadata)
    return columns


def _partition_value(values: Sequence[str], data_type: DataType, place: str) -> Column:
    """Build the value of a partition column as an element of a constant array.

    Spark can evaluate it for each file, and prunes files by it.
    """
    texts = [None if v == DEFAULT_PARTITION else v for v in values]
    array = F.from_json(F.lit(json.dumps(texts)), ArrayType(StringType())).cast(
        ArrayType(data_type)
    )
    return F.get(array, F.col(place))
