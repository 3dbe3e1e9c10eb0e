"""Cleaner: removes obsolete directories when no snapshot can need them.

A table property sets how long obsolete directories are kept. Directories of aborted transactions
are not part of any version of the table, so they are removed immediately.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from acidsql import bridge
from acidsql.compaction.leftovers import remove_leftovers, try_remove_leftovers
from acidsql.compaction.worker import partition_of
from acidsql.errors import (
    AcidAnalysisError,
    AcidLookupError,
    AcidSqlError,
    TransactionStateError,
)
from acidsql.format.names import parse_directory
from acidsql.format.selection import ACID_PREFIXES
from acidsql.format.thresholds import duration_seconds
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore.model import (
    Compaction,
    CompactionState,
    CompactionType,
    Partition,
    Table,
)
from acidsql.metastore.names import object_name
from acidsql.scan.snapshot import state_of
from acidsql.scan.tagged import kept_names, live_tags
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import child
from acidsql.storage.sync import sync

logger = logging.getLogger(__name__)

_OF_ANOTHER_CLEANER = ("COMPACTION_NOT_FOUND", "COMPACTION_STATE_CHANGED")

RETENTION_PROPERTY = "acidsql.history.retention"


@dataclass(frozen=True, slots=True, kw_only=True)
class Removable:
    """Directories of a partition, or of a table without partitions, that can be removed.

    Attributes:
        paths: paths of these directories.
        highest_write_id: highest write id that was considered.
        kept: ranges of write ids of directories that stay and may contain rows of aborted writes.
        base: write id of the base that makes directories obsolete; None if no directory is
            obsolete, or if no base makes them obsolete.
        tags: ids of the tags that retain directories.
    """

    paths: tuple[str, ...]
    highest_write_id: int
    kept: tuple[tuple[int, int], ...] = ()
    base: int | None = None
    tags: tuple[int, ...] = ()


def clean(session: AcidSession, *, collect: bool = True, database: str | None = None) -> list[int]:
    """Clean after every entry of the queue with old directories that no snapshot needs.

    The entry must be older than all open read and write transactions, and past the history
    retention of its table. A failure is logged, and the entry waits for the next run. The other
    entries are still cleaned. If the server has its own cleaner, this function only removes what
    that cleaner does not know: leftovers of dead writers in the tables of the queue.

    Args:
        session: the session.
        collect: whether the JVM first collects unreachable DataFrames, so that they no longer count
            as readers.
        database: the only database to clean; None for all.

    Returns:
        The ids of the completed entries.
    """
    session.leases.prune(collect=collect)
    if session.metastore.cleans_compactions:
        queue = session.metastore.compactions()
        names = {(c.database, c.table) for c in queue if database in (None, c.database)}
        for name in sorted(names):
            try_remove_leftovers(session, *name)
        return []
    ready = [c for c in session.metastore.ready_to_clean() if database in (None, c.database)]
    return [
        entry.compaction_id
        for entries in _by_place(ready).values()
        for entry in _cleaned(session, entries)
    ]


def vacuum(
    session: AcidSession, table: Table, retain: float | None = None, *, dry_run: bool = False
) -> list[str]:
    """Remove the obsolete directories of one table, for any cause.

    Args:
        session: the session.
        table: the table.
        retain: seconds to keep obsolete directories; None: the retention of the table.
        dry_run: whether to list the directories without removing them.

    Returns:
        The paths of the directories.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.CLEANUP, the metastore has its own cleaner.
    """
    session.leases.prune(collect=True)
    name = table.database, table.name
    kept_seconds = retention(table) if retain is None else retain
    places: list[str | None] = [None]
    if table.partition_columns:
        values = session.metastore.partition_values(*name)
        places = [table.partition_name(each) for each in values]
    if not dry_run:
        for partition in places:
            session.metastore.request_cleanup(*name, partition)
    ready = [c for c in session.metastore.ready_to_clean() if (c.database, c.table) == name]
    by_place = _by_place(ready)
    if dry_run and not session.metastore.valid_txns().open:
        for partition in places:
            by_place.setdefault((*name, partition or ""), []).append(_imagined(table, partition))
    removed: list[str] = []
    for entries in by_place.values():
        place = _directory_of(session, table, entries[-1])
        if place is None:
            continue
        done = _past_retention(entries, kept_seconds)
        removable = _find_removable(session, table, place, entries[-1], done)
        if not dry_run and not _may_remove(session, table, entries[-1], removable):
            done, removable = [], _find_removable(session, table, place, entries[-1], [])
        removed += removable.paths
        if not dry_run:
            _delete(session, table, place, removable)
            _record_cleaned(session, done, removable)
    return removed


def _imagined(table: Table, partition: str | None) -> Compaction:
    """Return the queue entry that a cleanup would add now."""
    return Compaction(
        compaction_id=0,
        database=table.database,
        table=table.name,
        partition=partition,
        type=CompactionType.CLEANUP,
        state=CompactionState.READY_FOR_CLEANING,
        done=int(time.time()),
    )


def retention(table: Table) -> float:
    """Return the seconds that a table keeps obsolete directories; 0 by default.

    Raises:
        AcidAnalysisError: INVALID_TABLE_PROPERTY.
    """
    text = table.properties.get(RETENTION_PROPERTY, "0")
    try:
        return duration_seconds(text)
    except ValueError as error:
        raise AcidAnalysisError(
            "INVALID_TABLE_PROPERTY",
            f"{table.full_name}: {RETENTION_PROPERTY} is {text!r}: give a time such as 7d or "
            "'interval 7 days'",
        ) from error


_Place = tuple[str, str, str]


def _by_place(entries: Iterable[Compaction]) -> dict[_Place, list[Compaction]]:
    """Return the entries of each partition, oldest first."""
    places: dict[_Place, list[Compaction]] = {}
    for entry in sorted(entries, key=lambda c: c.compaction_id):
        place = entry.database, entry.table, entry.partition or ""
        places.setdefault(place, []).append(entry)
    return places


def _cleaned(session: AcidSession, entries: Sequence[Compaction]) -> Iterable[Compaction]:
    """Clean a partition after its entries, oldest first; return the completed entries.

    The directories that the newest entry makes removable include those of the older entries.
    """
    newest = entries[-1]
    where = object_name(newest.database, newest.table, newest.partition)
    try:
        table = session.metastore.find_table(newest.database, newest.table)
        place = None if table is None else _directory_of(session, table, newest)
        if table is None or place is None:
            # A partition may have been renamed: do not forget the aborted writes to it.
            done, removed = list(entries), Removable(paths=(), highest_write_id=0)
        else:
            done = _past_retention(entries, retention(table))
            removed = _find_removable(session, table, place, newest, done)
            if not _may_remove(session, table, newest, removed):
                done, removed = [], _find_removable(session, table, place, newest, [])
            _delete(session, table, place, removed)
        return _record_cleaned(session, done, removed)
    except (AcidSqlError, OSError, bridge.JavaError):
        logger.exception(
            "compactions %s: the old directories in %s could not be removed, and wait for the next "
            "run, unless another one has removed them",
            [c.compaction_id for c in entries],
            where,
        )
        return []


def _record_cleaned(
    session: AcidSession, done: Sequence[Compaction], removed: Removable
) -> list[Compaction]:
    """Record entries as cleaned; return the entries that no other cleaner recorded before."""
    recorded = []
    for entry in done:
        try:
            session.metastore.compaction_cleaned(
                entry.compaction_id, removed.highest_write_id, removed.kept
            )
        except (AcidLookupError, TransactionStateError) as error:
            if error.condition not in _OF_ANOTHER_CLEANER:
                raise
            logger.debug("compaction %s was cleaned already: %s", entry.compaction_id, error)
        else:
            recorded.append(entry)
    return recorded


def _directory_of(session: AcidSession, table: Table, entry: Compaction) -> Partition | None:
    """Return the partition of an entry, or None.

    A partition that only an aborted transaction has written to is not in the catalog.
    """
    place = partition_of(session, table, entry.partition)
    if place is None and entry.type is CompactionType.CLEANUP and entry.partition is not None:
        return Partition(values=(), location=child(table.location, entry.partition))
    return place


def _past_retention(entries: Sequence[Compaction], kept_seconds: float) -> list[Compaction]:
    """Return the entries that are past the retention of their table."""
    kept_since = time.time() - kept_seconds
    return [c for c in entries if c.done is None or c.done <= kept_since or not kept_seconds]


def _find_removable(
    session: AcidSession,
    table: Table,
    place: Partition,
    newest: Compaction,
    done: Sequence[Compaction],
) -> Removable:
    """Find aborted directories, and directories that entries past their retention make obsolete."""
    names = _names(session, place.location)
    aborted = _removable(session, table, place, newest, names, obsolete=False)
    if not done:
        return aborted
    obsolete = _removable(session, table, place, done[-1], names, obsolete=True)
    paths = dict.fromkeys((*aborted.paths, *obsolete.paths))
    return Removable(
        paths=tuple(paths),
        highest_write_id=obsolete.highest_write_id,
        kept=obsolete.kept,
        base=obsolete.base,
        tags=obsolete.tags,
    )


def _may_remove(
    session: AcidSession, table: Table, entry: Compaction, removable: Removable
) -> bool:
    """Record the versions that lose directories; return False if a version is being read."""
    if removable.base is None:
        return True
    name = table.database, table.name
    return session.metastore.start_removal(*name, entry.partition, removable.base, removable.tags)


def _delete(session: AcidSession, table: Table, place: Partition, removable: Removable) -> None:
    session.files.delete_trees(removable.paths)
    # The metastore forgets aborted transactions next: their directories must not come back.
    sync(session.files, directories=[place.location])
    remove_leftovers(session, table)


def _removable(
    session: AcidSession,
    table: Table,
    place: Partition,
    entry: Compaction,
    names: Sequence[str],
    *,
    obsolete: bool,
) -> Removable:
    """Find the removable directories at the high-water marks of the entry (CompactionCleaner).

    Args:
        obsolete: whether to include obsolete directories, or only those of aborted transactions.
    """
    metastore = session.metastore
    txns = metastore.valid_txns()
    watermark = (entry.next_txn_id or txns.high_water_mark + 1) - 1
    capped = ValidTxnList(
        high_water_mark=watermark,
        open=frozenset(t for t in txns.open if t <= watermark),
        aborted=frozenset(t for t in txns.aborted if t <= watermark),
    )
    seen = metastore.valid_write_ids(table.database, table.name, capped)
    # A server does not report it. No transaction up to the mark is open, so use all write ids.
    highest = entry.highest_write_id
    if highest is None:
        highest = seen.high_water_mark
    write_ids = ValidWriteIdList(
        table=table.full_name,
        high_water_mark=highest,
        open=frozenset(),
        aborted=frozenset(w for w in seen.aborted if w <= highest),
    )
    state = state_of(session.files, place.location, names, write_ids, capped)
    tags = live_tags(session, table) if obsolete and state.obsolete else ()
    kept = kept_names(session.files, place.location, names, txns, tags)
    unneeded = [name for name in state.obsolete if name not in kept] if obsolete else []
    removed = [*unneeded, *state.aborted]
    return Removable(
        paths=tuple(child(place.location, name) for name in removed),
        highest_write_id=highest,
        kept=tuple(_mixed_ranges(set(names) - set(removed))),
        base=state.base.max_write_id if unneeded and state.base else None,
        tags=tuple(tag.tag_id for tag in tags),
    )


def _mixed_ranges(names: Iterable[str]) -> Iterable[tuple[int, int]]:
    """Yield the write id ranges of deltas of several transactions that were not compacted.

    Hive's streaming writes these deltas, and some of their transactions may be aborted. A
    compaction omits the rows of aborted transactions.
    """
    for name in sorted(names):
        directory = parse_directory(name)
        if (
            directory is not None
            and directory.min_write_id < directory.max_write_id
            and not directory.visibility_txn_id
        ):
            yield directory.min_write_id, directory.max_write_id


def _names(session: AcidSession, location: str) -> list[str]:
    """List a directory, without names that resemble an ACID directory but are not valid.

    Readers refuse these names (INVALID_DIRECTORY_NAME), but the other directories are unaffected.
    """
    names = session.files.names(location)
    strays = {n for n in names if n.startswith(ACID_PREFIXES) and parse_directory(n) is None}
    for name in sorted(strays):
        logger.warning(
            "%s is no directory of Hive's: move it out of the table", child(location, name)
        )
    return [name for name in names if name not in strays]
