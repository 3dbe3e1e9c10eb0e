"""Transactions and write ids of the Hive Metastore."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from acidsql.errors import AcidSqlError, MetastoreError
from acidsql.format.identifiers import lowered
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore import failures
from acidsql.metastore.hive.client_transactions import CONFLICT, LOST, ROLLED_BACK, OwnTxn, OwnTxns
from acidsql.metastore.hive.idl import hms
from acidsql.metastore.hive.server import PROCESSOR, Server
from acidsql.metastore.model import Operation, TxnInfo, TxnState, TxnType

logger = logging.getLogger(__name__)

_MILLISECONDS = 1000
# Message of TxnHandler: both transactions, the object, and the operation of each transaction.
_CONFLICT = re.compile(
    r"Aborting \[txnid:(?P<loser>\d+),\d+\] due to a write conflict on (?P<object>.*?)"
    r" committed by \[txnid:(?P<winner>\d+),\d+\] (?P<mine>\w)/(?P<theirs>\w)"
)
_OPERATIONS = {"u": Operation.UPDATE, "d": Operation.DELETE}


def open_txn(server: Server, client_txns: OwnTxns, user: str, host: str, txn_type: TxnType) -> int:
    """Open a transaction (``Metastore.open_txn``); Hive 3.1 has no types of transactions."""
    (txn_id,) = _open(server, client_txns, 1, user, host, txn_type)
    return txn_id


def open_batch(
    server: Server, client_txns: OwnTxns, user: str, host: str, count: int
) -> tuple[int, ...]:
    """Open several transactions (``Metastore.open_batch``, ``hive.txn.max.open.batch``)."""
    return _open(server, client_txns, count, user, host, TxnType.DEFAULT)


def _open(
    server: Server, client_txns: OwnTxns, count: int, user: str, host: str, txn_type: TxnType
) -> tuple[int, ...]:
    request = hms.OpenTxnRequest(num_txns=count, user=user, hostname=host, agentInfo=PROCESSOR)
    if server.is_hive4:
        request.txn_type = getattr(hms.TxnType, txn_type.name)
    # A repetition after a broken connection may leave extra transactions, which the server reaps.
    txn_ids = tuple(map(int, server.call("open_txns", request).txn_ids))
    for txn_id in txn_ids:
        client_txns.opened(OwnTxn(txn_id=txn_id, type=txn_type, user=user, host=host))
    return txn_ids


def commit_txn(server: Server, client_txns: OwnTxns, txn_id: int) -> None:
    """Commit a transaction (``Metastore.commit_txn``); the caller has named the changed partitions.

    If ``exclWriteEnabled`` is false, Hive 4 checks for conflicts, as Hive 3.1 always does. It is
    true if the transaction holds EXCLUSIVE locks on everything that it changes. Hive 4 would
    otherwise report conflicts with changes that the locks waited for, although the statement has
    seen these changes.

    Raises:
        MetastoreError: COMMIT_OUTCOME_UNKNOWN, the server did not report whether the transaction
            committed; METASTORE_AUTHENTICATION, the request did not reach the server.
    """
    txn = client_txns.find(txn_id)
    if txn is not None and txn.state is TxnState.COMMITTED:
        return
    client_txns.require_open(txn_id)
    exclusive = txn is not None and txn.excludes_others
    request = hms.CommitTxnRequest(
        txnid=txn_id,
        exclWriteEnabled=exclusive,
        keyValue=None if txn is None else txn.key_value,
    )
    try:
        server.call("commit_txn", request, repeatable=False)
    except hms.TxnAbortedException as error:
        raise _aborted(client_txns, txn_id, error) from error
    except hms.NoSuchTxnException as error:
        raise failures.no_such_txn(txn_id) from error
    except MetastoreError as error:
        if error.condition == failures.REQUEST_NOT_SENT:
            raise
        _settle(server, client_txns, request, error)
    client_txns.ended(txn_id, TxnState.COMMITTED)


def _settle(server: Server, client_txns: OwnTxns, request: Any, doubt: MetastoreError) -> None:
    """Determine the outcome of a commit for which the server gave no clear answer.

    A transaction that is neither open nor aborted is committed. Hive forgets an aborted transaction
    only when all its data is removed (``cleanEmptyAbortedAndCommittedTxns``). Hive 4 does not list
    open readers. They write nothing, so acidsql sends their commit again.
    """
    txn_id = request.txnid
    logger.warning("txn %s: looking whether it committed: %s", txn_id, doubt)
    txn = client_txns.find(txn_id)
    reads = txn is not None and txn.type is TxnType.READ_ONLY
    try:
        state = TxnState.OPEN if reads else state_of(server, txn_id)
        if state is TxnState.OPEN:
            server.call("commit_txn", request, repeatable=False)
            return
    except hms.TxnAbortedException as error:
        raise _aborted(client_txns, txn_id, error) from error
    except (hms.NoSuchTxnException, MetastoreError) as error:
        if reads and isinstance(error, hms.NoSuchTxnException):
            return  # it was committed, and the server has forgotten it
        raise MetastoreError(
            "COMMIT_OUTCOME_UNKNOWN",
            f"the metastore did not say whether transaction {txn_id} is committed "
            f"({doubt.message}): see SHOW TRANSACTIONS before you run the statement again",
        ) from error
    if state is TxnState.ABORTED:
        client_txns.ended(txn_id, TxnState.ABORTED, LOST)
        raise failures.txn_aborted(txn_id, LOST)


def _aborted(client_txns: OwnTxns, txn_id: int, error: Any) -> AcidSqlError:
    """Return the error for a commit whose transaction was aborted, or had a conflict."""
    match = _CONFLICT.search(error.message or "")
    txn = client_txns.find(txn_id)
    if match is None:
        client_txns.ended(txn_id, TxnState.ABORTED, LOST)
        return failures.txn_aborted(txn_id, txn.cause if txn and txn.cause else LOST)
    client_txns.ended(txn_id, TxnState.ABORTED, CONFLICT)
    database, _, table = match["object"].partition("/")
    return failures.write_conflict(
        txn_id,
        _OPERATIONS.get(match["mine"]),
        f"{database}.{table}",
        match["winner"],
        _OPERATIONS.get(match["theirs"]),
    )


def abort_txn(server: Server, client_txns: OwnTxns, txn_id: int) -> None:
    """Abort a transaction (``Metastore.abort_txn``)."""
    txn = client_txns.find(txn_id)
    if txn is not None and txn.state is TxnState.COMMITTED:
        raise failures.txn_committed(txn_id)
    try:
        server.call("abort_txn", hms.AbortTxnRequest(txnid=txn_id))
    except hms.NoSuchTxnException as error:
        if "committed" in (error.message or ""):
            raise failures.txn_committed(txn_id) from error
        if txn is None:
            raise failures.no_such_txn(txn_id) from error
        # The transaction was aborted before, and the server has forgotten it.
    client_txns.ended(txn_id, TxnState.ABORTED, ROLLED_BACK)


def state_of(server: Server, txn_id: int) -> TxnState:
    """Return the state of a transaction that was opened before."""
    txns = valid_txns(server, None)
    if txn_id in txns.aborted:
        return TxnState.ABORTED
    if txn_id in txns.open:
        return TxnState.OPEN
    return TxnState.COMMITTED


def require_open(server: Server, client_txns: OwnTxns, txn_id: int) -> None:
    """Raise NO_SUCH_TXN, TXN_ABORTED or TXN_COMMITTED; counts as a heartbeat."""
    client_txns.require_open(txn_id)
    try:
        server.call("heartbeat", hms.HeartbeatRequest(txnid=txn_id))
    except hms.TxnAbortedException as error:
        client_txns.ended(txn_id, TxnState.ABORTED, LOST)
        raise failures.txn_aborted(txn_id, LOST) from error
    except hms.NoSuchTxnException as error:
        raise failures.no_such_txn(txn_id) from error


def heartbeat(server: Server, txn_ids: Sequence[int]) -> tuple[int, ...]:
    """Send heartbeats (``Metastore.heartbeat``), with one call for each run of consecutive ids.

    A call for a range with gaps would also keep alive the transactions of other clients, even of
    dead clients.
    """
    ended: set[int] = set()
    for first, last in _runs(sorted(set(txn_ids))):
        if first == last:
            ended |= set() if _beats(server, first) else {first}
        else:
            request = hms.HeartbeatTxnRangeRequest(min=first, max=last)
            answer = server.beat("heartbeat_txn_range", request)
            ended |= {*answer.aborted, *answer.nosuch}
    return tuple(txn_id for txn_id in txn_ids if txn_id in ended)


def _beats(server: Server, txn_id: int) -> bool:
    try:
        server.beat("heartbeat", hms.HeartbeatRequest(txnid=txn_id))
    except (hms.TxnAbortedException, hms.NoSuchTxnException):
        return False
    return True


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    for _, group in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        yield run[0], run[-1]


def valid_txns(server: Server, txn_id: int | None) -> ValidTxnList:
    """Return the snapshot (``Metastore.valid_txns``, TxnCommonUtils.createValidReadTxnList).

    Hive 4 does not list open readers, because they write nothing.
    """
    answer = server.call("get_open_txns")
    aborted = set(_marked(answer.open_txns, answer.abortedBits))
    listed = set(answer.open_txns) - {txn_id}
    return ValidTxnList(
        high_water_mark=answer.txn_high_water_mark,
        open=frozenset(listed - aborted),
        aborted=frozenset(listed & aborted),
    )


def _marked(ids: Sequence[int], bits: bytes) -> Iterator[int]:
    """Yield the ids whose bit is set; the server leaves out zero bytes at the end of ``bits``."""
    for position, number in enumerate(ids):
        byte, bit = divmod(position, 8)
        if byte < len(bits) and bits[byte] >> bit & 1:
            yield number


def open_txns(server: Server) -> tuple[TxnInfo, ...]:
    """List open and aborted transactions (``Metastore.open_txns``).

    The server does not report their types: all are DEFAULT.
    """
    states = {hms.TxnState.OPEN: TxnState.OPEN, hms.TxnState.ABORTED: TxnState.ABORTED}
    listed = sorted(server.call("get_open_txns_info").open_txns, key=lambda txn: int(txn.id))
    return tuple(
        TxnInfo(
            txn_id=txn.id,
            state=states[txn.state],
            type=TxnType.DEFAULT,
            user=txn.user,
            host=txn.hostname,
            started=(txn.startedTime or 0) // _MILLISECONDS,
            last_heartbeat=(txn.lastHeartbeatTime or 0) // _MILLISECONDS,
        )
        for txn in listed
        if txn.state in states
    )


def allocate_write_id(
    server: Server, client_txns: OwnTxns, txn_id: int, database: str, table: str
) -> int:
    """Allocate the write id of a transaction for a table (``Metastore.allocate_write_id``)."""
    key = (lowered(database), lowered(table))
    txn = client_txns.find(txn_id)
    if txn is not None:
        refused = _why_no_write_id(txn)
        if refused is not None:
            raise failures.write_id_refused(txn_id, refused)
        if key in txn.write_ids:
            return txn.write_ids[key]
    request = hms.AllocateTableWriteIdsRequest(dbName=key[0], tableName=key[1], txnIds=[txn_id])
    try:
        (pair,) = server.call("allocate_table_write_ids", request).txnToWriteIds
    except MetastoreError:
        # The server answers with an internal error if the transaction is not open.
        require_open(server, client_txns, txn_id)
        raise
    if txn is not None:
        txn.write_ids[key] = pair.writeId
    return int(pair.writeId)


def allocate_write_ids(
    server: Server, client_txns: OwnTxns, txn_ids: Sequence[int], database: str, table: str
) -> tuple[int, ...]:
    """Allocate write ids of several transactions in one call (``Metastore.allocate_write_ids``).

    The server allocates the ids of one call without gaps, in the order of the transactions
    (AllocateTableWriteIdsFunction).
    """
    key = (lowered(database), lowered(table))
    request = hms.AllocateTableWriteIdsRequest(
        dbName=key[0], tableName=key[1], txnIds=list(txn_ids)
    )
    try:
        answer = server.call("allocate_table_write_ids", request).txnToWriteIds
    except MetastoreError:
        # The server answers with an internal error if a transaction is not open.
        for txn_id in txn_ids:
            require_open(server, client_txns, txn_id)
        raise
    allocated = {int(pair.txnId): int(pair.writeId) for pair in answer}
    for txn_id, write_id in allocated.items():
        txn = client_txns.find(txn_id)
        if txn is not None:
            txn.write_ids[key] = write_id
    return tuple(allocated[txn_id] for txn_id in txn_ids)


def _why_no_write_id(txn: OwnTxn) -> str | None:
    if txn.state is TxnState.COMMITTED:
        return "is committed"
    if txn.state is TxnState.ABORTED:
        return f"was aborted: {txn.cause or ROLLED_BACK}"
    return "is read-only" if txn.type is TxnType.READ_ONLY else None


def valid_write_ids(
    server: Server, database: str, table: str, txns: ValidTxnList
) -> ValidWriteIdList:
    """Return the write ids that a snapshot sees (``Metastore.valid_write_ids``).

    The name must be in lower case. For any other name, the server would return a high-water mark of
    0, as for an empty table.
    """
    name = f"{lowered(database)}.{lowered(table)}"
    request = hms.GetValidWriteIdsRequest(fullTableNames=[name], validTxnList=txns.to_string())
    (answer,) = server.call("get_valid_write_ids", request).tblValidWriteIds
    aborted = frozenset(_marked(answer.invalidWriteIds, answer.abortedBits))
    return ValidWriteIdList(
        table=name,
        high_water_mark=answer.writeIdHighWaterMark,
        open=frozenset(answer.invalidWriteIds) - aborted,
        aborted=aborted,
    )


def next_write_id(server: Server, database: str, table: str) -> int:
    """Return the next write id of a table (``Metastore.next_write_id``).

    Hive 3.1 does not have a call for it, so the result comes from the high-water mark of all
    transactions.
    """
    return highest_write_id(server, lowered(database), lowered(table)) + 1


def highest_write_id(server: Server, database: str, table: str) -> int:
    """Return the highest allocated write id of a table; 0 if there is none.

    Args:
        server: the server.
        database: database of the table, in lower case.
        table: name of the table, in lower case.
    """
    if server.is_hive4:
        wanted = hms.MaxAllocatedTableWriteIdRequest(dbName=database, tableName=table)
        answer = server.call_if_known("get_max_allocated_table_write_id", wanted)
        if answer is not None:
            return int(answer.maxWriteId)
    return valid_write_ids(server, database, table, valid_txns(server, None)).high_water_mark
