"""Handover to Hive of a table directory that acidsql wrote under its own metastore."""

from __future__ import annotations

from acidsql.format.partitions import DEFAULT_PARTITION
from acidsql.format.valid_lists import ValidTxnList
from acidsql.metastore.protocol import Metastore
from tests.hive.hive import Hive


def hand_over(hive: Hive, metastore: Metastore, ours: str, theirs: str) -> None:
    """Make Hive's metastore know what acidsql's does: write ids, transactions and partitions.

    Args:
        ours: the table in acidsql's metastore.
        theirs: the table over the same directory in Hive's; it was never written there.
    """
    while _highest_write_id(hive, theirs) < metastore.next_write_id("default", ours) - 1:
        txn_id = hive.call("open_txn", "acidsql")
        hive.call("allocate_write_id", txn_id, "default", theirs)
        hive.call("commit_txn", txn_id)
    # The names of compacted directories carry the ids of our transactions.
    while _highest_txn_id(hive) < metastore.valid_txns().high_water_mark:
        hive.call("commit_txn", hive.call("open_txn", "acidsql"))
    columns = metastore.table("default", ours).partition_columns
    for partition in metastore.partitions("default", ours):
        values = ", ".join(
            f"`{column.name}` = '{value}'"
            for column, value in zip(columns, partition.values, strict=True)
            if value != DEFAULT_PARTITION
        )
        hive.run(f"ALTER TABLE {theirs} ADD IF NOT EXISTS PARTITION ({values})")


def _highest_write_id(hive: Hive, table: str) -> int:
    return int(hive.call("valid_write_ids", f"default.{table}").split(":")[1])


def _highest_txn_id(hive: Hive) -> int:
    return ValidTxnList.from_string(hive.call("valid_txns")).high_water_mark
