"""Tests of calls whose answer is lost: the server has done them, and the client finds out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from acidsql.errors import MetastoreError
from acidsql.metastore.hive.connection import Connections, parse_uris
from acidsql.metastore.hive.store import HiveMetastore
from acidsql.metastore.model import CompactionState, CompactionType, Partition, Table, TxnType
from tests.faults.server_proxy import Cut, counted
from tests.metastore.hive.proxy import Proxy, proxied
from tests.metastore.hive.tables import COLUMNS, make_tables
from tests.metastore.server.launcher import MetastoreServer

pytestmark = pytest.mark.metastore


@pytest.fixture
def proxy(server: MetastoreServer, store: HiveMetastore) -> Iterator[Proxy]:
    make_tables(store, server)
    with proxied(server.port) as proxy:
        yield proxy


@pytest.fixture
def client(proxy: Proxy) -> Iterator[HiveMetastore]:
    """Yield a client whose connection the proxy can break."""
    connections = Connections(parse_uris(proxy.uri), user="ann", timeout=60)
    client = HiveMetastore(connections, user="ann")
    yield client
    client.close()


def test_a_table_that_was_created(
    server: MetastoreServer, proxy: Proxy, client: HiveMetastore, is_hive4: bool
) -> None:
    proxy.cuts_answer = "create_table_req" if is_hive4 else "create_table_with_constraints"
    place = f"file:{server.warehouse}/db.db/made"
    made = Table(
        database="db",
        name="made",
        columns=COLUMNS,
        properties={"transactional": "true"},
        owner="ann",
        location=place,
    )
    txn_id = client.open_txn("ann", "host")
    client.stage_table(txn_id, made)
    assert proxy.calls
    client.abort_txn(txn_id)
    assert client.tables("db") == ("p", "t")


@pytest.mark.parametrize("call", ["compact2", "find_next_compact2"])
def test_a_compaction(proxy: Proxy, client: HiveMetastore, is_hive4: bool, call: str) -> None:
    if not is_hive4:
        return
    proxy.cuts_answer = call
    requested = client.request_compaction("db", "t", None, CompactionType.MAJOR, "worker")
    assert requested.state is CompactionState.INITIATED
    taken = client.next_compaction("worker", requested.compaction_id)
    assert proxy.calls == [call]
    assert taken is not None
    assert taken.compaction_id == requested.compaction_id
    txn_id = client.open_txn("ann", "host")
    client.compaction_started(taken.compaction_id, txn_id, 1)
    client.compaction_done(taken.compaction_id)
    (entry,) = client.compactions()
    assert (entry.state, entry.txn_id) == (CompactionState.READY_FOR_CLEANING, txn_id)
    client.abort_txn(txn_id)


@pytest.mark.parametrize("takes", [False, True])
def test_a_compaction_whose_client_died_before_it_began(
    server: MetastoreServer, proxy: Proxy, client: HiveMetastore, is_hive4: bool, takes: bool
) -> None:
    del proxy
    if not is_hive4:
        return
    dead = client.request_compaction("db", "t", None, CompactionType.MAJOR, "dead")
    if takes:
        assert client.next_compaction("dead", dead.compaction_id) is not None
    second = client.request_compaction("db", "t", None, CompactionType.MAJOR, "worker")
    assert second.state is CompactionState.REFUSED  # the first may be about to begin
    old = '"CQ_ENQUEUE_TIME" = 1, "CQ_START" = 1' if takes else '"CQ_ENQUEUE_TIME" = 1'
    server.sql(f'UPDATE "APP"."COMPACTION_QUEUE" SET {old}')
    third = client.request_compaction("db", "t", None, CompactionType.MAJOR, "worker")
    assert third.state is CompactionState.INITIATED
    states = {c.compaction_id: c.state for c in client.compactions()}
    assert states[dead.compaction_id] is CompactionState.FAILED


def test_changes_that_were_made(
    server: MetastoreServer, store: HiveMetastore, proxy: Proxy, client: HiveMetastore
) -> None:
    place = f"file:{server.warehouse}/db.db"
    proxy.cuts_answer = "rename_partition"
    client.rename_partition(
        "db", "p", ("1",), Partition(values=("3",), location=f"{place}/p/year=3")
    )
    assert store.partition_values("db", "p") == (("2",), ("3",))
    proxy.cuts_answer = "drop_table_with_environment_context"
    client.drop_table("db", "t")
    assert store.tables("db") == ("p",)
    proxy.cuts_answer = "create_database"
    client.create_database("more", f"file:{server.warehouse}/more.db", "a comment")
    assert "more" in store.databases()
    proxy.cuts_answer = "drop_database"
    client.drop_database("more")
    assert "more" not in store.databases()
    assert len(proxy.calls) == 4


def test_a_change_that_was_not_made(proxy: Proxy, client: HiveMetastore) -> None:
    client.tables("db")
    proxy.cuts_call = "drop_table_with_environment_context"
    with pytest.raises(MetastoreError, match="METASTORE_UNAVAILABLE"):
        client.drop_table("db", "t")
    assert client.tables("db") == ("p", "t")


@pytest.mark.parametrize("cut", Cut)
def test_a_reader_that_ends(server: MetastoreServer, store: HiveMetastore, cut: Cut) -> None:
    with counted(server.port) as proxy:
        connections = Connections(parse_uris(proxy.uri), user="ann", timeout=60)
        client = HiveMetastore(connections, user="ann")
        txn_id = client.open_txn("ann", "host", TxnType.READ_ONLY)
        proxy.arm(0, cut)
        client.commit_txn(txn_id)
        assert proxy.struck == "commit_txn"
        client.close()
    assert [txn.txn_id for txn in store.open_txns()] == []
