"""Cleaner: removes directories that a compaction made obsolete, once no snapshot can need them."""

from __future__ import annotations

import logging

from acidsql import bridge
from acidsql.compaction.worker import partition_of
from acidsql.errors import AcidSqlError
from acidsql.format.names import STAGING_PREFIX, parse_directory
from acidsql.format.selection import ACID_PREFIXES
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore.model import Compaction, Table, TxnState
from acidsql.metastore.names import object_name
from acidsql.scan.snapshot import state_of
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import child
from acidsql.storage.sync import sync

logger = logging.getLogger(__name__)


def clean(session: AcidSession) -> list[int]:
    """Clean after every compaction that no open transaction, reader or writer, is older than.

    One that fails is logged, and waits for the next run; the others are done all the same.

    Returns:
        The ids of these compactions, without those that failed.
    """
    session.leases.prune(collect=True)
    return [c.compaction_id for c in session.metastore.ready_to_clean() if _is_done(session, c)]


def _is_done(session: AcidSession, compaction: Compaction) -> bool:
    """Clean after a compaction; return whether that succeeded."""
    try:
        table = session.metastore.find_table(compaction.database, compaction.table)
        highest = 0 if table is None else _clean(session, table, compaction)
        session.metastore.compaction_cleaned(compaction.compaction_id, highest)
    except (AcidSqlError, OSError, bridge.JavaError):
        where = object_name(compaction.database, compaction.table, compaction.partition)
        logger.exception(
            "compaction %s: its old directories in %s could not be removed, and wait for the next "
            "run, unless another one has removed them",
            compaction.compaction_id,
            where,
        )
        return False
    return True


def _clean(session: AcidSession, table: Table, compaction: Compaction) -> int:
    """Remove what is obsolete or aborted at the compaction's own high-water marks
    (CompactionCleaner).

    Returns:
        The highest write id that was considered; 0 if the partition is gone. It may have been
        renamed, so the aborted writes to it must not be forgotten.
    """
    metastore = session.metastore
    place = partition_of(session, table, compaction.partition)
    if place is None:
        return 0
    names = _names(session, place.location)
    txns = metastore.valid_txns()
    watermark = (compaction.next_txn_id or txns.high_water_mark + 1) - 1
    capped = ValidTxnList(
        high_water_mark=watermark,
        open=frozenset(t for t in txns.open if t <= watermark),
        aborted=frozenset(t for t in txns.aborted if t <= watermark),
    )
    seen = metastore.valid_write_ids(table.database, table.name, capped)
    # A server does not tell it. No transaction up to the mark is open, so all write ids count.
    highest = compaction.highest_write_id
    if highest is None:
        highest = seen.high_water_mark
    write_ids = ValidWriteIdList(
        table=table.full_name,
        high_water_mark=highest,
        open=frozenset(),
        aborted=frozenset(w for w in seen.aborted if w <= highest),
    )
    state = state_of(session.files, place.location, names, write_ids, capped)
    for name in [*state.obsolete, *state.aborted]:
        session.files.delete(child(place.location, name))
    # The metastore forgets aborted transactions next: their directories must not come back.
    sync(session.files, directories=[place.location])
    _remove_staging(session, table.location)
    return highest


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


def _remove_staging(session: AcidSession, location: str) -> None:
    """Remove the staging directories of transactions that are not open any more."""
    # Listed before the open transactions: these directories belong to older transactions.
    names = session.files.names(location)
    running = {t.txn_id for t in session.metastore.open_txns() if t.state is TxnState.OPEN}
    for name in names:
        number = name.removeprefix(STAGING_PREFIX)
        if name.startswith(STAGING_PREFIX) and number.isdigit() and int(number) not in running:
            session.files.delete(child(location, name))
