"""Which partitions a statement needs, found before any of them is fetched or listed."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from acidsql import bridge
from acidsql.format.partitions import DEFAULT_PARTITION
from acidsql.metastore.protocol import Metastore, Table
from acidsql.schema import ROW_ID_COLUMN, data_schema, partition_schema

Wanted = frozenset[tuple[str, ...]]

_ROW_ID = StructType(
    [
        StructField("writeid", LongType()),
        StructField("bucketid", IntegerType()),
        StructField("rowid", LongType()),
    ]
)


def outline_schema(spark: SparkSession, table: Table) -> StructType:
    """The columns that a scan of a table gives, ``row__id`` last if its rows have one."""
    fields = [*data_schema(spark, table).fields, *partition_schema(spark, table).fields]
    row_id = [] if table.insert_only else [StructField(ROW_ID_COLUMN, _ROW_ID, nullable=False)]
    return StructType([*fields, *row_id])


def wanted_partitions(
    spark: SparkSession,
    metastore: Metastore,
    plan: bridge.JavaObject,
    tables: Mapping[int, Table],
) -> dict[int, Wanted]:
    """The partitions that a statement needs of each occurrence of a table.

    Args:
        plan: the statement's plan over outlines.
        tables: the partitioned tables among them, by the number of their outline.

    Returns:
        The values of the partitions; occurrences that need all of them are left out.
    """
    columns = {n: [c.name for c in t.partition_columns] for n, t in tables.items()}
    known: dict[str, tuple[tuple[str, ...], ...]] = {}
    wanted: dict[int, Wanted] = {}
    for found in bridge.partition_filters(spark, plan, columns):
        table = tables[found.occurrence]
        if table.full_name not in known:
            known[table.full_name] = metastore.partition_values(table.database, table.name)
        values = known[table.full_name]
        texts = [[None if v == DEFAULT_PARTITION else v for v in row] for row in values]
        chosen = bridge.chosen_rows(spark, found, partition_schema(spark, table), texts)
        wanted[found.occurrence] = frozenset(values[i] for i in chosen)
    return wanted
