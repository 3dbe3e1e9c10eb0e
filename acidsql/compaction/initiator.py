"""Initiator: examines tables and partitions with new writes, and requests compactions.

Like Hive's initiator, it decides by names and sizes (``thresholds``). It lists only the directories
with writes since its last run, so its cost does not grow with the number of partitions.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from acidsql import bridge
from acidsql.compaction.thresholds import (
    PartitionSizes,
    is_backing_off,
    is_waiting,
    may_compact,
    next_look,
    wanted,
)
from acidsql.compaction.worker import partition_of
from acidsql.compaction.zordering import can_be_ordered
from acidsql.errors import AcidLookupError, AcidSqlError
from acidsql.format.identifiers import folded
from acidsql.format.names import DirectoryKind, parse_directory
from acidsql.format.partitions import parse_partition_name
from acidsql.format.selection import AcidState
from acidsql.format.thresholds import Thresholds, of_table
from acidsql.format.valid_lists import compactor_write_ids
from acidsql.format.zorder import MOST_COLUMNS, ZORDER_PROPERTY, order_text, property_columns
from acidsql.metastore.model import (
    Compaction,
    CompactionCandidate,
    CompactionOptions,
    CompactionState,
    CompactionType,
    Partition,
    Table,
)
from acidsql.metastore.names import object_name
from acidsql.scan.snapshot import state_of, with_nested_originals
from acidsql.scan.tagged import kept_names, live_tags
from acidsql.schema.columns import data_schema
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import child
from acidsql.storage.listings import Listings

logger = logging.getLogger(__name__)

POOL_PROPERTY = "hive.compactor.worker.pool"


def initiate(
    session: AcidSession,
    thresholds: Thresholds,
    written_before: float | None = None,
    database: str | None = None,
) -> list[Compaction]:
    """Examine the candidates, and request compactions and cleanups.

    A failure at one candidate is logged, and the others are still examined.

    Args:
        session: the session.
        thresholds: default thresholds, which table properties can override.
        written_before: see ``Metastore.compaction_candidates``.
        database: the only database to examine; None for all.

    Returns:
        The new entries of the queue.
    """
    requested: list[Compaction] = []
    for candidate in session.metastore.compaction_candidates(written_before):
        if database not in (None, candidate.database):
            continue
        look_after = thresholds.delta_num
        try:
            look_after = _look_at(session, candidate, thresholds, requested)
        except AcidLookupError:
            logger.debug("%s is gone", _name(candidate))
        except (AcidSqlError, OSError, bridge.JavaError):
            logger.exception(
                "%s: the initiator could not look at it, and does so after %s more writes",
                _name(candidate),
                look_after,
            )
        session.metastore.compaction_looked(candidate, look_after)
    return requested


def compactable(
    session: AcidSession, table: Table, places: Sequence[Partition], listings: Listings
) -> Iterator[tuple[Partition, AcidState]]:
    """Yield partitions of a table, or the table itself, with the state that a compactor sees."""
    metastore = session.metastore
    txns = metastore.valid_txns()
    write_ids = compactor_write_ids(metastore.valid_write_ids(table.database, table.name, txns))
    listings.fetch([place.location for place in places])
    for place in places:
        names = with_nested_originals(session.files, listings, place.location)
        yield place, state_of(session.files, place.location, names, write_ids, txns)


def places_of(session: AcidSession, table: Table, partition: str | None) -> list[Partition]:
    """Return the named partition; without a name, all partitions or the unpartitioned table."""
    if not table.partition_columns:
        return [Partition(values=(), location=table.location)]
    if partition is None:
        return list(session.metastore.partitions(table.database, table.name))
    known = partition_of(session, table, partition)
    # A partition that only aborted transactions have written to is not in the catalog.
    unknown = Partition(
        values=tuple(value for _, value in parse_partition_name(partition)),
        location=child(table.location, partition),
    )
    return [unknown if known is None else known]


def zorder_of(session: AcidSession, table: Table) -> tuple[str, ...]:
    """Return the columns that a table's property clusters by; ignore names of other columns.

    Return () for a table where rows cannot move to other files.
    """
    if table.insert_only or table.num_buckets:
        return ()
    known = {folded(f.name): f for f in data_schema(session.spark, table).fields}
    names = map(folded, property_columns(table.properties.get(ZORDER_PROPERTY, "")))
    fields = [known[name] for name in dict.fromkeys(names) if name in known]
    sortable = [field.name for field in fields if can_be_ordered(field.dataType)]
    return tuple(sortable[:MOST_COLUMNS])


def _clustering(session: AcidSession, table: Table, history: Sequence[Compaction]) -> str | None:
    """Return the order of a rebalance that replaces a major compaction.

    Return None if the table has no order, or if writers prevented the last rebalance.
    """
    last = history[0] if history else None
    if last and (last.type, last.state) == (CompactionType.REBALANCE, CompactionState.REFUSED):
        return None
    columns = zorder_of(session, table)
    return order_text(columns) if columns else None


def _look_at(
    session: AcidSession,
    candidate: CompactionCandidate,
    thresholds: Thresholds,
    requested: list[Compaction],
) -> int:
    """Examine a candidate; return the number of writes until it must be examined again."""
    metastore = session.metastore
    table = metastore.table(candidate.database, candidate.table)
    thresholds = of_table(thresholds, table.properties)
    look_after = thresholds.delta_num
    properties = table.properties, metastore.database_properties(table.database)
    places = places_of(session, table, candidate.partition)
    listings = Listings(session.files, None)
    for place, state in compactable(session, table, places, listings):
        partition = table.partition_name(place.values) if table.partition_columns else None
        name = table.database, table.name, partition
        history = metastore.compactions_of(*name)
        if is_waiting(history):
            continue
        sizes = _sizes(listings, place.location, _without_kept(session, table, place, state))
        needed = wanted(sizes, thresholds, insert_only=table.insert_only)
        if needed is not None and may_compact(*properties):
            look_after = min(look_after, next_look(PartitionSizes(), thresholds))
            if not is_backing_off(history, thresholds, time.time()):
                is_major = needed is CompactionType.MAJOR
                order = _clustering(session, table, history) if is_major else None
                options = CompactionOptions(
                    size=sizes.bytes if is_major else sizes.delta_bytes,
                    pool=table.properties.get(POOL_PROPERTY),
                    order_by=order,
                )
                needed = needed if order is None else CompactionType.REBALANCE
                requested.append(metastore.request_compaction(*name, needed, options=options))
            continue
        look_after = min(look_after, next_look(sizes, thresholds))
        if _needs_cleanup(session, candidate, sizes, history, thresholds):
            requested.append(metastore.request_cleanup(*name))
    return look_after


def _needs_cleanup(
    session: AcidSession,
    candidate: CompactionCandidate,
    sizes: PartitionSizes,
    history: Sequence[Compaction],
    thresholds: Thresholds,
) -> bool:
    """Return whether a cleanup must remove directories or forget aborted writes.

    This only concerns directories that no compaction has replaced.
    """
    if not session.metastore.capabilities.queues_cleanups:
        return False
    waits = any(c.state is CompactionState.READY_FOR_CLEANING for c in history)
    age = 0.0 if candidate.oldest_abort is None else time.time() - candidate.oldest_abort
    return (
        sizes.aborted > 0
        or (sizes.obsolete > 0 and not waits)
        or candidate.aborted > thresholds.aborted_num
        or age > thresholds.aborted_seconds
    )


def _without_kept(
    session: AcidSession, table: Table, place: Partition, state: AcidState
) -> AcidState:
    """Return the state of a partition without obsolete directories that it keeps for tags.

    A cleanup would not remove these directories.
    """
    tags = live_tags(session, table) if state.obsolete else ()
    if not tags:
        return state
    txns = session.metastore.valid_txns()
    names = session.files.names(place.location)
    kept = kept_names(session.files, place.location, names, txns, tags)
    return replace(state, obsolete=tuple(name for name in state.obsolete if name not in kept))


def _sizes(listings: Listings, location: str, state: AcidState) -> PartitionSizes:
    """Add up the sizes and numbers of a partition's directories."""
    directories = [child(location, d.name) for d in state.directories]
    listings.fetch(directories)
    sizes = {path: sum(f.size for f in listings.get(path).files.values()) for path in directories}
    base = sizes.pop(child(location, state.base.name), 0) if state.base else 0
    for original in state.originals:
        place, _, name = child(location, original).rpartition("/")
        file = listings.get(place).files.get(name)
        base += file.size if file else 0
    obsolete = [parsed for parsed in map(parse_directory, state.obsolete) if parsed]
    return PartitionSizes(
        base_bytes=base,
        delta_bytes=sum(sizes.values()),
        insert_deltas=len(state.insert_deltas),
        delete_deltas=len(state.delete_deltas),
        obsolete=len(state.obsolete),
        obsolete_bases=sum(d.kind is DirectoryKind.BASE for d in obsolete),
        aborted=len(state.aborted),
    )


def _name(candidate: CompactionCandidate) -> str:
    return object_name(candidate.database, candidate.table, candidate.partition)
