"""Writing row events with Spark into a staging directory that readers ignore.

Events are rows of the six ACID columns with these beside them:

- ``__target``: where the event goes: ``i<statement id>`` for rows, ``d<statement id>`` for delete
  events, ``m`` for row ids that only take part in MERGE's cardinality check;
- ``__part_0``, …: the values of the partition columns as text, in Hive's form, never null.

Rows come without ``originalTransaction``, ``bucket`` and ``rowId``: they are numbered
here, where they are written, above every union, coalesce and shuffle, because a task that
runs again numbers anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DecimalType, StructField

from acidsql import bridge
from acidsql.format.bucket_codec import MAX_BUCKET_ID, encode
from acidsql.format.partitions import DEFAULT_PARTITION, escape
from acidsql.metastore.protocol import Table
from acidsql.storage.filesystem import child

TARGET, PART, BUCKET_COLUMN = "__target", "__part_", "__bucket"
CHECK_TARGET = "m"
# Named by class, so that settings of the session cannot choose another writer.
_ORC = "org.apache.spark.sql.execution.datasources.orc.OrcFileFormat"
_EVENT_COLUMNS = (
    "operation",
    "originalTransaction",
    "bucket",
    "rowId",
    "currentTransaction",
    "row",
)
# A plan that reads no more than this runs as one task: a shuffle would cost more than it brings.
_ONE_TASK_BYTES = 4 * 1024 * 1024
_ROW_ID_BITS = (1 << 33) - 1  # monotonically_increasing_id keeps the task's number above these


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One kind of events of one statement id."""

    deletes: bool
    statement_id: int

    @property
    def name(self) -> str:
        """Its name in staging."""
        return f"{'d' if self.deletes else 'i'}{self.statement_id}"


def codec(table: Table) -> str:
    """The compression of a table's files, in lower case (Hive's default is zlib)."""
    return table.properties.get("orc.compress", "ZLIB").lower()


def writer_options(table: Table) -> dict[str, str]:
    """Options of the write job: the table's, and those that the user's session must not change."""
    options = {
        k: v for k, v in table.properties.items() if k.startswith("orc.") and k != "orc.compress"
    }
    return {
        **options,
        "compression": codec(table),
        "maxRecordsPerFile": "0",
        "mapreduce.fileoutputcommitter.algorithm.version": "1",
        "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    }


def partition_text(value: Column, field: StructField) -> Column:
    """A partition column's value as Hive spells it in directory names; NULL and ''
    are its default name.
    """
    text = value.cast("string")
    if isinstance(field.dataType, DecimalType) and field.dataType.scale > 0:
        text = F.regexp_replace(text, r"\.?0+$", "")
    return F.coalesce(F.nullif(text, F.lit("")), F.lit(DEFAULT_PARTITION))


def part_columns(table: Table) -> list[str]:
    """Names of the partition columns in staging; the table's own could collide
    with the ACID columns.
    """
    return [f"{PART}{i}" for i in range(len(table.partition_columns))]


def write_rows(
    rows: DataFrame,
    staging: str,
    table: Table,
    target: Target,
    write_id: int,
    values: Sequence[str],
) -> None:
    """Write rows that all go to one directory, with no shuffle and no sort.

    Args:
        rows: a column ``row``.
        values: the partition's values.
    """
    events = rows.select(
        F.lit(0).alias("operation"),
        *[F.lit(None).cast("long").alias(c) for c in ("originalTransaction", "rowId")],
        F.lit(None).cast("int").alias("bucket"),
        F.lit(write_id).cast("long").alias("currentTransaction"),
        "row",
    )
    parts = [f"{name}={escape(v)}" for name, v in zip(part_columns(table), values, strict=True)]
    path = child(staging, f"{TARGET}={target.name}", *parts)
    placed = events.coalesce(MAX_BUCKET_ID + 1).withColumn(TARGET, F.lit(target.name))
    numbered = _numbered(placed, [target], write_id)
    numbered.write.format(_ORC).mode("append").options(**writer_options(table)).save(path)


def write_events(
    events: DataFrame, staging: str, table: Table, write_id: int, rows: Sequence[Target]
) -> None:
    """Write events of any targets and partitions in one job.

    They are shuffled by directory first, so that a statement which touches few rows of many files
    writes few files (or, from a small table, written by one task), and sorted by directory
    explicitly: the sort that Spark would add comes after the numbering and is not stable once it
    spills.

    Args:
        rows: the targets that get rows.
    """
    directories = [TARGET, *part_columns(table)]
    if bridge.input_bytes(events) <= _ONE_TASK_BYTES:
        placed = events.coalesce(1)
    else:
        placed = bridge.rebalance(events, directories).coalesce(MAX_BUCKET_ID + 1)
    placed = placed.sortWithinPartitions(*directories)
    numbered = _numbered(placed, rows, write_id, *directories)
    writer = numbered.write.format(_ORC).mode("append").options(**writer_options(table))
    writer.partitionBy(*directories).save(staging)


def write_buckets(events: DataFrame, path: str, table: Table, directories: Sequence[str]) -> None:
    """Write events that keep their keys, sorted, below directories named by columns
    (none of them text).

    The events of one directory must be in one task: it becomes one file.
    """
    keys = ["originalTransaction", "bucket", "rowId"]
    ordered = events.sortWithinPartitions(*directories, *keys)
    writer = ordered.write.format(_ORC).mode("append").options(**writer_options(table))
    writer.partitionBy(*directories).save(path)


def _numbered(events: DataFrame, rows: Sequence[Target], write_id: int, *keep: str) -> DataFrame:
    """Give rows their identity: write id, bucket property of the writing task, row id.

    Each target has its own counter, which moves only when it is asked, so that a
    writer starts at 0.
    """
    bucket, row_id = F.lit(None).cast("int"), F.lit(None).cast("long")
    for target in rows:
        own = F.col(TARGET) == target.name
        first = F.lit(encode(0, target.statement_id))
        bucket = F.when(own, first + F.spark_partition_id() * F.lit(1 << 16)).otherwise(bucket)
        counter = F.monotonically_increasing_id().bitwiseAND(F.lit(_ROW_ID_BITS))
        row_id = F.when(own, counter).otherwise(row_id)
    values = {
        "originalTransaction": F.coalesce("originalTransaction", F.lit(write_id).cast("long")),
        "bucket": F.coalesce("bucket", bucket),
        "rowId": F.coalesce("rowId", row_id),
    }
    columns = [values.get(c, F.col(c)).alias(c) for c in _EVENT_COLUMNS]
    return events.select(*columns, *keep)
