"""Cleaner: removes directories that a compaction made obsolete, once no snapshot can need them."""

from __future__ import annotations

from acidsql.compaction.worker import find_partition
from acidsql.format.names import STAGING_PREFIX
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore.model import Compaction, Table, TxnState
from acidsql.scan.snapshot import state_of
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import child
from acidsql.storage.sync import sync


def clean(session: AcidSession) -> list[int]:
    """Clean after every compaction that no open transaction, reader or writer, is older than.

    Returns:
        The ids of these compactions.
    """
    session.leases.prune(collect=True)
    ready = session.metastore.ready_to_clean()
    for compaction in ready:
        table = session.metastore.find_table(compaction.database, compaction.table)
        highest = 0 if table is None else _clean(session, table, compaction)
        session.metastore.compaction_cleaned(compaction.compaction_id, highest)
    return [compaction.compaction_id for compaction in ready]


def _clean(session: AcidSession, table: Table, compaction: Compaction) -> int:
    """Remove what is obsolete or aborted at the compaction's own high-water marks
    (CompactionCleaner).

    Returns:
        The highest write id that was considered.
    """
    metastore = session.metastore
    place = find_partition(session, table, compaction.partition)
    names = session.files.names(place.location)
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


def _remove_staging(session: AcidSession, location: str) -> None:
    """Remove the staging directories of transactions that are not open any more."""
    # Listed before the open transactions: these directories belong to older transactions.
    names = session.files.names(location)
    running = {t.txn_id for t in session.metastore.open_txns() if t.state is TxnState.OPEN}
    for name in names:
        number = name.removeprefix(STAGING_PREFIX)
        if name.startswith(STAGING_PREFIX) and number.isdigit() and int(number) not in running:
            session.files.delete(child(location, name))
