"""Writing of the directories of a compaction: merged deltas, or a base.

If possible, a compaction copies stripes (``copying``). Otherwise Spark reads, sorts and writes
every row (``rewriting``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

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
from acidsql.metastore.model import Compaction, CompactionType
from acidsql.metastore.names import object_name
from acidsql.scan.plan import all_inserts, compaction_deletes, surviving_events
from acidsql.scan.record import ScanRecord
from acidsql.scan.snapshot import TableSnapshot
from acidsql.schema.columns import data_schema
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import child
from acidsql.storage.finalize import write_at_place
from acidsql.storage.publication import Publication
from acidsql.storage.staging_place import StagingPlace
from acidsql.syntax.lexer import quote

_REWRITTEN = "rewritten"


def write_merged(
    session: AcidSession,
    snapshot: TableSnapshot,
    compaction: Compaction,
    staging: str,
    publication: Publication,
    txn_id: int,
) -> list[str]:
    """Write the merged directories of the only partition of a snapshot.

    Args:
        staging: staging directory of the compaction.
        publication: publication that moves the merged directories to their places.

    Returns:
        The paths of the merged directories; the last part is the name in the partition.
    """
    table = snapshot.table
    place = object_name(table.database, table.name, compaction.partition)
    name = f"COMPACT {compaction.type.value} {place}, txn {txn_id}"
    with bridge.job_description(session.spark, name):
        deltas = snapshot.partitions[0].state.deltas
        low = min((d.min_write_id for d in deltas), default=LONG_MIN)
        # A table without writes since its conversion has no write id: its base has LONG_MIN.
        high = max((d.max_write_id for d in deltas), default=LONG_MIN)
        rewritten = child(staging, _REWRITTEN)

        def staged(*names: str) -> list[str]:
            location = snapshot.partitions[0].location
            destination = publication.destination(session.files, location, staging, names)
            return [child(destination, name) for name in names]

        if snapshot.table.insert_only:
            (base,) = staged(base_name(high, txn_id))
            return [_write_plain(session, snapshot, staging, base)]
        if compaction.type is CompactionType.REBALANCE:
            highest = _highest(snapshot)
            paths = staged(base_name(highest, txn_id))
            write_rebalanced(session, snapshot, compaction, paths[0], rewritten, max(0, highest))
            if not session.files.exists(paths[0]):
                session.files.make_directory(paths[0])
        elif compaction.type is CompactionType.MAJOR:
            paths = staged(base_name(high, txn_id))
            write_base(session, snapshot, paths[0], rewritten)
        else:
            names = delta_name(low, high, None, txn_id), delete_delta_name(low, high, None, txn_id)
            paths = staged(*names)
            single_write_id = low if low == high else None
            _write_deltas(session, snapshot, paths, rewritten, single_write_id)
            paths = [path for path in paths if session.files.exists(path)]
        for path in paths:
            session.files.put(child(path, VERSION_FILE), VERSION_CONTENT)
        return paths


def write_base(
    session: AcidSession,
    snapshot: TableSnapshot,
    staged: str,
    rewritten: str,
    *,
    copies_stripes: bool = True,
) -> None:
    """Write the rows of the only partition of a snapshot, with their row ids, as a base.

    Args:
        staged: directory to write; without rows it is not created.
        rewritten: directory for rewritten stripes.
        copies_stripes: whether stripes may be copied unchanged, with their columns.
    """
    if copies_stripes and copy_base(session, snapshot, staged, rewritten):
        return
    write_buckets_of(
        session, snapshot.table, surviving_events(session, snapshot), staged, rewritten
    )


def _highest(snapshot: TableSnapshot) -> int:
    """Return the highest write id of a snapshot's directories."""
    return max((d.max_write_id for d in snapshot.partitions[0].state.directories), default=LONG_MIN)


def _write_deltas(
    session: AcidSession,
    snapshot: TableSnapshot,
    staged: Sequence[str],
    rewritten: str,
    single_write_id: int | None,
) -> None:
    """Write a pair of merged deltas.

    Args:
        rewritten: directory for rewritten stripes and write jobs.
        single_write_id: write id of all deltas if they have only one, otherwise None. The deltas
            then omit deleted rows of this write id and their delete events, because Hive's
            vectorised reader does not apply delete events of a compacted directory to rows of the
            same single write id (VectorizedOrcAcidRowBatchReader).
    """
    inserts, deletes = staged
    if single_write_id is not None or not copy_deltas(session, snapshot, inserts, rewritten):
        rows = all_inserts(session, snapshot, less_deleted=single_write_id is not None)
        write_buckets_of(session, snapshot.table, rows, inserts, rewritten)
    if not merge_few_deletes(session, snapshot, deletes, but_of=single_write_id):
        events = compaction_deletes(session, snapshot, but_of=single_write_id)
        write_buckets_of(session, snapshot.table, events, deletes, rewritten, deletes=True)


def _write_plain(session: AcidSession, snapshot: TableSnapshot, staging: str, base: str) -> str:
    """Write the base of an insert-only table; return its path."""
    table = snapshot.table
    rows = read.rows(session, ScanRecord(snapshot=snapshot), as_stored=True)
    is_small = bridge.input_bytes(rows) <= limits().one_task_bytes
    merged = rows.coalesce(1) if is_small else rows.hint("rebalance")
    columns = [F.col(quote(f.name)) for f in data_schema(session.spark, table).fields]
    whole = replace(table, partition_columns=())
    with TemporaryDirectory(prefix="acidsql_") as local:
        is_object_store = session.files.is_object_store(base)
        place = StagingPlace(staging, Path(local) if is_object_store else None)
        write_insert_only(session, merged.select(*columns), whole, place, "i0", ())
        finished = finalize_insert_only(session, whole, place)
    if finished and finished[0].unwritten:
        write_at_place(session.files, base, finished[0].unwritten)
    elif finished:
        session.files.rename(finished[0].path, base)
    else:  # Hive does not see a directory without files
        session.files.put(child(base, METADATA_FILE), COMPACTED_CONTENT)
    return base
