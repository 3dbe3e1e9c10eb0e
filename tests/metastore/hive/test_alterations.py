"""Tests that an alteration of a table takes nothing back that others did at the same time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from acidsql.errors import WriteConflictError
from acidsql.injection_points import Point
from acidsql.metastore.catalog_changes import AlterTable, RecordWrites
from acidsql.metastore.hive import alterations, catalog
from acidsql.metastore.hive.conversions import DDL_TIME
from acidsql.metastore.hive.store import HiveMetastore
from acidsql.metastore.model import LockRequest, LockState, LockType, Operation, Table
from tests.injection import once
from tests.metastore.hive.proxy import proxied
from tests.metastore.hive.tables import make_tables
from tests.metastore.server.launcher import MetastoreServer
from tests.metastore.subjects import connected

pytestmark = pytest.mark.metastore


@pytest.fixture
def compares(is_hive4: bool, server: MetastoreServer) -> bool:
    """Return whether the server compares before it alters; Hive 4.0 cannot, with Derby."""
    return is_hive4 and not server.version.startswith("4.0")


@pytest.fixture
def t(server: MetastoreServer, store: HiveMetastore) -> Table:
    make_tables(store, server)
    return store.table("db", "t")


def having(table: Table, **properties: str) -> Table:
    return replace(table, properties={**table.properties, **properties})


def own(store: HiveMetastore) -> dict[str, str]:
    """Return the properties that the tests set."""
    found = store.table("db", "t").properties
    return {name: value for name, value in found.items() if name in ("mine", "yours")}


def locked(store: HiveMetastore) -> int:
    """Open a transaction with an exclusive lock on ``db.t``."""
    txn_id = store.open_txn("ann", "host")
    request = LockRequest(
        database="db",
        table="t",
        partition=None,
        type=LockType.EXCLUSIVE,
        operation=Operation.SELECT,
    )
    assert store.lock(txn_id, [request]) is LockState.ACQUIRED
    return txn_id


def test_two_alterations_at_the_same_time(
    store: HiveMetastore, other: HiveMetastore, t: Table, compares: bool
) -> None:
    read = catalog.fetch_table(store.server, "db", "t")
    other.alter_table(having(t, yours="1"))
    if not compares:
        alterations.alter_table(store.server, read, having(t, mine="1"))
        assert own(store) == {"mine": "1"}
        return
    with pytest.raises(WriteConflictError, match=r"CONCURRENT_WRITE.*db\.t was altered"):
        alterations.alter_table(store.server, read, having(t, mine="1"))
    assert own(store) == {"yours": "1"}
    store.alter_table(having(store.table("db", "t"), mine="1"))
    assert own(store) == {"mine": "1", "yours": "1"}


def test_alterations_within_a_second_differ(store: HiveMetastore, t: Table) -> None:
    times = []
    for number in range(3):
        store.alter_table(having(t, mine=str(number)))
        found = catalog.fetch_table(store.server, "db", "t")
        times.append(int(found.parameters[DDL_TIME]))
    assert times == sorted(set(times))


def test_an_alteration_by_a_client_that_compares_nothing(
    store: HiveMetastore, call: Callable[..., Any], t: Table, compares: bool
) -> None:
    read = catalog.fetch_table(store.server, "db", "t")
    theirs = catalog.fetch_table(store.server, "db", "t")
    theirs.parameters["yours"] = "1"
    # Hive's own client leaves the time of change to the server, which knows seconds.
    changed = int(theirs.parameters.pop(DDL_TIME))
    while time.time() < changed + 1:
        time.sleep(0.1)
    call("alter_table_with_environment_context", "db", "t", theirs, None)
    if compares:
        with pytest.raises(WriteConflictError, match="CONCURRENT_WRITE"):
            alterations.alter_table(store.server, read, having(t, mine="1"))
        assert own(store) == {"yours": "1"}


def test_a_definition_that_changed_under_the_lock(
    store: HiveMetastore, other: HiveMetastore, t: Table
) -> None:
    txn_id = locked(store)
    other.alter_table(having(t, yours="1"))
    with pytest.raises(WriteConflictError, match="CONCURRENT_WRITE"):
        store.prepare_commit(txn_id, [AlterTable(before=t, after=having(t, mine="1"))])
    store.abort_txn(txn_id)
    assert own(store) == {"yours": "1"}


def test_what_is_taken_back_leaves_what_others_altered(
    store: HiveMetastore, other: HiveMetastore, t: Table
) -> None:
    txn_id = locked(store)
    store.prepare_commit(txn_id, [AlterTable(before=t, after=having(t, mine="1"))])
    assert own(store) == {"mine": "1"}
    other.alter_table(having(store.table("db", "t"), yours="1"))
    store.abort_txn(txn_id)
    assert own(store) == {"mine": "1", "yours": "1"}


def test_what_nobody_has_altered_is_taken_back(store: HiveMetastore, t: Table) -> None:
    txn_id = locked(store)
    defaulted = replace(t, columns=(t.columns[0], replace(t.columns[1], default="'x'")))
    store.prepare_commit(txn_id, [AlterTable(before=t, after=having(defaulted, mine="1"))])
    assert store.table("db", "t").columns == defaulted.columns
    store.abort_txn(txn_id)
    assert store.table("db", "t").columns == t.columns
    assert own(store) == {}


def test_a_refused_alteration_leaves_constraints(
    store: HiveMetastore,
    other: HiveMetastore,
    t: Table,
    compares: bool,
) -> None:
    if not compares:
        return
    strict = replace(t, columns=(replace(t.columns[0], nullable=False), t.columns[1]))
    store.alter_table(strict)
    txn_id = locked(store)
    with once(Point.BEFORE_ALTERING) as plan:
        plan(lambda: other.alter_table(having(other.table("db", "t"), yours="1")))
        with pytest.raises(WriteConflictError, match="CONCURRENT_WRITE"):
            store.prepare_commit(txn_id, [AlterTable(before=strict, after=having(t, mine="1"))])
    store.abort_txn(txn_id)
    found = other.table("db", "t")
    # The other one read the table when it had lost its constraint, and neither kept nor dropped it.
    assert found.properties["yours"] == "1"
    assert not found.columns[0].nullable


def test_a_recorded_write_goes_on_top_of_an_alteration(
    store: HiveMetastore,
    other: HiveMetastore,
    t: Table,
    compares: bool,
) -> None:
    txn_id = store.open_txn("ann", "host")
    store.allocate_write_id(txn_id, "db", "t")
    with once(Point.BEFORE_ALTERING) as plan:
        if compares:
            plan(lambda: other.alter_table(having(t, yours="1")))
        store.prepare_commit(txn_id, [RecordWrites(table=t, written=())])
    store.commit_txn(txn_id)
    assert own(store) == ({"yours": "1"} if compares else {})


@pytest.mark.parametrize("renames", [False, True])
def test_an_alteration_whose_answer_is_lost(
    server: MetastoreServer, store: HiveMetastore, t: Table, renames: bool, is_hive4: bool
) -> None:
    with proxied(server.port) as proxy:
        client = connected(server)
        client.server.connections._endpoints[0] = replace(
            client.server.connections._endpoints[0], port=proxy.port
        )
        client.table("db", "t")
        old, new = "alter_table_with_environment_context", "alter_table_req"
        proxy.cuts_answer = new if is_hive4 else old
        if renames:
            client.rename_table("db", "t", "db", "u")
            assert store.tables("db") == ("p", "u")
        else:
            client.alter_table(having(t, mine="1"))
            assert own(store) == {"mine": "1"}
        assert proxy.calls
        client.close()


def test_hive_4_0_compares_if_its_database_can(
    store: HiveMetastore, other: HiveMetastore, t: Table, is_hive4: bool
) -> None:
    if not is_hive4:
        return
    read = catalog.fetch_table(store.server, "db", "t")
    other.alter_table(having(t, yours="1"))
    # Derby's 4.0 fails only when it has compared, and found the table as it was.
    store.server._settings["hive.metastore.db.type"] = "POSTGRES"
    with pytest.raises(WriteConflictError, match="CONCURRENT_WRITE"):
        alterations.alter_table(store.server, read, having(t, mine="1"))
    assert own(store) == {"yours": "1"}
