"""Locks of the Hive Metastore, and the operations with which it detects conflicts.

A server detects a conflict of two transactions if both named the same partition, or both named the
whole table. It finds no conflict if one changes a whole partitioned table and the other changes one
partition. Therefore a transaction that changes a whole table names every partition before it
commits (``_name_partitions`` of ``store``).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from acidsql.errors import TransactionStateError
from acidsql.format.identifiers import lowered
from acidsql.metastore import failures
from acidsql.metastore.embedded.locks import WAITS_FOR
from acidsql.metastore.hive import transactions
from acidsql.metastore.hive.client_transactions import OwnTxn, OwnTxns, TableKey
from acidsql.metastore.hive.idl import hms
from acidsql.metastore.hive.server import PROCESSOR, Server
from acidsql.metastore.model import LockInfo, LockRequest, LockState, LockType, Operation
from acidsql.metastore.names import partition_name

_MILLISECONDS = 1000
_CHANGES = (Operation.UPDATE, Operation.DELETE)
# Hive 3.1 has one type of lock for writers, which excludes other writers. Its name is SHARED_WRITE,
# and it works like EXCL_WRITE of Hive 4.
_WAITS_FOR_IN_3 = {
    **WAITS_FOR,
    LockType.SHARED_WRITE: WAITS_FOR[LockType.EXCL_WRITE],
}


def lock(
    server: Server, client_txns: OwnTxns, txn_id: int, requests: Sequence[LockRequest]
) -> LockState:
    """Request the locks of a statement (``Metastore.lock``)."""
    # Hive 4 would grant locks to a committed transaction, and never release them.
    client_txns.require_open(txn_id)
    txn = client_txns.find(txn_id)
    if txn is None or not requests:
        transactions.require_open(server, client_txns, txn_id)
    if not requests:
        return LockState.ACQUIRED
    request = hms.LockRequest(
        component=[_component(server, r) for r in requests],
        txnid=txn_id,
        user=txn.user if txn else server.user,
        hostname=txn.host if txn else PROCESSOR,
        agentInfo=PROCESSOR,
    )
    try:
        # A repetition after a broken connection may leave extra locks, which end with the
        # transaction.
        answer = server.call("lock", request)
    except (hms.TxnAbortedException, hms.NoSuchTxnException) as error:
        raise _ended(server, client_txns, txn_id) from error
    if txn is not None:
        _note(txn, requests)
        if answer.state == hms.LockState.WAITING:
            txn.locks.append(answer.lockid)
    return _state(server, client_txns, txn_id, answer)


def _note(txn: OwnTxn, requests: Sequence[LockRequest]) -> None:
    for r in requests:
        place = _key(r), None if r.dynamic_partitions else partition_name(r.partition)
        if r.type is LockType.EXCLUSIVE:
            txn.exclusive.add(place)
        if r.operation in _CHANGES:
            txn.changes.add(place)
            if place[1] is None:
                txn.changing.add((_key(r), r.operation if r.dynamic_partitions else None))


def _component(server: Server, request: LockRequest) -> Any:
    """Build a lock component.

    The server detects conflicts by ``operationType`` and ``isTransactional``.
    """
    # A dynamic write can reach any partition, even if some partition columns have a value.
    partition = None if request.dynamic_partitions else partition_name(request.partition)
    return hms.LockComponent(
        type=_lock_type(server, request.type),
        level=hms.LockLevel.TABLE if partition is None else hms.LockLevel.PARTITION,
        dbname=lowered(request.database),
        tablename=lowered(request.table),
        partitionname=partition,
        operationType=operation_type(server, request.operation, request.type),
        isTransactional=True,
        isDynamicPartitionWrite=request.dynamic_partitions,
    )


def _lock_type(server: Server, lock_type: LockType) -> int:
    if lock_type is LockType.EXCL_WRITE and not server.is_hive4:
        return int(hms.LockType.SHARED_WRITE)
    return int(getattr(hms.LockType, lock_type.name))


def operation_type(server: Server, operation: Operation, lock_type: LockType | None = None) -> int:
    """Return Hive's number of an operation (``hms.DataOperationType``).

    With Hive 3.1, DELETE becomes UPDATE. Hive 3.1 lets two transactions delete the same row, but
    does not let one delete and the other update it.
    """
    if operation is Operation.DELETE and not server.is_hive4:
        operation = Operation.UPDATE
    if operation is Operation.SELECT and lock_type not in (None, LockType.SHARED_READ):
        return int(hms.DataOperationType.NO_TXN)  # DDL
    return int(getattr(hms.DataOperationType, operation.name))


def check_lock(server: Server, client_txns: OwnTxns, txn_id: int) -> LockState:
    """Check every request that is not known to be granted (``Metastore.check_lock``)."""
    client_txns.require_open(txn_id)
    txn = client_txns.find(txn_id)
    waiting = list(txn.locks) if txn else []
    if not waiting:
        transactions.require_open(server, client_txns, txn_id)
        return LockState.ACQUIRED
    state = LockState.ACQUIRED
    for lock_id in waiting:
        try:
            answer = server.call("check_lock", hms.CheckLockRequest(lockid=lock_id, txnid=txn_id))
        except (hms.NoSuchLockException, hms.TxnAbortedException, hms.NoSuchTxnException) as error:
            raise _ended(server, client_txns, txn_id) from error
        if _state(server, client_txns, txn_id, answer) is LockState.WAITING:
            state = LockState.WAITING
        elif txn is not None:
            txn.locks.remove(lock_id)
    return state


def withdraw(server: Server, client_txns: OwnTxns, txn_id: int) -> None:
    """Withdraw the waiting requests of a transaction (``Metastore.withdraw_locks``).

    A server releases a lock of an open transaction only while the lock waits. A lock that was
    granted meanwhile stays until the transaction ends, which does no harm.
    """
    txn = client_txns.find(txn_id)
    for lock_id in list(txn.locks) if txn else []:
        # The lock was granted a moment ago, or has ended with the transaction.
        with suppress(hms.TxnOpenException, hms.NoSuchLockException):
            server.call("unlock", hms.UnlockRequest(lockid=lock_id))
        if txn is not None:
            txn.locks.remove(lock_id)


def _state(server: Server, client_txns: OwnTxns, txn_id: int, answer: Any) -> LockState:
    if answer.state == hms.LockState.ACQUIRED:
        return LockState.ACQUIRED
    if answer.state == hms.LockState.WAITING:
        return LockState.WAITING
    raise _ended(server, client_txns, txn_id)


def _ended(server: Server, client_txns: OwnTxns, txn_id: int) -> Exception:
    """Return the error, with its reason, for a transaction that has lost its locks."""
    try:
        transactions.require_open(server, client_txns, txn_id)
    except TransactionStateError as error:
        return error
    return failures.txn_aborted(txn_id, "its locks are gone")


def blockers(server: Server, txn_id: int) -> tuple[LockInfo, ...]:
    """List the locks that a transaction waits for (``Metastore.blockers``)."""
    all_locks = locks(server)
    waits_for = WAITS_FOR if server.is_hive4 else _WAITS_FOR_IN_3
    waiting = [k for k in all_locks if k.txn_id == txn_id and k.state is LockState.WAITING]
    return tuple(
        other
        for other in all_locks
        if any(
            other.txn_id != txn_id
            and other.lock_id < request.lock_id
            and other.type in waits_for[request.type]
            and (other.database, other.table) == (request.database, request.table)
            and (
                None in (other.partition, request.partition) or other.partition == request.partition
            )
            for request in waiting
        )
    )


def locks(server: Server) -> tuple[LockInfo, ...]:
    """List all locks (``Metastore.locks``); the locks of one request share an id."""
    listed = server.call("show_locks", hms.ShowLocksRequest()).locks or []
    listed = sorted(listed, key=lambda k: (k.lockid, k.lockIdInternal or 0))
    heartbeats = {}
    if any(not k.lastheartbeat for k in listed):
        heartbeats = {t.txn_id: t.last_heartbeat for t in transactions.open_txns(server)}
    return tuple(
        LockInfo(
            lock_id=k.lockid,
            txn_id=k.txnid or 0,
            database=k.dbname,
            table=k.tablename or "",
            partition=k.partname,
            type=LockType[hms.LockType._VALUES_TO_NAMES[k.type]],
            state=LockState.ACQUIRED if k.state == hms.LockState.ACQUIRED else LockState.WAITING,
            user=k.user,
            host=k.hostname,
            acquired=k.acquiredat // _MILLISECONDS if k.acquiredat else None,
            last_heartbeat=(k.lastheartbeat or 0) // _MILLISECONDS
            or heartbeats.get(k.txnid or 0, 0),
        )
        for k in listed
    )


def add_dynamic_partitions(
    server: Server,
    client_txns: OwnTxns,
    txn_id: int,
    table: TableKey,
    write_id: int,
    partitions: Sequence[str],
    operation: Operation,
) -> None:
    """Record the partitions of a dynamic write (``Metastore.add_dynamic_partitions``)."""
    request = hms.AddDynamicPartitions(
        txnid=txn_id,
        writeid=write_id,
        dbname=table[0],
        tablename=table[1],
        partitionnames=[str(partition_name(p)) for p in partitions],
        operationType=operation_type(server, operation),
    )
    try:
        server.call("add_dynamic_partitions", request)
    except (hms.TxnAbortedException, hms.NoSuchTxnException) as error:
        raise _ended(server, client_txns, txn_id) from error
    txn = client_txns.find(txn_id)
    if txn is not None:
        txn.changing.discard((table, operation))
        if operation in _CHANGES:
            txn.changes.add((table, None))


def _key(request: LockRequest) -> TableKey:
    return lowered(request.database), lowered(request.table)


def unnamed(txn: OwnTxn) -> set[TableKey]:
    """Return the tables for which a transaction has not named the changed partitions."""
    return {table for table, _ in txn.changing}
