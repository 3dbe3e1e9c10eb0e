"""Unfinished uploads of killed clients to object stores.

Their parts are invisible, but the store keeps them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from acidsql import bridge
from acidsql.format.names import STAGING_PREFIX, parse_directory
from acidsql.metastore.model import Table, TxnState
from acidsql.metastore.protocol import Metastore
from acidsql.storage.object_store import ObjectStoreFiles


def is_dead(path: str, open_txns: Collection[int], open_write_ids: Collection[int]) -> bool:
    """Return whether no open transaction writes a file; False for a file without a transaction.

    Args:
        path: path of the file, relative to the directory of its table.
        open_txns: ids of all open transactions.
        open_write_ids: write ids of these transactions in the table.
    """
    for name in path.split("/")[:-1]:
        number = name.removeprefix(STAGING_PREFIX)
        if name.startswith(STAGING_PREFIX) and number.isdigit():
            return int(number) not in open_txns
        directory = parse_directory(name)
        if directory is not None and directory.visibility_txn_id:
            return directory.visibility_txn_id not in open_txns
        if directory is not None:
            return directory.max_write_id not in open_write_ids
    return False


def dead_uploads(
    files: ObjectStoreFiles, metastore: Metastore, table: Table
) -> Sequence[bridge.s3.Upload]:
    """Return the uploads below a table's directory that belong to no open transaction."""
    # The uploads are listed first, so that the later list of open transactions contains every
    # transaction that may still write one of them.
    uploads = files.uploads_below(table.location)
    if not uploads:
        return ()
    open_txns = {t.txn_id for t in metastore.open_txns() if t.state is TxnState.OPEN}
    seen = metastore.valid_write_ids(table.database, table.name, metastore.valid_txns())
    later = metastore.write_ids_after(table.database, table.name, seen.high_water_mark)
    unended = {*seen.open, *later}
    root = f"{table.location}/"
    return [u for u in uploads if is_dead(u.path.removeprefix(root), open_txns, unended)]
