"""Schema of ACID files (``OrcRecordUpdater``), and the names of their virtual columns."""

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
# Codecs that acidsql writes: values of the table property orc.compress, in lower case.
CODECS = ("none", "zlib", "snappy", "lz4", "zstd")

# The columns of an ACID file that identify a row, and the corresponding fields of ``row__id``.
KEYS = ("originalTransaction", "bucket", "rowId")
ROW_ID_FIELDS = ("writeid", "bucketid", "rowid")


def event_schema(row: StructType, *, deletes: bool = False) -> StructType:
    """Return the six columns of an ACID file (``OrcRecordUpdater``).

    Only ``row`` may be declared NOT NULL; otherwise Spark would optimise the guard of a scan away.

    Args:
        row: the table's columns.
        deletes: whether ``row`` may be NULL, which it is only in delete events.
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
