"""Removal of the leftovers of dead writers: staging directories, and incomplete uploads."""

from __future__ import annotations

import logging

from acidsql import bridge
from acidsql.errors import AcidSqlError
from acidsql.format.names import STAGING_PREFIX
from acidsql.metastore.model import Table, TableType, TxnState
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import child
from acidsql.storage.uploads import dead_uploads

logger = logging.getLogger(__name__)


def remove_leftovers(session: AcidSession, table: Table) -> None:
    """Remove staging directories, and abort uploads, of transactions that are no longer open."""
    # List them before the open transactions, so that no directory is of a newer transaction.
    staged = [
        (name, int(number))
        for name in session.files.names(table.location)
        if name.startswith(STAGING_PREFIX)
        and (number := name.removeprefix(STAGING_PREFIX)).isdigit()
    ]
    if staged:
        running = {t.txn_id for t in session.metastore.open_txns() if t.state is TxnState.OPEN}
        for name, txn_id in staged:
            if txn_id not in running:
                session.files.delete(child(table.location, name))
    for upload in dead_uploads(session.files, session.metastore, table):
        session.files.abort_upload(upload)


def try_remove_leftovers(session: AcidSession, database: str, name: str) -> None:
    """Remove the leftovers in a table that may no longer exist.

    A failure is logged, and the leftovers wait for the next cleaning.
    """
    try:
        table = session.metastore.find_table(database, name)
        if table is not None and table.table_type is TableType.MANAGED:
            remove_leftovers(session, table)
    except (AcidSqlError, OSError, bridge.JavaError):
        logger.exception(
            "what dead writers left in %s.%s could not be removed, and waits for the next run",
            database,
            name,
        )
