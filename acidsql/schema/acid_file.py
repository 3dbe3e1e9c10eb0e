"""Schema of ACID files (``OrcRecordUpdater``), and the schema by which Spark has to read them."""

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
# Whether a row was deleted (``VirtualColumn.ROWISDELETED``).
IS_DELETED_COLUMN = "row__is__deleted"
# Codecs of files that are written: values of the table property orc.compress, in lower case.
CODECS = ("none", "zlib", "snappy", "lz4", "zstd")

# The columns of an ACID file that identify a row.
KEYS = ("originalTransaction", "bucket", "rowId")


def pad_name(columns: Sequence[str]) -> str:
    """Return a name for the pad: a field of ``row`` that no column of the table has.

    ORC returns NULL for it and reads nothing.
    """
    name = "__pad"
    while name in columns:
        name += "_"
    return name


def event_schema(row: StructType, *, deletes: bool = False) -> StructType:
    """Return the six columns of an ACID file (``OrcRecordUpdater``).

    No column but ``row`` may be declared NOT NULL: Spark would fold the guard of a scan away.

    Args:
        row: the table's columns.
        deletes: whether ``row`` may be NULL, as it is in delete events only.
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
    """Return the name by which Spark finds a field of ``row`` in a file.

    Spark's ORC reader ends the name of a nested field in a file at the first backtick.
    """
    return name.partition("`")[0]


def row_field(name: str) -> SparkColumn:
    """Return a field of ``row`` in a scan."""
    return F.col("row").getField(read_name(name))


def row_of(row: StructType, values: Sequence[SparkColumn]) -> SparkColumn:
    """Build the struct ``row`` with the table's columns.

    Args:
        row: the table's columns.
        values: values of the first columns, in their order; the others are NULL.
    """
    missing = [F.lit(None)] * (len(row.fields) - len(values))
    pairs = zip([*values, *missing], row.fields, strict=True)
    return F.struct(*[v.cast(f.dataType).alias(read_name(f.name)) for v, f in pairs])


def padded(row: StructType) -> StructType:
    """Return the schema that a scan reads ``row`` by: its fields without metadata, and the pad."""
    fields = [StructField(read_name(f.name), f.dataType, f.nullable) for f in row.fields]
    return StructType([*fields, StructField(pad_name(row.names), ByteType())])


def guarded_columns(row: StructType) -> list[str]:
    """Return the columns, as SQL, that the guard of a scan refers to, so that Spark reads them all.

    ORC recognises ACID files by their six top-level columns, and fails on a scan that reads fewer.
    The pad stands for ``row``, of which nothing is read then.
    """
    return ["operation", *KEYS, "currentTransaction", f"row.{quote(pad_name(row.names))}"]
