"""Compaction queue of the Hive Metastore, and its history.

Hive 4 lets any process take an entry and work on it; Hive 3.1 lets only its own workers do so. A
server returns the oldest entry of a pool, and no chosen entry. Therefore a request that is reserved
for one worker goes to a pool with that worker's name. Other workers get it only after
``hive.compactor.worker.pool.timeout``.
"""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from dataclasses import replace
from typing import Any

from acidsql.errors import AcidAnalysisError, AcidLookupError, TransactionStateError
from acidsql.format.identifiers import lowered
from acidsql.limits import limits
from acidsql.metastore.hive import transactions
from acidsql.metastore.hive.connection import ConnectionLostError
from acidsql.metastore.hive.idl import hms
from acidsql.metastore.hive.server import PROCESSOR, Server
from acidsql.metastore.model import (
    Compaction,
    CompactionOptions,
    CompactionState,
    CompactionType,
    TxnState,
    WorkerLimits,
)
from acidsql.metastore.names import partition_name

_MILLISECONDS = 1000
# Types of the server, which does not have CLEANUP.
_TYPES = {
    getattr(hms.CompactionType, t.name): t
    for t in CompactionType
    if t is not CompactionType.CLEANUP
}
# The server's internal names of states (CompactionState).
_READY_FOR_CLEANING = "r"
_WORKING = "w"
# Name that the server shows for entries without a pool (Constants.COMPACTION_DEFAULT_POOL).
_DEFAULT_POOL = "default"
_ORDER_BY = re.compile(r"^\s*ORDER\s+BY\s+", re.IGNORECASE)
_ID = re.compile(r"\bid=(\d+)")


class TakenCompactions:
    """Entries that this client has taken, as the server returned them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: OrderedDict[int, Any] = OrderedDict()

    def add(self, entry: Any) -> None:
        """Remember an entry."""
        with self._lock:
            self._entries[entry.id] = entry
            if len(self._entries) > limits().remembered_compactions:
                self._entries.popitem(last=False)

    def has(self, compaction_id: int) -> bool:
        """Return whether this client has taken an entry."""
        with self._lock:
            return compaction_id in self._entries

    def get(self, server: Server, compaction_id: int) -> Any:
        """Return the entry (``hms.CompactionInfoStruct``).

        Raises:
            AcidLookupError: COMPACTION_NOT_FOUND.
            TransactionStateError: COMPACTION_STATE_CHANGED, this client did not take it.
        """
        with self._lock:
            if compaction_id in self._entries:
                return self._entries[compaction_id]
        for entry in compactions(server):
            if entry.compaction_id == compaction_id:
                raise TransactionStateError(
                    "COMPACTION_STATE_CHANGED",
                    f"compaction {compaction_id} is in state '{entry.state.value}', and not being "
                    "worked on here; request the compaction again if it is still wanted",
                )
        raise _not_found(compaction_id)


def _not_found(compaction_id: int) -> AcidLookupError:
    return AcidLookupError(
        "COMPACTION_NOT_FOUND",
        f"the queue has no compaction {compaction_id}; see SHOW COMPACTIONS",
    )


def request(
    server: Server,
    database: str,
    table: str,
    partition: str | None,
    compaction_type: CompactionType,
    worker: str | None,
    options: CompactionOptions,
) -> Compaction:
    """Add a compaction to the queue (``Metastore.request_compaction``).

    ``runas`` is the user for whom the server's cleaner deletes files, so it is the user who writes
    them. If the existing entry belongs to a dead compactor, acidsql marks it as failed and sends
    the request again. If the answer is lost, the worker's name identifies the request.
    """
    wanted = hms.CompactionRequest(
        dbname=lowered(database),
        tablename=lowered(table),
        partitionname=partition_name(partition),
        type=getattr(hms.CompactionType, compaction_type.name),
        runas=server.user,
    )
    if server.is_hive4:
        wanted.initiatorId = PROCESSOR
        wanted.poolName = options.pool or worker
        wanted.orderByClause = f"ORDER BY {options.order_by}" if options.order_by else None
        wanted.numberOfBuckets = options.buckets
    try:
        answer = server.call("compact2", wanted, repeatable=False)
    except ConnectionLostError:
        accepted = next((e for e in _listed(server) if worker and e.poolName == worker), None)
        if accepted is None:
            raise
        return _entry_of(accepted)
    if not answer.accepted and _fail_abandoned(server, _blocking_id(answer)):
        answer = server.call("compact2", wanted, repeatable=False)
    if answer.accepted:
        return _find(server, answer.id)
    blocking_id = _blocking_id(answer)
    return Compaction(
        compaction_id=blocking_id,
        database=wanted.dbname,
        table=wanted.tablename,
        partition=wanted.partitionname,
        type=compaction_type,
        state=CompactionState.REFUSED,
        error=answer.errormessage
        or f"Compaction is already scheduled with state='{answer.state}' and id={blocking_id}",
    )


def _blocking_id(answer: Any) -> int:
    """Return the id of the entry that is the reason for a refused request.

    Hive 4 returns the id only in the message.
    """
    match = _ID.search(answer.errormessage or "")
    return int(match[1]) if match else int(answer.id)


def _fail_abandoned(server: Server, compaction_id: int) -> bool:
    """Mark an entry as failed if its worker is dead; return whether it was dead.

    The worker is dead if its transaction was aborted, so that its output is invisible. If it has no
    transaction yet, it is dead after the time-out of a transaction. The server itself would wait
    for ``hive.compactor.worker.timeout``, a day, or for ``hive.compactor.worker.pool.timeout``.
    """
    entry = next((e for e in _listed(server) if e.id == compaction_id), None)
    if entry is None or not server.is_hive4:
        return False
    waits = CompactionState(entry.state) is CompactionState.INITIATED
    if not waits and CompactionState(entry.state) is not CompactionState.WORKING:
        return False
    if entry.txnId:
        if transactions.state_of(server, entry.txnId) is not TxnState.ABORTED:
            return False
        reason = f"the compactor's transaction {entry.txnId} was aborted"
    else:
        is_ours = entry.initiatorId if waits else entry.workerVersion
        since = _seconds(entry.enqueueTime if waits else entry.start) or 0
        if is_ours != PROCESSOR or time.time() - since < server.txn_timeout:
            return False
        if waits and not _take_from(server, entry):
            return False
        reason = "its worker has gone before it began"
    failed_entry = _struct(_entry_of(entry), _WORKING)
    failed_entry.errorMessage = reason
    server.call("mark_failed", failed_entry)
    return True


def _take_from(server: Server, entry: Any) -> bool:
    """Take an entry from the pool of an ended worker; return whether it was still there."""
    if not entry.poolName:
        return False
    wanted = hms.FindNextCompactRequest(
        workerId=entry.poolName, workerVersion=PROCESSOR, poolName=entry.poolName
    )
    taken = server.call("find_next_compact2", wanted).ci
    return taken is not None and taken.id == entry.id


def _find(server: Server, compaction_id: int) -> Compaction:
    matches = (c for c in compactions(server) if c.compaction_id == compaction_id)
    entry = next(matches, None)
    if entry is None:
        raise _not_found(compaction_id)
    return entry


def take_next(
    server: Server,
    taken: TakenCompactions,
    worker: str,
    compaction_id: int | None,
    chosen: WorkerLimits,
) -> Compaction | None:
    """Take an INITIATED entry (``Metastore.next_compaction``); None with Hive 3.1."""
    if not server.is_hive4:
        return None
    pool = chosen.pool if compaction_id is None else worker
    wanted = hms.FindNextCompactRequest(workerId=worker, workerVersion=PROCESSOR, poolName=pool)
    struct = server.call("find_next_compact2", wanted).ci
    if struct is None and compaction_id is not None and not taken.has(compaction_id):
        struct = _taken_already(server, worker, compaction_id)
    if struct is None:
        return None
    taken.add(struct)
    if compaction_id not in (None, struct.id):
        failed(server, taken, struct.id, f"{worker} requested compaction {compaction_id}")
        return None
    order = _ORDER_BY.sub("", struct.orderByClause or "") or None
    return replace(_find(server, struct.id), order_by=order, buckets=struct.numberOfBuckets or None)


def _taken_already(server: Server, worker: str, compaction_id: int) -> Any:
    """Return the entry if this worker took it by a call whose answer was lost, or None."""
    entry = next((c for c in compactions(server) if c.compaction_id == compaction_id), None)
    if entry is None or (entry.state, entry.worker) != (CompactionState.WORKING, worker):
        return None
    struct = _struct(entry, _WORKING)
    struct.workerId = worker
    return struct


def started(
    server: Server, taken: TakenCompactions, compaction_id: int, txn_id: int, highest: int
) -> None:
    """Record the compactor's transaction of an entry (``Metastore.compaction_started``)."""
    entry = taken.get(server, compaction_id)
    entry.highestWriteId = highest
    # Without runas, the server's cleaner would never succeed with the entry.
    entry.runas = entry.runas or server.user
    server.call("update_compactor_state", entry, txn_id)


def done(server: Server, taken: TakenCompactions, compaction_id: int) -> None:
    """Mark an entry as ready for cleaning (``Metastore.compaction_done``)."""
    server.call("mark_compacted", taken.get(server, compaction_id))


def failed(server: Server, taken: TakenCompactions, compaction_id: int, error: str) -> None:
    """Mark an entry as failed (``Metastore.compaction_failed``)."""
    entry = taken.get(server, compaction_id)
    entry.errorMessage = error
    server.call("mark_failed", entry)


def given_back(server: Server, taken: TakenCompactions, compaction_id: int) -> None:
    """End an entry whose worker must end (``Metastore.compaction_given_back``).

    A server does not return an entry to the queue before ``hive.compactor.worker.timeout``, a day.
    Therefore acidsql marks the entry as failed, and the initiator requests it again.
    """
    failed(server, taken, compaction_id, "its worker had to end before it was done")


def abort(server: Server, compaction_id: int) -> Compaction:
    """Remove an INITIATED entry from the queue (``Metastore.abort_compaction``).

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.ABORT_COMPACTIONS, with Hive 3.1.
    """
    if not server.is_hive4:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.ABORT_COMPACTIONS",
            "a metastore of Hive 3.1 aborts no compactions: let it be done",
        )
    if _find(server, compaction_id).state is CompactionState.INITIATED:
        server.call("abort_Compactions", hms.AbortCompactionRequest(compactionIds=[compaction_id]))
    return _find(server, compaction_id)


def refused(server: Server, taken: TakenCompactions, compaction_id: int, reason: str) -> None:
    """Mark an entry as refused (``Metastore.compaction_refused``)."""
    entry = taken.get(server, compaction_id)
    entry.errorMessage = reason
    server.call("mark_refused", entry)


def initiates_itself(server: Server) -> bool:
    """Return whether the server's initiator is on."""
    return server.setting("hive.compactor.initiator.on", "false").lower() == "true"


def cleans_itself(server: Server) -> bool:
    """Return whether the server runs its own cleaner, which is the only one with Hive 3.1."""
    if not server.is_hive4:
        return True
    return server.setting("hive.compactor.cleaner.on", "true").lower() == "true"


def ready_to_clean(server: Server) -> tuple[Compaction, ...]:
    """List the entries that may be cleaned (``Metastore.ready_to_clean``).

    The result is empty if the server runs its own cleaner.
    """
    if cleans_itself(server):
        return ()
    waiting = [c for c in compactions(server) if c.state is CompactionState.READY_FOR_CLEANING]
    if not waiting:
        return ()
    mark = transactions.valid_txns(server, None).high_water_mark
    # Unlike the list of valid transactions, this list contains readers.
    states = {t.txn_id: t.state for t in transactions.open_txns(server)}
    still_open = [txn_id for txn_id, state in states.items() if state is TxnState.OPEN]
    lowest = min(still_open, default=mark + 1)
    # The output of a compactor without a transaction, or with an aborted one, is not visible, so
    # its entry can be cleaned up to the lowest open transaction.
    waiting = [
        replace(c, next_txn_id=lowest)
        if c.next_txn_id is None and (c.txn_id is None or states.get(c.txn_id) is TxnState.ABORTED)
        else c
        for c in waiting
    ]
    return tuple(c for c in waiting if c.next_txn_id is not None and c.next_txn_id <= lowest)


def cleaned(server: Server, compaction_id: int, highest_write_id: int) -> None:
    """Mark an entry as succeeded (``Metastore.compaction_cleaned``)."""
    entry = _find(server, compaction_id)
    if entry.state is not CompactionState.READY_FOR_CLEANING:
        raise TransactionStateError(
            "COMPACTION_STATE_CHANGED",
            f"compaction {compaction_id} is in state '{entry.state.value}', not "
            f"'{CompactionState.READY_FOR_CLEANING.value}'; somebody else has cleaned after it",
        )
    struct = _struct(entry, _READY_FOR_CLEANING)
    struct.highestWriteId = highest_write_id
    server.call("mark_cleaned", struct)


def _struct(entry: Compaction, state: str) -> Any:
    return hms.CompactionInfoStruct(
        id=entry.compaction_id,
        dbname=entry.database,
        tablename=entry.table,
        partitionname=entry.partition,
        type=getattr(hms.CompactionType, entry.type.name),
        state=state,
    )


def compactions(server: Server) -> tuple[Compaction, ...]:
    """List the queue and its history as SHOW COMPACTIONS does, newest first.

    See ``Metastore.compactions``.
    """
    entries = [_entry_of(element) for element in _listed(server)]
    return tuple(sorted(entries, key=lambda c: c.compaction_id, reverse=True))


def _listed(server: Server) -> list[Any]:
    entries: list[Any] = server.call("show_compact", hms.ShowCompactRequest()).compacts
    return entries


def _entry_of(element: Any) -> Compaction:
    return Compaction(
        compaction_id=element.id or 0,
        database=element.dbname,
        table=element.tablename,
        partition=element.partitionname,
        type=_TYPES[element.type],
        state=CompactionState(element.state),
        worker=element.workerid,
        enqueued=_seconds(element.enqueueTime) or 0,
        started=_seconds(element.start),
        ended=_seconds(element.endTime),
        txn_id=element.txnId or None,
        # Hive's value is the highest transaction at the commit, acidsql's is the next one.
        next_txn_id=element.nextTxnId + 1 if element.nextTxnId else None,
        highest_write_id=element.hightestWriteId or None,
        error=element.errorMessage or None,
        pool=None if element.poolName == _DEFAULT_POOL else element.poolName or None,
    )


def _seconds(milliseconds: int | None) -> int | None:
    return milliseconds // _MILLISECONDS if milliseconds else None
