"""Opening of a batch of transactions: its transaction ids and write ids."""

from __future__ import annotations

from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.model import Table
from acidsql.metastore.write_ids_ahead import learn_write_ids
from acidsql.session.table_owner import check_owner
from acidsql.storage.publication import Publication
from acidsql.streaming.batch import Member, TransactionBatch
from acidsql.streaming.client import Client

# Name of the operation in the history of a table.
STREAMING = "STREAMING INSERT"


def open_batch(
    client: Client,
    table: Table,
    partition: tuple[str, ...] | None,
    size: int,
    statement: RecordedStatement,
) -> TransactionBatch:
    """Open the transactions of a batch, and allocate their write ids.

    Args:
        client: client of the metastore.
        table: the table.
        partition: values of the one partition; None for dynamic partitions or an unpartitioned
            table.
        size: number of transactions; a server may open fewer.
        statement: entry for the history of the table.
    """
    metastore = client.metastore
    check_owner(client, table)
    learn_write_ids(client, table, partition)
    txn_ids = metastore.open_batch(client.user, client.host, size)
    for txn_id in txn_ids:
        client.heartbeater.add(txn_id)
    try:
        write_ids = metastore.allocate_write_ids(txn_ids, table.database, table.name, statement)
    except BaseException:
        for txn_id in txn_ids:
            client.heartbeater.remove(txn_id)
        metastore.abort_txns(txn_ids)
        raise
    return TransactionBatch(
        client=client,
        table=table,
        partition=partition,
        statement=statement,
        members=tuple(Member(*pair) for pair in zip(txn_ids, write_ids, strict=True)),
        publication=Publication(root=table.location),
    )
