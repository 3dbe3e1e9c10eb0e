"""Writing row events with Spark into a staging directory that readers ignore.

Events are rows of the six ACID columns, but ``row`` has the first of the table's columns only and
the others follow it as ``__field_1``, … (``format.orc_nesting``). These stand beside them:

- ``__target``: where the event goes: ``i<statement id>`` for rows, ``d<statement id>`` for delete
  events, ``m`` for row ids that only take part in MERGE's cardinality check;
- ``__part_0``, …: the values of the partition columns as text, in Hive's form, never null;
- ``__bucket``, if the table is bucketed: the bucket of a row, 0 of other events.

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
from acidsql.metastore.model import Table
from acidsql.storage.filesystem import child

TARGET, PART, BUCKET_COLUMN = "__target", "__part_", "__bucket"
CHECK_TARGET = "m"
# Named by class, so that settings of the session cannot choose another writer.
_ORC = "org.apache.spark.sql.execution.datasources.orc.OrcFileFormat"
_EVENT_COLUMNS = ("operation", "originalTransaction", "bucket", "rowId", "currentTransaction")
_FIELD = "__field_"
# A plan that reads no more than this runs as one task: a shuffle would cost more than it brings.
ONE_TASK_BYTES = 4 * 1024 * 1024
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


def directory_columns(table: Table) -> list[str]:
    """The columns whose values become directories of staging, the outermost first."""
    buckets = [BUCKET_COLUMN] if table.num_buckets else []
    return [TARGET, *part_columns(table), *buckets]


def staged_row(values: Sequence[Column]) -> list[Column]:
    """The columns of a table as staging has them: ``row`` with the first, then the others."""
    first, *others = [value.alias(f"{_FIELD}{i}") for i, value in enumerate(values)]
    return [F.struct(first).alias("row"), *others]


def without_row(events: DataFrame) -> DataFrame:
    """Delete events without the columns that are null in all of them."""
    return events.drop("row", *[c for c in events.columns if c.startswith(_FIELD)])


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
        rows: the columns of ``staged_row``.
        values: the partition's values.
    """
    events = rows.select(
        F.lit(0).alias("operation"),
        *[F.lit(None).cast("long").alias(c) for c in ("originalTransaction", "rowId")],
        F.lit(None).cast("int").alias("bucket"),
        F.lit(write_id).cast("long").alias("currentTransaction"),
        *[F.col(c) for c in rows.columns],
    )
    parts = [f"{name}={escape(v)}" for name, v in zip(part_columns(table), values, strict=True)]
    path = child(staging, f"{TARGET}={target.name}", *parts)
    placed = events.coalesce(MAX_BUCKET_ID + 1).withColumn(TARGET, F.lit(target.name))
    numbered = _numbered(placed, [target], write_id)
    _save(numbered, path, table)


def write_events(
    events: DataFrame, staging: str, table: Table, write_id: int, rows: Sequence[Target]
) -> None:
    """Write events of any targets and partitions in one job.

    They are shuffled by directory first, so that a statement which touches few rows of many files
    writes few files (or, from a small table, written by one task), and sorted by directory
    explicitly: the sort that Spark would add comes after the numbering and is not stable once it
    spills. The rows of one bucket of a bucketed table are in one task, because they become one
    file.

    Args:
        rows: the targets that get rows.
    """
    directories = directory_columns(table)
    if bridge.input_bytes(events) <= ONE_TASK_BYTES:
        placed = events.coalesce(1)
    elif table.num_buckets:
        placed = events.repartition(*directories)
    else:
        placed = bridge.rebalance(events, directories).coalesce(MAX_BUCKET_ID + 1)
    placed = placed.sortWithinPartitions(*directories)
    numbered = _numbered(placed, rows, write_id, *directories)
    _save(numbered, staging, table, directories)


def write_buckets(events: DataFrame, path: str, table: Table, directories: Sequence[str]) -> None:
    """Write events that keep their keys, sorted, below directories named by columns
    (none of them text).

    The events of one directory must be in one task: it becomes one file.
    """
    keys = ["originalTransaction", "bucket", "rowId"]
    ordered = events.sortWithinPartitions(*directories, *keys)
    _save(ordered, path, table, directories)


def _save(events: DataFrame, path: str, table: Table, directories: Sequence[str] = ()) -> None:
    writer = events.write.format(_ORC).mode("append").options(**writer_options(table))
    with bridge.job_errors():
        writer.partitionBy(*directories).save(path)


def _numbered(events: DataFrame, rows: Sequence[Target], write_id: int, *keep: str) -> DataFrame:
    """Give rows their identity: write id, bucket property of the writing task, row id.

    Each target has its own counter, which moves only when it is asked, so that a
    writer starts at 0. The writer is the task, or in a bucketed table the bucket.
    """
    writer = F.col(BUCKET_COLUMN) if BUCKET_COLUMN in keep else F.spark_partition_id()
    bucket, row_id = F.lit(None).cast("int"), F.lit(None).cast("long")
    for target in rows:
        own = F.col(TARGET) == target.name
        first = F.lit(encode(0, target.statement_id))
        bucket = F.when(own, first + writer * F.lit(1 << 16)).otherwise(bucket)
        counter = F.monotonically_increasing_id().bitwiseAND(F.lit(_ROW_ID_BITS))
        row_id = F.when(own, counter).otherwise(row_id)
    values = {
        "originalTransaction": F.coalesce("originalTransaction", F.lit(write_id).cast("long")),
        "bucket": F.coalesce("bucket", bucket),
        "rowId": F.coalesce("rowId", row_id),
    }
    columns = [values.get(c, F.col(c)).alias(c) for c in _EVENT_COLUMNS]
    row = [c for c in events.columns if c not in (*_EVENT_COLUMNS, TARGET, *keep)]
    return events.select(*columns, *row, *keep)
