"""DESCRIBE DETAIL: one row about a table, with Delta Lake's column names where they fit."""

from __future__ import annotations

from pyspark.sql import DataFrame

from acidsql.commands import result
from acidsql.commands.describe_health import snapshot_of
from acidsql.commands.describe_history import history
from acidsql.metastore.model import Table, TxnState
from acidsql.scan.health import data_files
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.show_statements import DescribeDetail

_COLUMNS = (
    ("format", "STRING"),
    ("id", "STRING"),
    ("name", "STRING"),
    ("description", "STRING"),
    ("location", "STRING"),
    ("createdAt", "TIMESTAMP"),
    ("lastModified", "TIMESTAMP"),
    ("partitionColumns", "ARRAY<STRING>"),
    ("bucketColumns", "ARRAY<STRING>"),
    ("numBuckets", "INT"),
    ("numPartitions", "BIGINT"),
    ("numFiles", "BIGINT"),
    ("sizeInBytes", "BIGINT"),
    ("properties", "MAP<STRING, STRING>"),
    ("owner", "STRING"),
    ("guarantee", "STRING"),
    ("nextWriteId", "BIGINT"),
)

# The last commit is searched in this many entries; the entries above it are open or aborted.
_LOOKED_AT = 100


def describe_detail(session: AcidSession, table: Table, _: DescribeDetail) -> DataFrame:
    """Run DESCRIBE DETAIL."""
    with snapshot_of(session, table) as snapshot:
        sizes = [f.version.size for p in snapshot.partitions for f in data_files(snapshot, p)]
        number = len(snapshot.partitions)
    metastore = session.metastore
    owner = metastore.table_owner(table.database, table.name)
    row = (
        table.file_format.value,
        None if owner is None else f"{owner.metastore_id}/{owner.table_id}",
        table.full_name,
        table.properties.get("comment"),
        table.location,
        table.created or None,
        _last_modified(session, table),
        tuple(c.name for c in table.partition_columns),
        table.bucket_columns,
        table.num_buckets,
        number if table.partition_columns else None,
        len(sizes),
        sum(sizes),
        dict(sorted(table.properties.items())),
        table.owner,
        "insert-only" if table.insert_only else "full ACID",
        metastore.next_write_id(table.database, table.name),
    )
    return result.table(session.spark, _COLUMNS, [row])


def _last_modified(session: AcidSession, table: Table) -> float | None:
    """Return the time of the last commit that gave the table a write id, in seconds since 1970."""
    return next(
        (
            entry.ended
            for entry in history(session, table, _LOOKED_AT)
            if entry.state is TxnState.COMMITTED and entry.ended is not None
        ),
        None,
    )
