"""Readers that must be registered with a server's cleaner.

As a rule the cleaner waits for all transactions that were open when a compaction committed. With
the setting TXN_USE_MIN_HISTORY_WRITE_ID Hive 4 looks at what readers have registered instead: it
cleans after a compaction whose highest write id is below the lowest one that is registered for the
table (ReadyToCleanHandler).

Hive's own readers register the lowest open write id, or the one after the highest. So they do not
hold back a compaction of just what they see. acidsql registers one less.
"""

from __future__ import annotations

from acidsql.format.identifiers import lowered
from acidsql.format.valid_lists import ValidTxnList
from acidsql.metastore.hive import transactions
from acidsql.metastore.hive.client_transactions import OwnTxns
from acidsql.metastore.hive.compactions import compactions
from acidsql.metastore.hive.server import Server
from acidsql.metastore.model import CompactionState

_FIRST_WRITE_ID = 1


def hold_back(
    server: Server, own: OwnTxns, txn_id: int, database: str, table: str, txns: ValidTxnList
) -> ValidTxnList:
    """Hold the cleaner back (``Metastore.hold_back_cleaner``), once for a transaction and table.

    A compaction that begins later merges all below the lowest write id that is still open then, so
    its highest one is not below what is registered. One that is at work may have begun long ago:
    then all is held back. What has committed by the time of registration may be cleaned.
    """
    if not server.cleans_below_min_history:
        return txns
    key = (lowered(database), lowered(table))
    known = own.find(txn_id)
    if known is not None and key in known.reading:
        return known.reading[key]
    seen = transactions.valid_write_ids(server, database, table, txns)
    after = seen.high_water_mark + 1 if seen.min_open is None else seen.min_open
    lowest = _FIRST_WRITE_ID if _is_compacted(server, *key) else max(_FIRST_WRITE_ID, after - 1)
    server.call("add_write_ids_to_min_history", txn_id, {".".join(key): lowest})
    visible = transactions.valid_txns(server, None)
    if known is not None:
        known.reading[key] = visible
    return visible


def _is_compacted(server: Server, database: str, table: str) -> bool:
    """Return whether a compaction of a table is at work, or has not committed yet."""
    return any(
        entry.state is CompactionState.WORKING
        or (entry.state is CompactionState.READY_FOR_CLEANING and entry.next_txn_id is None)
        for entry in compactions(server)
        if (entry.database, entry.table) == (database, table)
    )
