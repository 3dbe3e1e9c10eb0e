"""Tests of the detection of lost updates: by the server itself, and by acidsql with it.

Two transactions open, both take their locks, the first commits, then the second tries to. The
design rests on these facts: if one of them changes in a new server, a test here fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from acidsql.errors import WriteConflictError
from acidsql.metastore.hive.idl import hms
from acidsql.metastore.hive.store import HiveMetastore
from acidsql.metastore.model import LockRequest, LockState, LockType, Operation
from tests.metastore.hive.tables import make_tables
from tests.metastore.server.launcher import MetastoreServer

pytestmark = pytest.mark.metastore

SR, SW, EW = LockType.SHARED_READ, LockType.SHARED_WRITE, LockType.EXCL_WRITE
I, U, D = Operation.INSERT, Operation.UPDATE, Operation.DELETE  # noqa: E741
BOTH, ABORTED, WAITS_BOTH, WAITS_ABORTED = "both", "aborted", "waits, both", "waits, aborted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Change by a transaction.

    Attributes:
        names: partitions that a dynamic write names before the commit; None names nothing.
    """

    operation: Operation
    lock: LockType = SW
    table: str = "p"
    partition: str | None = "year=1"
    dynamic: bool = False
    names: tuple[str, ...] | None = None
    named_operation: Operation | None = None


def dynamic(
    operation: Operation, *names: str, named: Operation | None = None, unnamed: bool = False
) -> Change:
    return Change(
        operation=operation,
        partition=None,
        dynamic=True,
        names=None if unnamed else names,
        named_operation=named,
    )


WHOLE = Change(operation=U, partition=None)
PLAIN = {
    operation: Change(operation=operation, table="t", partition=None) for operation in (I, U, D)
}
ONE = {operation: Change(operation=operation) for operation in (I, U, D)}
OTHER = Change(operation=U, partition="year=2")
UNNAMED, NAMED = dynamic(U, unnamed=True), dynamic(U, "year=1")
EXCLUSIVE = Change(operation=U, lock=EW)


def by_itself(
    call: Callable[..., Any], changes: Sequence[Change], exclusive_writes: bool | None
) -> str:
    """Return what a server does; ``exclusive_writes`` is a field of the commit, or None."""
    txns, locks = [], []
    for _ in changes:
        request = hms.OpenTxnRequest(num_txns=1, user="ann", hostname="host", agentInfo="test")
        txns.append(call("open_txns", request).txn_ids[0])
    for txn_id, change in zip(txns, changes, strict=True):
        allocation = hms.AllocateTableWriteIdsRequest(
            dbName="db", tableName=change.table, txnIds=[txn_id]
        )
        write_id = call("allocate_table_write_ids", allocation).txnToWriteIds[0].writeId
        component = hms.LockComponent(
            type=getattr(hms.LockType, change.lock.name),
            level=hms.LockLevel.PARTITION if change.partition else hms.LockLevel.TABLE,
            dbname="db",
            tablename=change.table,
            partitionname=change.partition,
            operationType=getattr(hms.DataOperationType, change.operation.name),
            isTransactional=True,
            isDynamicPartitionWrite=change.dynamic,
        )
        request = hms.LockRequest(
            component=[component], txnid=txn_id, user="ann", hostname="host", agentInfo="test"
        )
        locks.append(call("lock", request))
        if change.names is not None:
            named = change.named_operation or change.operation
            partitions = hms.AddDynamicPartitions(
                txnid=txn_id,
                writeid=write_id,
                dbname="db",
                tablename=change.table,
                partitionnames=list(change.names),
                operationType=getattr(hms.DataOperationType, named.name),
            )
            call("add_dynamic_partitions", partitions)
    waits = "waits, " if locks[1].state == hms.LockState.WAITING else ""
    commits = [hms.CommitTxnRequest(txnid=t, exclWriteEnabled=exclusive_writes) for t in txns]
    call("commit_txn", commits[0])
    call("check_lock", hms.CheckLockRequest(lockid=locks[1].lockid, txnid=txns[1]))
    try:
        call("commit_txn", commits[1])
    except hms.TxnAbortedException:
        return f"{waits}aborted"
    return f"{waits}both"


FACTS = [
    # changes, exclWriteEnabled, Hive 4, Hive 3.1 (None: it has no such lock)
    pytest.param((EXCLUSIVE, EXCLUSIVE), None, WAITS_BOTH, None, id="excl-write-unset"),
    pytest.param((EXCLUSIVE, EXCLUSIVE), False, WAITS_ABORTED, None, id="excl-write-false"),
    pytest.param((ONE[U], ONE[U]), None, BOTH, WAITS_ABORTED, id="update-unset"),
    pytest.param((ONE[U], ONE[U]), False, ABORTED, WAITS_ABORTED, id="update-update"),
    pytest.param((ONE[U], ONE[D]), False, ABORTED, WAITS_ABORTED, id="update-delete"),
    pytest.param((ONE[D], ONE[D]), False, ABORTED, WAITS_BOTH, id="delete-delete"),
    pytest.param((WHOLE, ONE[U]), False, BOTH, WAITS_BOTH, id="table-partition"),
    pytest.param((ONE[U], WHOLE), False, BOTH, WAITS_BOTH, id="partition-table"),
    pytest.param((UNNAMED, UNNAMED), False, ABORTED, WAITS_BOTH, id="dynamic-unnamed"),
    pytest.param((UNNAMED, NAMED), False, BOTH, WAITS_BOTH, id="dynamic-unnamed-named"),
    pytest.param((NAMED, NAMED), False, ABORTED, WAITS_ABORTED, id="dynamic-named"),
    pytest.param(
        (dynamic(U, "year=1", named=I), dynamic(U, "year=1", named=I)),
        False,
        BOTH,
        WAITS_BOTH,
        id="dynamic-named-insert",
    ),
    pytest.param((dynamic(U), dynamic(U)), False, BOTH, WAITS_BOTH, id="dynamic-nothing"),
    pytest.param((ONE[I], ONE[U]), False, BOTH, WAITS_BOTH, id="insert-update"),
    pytest.param((ONE[U], OTHER), False, BOTH, BOTH, id="other-partition"),
    pytest.param((PLAIN[U], PLAIN[U]), False, ABORTED, WAITS_ABORTED, id="plain-update"),
    pytest.param((PLAIN[D], PLAIN[D]), False, ABORTED, WAITS_BOTH, id="plain-delete"),
]


@pytest.mark.parametrize(("changes", "exclusive_writes", "hive_4", "hive_3"), FACTS)
def test_what_servers_do(
    server: MetastoreServer,
    store: HiveMetastore,
    call: Callable[..., Any],
    is_hive4: bool,
    changes: Sequence[Change],
    exclusive_writes: bool | None,
    hive_4: str,
    hive_3: str | None,
) -> None:
    make_tables(store, server)
    expected = hive_4 if is_hive4 else hive_3
    if expected is None:
        return
    assert by_itself(call, changes, exclusive_writes) == expected


def through_acidsql(stores: Sequence[HiveMetastore], changes: Sequence[Change]) -> bool:
    """Return whether the second of two clients gets a conflict."""
    txns = [store.open_txn("ann", "host") for store in stores]
    states = []
    for store, txn_id, change in zip(stores, txns, changes, strict=True):
        request = LockRequest(
            database="db",
            table=change.table,
            partition=change.partition,
            type=change.lock,
            operation=change.operation,
            dynamic_partitions=change.dynamic,
        )
        store.allocate_write_id(txn_id, "db", change.table)
        states.append(store.lock(txn_id, [request]))
        if change.names is not None:
            operation = change.named_operation or change.operation
            store.add_dynamic_partitions(txn_id, "db", change.table, change.names, operation)
    stores[0].commit_txn(txns[0])
    if states[1] is LockState.WAITING:
        assert stores[1].check_lock(txns[1]) is LockState.ACQUIRED
    told = ""
    try:
        stores[1].commit_txn(txns[1])
    except WriteConflictError as error:
        told = error.message
    assert stores[0].valid_txns().is_valid(txns[1]) is not bool(told)
    assert not told or f"transaction {txns[0]}" in told
    return bool(told)


@pytest.mark.parametrize(
    ("changes", "conflict"),
    [
        pytest.param((EXCLUSIVE, EXCLUSIVE), True, id="excl-write"),
        pytest.param((ONE[U], ONE[U]), True, id="update-update"),
        pytest.param((ONE[U], ONE[D]), True, id="update-delete"),
        pytest.param((ONE[D], ONE[D]), True, id="delete-delete"),
        pytest.param((WHOLE, ONE[U]), True, id="table-partition"),
        pytest.param((ONE[D], WHOLE), True, id="partition-table"),
        pytest.param((UNNAMED, UNNAMED), True, id="dynamic-unnamed"),
        pytest.param((UNNAMED, NAMED), True, id="dynamic-unnamed-named"),
        pytest.param((NAMED, NAMED), True, id="dynamic-named"),
        pytest.param((NAMED, ONE[D]), True, id="dynamic-static"),
        pytest.param((PLAIN[D], PLAIN[D]), True, id="plain-delete"),
        pytest.param((dynamic(U), dynamic(U)), False, id="dynamic-nothing"),
        pytest.param((ONE[I], ONE[U]), False, id="insert-update"),
        pytest.param((PLAIN[I], PLAIN[I]), False, id="insert-insert"),
        pytest.param((ONE[U], OTHER), False, id="other-partition"),
        pytest.param((NAMED, dynamic(U, "year=2")), False, id="dynamic-other-partition"),
    ],
)
def test_no_update_is_lost_through_acidsql(
    server: MetastoreServer,
    store: HiveMetastore,
    other: HiveMetastore,
    changes: Sequence[Change],
    conflict: bool,
) -> None:
    make_tables(store, server)
    assert through_acidsql([store, other], changes) is conflict


def test_loser_among_three(server: MetastoreServer, store: HiveMetastore) -> None:
    """Check a conflict with a transaction that committed before the loser took its lock.

    The time of opening decides, not that of the lock.
    """
    make_tables(store, server)
    loser = store.open_txn("ann", "host")
    winner = store.open_txn("bob", "host")
    change = LockRequest(database="db", table="t", partition=None, type=SW, operation=U)
    assert store.lock(winner, [change]) is LockState.ACQUIRED
    store.commit_txn(winner)
    assert store.lock(loser, [change]) is LockState.ACQUIRED
    with pytest.raises(WriteConflictError, match=rf"transaction {winner}\b"):
        store.commit_txn(loser)
