"""Rewriting by Spark: merged files, sorted by row id, one for each bucket."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from acidsql.format.bucket_codec import decode_bucket_sql
from acidsql.metastore.model import Table
from acidsql.scan.plan import FIELD
from acidsql.schema.acid_file import event_schema
from acidsql.schema.columns import file_schema
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import child
from acidsql.storage.finalize import finish_bucket_parts, write_at_place
from acidsql.storage.staging import BUCKET_COLUMN, staged_row, write_buckets
from acidsql.storage.staging_place import StagingPlace


def write_buckets_of(
    session: AcidSession,
    table: Table,
    events: DataFrame,
    staged: str,
    anew: str,
    *,
    deletes: bool = False,
) -> None:
    """Write events into one sorted file for each bucket, with its name and metadata.

    Args:
        events: events of a compaction, from ``scan.plan``.
        staged: directory to write; it is not created if there are no events.
        anew: directory for a write job on an object store.
    """
    bucket = F.expr(decode_bucket_sql("bucket"))
    row = file_schema(session.spark, table)
    schema = event_schema(row)
    columns = [F.col(f.name).cast(f.dataType).alias(f.name) for f in schema.fields[:-1]]
    if deletes:
        own_row = [F.lit(None).cast(schema["row"].dataType).alias("row")]
    else:
        own_row = staged_row([F.col(f"{FIELD}{i}") for i in range(len(row.fields))])
    placed = events.select(*columns, *own_row, bucket.alias(BUCKET_COLUMN))
    with TemporaryDirectory(prefix="acidsql_") as local:
        place = StagingPlace(staged)
        if session.files.is_object_store(staged):
            place = StagingPlace(child(anew, staged.rpartition("/")[2]), Path(local))
        write_buckets(placed.repartition(BUCKET_COLUMN), place, table, [BUCKET_COLUMN])
        names = () if deletes else row.names
        finished = finish_bucket_parts(session.files, place, place.path, row=names, deletes=deletes)
    unwritten = [file.unwritten for file in finished if file.unwritten is not None]
    write_at_place(session.files, staged, unwritten)
