"""Raising of the server's counters if the directories of a table have higher ids.

Hive's MSCK REPAIR does the same for a table that was copied from another cluster.
"""

from __future__ import annotations

from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_fixed

from acidsql.errors import MetastoreError
from acidsql.format.identifiers import lowered
from acidsql.limits import limits
from acidsql.metastore.hive.client_transactions import OwnTxns
from acidsql.metastore.hive.idl import hms
from acidsql.metastore.hive.server import PROCESSOR, Server
from acidsql.metastore.hive.transactions import (
    commit_txn,
    next_write_id,
    open_txn,
    valid_txns,
)
from acidsql.metastore.model import TxnType


def seed_txn_id(server: Server, client_txns: OwnTxns, next_txn_id: int) -> int:
    """Raise the next transaction id (``Metastore.seed_txn_id``).

    Wait until the skipped ids are committed.

    Raises:
        MetastoreError: METASTORE_VERSION, the server is Hive 3.1, which also cannot read the output
            of Hive 4's compactor; METASTORE_ERROR, the skipped ids still count as open after
            ``seeding_seconds``.
    """
    before = valid_txns(server, None).high_water_mark
    if next_txn_id - 1 <= before:
        return before
    if not server.is_hive4:
        raise MetastoreError(
            "METASTORE_VERSION",
            f"the metastore of Hive {server.version} cannot take in a table that a compactor of "
            f"Hive 4 or acidsql has worked on (transaction {next_txn_id - 1}): use Hive 4",
        )
    server.call("seed_txn_id", hms.SeedTxnIdRequest(seedTxnId=next_txn_id))
    # The server raises the high-water mark with the next transaction.
    commit_txn(
        server, client_txns, open_txn(server, client_txns, server.user, PROCESSOR, TxnType.DEFAULT)
    )
    polling = Retrying(
        retry=retry_if_result(lambda txns: not txns.is_valid(next_txn_id - 1)),
        stop=stop_after_delay(limits().seeding_seconds),
        wait=wait_fixed(limits().seeding_poll_seconds),
    )
    try:
        polling(valid_txns, server, None)
    except RetryError as error:
        raise MetastoreError(
            "METASTORE_ERROR",
            f"the metastore still treats transaction {next_txn_id - 1} as open: run the "
            "statement again later",
        ) from error
    return before


def seed_write_id(
    server: Server, client_txns: OwnTxns, database: str, table: str, next_wanted: int
) -> None:
    """Raise the next write id of a table (``Metastore.seed_write_id``).

    Hive 4 can set the counter of a table that was never written to. For all other tables, and for
    all tables in Hive 3.1, acidsql allocates the write ids and does not use them.

    Raises:
        MetastoreError: TOO_MANY_WRITE_IDS.
    """
    missing = next_wanted - next_write_id(server, database, table)
    if missing <= 0:
        return
    if server.is_hive4 and missing == next_wanted - 1:
        request = hms.SeedTableWriteIdsRequest(
            dbName=lowered(database), tableName=lowered(table), seedWriteId=next_wanted - 1
        )
        server.call("seed_write_id", request)
        return
    if missing > limits().skipped_write_ids:
        raise MetastoreError(
            "TOO_MANY_WRITE_IDS",
            f"the directories of {lowered(database)}.{lowered(table)} have write ids up to "
            f"{next_wanted - 1}, and this metastore cannot skip {missing} of them: create the "
            "table in a metastore of Hive 4 under a name that was never written",
        )
    opened = hms.OpenTxnRequest(
        num_txns=missing, user=server.user, hostname=PROCESSOR, agentInfo=PROCESSOR
    )
    txn_ids = server.call("open_txns", opened).txn_ids
    allocated = hms.AllocateTableWriteIdsRequest(
        dbName=lowered(database), tableName=lowered(table), txnIds=txn_ids
    )
    server.call("allocate_table_write_ids", allocated)
    for txn_id in txn_ids:
        commit_txn(server, client_txns, txn_id)
