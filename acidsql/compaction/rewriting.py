"""Rewriting by Spark: merged files, sorted by row id, one for each bucket."""

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
    """Write events into one sorted file for each bucket, with its name and metadata.

    Args:
        events: events of a compaction, from ``scan.plan``.
        staged: directory to write; it is not created if there are no events.
        rewritten: directory for the write job.
    """
    row = file_schema(session.spark, table)
    schema = event_schema(row)
    columns = [F.col(f.name).cast(f.dataType).alias(f.name) for f in schema.fields[:-1]]
    own_row = [] if deletes else [F.col(f"{FIELD}{i}") for i in range(len(row.fields))]
    bucket = F.expr(decode_bucket_sql("bucket")).alias(BUCKET_COLUMN)
    placed = events.select(*columns, *own_row, bucket).repartition(BUCKET_COLUMN)
    own = StructType(placed.schema.fields[len(columns) : -1])
    written = write_buckets(
        placed,
        child(rewritten, staged.rpartition("/")[2]),
        bucket_file_schema(table, row, own, zone=session.jvm_time_zone),
    )
    if not written:
        return
    (unwritten,) = put_bucket_files(session.files, [(staged, written)])
    write_at_place(session.files, staged, unwritten)
