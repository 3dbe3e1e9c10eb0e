"""Rebalancing: writes the rows of a partition in another order, in files of about the same size.

All rows get new row ids with the highest write id, so no transaction may delete or update rows in
the meantime. (Hive 4: RebalanceQueryCompactor, which keeps the write ids, but not the order of a
file by key.)
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from acidsql import bridge
from acidsql.compaction.rewriting import write_buckets_of
from acidsql.compaction.zordering import ordered_columns, z_value
from acidsql.format.bucket_codec import MAX_BUCKET_ID, encode
from acidsql.format.zorder import zorder_columns
from acidsql.metastore.model import Compaction
from acidsql.scan.health import data_files
from acidsql.scan.plan import FIELD, surviving_events
from acidsql.scan.snapshot import TableSnapshot
from acidsql.schema.columns import data_schema
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.lexer import quote

_Z_VALUE = "acidsql_z_value"


def write_rebalanced(
    session: AcidSession,
    snapshot: TableSnapshot,
    compaction: Compaction,
    base: str,
    rewritten: str,
    write_id: int,
) -> None:
    """Write the rows of the only partition of a snapshot into a base.

    Args:
        compaction: its ``order_by`` is a sort order over all files, or a Z-order; without it, rows
            are distributed evenly. ``buckets`` is the number of files; by default it stays the
            same.
        base: directory to write; without rows it is not created.
        rewritten: see ``write_buckets_of``.
        write_id: write id of all rows.
    """
    events = surviving_events(session, snapshot)
    files = compaction.buckets or _files(snapshot)
    names = [field.name for field in data_schema(session.spark, snapshot.table).fields]
    columns = [F.col(f"{FIELD}{i}").alias(name) for i, name in enumerate(names)]
    rows = events.select(*columns)
    clustered = zorder_columns(compaction.order_by) if compaction.order_by else None
    if compaction.order_by is None:
        placed = rows.repartition(files)
    elif clustered is not None:
        placed = _clustered(session, snapshot, rows, clustered, files)
    else:
        order = bridge.sort_order(session.spark, compaction.order_by)
        placed = rows.repartitionByRange(files, *order).sortWithinPartitions(*order)
    keyed = bridge.select(
        placed,
        "0 AS operation",
        f"{write_id}L AS originalTransaction",
        f"CAST({encode(0)} + spark_partition_id() * {1 << 16} AS INT) AS bucket",
        f"monotonically_increasing_id() & {(1 << 33) - 1}L AS rowId",
        f"{write_id}L AS currentTransaction",
        *[f"{quote(name)} AS {FIELD}{i}" for i, name in enumerate(names)],
    )
    write_buckets_of(session, snapshot.table, keyed, base, rewritten)


def _clustered(
    session: AcidSession,
    snapshot: TableSnapshot,
    rows: DataFrame,
    columns: Sequence[str],
    files: int,
) -> DataFrame:
    """Return rows in a Z-order, over all files."""
    names = ordered_columns(session, snapshot.table, columns)
    if len(names) == 1:
        order = [F.col(quote(names[0]))]
    else:
        total = sum(
            session.tails.tail(file.path, file.version).rows
            for file in data_files(snapshot, snapshot.partitions[0])
            if not file.has_deletes
        )
        rows = z_value(rows, names, total, _Z_VALUE)
        order = [F.col(_Z_VALUE)]
    return rows.repartitionByRange(files, *order).sortWithinPartitions(*order)


def _files(snapshot: TableSnapshot) -> int:
    """Return the number of files with rows, limited to the number that a base can have."""
    partition = snapshot.partitions[0]
    state = partition.state
    directories = [*([state.base] if state.base else []), *state.insert_deltas]
    numbers = {
        name
        for directory in directories
        for name in snapshot.listings.get(partition.path(directory)).files
        if name.startswith("bucket_")
    }
    return min(max(1, len(numbers) + len(state.originals)), MAX_BUCKET_ID + 1)
