"""Which partitions and rows a statement needs, found before any is fetched or listed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from acidsql import bridge
from acidsql.format.partitions import DEFAULT_PARTITION
from acidsql.metastore.model import Table
from acidsql.metastore.protocol import Metastore
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a statement needs of one occurrence of a table.

    Attributes:
        partitions: the values of its partitions, None for all.
        rows: alternatives, of each the conditions that all hold of its rows; none if it needs all.
        counted: it needs no values, only to know how many rows there are.
    """

    partitions: Wanted | None = None
    rows: tuple[tuple[bridge.Conjunct, ...], ...] = ()
    counted: bool = False


EVERYTHING = Needs()


def find_needs(
    spark: SparkSession,
    metastore: Metastore,
    plan: bridge.JavaObject,
    tables: Sequence[Table],
) -> dict[int, Needs]:
    """What a statement needs of each occurrence of a table.

    Args:
        plan: the statement's plan over outlines.
        tables: the table of each outline, by its number.

    Returns:
        Occurrences that need everything are left out.
    """
    known: dict[str, tuple[tuple[str, ...], ...]] = {}
    asked = bridge.asked_of_outlines(spark, plan)
    found = {
        number: Needs(counted=True) for number in asked.counted if not tables[number].insert_only
    }
    for number, copies in asked.conditions.items():
        table = tables[number]
        names = {c.name for c in table.partition_columns}
        about_partitions = [[c for c in copy if c.columns.keys() <= names] for copy in copies]
        wanted = None
        if all(about_partitions):
            if table.full_name not in known:
                known[table.full_name] = metastore.partition_values(table.database, table.name)
            values = known[table.full_name]
            texts = [[None if v == DEFAULT_PARTITION else v for v in row] for row in values]
            schema = partition_schema(spark, table)
            chosen = {
                i for c in about_partitions for i in bridge.chosen_rows(spark, c, schema, texts)
            }
            wanted = frozenset(values[i] for i in chosen)
        stored = {c.name for c in table.columns}
        about_rows = tuple(tuple(c for c in copy if c.columns.keys() <= stored) for copy in copies)
        rows = about_rows if all(about_rows) and not table.insert_only else ()
        found[number] = Needs(partitions=wanted, rows=rows)
    return found
