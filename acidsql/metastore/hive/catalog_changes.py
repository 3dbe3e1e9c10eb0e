"""Catalog changes that are made directly before a commit, because a server cannot combine the two.

If the commit fails, acidsql undoes the changes from last to first. It does not undo a change if
another client has changed the same object since, and cannot restore dropped objects.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from acidsql.errors import AcidSqlError
from acidsql.metastore import file_moves
from acidsql.metastore.catalog_changes import (
    AddPartitions,
    AlterPartitions,
    AlterTable,
    CatalogChange,
    DeleteLoadedFiles,
    DropDatabase,
    DropPartitions,
    DropTable,
    FileOperation,
    RecordOffset,
    RecordStatistics,
    RecordWrites,
    RenamePartition,
    RenameTable,
    ShowTable,
)
from acidsql.metastore.file_moves import Files
from acidsql.metastore.hive import alterations, catalog
from acidsql.metastore.hive import partitions as hive_partitions
from acidsql.metastore.hive.server import Server
from acidsql.metastore.hive.tables import ServerTables
from acidsql.metastore.model import Table
from acidsql.metastore.protocol import Metastore

logger = logging.getLogger(__name__)

# Changes of statements that write rows. They only add, so they are harmless if the commit fails.
_HARMLESS = (
    AddPartitions,
    DeleteLoadedFiles,
    RecordOffset,
    RecordStatistics,
    RecordWrites,
    ShowTable,
)


def needs_lock(changes: Sequence[CatalogChange]) -> bool:
    """Return whether only the holder of an exclusive lock may make these changes."""
    return any(not isinstance(change, _HARMLESS) for change in changes)


def make(
    server: Server,
    tables: ServerTables,
    change: CatalogChange,
    **context: Any,
) -> None:
    """Make one change; the server deletes and moves the files.

    Args:
        server: connections.
        tables: the server's tables.
        change: any change except ``RecordWrites``, ``RecordStatistics`` and ``RecordOffset``, which
            need the transaction.
        context: fields for Hive 4 about the transaction that renames a table.
    """
    match change:
        case AlterTable(before=before, after=after):
            alterations.replace_table(
                server, tables.to_alter(before.database, before.name), before, after
            )
        case RenameTable(table=table, database=database, name=name):
            existing = tables.to_alter(table.database, table.name)
            alterations.rename_table(server, existing, database, name, **context)
        case DropTable(table=table):
            catalog.drop_table(server, table.database, table.name, delete_data=True)
        case DropDatabase(name=name):
            catalog.drop_database(server, name)
        case AddPartitions(table=table, partitions=added):
            hive_partitions.add(server, tables.existing(table.database, table.name), added)
        case AlterPartitions(table=table, after=after_all):
            hive_partitions.alter(server, tables.existing(table.database, table.name), after_all)
        case RenamePartition(table=table, before=old_one, after=renamed):
            owner = tables.existing(table.database, table.name)
            hive_partitions.rename(server, owner, old_one.values, renamed)
        case DropPartitions(table=table, partitions=dropped):
            owner = tables.existing(table.database, table.name)
            values = [partition.values for partition in dropped]
            hive_partitions.drop(server, owner, values, delete_data=True)


class UncommittedChanges:
    """Catalog changes of transactions that have not committed yet.

    Args:
        files: file systems of the sources of LOAD DATA, which a commit deletes.
    """

    def __init__(self, files: Files | None) -> None:
        self._files = files
        self._made: dict[int, list[CatalogChange]] = {}
        self._staged: dict[int, tuple[Table, int]] = {}

    def made(self, txn_id: int, change: CatalogChange) -> None:
        """Note a change that is about to be made."""
        self._made.setdefault(txn_id, []).append(change)

    def staged(self, txn_id: int, table: Table, write_id: int) -> None:
        """Note a table that was created for a transaction, and the write id that it will get."""
        self._staged[txn_id] = table, write_id

    def committed(self, txn_id: int) -> None:
        """Forget the changes of a committed transaction, and delete its source files."""
        self._staged.pop(txn_id, None)
        for change in self._made.pop(txn_id, []):
            if isinstance(change, DeleteLoadedFiles) and self._files is not None:
                try:
                    operation = FileOperation(txn_id=txn_id, loaded=change.files)
                    file_moves.perform(self._files, operation)
                except (AcidSqlError, OSError):
                    logger.exception("txn %s: committed, and a loaded file stays", txn_id)

    def take_back(
        self, metastore: Metastore, txn_id: int, make_change: Callable[[CatalogChange], None]
    ) -> None:
        """Undo the changes of an aborted transaction, from last to first.

        Args:
            metastore: the metastore.
            txn_id: the transaction.
            make_change: makes a change as ``make`` does.
        """
        for change in reversed(self._made.pop(txn_id, [])):
            _take_back(metastore, change, make_change)
        if txn_id not in self._staged:
            return
        table, write_id = self._staged.pop(txn_id)
        if metastore.next_write_id(table.database, table.name) > write_id + 1:
            logger.error("%s stays: others wrote to it while it was filled", table.full_name)
            return
        metastore.drop_table(table.database, table.name)
        if self._files is not None:
            self._files.delete(table.location)


def _take_back(
    metastore: Metastore, change: CatalogChange, make_change: Callable[[CatalogChange], None]
) -> None:
    """Undo a change if no client has changed the same object since; log an error."""
    try:
        match change:
            case AlterTable(before=before, after=after):
                make_change(AlterTable(before=after, after=before))
            case RenameTable(table=table, database=database, name=name):
                if metastore.find_table(table.database, table.name) is None:
                    metastore.rename_table(database, name, table.database, table.name)
            case AddPartitions(table=table, partitions=added):
                metastore.drop_partitions(table.database, table.name, [p.values for p in added])
            case AlterPartitions(table=table, before=before_all, after=after_all):
                place = table.database, table.name
                now = set(metastore.partitions(*place, [p.values for p in after_all]))
                pairs = zip(before_all, after_all, strict=True)
                metastore.alter_partitions(*place, [old for old, new in pairs if new in now])
            case RenamePartition(table=table, before=old_one, after=renamed):
                metastore.rename_partition(table.database, table.name, renamed.values, old_one)
            case DropTable() | DropPartitions() | DropDatabase():
                logger.error("%s stands, although the commit after it failed", change)
    except AcidSqlError:
        logger.exception("could not take back %s", change)
