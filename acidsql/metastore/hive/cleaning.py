"""Registration of readers with a server's cleaner.

Normally, the cleaner waits for all transactions that were open when a compaction committed. With
the setting TXN_USE_MIN_HISTORY_WRITE_ID, Hive 4 uses the write ids that readers have registered
instead. It cleans after a compaction if its highest write id is below the lowest registered one of
the table (ReadyToCleanHandler).

Hive's own readers register the lowest open write id, or the one after the highest. This does not
hold back a compaction of exactly the write ids that they see. acidsql registers one less.
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
    server: Server, client_txns: OwnTxns, txn_id: int, database: str, table: str, txns: ValidTxnList
) -> ValidTxnList:
    """Hold back the cleaner (``Metastore.hold_back_cleaner``), once per transaction and table.

    A compaction that begins later merges everything below the lowest open write id, so its highest
    write id is not below the registered one. A running compaction may have begun long ago. In this
    case, the registration holds back all cleaning. Compactions that committed before the
    registration may be cleaned.
    """
    if not server.cleans_below_min_history:
        return txns
    key = (lowered(database), lowered(table))
    txn = client_txns.find(txn_id)
    if txn is not None and key in txn.reading:
        return txn.reading[key]
    seen = transactions.valid_write_ids(server, database, table, txns)
    after = seen.high_water_mark + 1 if seen.min_open is None else seen.min_open
    lowest = _FIRST_WRITE_ID if _is_compacted(server, *key) else max(_FIRST_WRITE_ID, after - 1)
    server.call("add_write_ids_to_min_history", txn_id, {".".join(key): lowest})
    visible = transactions.valid_txns(server, None)
    if txn is not None:
        txn.reading[key] = visible
    return visible


def _is_compacted(server: Server, database: str, table: str) -> bool:
    """Return whether a compaction of a table is running, or has not committed yet."""
    return any(
        entry.state is CompactionState.WORKING
        or (entry.state is CompactionState.READY_FOR_CLEANING and entry.next_txn_id is None)
        for entry in compactions(server)
        if (entry.database, entry.table) == (database, table)
    )
