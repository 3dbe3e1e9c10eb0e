"""``Journal``: does the file operations of ended transactions, of this and other processes."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Sequence
from typing import TypeVar

from acidsql.errors import AcidSqlError, MetastoreError
from acidsql.metastore import file_moves
from acidsql.metastore.changes import FileOperation
from acidsql.metastore.embedded import file_operations
from acidsql.metastore.embedded.database import Database
from acidsql.metastore.embedded.file_operations import JournalEntry
from acidsql.metastore.embedded.transactions import require_open
from acidsql.metastore.file_moves import Files
from acidsql.metastore.model import TxnState

logger = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")


class Journal:
    """Journal of file operations, and what does them.

    Args:
        database: the metastore's file.
        files: None if the metastore is used without file systems; then nothing can be entered.
    """

    def __init__(self, database: Database, files: Files | None) -> None:
        self._database = database
        self._files = files
        self._failed: set[int] = set()

    def exists(self, path: str) -> bool:
        """Return whether a directory or file exists."""
        return self._files is not None and self._files.exists(path)

    def enter(self, operations: Sequence[FileOperation], outcome: TxnState) -> None:
        """Enter operations before the outcome of their transaction is known.

        Raises:
            TransactionStateError: TXN_ABORTED, nothing was entered.
        """
        if not operations:
            return
        with self._database.write() as connection:
            require_open(connection, operations[0].txn_id)
            file_operations.enter(connection, operations, outcome)
        for operation in operations:
            file_moves.prepare(self._need_files(), operation)

    def read(self, answer: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        """Read from the catalog when the files are where it says they are.

        Raises:
            MetastoreError: FILE_OPERATION_PENDING, a directory could not be moved.
        """
        while True:
            with self._database.read() as connection:
                pending = self._pending(connection)
                if not pending:
                    return answer(connection)
            self._finish(pending)

    def check_free(self, locations: Sequence[str]) -> None:
        """Do what ended transactions left, and check that nothing is left at some places.

        Raises:
            MetastoreError: FILE_OPERATION_PENDING, an old directory there could not be deleted.
        """
        with self._database.read() as connection:
            pending = file_operations.of_ended(connection)
        if not pending:
            return
        self._finish(pending)
        with self._database.read() as connection:
            left = file_operations.of_ended(connection)
        for entry in left:
            for move in entry.operation.moves:
                if entry.is_due and any(_overlap(move.source, place) for place in locations):
                    raise _pending_error(entry)

    def finish_quietly(self, occasion: str) -> None:
        """Do all operations of ended transactions; an error is logged, with its occasion.

        The outcome stands, and the next use of the metastore tries again.
        """
        try:
            with self._database.read() as connection:
                pending = file_operations.of_ended(connection)
            self._finish(pending)
        except (AcidSqlError, OSError):
            logger.exception("%s: its file operations wait for the next use", occasion)

    def _pending(self, connection: sqlite3.Connection) -> Sequence[JournalEntry]:
        """Return operations to do before an answer; deletions that failed are not waited for."""
        return [
            entry
            for entry in file_operations.of_ended(connection)
            if entry.operation_id not in self._failed or _moves_tables(entry)
        ]

    def _finish(self, pending: Sequence[JournalEntry]) -> None:
        done = []
        for entry in pending:
            try:
                if entry.is_due:
                    file_moves.perform(self._need_files(), entry.operation)
                else:
                    file_moves.discard(self._need_files(), entry.operation)
            except (AcidSqlError, OSError) as error:
                if _moves_tables(entry):
                    raise _pending_error(entry) from error
                if entry.operation_id not in self._failed:
                    logger.exception("could not delete what %s has dropped", entry.operation)
                self._failed.add(entry.operation_id)
            else:
                done.append(entry.operation_id)
        if done:
            with self._database.write() as connection:
                file_operations.remove(connection, done)

    def _need_files(self) -> Files:
        if self._files is None:
            raise MetastoreError(
                "METASTORE_UNAVAILABLE",
                f"the metastore {self._database.path!r} was opened without file systems, and a "
                "change of the catalog needs them: use it through a Spark session",
            )
        return self._files


def _overlap(one: str, other: str) -> bool:
    """Return whether one of two paths is the other, or lies below it."""
    first, second = f"{one}/", f"{other}/"
    return first.startswith(second) or second.startswith(first)


def _moves_tables(entry: JournalEntry) -> bool:
    """Return whether the catalog has places that exist only after the operation."""
    return entry.is_due and any(move.target is not None for move in entry.operation.moves)


def _pending_error(entry: JournalEntry) -> MetastoreError:
    moves = "; ".join(
        f"{move.source} to {move.target}" if move.target else f"{move.source} to be deleted"
        for move in entry.operation.moves
    )
    return MetastoreError(
        "FILE_OPERATION_PENDING",
        f"transaction {entry.operation.txn_id} has ended, and a file operation of it fails: "
        f"{moves or entry.operation.loaded}; see the log, and check the permissions",
    )
