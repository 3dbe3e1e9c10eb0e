"""Connections that break between a client and a real server."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from acidsql.errors import MetastoreError, TransactionStateError
from acidsql.metastore.hive import connect
from acidsql.metastore.hive.connection import Connections, parse_uris
from acidsql.metastore.hive.idl import hms
from acidsql.metastore.hive.store import HiveMetastore
from acidsql.metastore.model import TxnType
from tests.metastore.hive.proxy import Proxy, proxied
from tests.metastore.hive.tables import make_tables
from tests.metastore.server.launcher import MetastoreServer

pytestmark = pytest.mark.metastore


@pytest.fixture
def proxy(server: MetastoreServer) -> Iterator[Proxy]:
    with proxied(server.port) as made:
        yield made


@pytest.fixture
def behind(proxy: Proxy) -> Iterator[HiveMetastore]:
    """Yield a client whose connections break when the test says so."""
    store = connect(proxy.uri, user="ann", timeout=20)
    yield store
    store.close()


def test_broken_connections_are_made_anew(proxy: Proxy, behind: HiveMetastore) -> None:
    first = behind.open_txn("ann", "host")
    proxy.break_connections()
    second = behind.open_txn("ann", "host")
    # A connection that broke ends no transaction.
    assert behind.heartbeat([first, second]) == ()


def test_call_that_may_be_repeated_is(proxy: Proxy, behind: HiveMetastore) -> None:
    txn_id = behind.open_txn("ann", "host")
    proxy.cuts_call = "heartbeat"
    threading.Timer(0.3, lambda: setattr(proxy, "cuts_call", "")).start()
    for _ in range(3):
        try:
            assert behind.heartbeat([txn_id]) == ()
            break
        except MetastoreError as error:
            assert error.condition == "METASTORE_UNAVAILABLE"  # noqa: PT017 - as often as it takes
    assert proxy.calls


def test_call_that_may_not_be_repeated_is_not(
    proxy: Proxy, behind: HiveMetastore, store: HiveMetastore, server: MetastoreServer
) -> None:
    proxy.cuts_answer = "create_database"
    made = hms.Database(name="db", locationUri=f"file:{server.warehouse}/db.db", parameters={})
    with pytest.raises(MetastoreError, match="METASTORE_UNAVAILABLE.*may have been carried out"):
        behind.server.call("create_database", made, repeatable=False)
    assert proxy.calls == ["create_database"]
    assert store.databases() == ("db", "default")


def test_next_server_is_used_and_kept(server: MetastoreServer, store: HiveMetastore) -> None:
    with proxied(server.port) as first, proxied(server.port) as second:
        behind = connect(f"{first.uri},{second.uri}", user="ann", timeout=20)
        txn_id = behind.open_txn("ann", "host")
        first.close()
        assert behind.heartbeat([txn_id]) == ()
        assert behind.open_txns()[0].txn_id == txn_id
        second.close()
        with pytest.raises(MetastoreError, match="METASTORE_UNAVAILABLE"):
            behind.heartbeat([txn_id])
        behind.close()
    assert store.heartbeat([txn_id]) == ()


def test_servers_that_do_not_answer_are_passed_over(
    server: MetastoreServer, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        down = f"thrift://127.0.0.1:{closed.getsockname()[1]}"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        mute = f"thrift://127.0.0.1:{silent.getsockname()[1]}"
        endpoints = parse_uris(f"{down},{mute},{server.uri}")
        connections = Connections(endpoints, user="ann", timeout=3)
        assert connections.call("get_all_databases") == ["default"]
        (warning,) = caplog.messages
        assert f"{server.uri.removeprefix('thrift://')} is used now" in warning
        connections.close()  # the next one goes where the last one went
        assert connections.call("get_all_databases") == ["default"]
        assert len(caplog.messages) == 1


def test_answer_that_comes_too_late(proxy: Proxy) -> None:
    behind = connect(proxy.uri, user="ann", timeout=1)
    assert behind.databases() == ("default",)
    proxy.delays = True
    with pytest.raises(MetastoreError, match="METASTORE_TIMEOUT.*get_all_databases within 1 s"):
        behind.databases()
    proxy.delays = False
    # What came too late is no answer to the next call.
    assert behind.heartbeat([behind.open_txn("ann", "host")]) == ()
    behind.close()


def test_threads_do_not_meet_on_a_connection(store: HiveMetastore) -> None:
    opened: list[int] = []

    def work() -> None:
        for _ in range(10):
            txn_id = store.open_txn("ann", "host", TxnType.READ_ONLY)
            assert store.heartbeat([txn_id]) == ()
            opened.append(txn_id)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(opened)) == len(opened) == 80
    assert store.heartbeat(opened) == ()


@pytest.mark.parametrize("cut", ["cuts_answer", "cuts_call"])
def test_commit_whose_answer_is_lost(
    proxy: Proxy, behind: HiveMetastore, store: HiveMetastore, cut: str
) -> None:
    txn_id = behind.open_txn("ann", "host")
    setattr(proxy, cut, "commit_txn")
    if cut == "cuts_call":
        # It never arrives: the client sees that the transaction is open, and commits again.
        with pytest.raises(MetastoreError, match="COMMIT_OUTCOME_UNKNOWN"):
            behind.commit_txn(txn_id)
        assert store.heartbeat([txn_id]) == ()
        proxy.cuts_call = ""
    else:
        behind.commit_txn(txn_id)
        assert proxy.calls == ["commit_txn"]
    behind.commit_txn(txn_id)
    assert store.valid_txns().is_valid(txn_id)


def test_commit_of_what_was_aborted_meanwhile(
    proxy: Proxy, behind: HiveMetastore, store: HiveMetastore
) -> None:
    txn_id = behind.open_txn("ann", "host")
    store.abort_txn(txn_id)
    proxy.cuts_call = "commit_txn"
    with pytest.raises(TransactionStateError, match="TXN_ABORTED"):
        behind.commit_txn(txn_id)
    assert store.valid_txns().is_aborted(txn_id)


def test_commit_when_the_server_goes_away(proxy: Proxy, behind: HiveMetastore) -> None:
    txn_id = behind.open_txn("ann", "host")
    proxy.close()
    with pytest.raises(MetastoreError, match="COMMIT_OUTCOME_UNKNOWN.*SHOW TRANSACTIONS"):
        behind.commit_txn(txn_id)


def test_server_comes_back_with_its_transactions(
    store: HiveMetastore, server: MetastoreServer
) -> None:
    make_tables(store, server)
    txn_id = store.open_txn("ann", "host")
    write_id = store.allocate_write_id(txn_id, "db", "t")
    server.stop()
    with pytest.raises(MetastoreError, match="METASTORE_UNAVAILABLE"):
        store.heartbeat([txn_id])
    server.start()
    assert store.heartbeat([txn_id]) == ()
    store.commit_txn(txn_id)
    assert store.valid_write_ids("db", "t", store.valid_txns()).is_valid(write_id)
