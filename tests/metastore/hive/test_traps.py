"""Tests of misleading answers of servers, and of what acidsql does about them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from acidsql.errors import MetastoreError, TransactionStateError
from acidsql.metastore.hive.idl import hms
from acidsql.metastore.hive.store import HiveMetastore
from acidsql.metastore.model import LockRequest, LockState, LockType, Operation, Partition, TxnType
from tests.metastore.hive.tables import make_tables
from tests.metastore.server.launcher import MetastoreServer

pytestmark = pytest.mark.metastore


@pytest.fixture(autouse=True)
def tables(store: HiveMetastore, server: MetastoreServer) -> None:
    make_tables(store, server)


def written(store: HiveMetastore, table: str = "t") -> int:
    txn_id = store.open_txn("ann", "host")
    write_id = store.allocate_write_id(txn_id, "db", table)
    store.commit_txn(txn_id)
    return write_id


def test_table_whose_name_is_not_in_lower_case_looks_empty(
    store: HiveMetastore, call: Callable[..., Any]
) -> None:
    assert written(store) == 1
    txns = store.valid_txns()
    request = hms.GetValidWriteIdsRequest(fullTableNames=["Db.T"], validTxnList=txns.to_string())
    (answer,) = call("get_valid_write_ids", request).tblValidWriteIds
    assert answer.writeIdHighWaterMark == 0
    assert store.valid_write_ids("Db", "T", txns).high_water_mark == 1


def test_zeros_at_the_end_of_aborted_bits_are_cut(
    store: HiveMetastore, call: Callable[..., Any]
) -> None:
    txns = [store.open_txn("ann", "host") for _ in range(20)]
    write_ids = [store.allocate_write_id(txn_id, "db", "t") for txn_id in txns]
    store.abort_txn(txns[1])
    store.commit_txn(txns[-1])
    answer = call("get_open_txns")
    assert (len(answer.open_txns), len(answer.abortedBits)) == (19, 1)
    seen = store.valid_txns()
    assert seen.aborted == {txns[1]}
    assert seen.open == {*txns[:-1]} - {txns[1]}
    lists = store.valid_write_ids("db", "t", seen)
    assert [w for w in write_ids if lists.is_aborted(w)] == [write_ids[1]]
    assert [w for w in write_ids if lists.is_valid(w)] == write_ids[-1:]


def test_snapshot_by_write_id_is_never_asked_for() -> None:
    # Its answer never lists the requested write id as invalid, even if that is aborted.
    names = {name for _, name, *_ in hms.GetValidWriteIdsRequest.thrift_spec.values()}
    assert names == {"fullTableNames", "validTxnList"}


@pytest.mark.parametrize("txn_type", [TxnType.DEFAULT, TxnType.READ_ONLY])
def test_silent_client_is_aborted_and_a_closed_one_is_not(
    server: MetastoreServer,
    store: HiveMetastore,
    other: HiveMetastore,
    txn_type: TxnType,
) -> None:
    closed = other.open_txn("bob", "host", txn_type)
    other.close()
    silent = store.open_txn("ann", "host", txn_type)
    assert store.heartbeat([silent, closed]) == ()
    server.sql(
        f'UPDATE "APP"."TXNS" SET "TXN_LAST_HEARTBEAT" = 1 WHERE "TXN_ID" IN ({silent}, {closed})'
    )
    deadline = time.monotonic() + 30
    while len(store.heartbeat([silent, closed])) < 2:
        # Every look is a heartbeat, but one that the reaper does not wait for.
        server.sql("""UPDATE "APP"."TXNS" SET "TXN_LAST_HEARTBEAT" = 1 WHERE "TXN_STATE" = 'o' """)
        assert time.monotonic() < deadline
        time.sleep(0.3)
    with pytest.raises(TransactionStateError, match="TXN_ABORTED.*no heartbeat"):
        store.commit_txn(silent)


def test_heartbeats_do_not_keep_the_dead_in_between_alive(
    server: MetastoreServer, store: HiveMetastore, other: HiveMetastore
) -> None:
    first, dead, last = (s.open_txn("ann", "host") for s in (store, other, store))
    server.sql('UPDATE "APP"."TXNS" SET "TXN_LAST_HEARTBEAT" = 7 WHERE "TXN_ID" > 0')
    assert store.heartbeat([first, last]) == ()
    beats = server.sql(f'SELECT "TXN_LAST_HEARTBEAT" FROM "APP"."TXNS" WHERE "TXN_ID" = {dead}')
    assert beats in ([[7]], [])  # or the reaper has met it


def test_committed_transaction_gets_no_lock(
    server: MetastoreServer, store: HiveMetastore, call: Callable[..., Any], is_hive4: bool
) -> None:
    txn_id = store.open_txn("ann", "host")
    store.commit_txn(txn_id)
    wanted = LockRequest(
        database="db",
        table="t",
        partition=None,
        type=LockType.EXCLUSIVE,
        operation=Operation.SELECT,
    )
    with pytest.raises(TransactionStateError, match="TXN_COMMITTED"):
        store.lock(txn_id, [wanted])
    assert store.locks() == ()
    if not is_hive4:
        return
    # The server would have granted it, for ever.
    component = hms.LockComponent(
        type=hms.LockType.EXCLUSIVE,
        level=hms.LockLevel.TABLE,
        dbname="db",
        tablename="t",
        operationType=hms.DataOperationType.NO_TXN,
        isTransactional=True,
    )
    request = hms.LockRequest(component=[component], txnid=txn_id, user="u", hostname="h")
    assert call("lock", request).state == hms.LockState.ACQUIRED
    server.sql('DELETE FROM "APP"."HIVE_LOCKS"')


def test_reader_gets_no_write_id(
    store: HiveMetastore, call: Callable[..., Any], is_hive4: bool
) -> None:
    reader = store.open_txn("ann", "host", TxnType.READ_ONLY)
    with pytest.raises(TransactionStateError, match="WRITE_ID_REFUSED.*read-only"):
        store.allocate_write_id(reader, "db", "t")
    if not is_hive4:  # it does not know what a reader is
        request = hms.AllocateTableWriteIdsRequest(dbName="db", tableName="t", txnIds=[reader])
        assert call("allocate_table_write_ids", request).txnToWriteIds[0].writeId == 1


def test_write_ids_go_on_after_those_of_the_directories(
    store: HiveMetastore, call: Callable[..., Any], is_hive4: bool
) -> None:
    if is_hive4:
        # Said to be the seed, it is the last one used.
        seed = hms.SeedTableWriteIdsRequest(dbName="db", tableName="p", seedWriteId=10_000_001)
        call("seed_write_id", seed)
        assert store.next_write_id("db", "p") == 10_000_002
        store.seed_write_id("db", "t", 10_000_001)
        assert written(store) == 10_000_001
    store.seed_write_id("db", "p", 5)
    assert store.next_write_id("db", "p") == (10_000_002 if is_hive4 else 5)
    with pytest.raises(MetastoreError, match="TOO_MANY_WRITE_IDS.*cannot skip"):
        store.seed_write_id("db", "p", 20_000_000)


def test_transaction_ids_go_on_after_those_of_compactors(
    store: HiveMetastore, is_hive4: bool
) -> None:
    before = store.valid_txns().high_water_mark
    assert store.seed_txn_id(before + 1) == before
    if not is_hive4:
        with pytest.raises(MetastoreError, match="METASTORE_VERSION.*Hive 4"):
            store.seed_txn_id(before + 100)
        return
    # Ids that are missing count as open for a moment, as if their transactions were just coming.
    assert store.seed_txn_id(before + 100) == before
    txns = store.valid_txns()
    assert txns.is_valid(before + 99)
    assert store.open_txn("ann", "host") > before + 99


def test_write_id_is_noted_with_the_lock(server: MetastoreServer, store: HiveMetastore) -> None:
    """Check that the server has the write id, by which its cleaner forgets the write."""
    txn_id = store.open_txn("ann", "host")
    write_id = store.allocate_write_id(txn_id, "db", "t")
    change = LockRequest(
        database="db",
        table="t",
        partition=None,
        type=LockType.SHARED_WRITE,
        operation=Operation.UPDATE,
    )
    assert store.lock(txn_id, [change]) is LockState.ACQUIRED
    noted = 'SELECT "TC_OPERATION_TYPE", "TC_WRITEID" FROM "APP"."TXN_COMPONENTS"'
    assert server.sql(noted) == [["u", write_id]]
    store.commit_txn(txn_id)
    assert server.sql('SELECT "CTC_WRITEID" FROM "APP"."COMPLETED_TXN_COMPONENTS"') == [[write_id]]


def test_partitions_are_known_before_anything_is_in_them(
    server: MetastoreServer, store: HiveMetastore, is_hive4: bool
) -> None:
    """Check that partitions are named early: an aborted transaction without any is forgotten."""
    txn_id = store.open_txn("ann", "host")
    write_id = store.allocate_write_id(txn_id, "db", "p")
    insert = LockRequest(
        database="db",
        table="p",
        partition=None,
        type=LockType.SHARED_READ,
        operation=Operation.INSERT,
        dynamic_partitions=True,
    )
    store.lock(txn_id, [insert])
    noted = 'SELECT "TC_PARTITION", "TC_WRITEID" FROM "APP"."TXN_COMPONENTS"'
    assert server.sql(noted) == ([[None, write_id]] if is_hive4 else [])
    store.add_dynamic_partitions(txn_id, "db", "p", ["year=1"], Operation.INSERT)
    assert server.sql(noted) == [["year=1", write_id]]
    store.abort_txn(txn_id)
    assert server.sql(noted) == [["year=1", write_id]]
    assert store.valid_write_ids("db", "p", store.valid_txns()).is_aborted(write_id)


def test_names_of_partitions_are_hives(store: HiveMetastore, server: MetastoreServer) -> None:
    place = f"file:{server.warehouse}/db.db/p"
    strange = ("a/b=c", "50 %", "__HIVE_DEFAULT_PARTITION__", "Ünïcode ☃", "x:y")
    store.add_partitions(
        "db", "p", [Partition(values=(v,), location=f"{place}/x{i}") for i, v in enumerate(strange)]
    )
    assert {v for (v,) in store.partition_values("db", "p")} == {"1", "2", *strange}
    for value in strange:
        (found,) = store.partitions("db", "p", [(value,)])
        assert found.values == (value,)
