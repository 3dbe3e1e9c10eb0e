"""Offsets of streams in the Hive Metastore: how far each was written to a table.

Hive 4 can set a parameter of a table in the step that commits a transaction
(``CommitTxnKeyValue``, ``TxnHandler``). Each stream has a separate, empty table for this parameter.
No client alters that table. An alteration would send back all parameters as the client has read
them, and would reset an offset that was committed meanwhile.
"""

from __future__ import annotations

import hashlib
from typing import Any

from acidsql.errors import AcidAnalysisError
from acidsql.format.identifiers import lowered
from acidsql.metastore import failures
from acidsql.metastore.catalog_changes import RecordOffset
from acidsql.metastore.hive import catalog
from acidsql.metastore.hive.idl import hms
from acidsql.metastore.hive.server import Server
from acidsql.metastore.model import Column, LockRequest, LockType, Operation, Table

# The server sets only parameters with the prefix "_meta" (TxnStore.TXN_KEY_START) that exist.
_OFFSET = "_meta.acidsql.offset"
_STREAM, _OWNER, _OWNER_ID = "acidsql.stream", "acidsql.stream.table", "acidsql.stream.table.id"
_DIGITS = 32


def find(server: Server, owner: Any, stream: str) -> int | None:
    """Return the offset of a stream (``Metastore.stream_offset``).

    Args:
        server: connections.
        owner: the server's table that the stream is written to.
        stream: name of the stream.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.STREAM_OFFSET, with Hive 3.1.
    """
    if not server.is_hive4:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.STREAM_OFFSET",
            f"a metastore of Hive {server.version} cannot keep the offset of stream {stream!r} "
            "together with a commit: keep it yourself, or use Hive 4 or an embedded metastore",
        )
    stream_table = catalog.fetch_table(server, owner.dbName, _table_name(owner.tableName, stream))
    return (
        _offset(stream_table) if stream_table is not None and _is_of(stream_table, owner) else None
    )


def lock(database: str, table: str, stream: str) -> LockRequest:
    """Return the lock that only one client of a stream can hold (``Metastore.stream_lock``)."""
    return LockRequest(
        database=database,
        table=_table_name(lowered(table), stream),
        partition=None,
        type=LockType.EXCL_WRITE,
        operation=Operation.SELECT,  # it reads no rows
    )


def prepare(server: Server, owner: Any, change: RecordOffset) -> Any:
    """Return the parameter that a commit must set to record an offset.

    Create the stream's table if it does not exist.

    Args:
        server: connections.
        owner: the server's table that the stream is written to.
        change: the offset.

    Raises:
        TransactionStateError: STREAM_OFFSET_CHANGED, another client has advanced the stream.
    """
    name = _table_name(owner.tableName, change.stream)
    stream_table = catalog.fetch_table(server, owner.dbName, name)
    if stream_table is not None and not _is_of(stream_table, owner):
        # It belongs to a dropped table of the same name.
        catalog.drop_table(server, owner.dbName, name, delete_data=True)
        stream_table = None
    if stream_table is None:
        catalog.create_table(server, _definition(owner, name, change.stream))
        stream_table = catalog.fetch_table(server, owner.dbName, name)
    current = _offset(stream_table)
    if current != change.before:
        raise failures.stream_offset_changed(change.stream, change.before, current)
    return hms.CommitTxnKeyValue(tableId=stream_table.id, key=_OFFSET, value=str(change.offset))


def _table_name(table: str, stream: str) -> str:
    digest = hashlib.sha256(f"{table}\0{stream}".encode()).hexdigest()
    return f"acidsql_stream_{digest[:_DIGITS]}"


def _definition(owner: Any, name: str, stream: str) -> Table:
    return Table(
        database=owner.dbName,
        name=name,
        columns=(Column(name="unused", type="int"),),
        location="",
        properties={
            "comment": f"offset of the stream {stream} into {owner.tableName}, as a property",
            "transactional": "true",
            _STREAM: stream,
            _OWNER: owner.tableName,
            _OWNER_ID: str(owner.id),
            _OFFSET: "",
        },
    )


def _is_of(stream_table: Any, owner: Any) -> bool:
    return bool(stream_table.parameters.get(_OWNER_ID) == str(owner.id))


def _offset(stream_table: Any) -> int | None:
    text = stream_table.parameters.get(_OFFSET)
    return int(text) if text else None
