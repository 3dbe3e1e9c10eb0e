"""``Journal``: executes the file operations of ended transactions, from any process."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from acidsql.errors import AcidSqlError, MetastoreError, TransactionStateError
from acidsql.metastore import file_moves
from acidsql.metastore.catalog_changes import FileOperation
from acidsql.metastore.embedded import file_operations
from acidsql.metastore.embedded.database import Database
from acidsql.metastore.embedded.file_operations import JournalEntry
from acidsql.metastore.embedded.transactions import require_open
from acidsql.metastore.file_moves import Files
from acidsql.metastore.model import TxnState

logger = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")


class Journal:
    """Journal of file operations, which it also executes.

    Args:
        database: the metastore's file.
        files: file systems of the tables. None if the metastore is used without them; then no
            operation can be entered.
    """

    def __init__(self, database: Database, files: Files | None) -> None:
        self._database = database
        self._files = files
        # Errors by operation. A failed operation blocks only calls that need its directories.
        self._failed: dict[int, Exception] = {}

    def exists(self, path: str) -> bool:
        """Return whether a directory or file exists."""
        return self._files is not None and self._files.exists(path)

    def enter(
        self,
        operations: Sequence[FileOperation],
        outcome: TxnState,
        together_with: Callable[[sqlite3.Connection], object] = lambda _: None,
    ) -> None:
        """Enter operations before the outcome of their transaction is known.

        Args:
            operations: operations of one transaction.
            outcome: outcome of the transaction that requires the operations.
            together_with: changes the catalog in the same SQLite transaction; if it raises, nothing
                is entered.

        Raises:
            TransactionStateError: TXN_ABORTED; the operations are dropped.
        """
        if not operations:
            return
        txn_id = operations[0].txn_id
        with self._database.write() as connection:
            require_open(connection, txn_id)
            together_with(connection)
            file_operations.enter(connection, operations, outcome)
        for operation in operations:
            file_moves.prepare(self._need_files(), operation)
        try:
            with self._database.read() as connection:
                require_open(connection, txn_id)
        except TransactionStateError:
            # Another process may have dropped them before this one created their directories.
            for operation in operations:
                file_moves.discard(self._need_files(), operation)
            raise

    def read(
        self,
        answer: Callable[[sqlite3.Connection], _Answer],
        places: Callable[[_Answer], Iterable[str]] = lambda _: (),
    ) -> _Answer:
        """Read from the catalog, after the directories that it names are in their places.

        Args:
            answer: function that reads in a transaction.
            places: returns the directories that an answer names.

        Raises:
            MetastoreError: FILE_OPERATION_PENDING, one of these directories could not be moved to
                its place.
        """
        tried_again: set[int] = set()
        while True:
            with self._database.read() as connection:
                ended = file_operations.of_ended(connection)
                to_do = [entry for entry in ended if entry.operation_id not in self._failed]
                if not to_do:
                    value = answer(connection)
                    to_do = [e for e in ended if _is_awaited(e, places(value))]
                    if not to_do:
                        return value
            for entry in to_do:
                if entry.operation_id in tried_again:
                    raise self._pending_error(entry)
                if entry.operation_id in self._failed:
                    tried_again.add(entry.operation_id)
            self._finish(to_do)

    def check_free(self, locations: Sequence[str]) -> None:
        """Execute the pending operations, and check that none concerns the given locations.

        Raises:
            MetastoreError: FILE_OPERATION_PENDING, an old directory there could not be deleted.
        """
        with self._database.read() as connection:
            pending = file_operations.of_ended(connection)
        if not pending:
            return
        self._finish(pending)
        with self._database.read() as connection:
            remaining = file_operations.of_ended(connection)
        for entry in remaining:
            for move in entry.operation.moves:
                if entry.is_due and any(_overlap(move.source, place) for place in locations):
                    raise self._pending_error(entry)

    def finish_quietly(self, occasion: str) -> None:
        """Execute all operations of ended transactions; log an error with its occasion.

        An error does not change the outcome. The next use of the metastore tries again.
        """
        try:
            with self._database.read() as connection:
                pending = file_operations.of_ended(connection)
            self._finish(pending)
        except (AcidSqlError, OSError):
            logger.exception("%s: its file operations wait for the next use", occasion)

    def _finish(self, pending: Sequence[JournalEntry]) -> None:
        finished_ids = []
        for entry in pending:
            try:
                if entry.is_due:
                    file_moves.perform(self._need_files(), entry.operation)
                else:
                    file_moves.discard(self._need_files(), entry.operation)
            except (AcidSqlError, OSError) as error:
                if entry.operation_id not in self._failed:
                    logger.exception("could not do %s", entry.operation)
                self._failed[entry.operation_id] = error
            else:
                self._failed.pop(entry.operation_id, None)
                finished_ids.append(entry.operation_id)
        if finished_ids:
            with self._database.write() as connection:
                file_operations.remove(connection, finished_ids)

    def _pending_error(self, entry: JournalEntry) -> MetastoreError:
        reason = self._failed.get(entry.operation_id)
        moves = "; ".join(
            f"{move.source} to {move.target}" if move.target else f"{move.source} to be deleted"
            for move in entry.operation.moves
        )
        error = MetastoreError(
            "FILE_OPERATION_PENDING",
            f"transaction {entry.operation.txn_id} has ended, and a file operation of it fails "
            f"({moves}: {reason}): check the permissions",
        )
        error.__cause__ = reason
        return error

    def _need_files(self) -> Files:
        if self._files is None:
            raise MetastoreError(
                "METASTORE_UNAVAILABLE",
                f"the metastore {self._database.path!r} was opened without file systems, and a "
                "change of the catalog needs them: use it through a Spark session",
            )
        return self._files


def _overlap(path: str, other_path: str) -> bool:
    """Return whether two paths are equal or one is below the other."""
    first, second = f"{path}/", f"{other_path}/"
    return first.startswith(second) or second.startswith(first)


def _is_awaited(entry: JournalEntry, places: Iterable[str]) -> bool:
    """Return whether an operation moves a directory to one of these places or above one."""
    targets = [f"{move.target}/" for move in entry.operation.moves if move.target]
    return entry.is_due and any(f"{p}/".startswith(target) for p in places for target in targets)
