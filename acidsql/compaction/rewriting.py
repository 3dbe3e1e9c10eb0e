"""Rewriting with Spark: one merged file per bucket, sorted by row id."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from acidsql.format.bucket_codec import decode_bucket_sql
from acidsql.metastore.model import Table
from acidsql.scan.plan import FIELD
from acidsql.schema.acid_file import event_schema
from acidsql.schema.columns import file_schema
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import child
from acidsql.storage.finalize import put_bucket_files, write_at_place
from acidsql.storage.staging import BUCKET_COLUMN, bucket_file_schema, write_buckets


def write_buckets_of(
    session: AcidSession,
    table: Table,
    events: DataFrame,
    staged: str,
    rewritten: str,
    *,
    deletes: bool = False,
) -> None:
    """Write events into one sorted file per bucket, with the name and metadata of a bucket file.

    Args:
        events: events of a compaction, from ``scan.plan``.
        staged: directory to write; without events it is not created.
        rewritten: directory for the write job.
    """
    row = file_schema(session.spark, table)
    schema = event_schema(row)
    columns = [F.col(f.name).cast(f.dataType).alias(f.name) for f in schema.fields[:-1]]
    row_columns = [] if deletes else [F.col(f"{FIELD}{i}") for i in range(len(row.fields))]
    bucket = F.expr(decode_bucket_sql("bucket")).alias(BUCKET_COLUMN)
    placed = events.select(*columns, *row_columns, bucket).repartition(BUCKET_COLUMN)
    row_type = StructType(placed.schema.fields[len(columns) : -1])
    written = write_buckets(
        placed,
        child(rewritten, staged.rpartition("/")[2]),
        bucket_file_schema(table, row, row_type, zone=session.jvm_time_zone),
    )
    if not written:
        return
    (unwritten,) = put_bucket_files(session.files, [(staged, written)])
    write_at_place(session.files, staged, unwritten)
