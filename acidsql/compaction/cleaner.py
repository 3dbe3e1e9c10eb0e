"""Cleaner: removes obsolete directories, once no snapshot can need them.

They stay as long as a property of the table says. Directories of aborted transactions are in no
version of the table, and go at once.
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
from acidsql.format.durations import seconds
from acidsql.format.names import parse_directory
from acidsql.format.selection import ACID_PREFIXES
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
    """Directories that may be removed in a partition, or in a table without partitions.

    Attributes:
        paths: of these directories.
        highest_write_id: the last write id that was considered.
        kept: ranges of write ids of directories that stay, and may have rows of aborted writes.
        base: write id of the base that makes directories obsolete; None if there are no obsolete
            ones, or none because of a base.
        tags: ids of the tags whose directories stay.
    """

    paths: tuple[str, ...]
    highest_write_id: int
    kept: tuple[tuple[int, int], ...] = ()
    base: int | None = None
    tags: tuple[int, ...] = ()


def clean(session: AcidSession, *, collect: bool = True, database: str | None = None) -> list[int]:
    """Clean after every entry of the queue that is older than all open transactions, of readers and
    of writers, and whose table does not keep its history any more.

    An entry that fails is logged, and waits for the next run. The others are done all the same.
    Where a server has a cleaner of its own, this one removes only what that one does not know: what
    dead writers left in the tables of the queue.

    Args:
        session: the session.
        collect: whether the JVM is to collect DataFrames first that cannot be reached any more, so
            that they count as no readers.
        database: the only one that is cleaned; None for all.

    Returns:
        The ids of the entries that are done.
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
    """Remove the obsolete directories of one table, whatever has made them obsolete.

    Args:
        session: the session.
        table: the table.
        retain: seconds for which what became obsolete is kept; None: as long as the table says.
        dry_run: whether to list them only.

    Returns:
        The paths of the directories.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.CLEANUP, the metastore cleans by itself.
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
        found = _found(session, table, place, entries[-1], done)
        if not dry_run and not _may_remove(session, table, entries[-1], found):
            done, found = [], _found(session, table, place, entries[-1], [])
        removed += found.paths
        if not dry_run:
            _delete(session, table, place, found)
            _record_cleaned(session, done, found)
    return removed


def _imagined(table: Table, partition: str | None) -> Compaction:
    """Return the entry that a cleanup would add now."""
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
    """Return the seconds for which a table keeps obsolete directories; 0 by default.

    Raises:
        AcidAnalysisError: INVALID_TABLE_PROPERTY.
    """
    text = table.properties.get(RETENTION_PROPERTY, "0")
    try:
        return seconds(text)
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
    """Clean a partition after its entries, oldest first; return those that are done.

    What the newest of them makes removable includes what the others do.
    """
    newest = entries[-1]
    where = object_name(newest.database, newest.table, newest.partition)
    try:
        table = session.metastore.find_table(newest.database, newest.table)
        place = None if table is None else _directory_of(session, table, newest)
        if table is None or place is None:
            # A partition may have been renamed: the aborted writes to it must not be forgotten.
            done, removed = list(entries), Removable(paths=(), highest_write_id=0)
        else:
            done = _past_retention(entries, retention(table))
            removed = _found(session, table, place, newest, done)
            if not _may_remove(session, table, newest, removed):
                done, removed = [], _found(session, table, place, newest, [])
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
    """Record entries as cleaned; return those that no other cleaner has recorded before."""
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

    A partition that only its aborted transaction has written to is not in the catalog.
    """
    place = partition_of(session, table, entry.partition)
    if place is None and entry.type is CompactionType.CLEANUP and entry.partition is not None:
        return Partition(values=(), location=child(table.location, entry.partition))
    return place


def _past_retention(entries: Sequence[Compaction], kept_seconds: float) -> list[Compaction]:
    """Return the entries whose table does not keep what they have made obsolete any more."""
    kept_since = time.time() - kept_seconds
    return [c for c in entries if c.done is None or c.done <= kept_since or not kept_seconds]


def _found(
    session: AcidSession,
    table: Table,
    place: Partition,
    newest: Compaction,
    done: Sequence[Compaction],
) -> Removable:
    """Find what the newest entry without retention makes obsolete, and what is aborted."""
    names = _names(session, place.location)
    found = _removable(session, table, place, newest, names, obsolete=False)
    if not done:
        return found
    obsolete = _removable(session, table, place, done[-1], names, obsolete=True)
    paths = dict.fromkeys((*found.paths, *obsolete.paths))
    return Removable(
        paths=tuple(paths),
        highest_write_id=obsolete.highest_write_id,
        kept=obsolete.kept,
        base=obsolete.base,
        tags=obsolete.tags,
    )


def _may_remove(session: AcidSession, table: Table, entry: Compaction, found: Removable) -> bool:
    """Record which versions will have lost directories; return False if one of them is read."""
    if found.base is None:
        return True
    name = table.database, table.name
    return session.metastore.start_removal(*name, entry.partition, found.base, found.tags)


def _delete(session: AcidSession, table: Table, place: Partition, found: Removable) -> None:
    session.files.delete_trees(found.paths)
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
    """Find what is removable at the entry's own high-water marks (CompactionCleaner).

    Args:
        obsolete: whether obsolete directories count, or only those of aborted transactions.
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
    # A server does not report it. No transaction up to the mark is open, so all write ids count.
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
    """Yield the ranges of deltas of several transactions that no compaction has merged.

    Hive's streaming writes such deltas, and some of the transactions may be aborted. A compaction
    leaves their rows out.
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
    """List a directory, without what is named nearly like an ACID directory and is none.

    Readers refuse it (INVALID_DIRECTORY_NAME); it says nothing about the other directories.
    """
    names = session.files.names(location)
    strays = {n for n in names if n.startswith(ACID_PREFIXES) and parse_directory(n) is None}
    for name in sorted(strays):
        logger.warning(
            "%s is no directory of Hive's: move it out of the table", child(location, name)
        )
    return [name for name in names if name not in strays]
