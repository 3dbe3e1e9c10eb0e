"""The schema of ACID files (OrcRecordUpdater), and how Spark must be asked for their columns."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ByteType,
    IntegerType,
    LongType,
    StructField,
    StructType,
)

from acidsql.syntax.lexer import quote

ROW_ID_COLUMN = "row__id"


# The columns of an ACID file that identify a row.
KEYS = ("originalTransaction", "bucket", "rowId")


def pad_name(columns: Sequence[str]) -> str:
    """A field name that no column of the table has: ORC gives nulls for
    it without reading anything.
    """
    name = "__pad"
    while name in columns:
        name += "_"
    return name


def event_schema(row: StructType, *, deletes: bool = False) -> StructType:
    """The six columns of an ACID file (OrcRecordUpdater); ``row`` is null in delete events only.

    No other column may count as never null: the guard of a scan must not be folded away.
    """
    return StructType(
        [
            StructField("operation", IntegerType()),
            StructField("originalTransaction", LongType()),
            StructField("bucket", IntegerType()),
            StructField("rowId", LongType()),
            StructField("currentTransaction", LongType()),
            StructField("row", row, nullable=deletes),
        ]
    )


def read_name(name: str) -> str:
    """The name that Spark must be given to find a field of ``row``.

    Its ORC reader takes the name of a nested field in a file to end at the first backtick.
    """
    return name.partition("`")[0]


def row_field(name: str) -> SparkColumn:
    """A field of ``row`` in a scan."""
    return F.col("row").getField(read_name(name))


def row_of(row: StructType, values: Sequence[SparkColumn]) -> SparkColumn:
    """``row`` with the table's columns, of values in their order; those missing at the end are
    null.
    """
    missing = [F.lit(None)] * (len(row.fields) - len(values))
    pairs = zip([*values, *missing], row.fields, strict=True)
    return F.struct(*[v.cast(f.dataType).alias(read_name(f.name)) for v, f in pairs])


def padded(row: StructType) -> StructType:
    """What a scan asks of ``row``: its fields, without metadata, and the pad."""
    fields = [StructField(read_name(f.name), f.dataType, f.nullable) for f in row.fields]
    return StructType([*fields, StructField(pad_name(row.names), ByteType())])


def guarded_columns(row: StructType) -> list[str]:
    """The columns, as SQL, of which a scan must ask all.

    ORC knows ACID files by their six top-level columns and fails on a scan that asks for fewer. The
    pad stands for ``row`` without being read.
    """
    return ["operation", *KEYS, "currentTransaction", f"row.{quote(pad_name(row.names))}"]
