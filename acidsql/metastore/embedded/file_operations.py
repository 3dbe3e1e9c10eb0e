"""Journal of file operations in the embedded metastore's file.

acidsql writes a row before the outcome of its transaction is known. The outcome decides whether the
operation is executed or dropped, and the row is removed afterwards. A process may therefore end at
any time, because the next process that uses the metastore continues from the journal.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict
from typing import NamedTuple

from acidsql.metastore.catalog_changes import FileOperation, LoadedFile, Move
from acidsql.metastore.embedded.transactions import highest_txn_id, lowest_open_txn_id, state_of
from acidsql.metastore.model import TxnState


class JournalEntry(NamedTuple):
    """Operation whose transaction has ended.

    Attributes:
        is_due: whether it must be executed; otherwise only its holding directory is removed.
    """

    operation_id: int
    operation: FileOperation
    is_due: bool


def enter(
    connection: sqlite3.Connection, operations: Sequence[FileOperation], outcome: TxnState
) -> None:
    """Enter operations that must be executed if their transaction ends with ``outcome``."""
    for operation in operations:
        connection.execute(
            "INSERT INTO file_operations (txn_id, outcome, operation) VALUES (?, ?, ?)",
            (operation.txn_id, outcome.value, json.dumps(asdict(operation))),
        )


def of_ended(connection: sqlite3.Connection) -> tuple[JournalEntry, ...]:
    """Return the operations of transactions that have ended, in the order of their entry.

    The result skips operations that still wait for readers.
    """
    rows = connection.execute(
        "SELECT operation_id, txn_id, outcome, operation FROM file_operations"
        " WHERE txn_id NOT IN (SELECT txn_id FROM txns WHERE state = ?) ORDER BY operation_id",
        (TxnState.OPEN.value,),
    ).fetchall()
    entries = [
        JournalEntry(
            row["operation_id"],
            _operation_of(row["operation"]),
            state_of(connection, row["txn_id"]).value == row["outcome"],
        )
        for row in rows
    ]
    return tuple(entry for entry in entries if not _waits(connection, entry))


def _waits(connection: sqlite3.Connection, entry: JournalEntry) -> bool:
    """Return whether an operation must wait for transactions that may read its directories."""
    operation = entry.operation
    if not entry.is_due or operation.readers_up_to < lowest_open_txn_id(connection):
        return False
    return _has_table(connection, operation.after_readers_of)


def note_readers(connection: sqlite3.Connection, txn_id: int) -> None:
    """Note the open transactions that the operations of a committing transaction must wait for.

    This concerns only operations that wait for readers.
    """
    connection.execute(
        "UPDATE file_operations SET operation = json_set(operation, '$.readers_up_to', ?)"
        " WHERE txn_id = ? AND json_extract(operation, '$.after_readers_of') > 0",
        (highest_txn_id(connection), txn_id),
    )


def _has_table(connection: sqlite3.Connection, table_id: int) -> bool:
    row = connection.execute("SELECT 1 FROM tables WHERE table_id = ?", (table_id,)).fetchone()
    return row is not None


def remove(connection: sqlite3.Connection, operation_ids: Sequence[int]) -> None:
    """Remove operations that were executed or dropped."""
    connection.executemany(
        "DELETE FROM file_operations WHERE operation_id = ?", [(i,) for i in operation_ids]
    )


def _operation_of(text: str) -> FileOperation:
    read = json.loads(text)
    return FileOperation(
        txn_id=read["txn_id"],
        holding=read["holding"],
        moves=tuple(Move(**move) for move in read["moves"]),
        loaded=tuple(LoadedFile(**loaded) for loaded in read["loaded"]),
        emptied=tuple(read.get("emptied", ())),  # missing in the oldest files
        after_readers_of=read.get("after_readers_of", 0),
        readers_up_to=read.get("readers_up_to", 0),
    )
