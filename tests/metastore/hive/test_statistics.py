"""Tests that Hive does not answer ``count(*)`` from statistics after a write of acidsql.

Hive 3.1 never does so with transactional tables (StatsOptimizer).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acidsql.metastore.catalog_changes import RecordWrites
from acidsql.metastore.hive.idl import hms
from acidsql.metastore.hive.store import HiveMetastore
from acidsql.metastore.model import Partition
from tests.metastore.hive.tables import make_tables
from tests.metastore.server.launcher import MetastoreServer

pytestmark = [
    pytest.mark.metastore,
    pytest.mark.parametrize("server", ["4.1.0", "4.0.1"], indirect=True),
]

COUNTED = {"COLUMN_STATS_ACCURATE": '{"BASIC_STATS":"true"}', "numRows": "10", "totalSize": "99"}
OPEN_END = 9223372036854775807


@pytest.fixture(autouse=True)
def tables(store: HiveMetastore, server: MetastoreServer) -> None:
    make_tables(store, server)


class Hive:
    """Counts rows as Hive's own writers do, and asks as its planner does."""

    def __init__(self, call: Callable[..., Any], store: HiveMetastore) -> None:
        self.call = call
        self.store = store

    def table(self, name: str, **request: Any) -> Any:
        return self.call(
            "get_table_req",
            hms.GetTableRequest(
                dbName="db", tblName=name, processorCapabilities=["HIVEFULLACIDREAD"], **request
            ),
        )

    def write(self) -> tuple[int, int]:
        """Begin to write to ``db.t``: transaction and write id."""
        txn_id = self.store.open_txn("hive", "host")
        return txn_id, self.store.allocate_write_id(txn_id, "db", "t")

    def count(self, txn_id: int, write_id: int) -> None:
        """Write the statistics that a transaction has counted for ``db.t``."""
        table = self.table("t").table
        table.parameters = {**table.parameters, **COUNTED}
        table.writeId = write_id
        seen = self.store.valid_write_ids("db", "t", self.store.valid_txns(txn_id))
        self.call(
            "alter_table_req",
            hms.AlterTableRequest(
                catName="hive",
                dbName="db",
                tableName="t",
                table=table,
                environmentContext=hms.EnvironmentContext(
                    properties={"DO_NOT_UPDATE_STATS": "true"}
                ),
                writeId=write_id,
                validWriteIdList=seen.to_string(),
                processorCapabilities=["HIVEFULLACIDWRITE"],
            ),
        )

    def believes(self) -> bool:
        """Return whether a query would be answered from the statistics of ``db.t``."""
        seen = self.store.valid_write_ids("db", "t", self.store.valid_txns())
        answer = self.table("t", validWriteIdList=seen.to_string())
        parameters = answer.table.parameters
        accurate = '"BASIC_STATS":"true"' in parameters.get("COLUMN_STATS_ACCURATE", "")
        return accurate and answer.isStatsCompliant is not False


@pytest.fixture
def hive(call: Callable[..., Any], store: HiveMetastore) -> Hive:
    return Hive(call, store)


def counted(hive: Hive) -> None:
    txn_id, write_id = hive.write()
    hive.count(txn_id, write_id)
    hive.store.commit_txn(txn_id)
    assert hive.believes()


def record(store: HiveMetastore, txn_id: int, mark: int | None = None) -> None:
    table = store.table("db", "t")
    written = (Partition(values=(), location=""),)
    store.prepare_commit(txn_id, [RecordWrites(table=table, written=written, mark=mark)])


def test_write_that_counts_nothing_would_be_believed(hive: Hive) -> None:
    counted(hive)
    txn_id, _ = hive.write()
    hive.store.commit_txn(txn_id)
    assert hive.believes()


def test_counts_are_not_believed_after_a_write_of_ours(hive: Hive, store: HiveMetastore) -> None:
    counted(hive)
    txn_id, _ = hive.write()
    record(store, txn_id)
    store.commit_txn(txn_id)
    assert not hive.believes()
    parameters = hive.table("t").table.parameters
    assert not COUNTED.keys() & parameters.keys()
    assert parameters["transactional"] == "true"
    counted(hive)


def test_counts_are_not_believed_after_an_abort_either(hive: Hive, store: HiveMetastore) -> None:
    counted(hive)
    txn_id, _ = hive.write()
    record(store, txn_id)
    store.abort_txn(txn_id)
    assert not hive.believes()


def test_who_counts_at_the_same_time_is_not_believed(hive: Hive, store: HiveMetastore) -> None:
    """Check an ANALYZE TABLE, or an INSERT, that does not see our rows."""
    counted(hive)
    ours, _ = hive.write()
    theirs, their_write_id = hive.write()
    record(store, ours)
    hive.count(theirs, their_write_id)
    store.commit_txn(theirs)
    store.commit_txn(ours)
    assert not hive.believes()


def test_who_counted_before_we_say_so_is_not_believed(hive: Hive, store: HiveMetastore) -> None:
    ours, _ = hive.write()
    theirs, their_write_id = hive.write()
    hive.count(theirs, their_write_id)
    store.commit_txn(theirs)
    record(store, ours)
    store.commit_txn(ours)
    assert not hive.believes()


def test_one_mark_stands_for_all_transactions_of_a_batch(hive: Hive, store: HiveMetastore) -> None:
    counted(hive)
    first, second, third = store.open_batch("hive", "host", 3)
    *_, mark = store.allocate_write_ids([first, second, third], "db", "t")
    record(store, first, mark)
    assert hive.table("t").table.writeId == mark
    theirs, their_write_id = hive.write()
    store.commit_txn(first)
    assert not hive.believes()
    # Who counts does not see the mark, as long as the batch is open, and is not believed.
    hive.count(theirs, their_write_id)
    store.commit_txn(theirs)
    assert not hive.believes()
    assert hive.table("t").table.writeId == their_write_id
    record(store, second, mark)
    assert hive.table("t").table.writeId == mark
    store.commit_txn(second)
    assert not hive.believes()
    store.abort_txn(third)
    assert not hive.believes()
    counted(hive)


def test_partitions(store: HiveMetastore, call: Callable[..., Any]) -> None:
    names = ["year=1", "year=2"]
    first = store.open_txn("hive", "host")
    write_id = store.allocate_write_id(first, "db", "p")
    partitions = call("get_partitions_by_names", "db", "p", names)
    for partition in partitions:
        partition.parameters = {**partition.parameters, **COUNTED}
        partition.writeId = write_id
    call(
        "alter_partitions_req",
        hms.AlterPartitionsRequest(
            dbName="db",
            tableName="p",
            partitions=partitions,
            environmentContext=hms.EnvironmentContext(properties={"DO_NOT_UPDATE_STATS": "true"}),
            writeId=write_id,
            validWriteIdList=f"db.p:{write_id}:{OPEN_END}::",
        ),
    )
    store.commit_txn(first)
    second = store.open_txn("ann", "host")
    ours = store.allocate_write_id(second, "db", "p")
    written = store.partitions("db", "p", [("2",)])
    store.prepare_commit(second, [RecordWrites(table=store.table("db", "p"), written=written)])
    store.commit_txn(second)
    kept, written = call("get_partitions_by_names", "db", "p", names)
    assert COUNTED.items() <= kept.parameters.items()
    assert not COUNTED.keys() & written.parameters.keys()
    assert (kept.writeId, written.writeId) == (write_id, ours)
