"""Directories that a compaction writes: merged deltas, or a base.

Where it can, it copies stripes (``copying``). Otherwise Spark reads, sorts and writes every row
(``rewriting``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import functions as F

from acidsql import bridge
from acidsql.compaction.copying import copy_base, copy_deltas, merge_few_deletes
from acidsql.compaction.rebalancing import write_rebalanced
from acidsql.compaction.rewriting import write_buckets_of
from acidsql.format.names import (
    COMPACTED_CONTENT,
    LONG_MIN,
    METADATA_FILE,
    VERSION_CONTENT,
    VERSION_FILE,
    base_name,
    delete_delta_name,
    delta_name,
)
from acidsql.insert_only import read
from acidsql.insert_only.write import finalize_insert_only, write_insert_only
from acidsql.limits import limits
from acidsql.metastore.model import Compaction, CompactionType, FileFormat
from acidsql.metastore.names import object_name
from acidsql.scan.plan import all_inserts, compaction_deletes, surviving_events
from acidsql.scan.record import ScanRecord
from acidsql.scan.snapshot import TableSnapshot
from acidsql.scan.time_zones import to_file_zone
from acidsql.schema.columns import data_schema
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import child
from acidsql.syntax.lexer import quote

_ANEW = "anew"


def write_merged(
    session: AcidSession,
    snapshot: TableSnapshot,
    compaction: Compaction,
    staging: str,
    txn_id: int,
) -> list[str]:
    """Write the merged directories of the only partition of a snapshot.

    Returns:
        Their paths in staging; the last part is the name that each has in the partition.
    """
    table = snapshot.table
    place = object_name(table.database, table.name, compaction.partition)
    name = f"COMPACT {compaction.type.value} {place}, txn {txn_id}"
    with bridge.job_description(session.spark, name):
        deltas = snapshot.partitions[0].state.deltas
        low = min((d.min_write_id for d in deltas), default=LONG_MIN)
        # A table without writes since its conversion has no write id; LONG_MIN is its base's.
        high = max((d.max_write_id for d in deltas), default=LONG_MIN)
        if snapshot.table.insert_only:
            return [_write_plain(session, snapshot, staging, base_name(high, txn_id))]
        if compaction.type is CompactionType.REBALANCE:
            staged = [child(staging, base_name(_highest(snapshot), txn_id))]
            write_rebalanced(session, snapshot, compaction, staged[0], max(0, _highest(snapshot)))
            if not session.files.exists(staged[0]):
                session.files.make_directory(staged[0])
        elif compaction.type is CompactionType.MAJOR:
            staged = [child(staging, base_name(high, txn_id))]
            if not copy_base(session, snapshot, staged[0], child(staging, _ANEW)):
                write_buckets_of(
                    session, snapshot.table, surviving_events(session, snapshot), staged[0]
                )
        else:
            names = delta_name(low, high, None, txn_id), delete_delta_name(low, high, None, txn_id)
            staged = [child(staging, name) for name in names]
            own = low if low == high else None
            _write_deltas(session, snapshot, staged, child(staging, _ANEW), own)
            staged = [path for path in staged if session.files.exists(path)]
        for path in staged:
            session.files.write(child(path, VERSION_FILE), VERSION_CONTENT)
        return staged


def _highest(snapshot: TableSnapshot) -> int:
    """Return the highest write id of a snapshot's directories."""
    return max((d.max_write_id for d in snapshot.partitions[0].state.directories), default=LONG_MIN)


def _write_deltas(
    session: AcidSession,
    snapshot: TableSnapshot,
    staged: Sequence[str],
    anew: str,
    own: int | None,
) -> None:
    """Write a pair of merged deltas.

    Args:
        anew: directory for rewritten stripes.
        own: write id of all deltas if they have only one, else None. Hive's vectorised reader does
            not apply delete events of a compacted directory to rows of the same single write id
            (VectorizedOrcAcidRowBatchReader), so these rows and events are left out of both deltas.
    """
    inserts, deletes = staged
    if own is not None or not copy_deltas(session, snapshot, inserts, anew):
        rows = all_inserts(session, snapshot, less_deleted=own is not None)
        write_buckets_of(session, snapshot.table, rows, inserts)
    if not merge_few_deletes(session, snapshot, deletes, but_of=own):
        events = compaction_deletes(session, snapshot, but_of=own)
        write_buckets_of(session, snapshot.table, events, deletes, deletes=True)


def _write_plain(session: AcidSession, snapshot: TableSnapshot, staging: str, name: str) -> str:
    """Write the base of an insert-only table; its path."""
    table = snapshot.table
    rows = read.rows(session, ScanRecord(snapshot=snapshot))
    few = bridge.input_bytes(rows) <= limits().one_task_bytes
    merged = rows.coalesce(1) if few else rows.hint("rebalance")
    fields = data_schema(session.spark, table).fields
    orc = table.file_format is FileFormat.ORC
    columns = [
        (
            to_file_zone(session, F.col(quote(f.name)), f.dataType) if orc else F.col(quote(f.name))
        ).alias(f.name)
        for f in fields
    ]
    whole = replace(table, partition_columns=())
    write_insert_only(session, merged.select(*columns), whole, staging, "i0", ())
    finished = finalize_insert_only(session, whole, staging)
    base = child(staging, name)
    if finished:
        session.files.rename(finished[0].path, base)
    else:  # Hive does not see a directory without files
        session.files.write(child(base, METADATA_FILE), COMPACTED_CONTENT)
    return base
