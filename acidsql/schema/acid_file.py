"""Schema of ACID files (``OrcRecordUpdater``), and the schema by which Spark has to read them."""

from __future__ import annotations

from pyspark.sql.types import (
    IntegerType,
    LongType,
    StructField,
    StructType,
)

ROW_ID_COLUMN = "row__id"
# Whether a row was deleted (``VirtualColumn.ROWISDELETED``).
IS_DELETED_COLUMN = "row__is__deleted"
# Codecs of files that are written: values of the table property orc.compress, in lower case.
CODECS = ("none", "zlib", "snappy", "lz4", "zstd")

# The columns of an ACID file that identify a row, and the fields of ``row__id`` that have them.
KEYS = ("originalTransaction", "bucket", "rowId")
ROW_ID_FIELDS = ("writeid", "bucketid", "rowid")


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
