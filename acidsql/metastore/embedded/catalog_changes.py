"""Catalog changes that a commit makes in the same SQLite transaction."""

from __future__ import annotations

import sqlite3

from acidsql.metastore.catalog_changes import (
    AddPartitions,
    AlterPartitions,
    AlterTable,
    CatalogChange,
    DeleteLoadedFiles,
    DropDatabase,
    DropPartitions,
    DropTable,
    RecordCompaction,
    RecordCounts,
    RecordOffset,
    RecordStatistics,
    RecordWrites,
    RenamePartition,
    RenameTable,
    ReplaceTable,
    ShowTable,
)
from acidsql.metastore.embedded import (
    catalog,
    databases,
    file_operations,
    offsets,
    statistics,
    table_history,
)
from acidsql.metastore.embedded import partitions as embedded_partitions
from acidsql.metastore.embedded.table_history import LimitedBy


def apply(connection: sqlite3.Connection, txn_id: int, change: CatalogChange) -> None:
    """Make one change of a transaction; its file operations are in the journal.

    ``history.record`` makes the changes of the history.
    """
    match change:
        case AlterTable() | ReplaceTable() | RenameTable() | DropTable() | ShowTable():
            _change_table(connection, txn_id, change)
        case DropDatabase(name=name):
            databases.drop_database(connection, name)
        case AddPartitions():
            _add_partitions(connection, change)
        case RecordWrites() | RecordStatistics() | RecordOffset():
            _record(connection, change)
        case AlterPartitions(table=table, after=changed):
            embedded_partitions.alter(connection, table.database, table.name, changed)
        case RenamePartition(table=table, before=before, after=renamed):
            place = table.database, table.name
            embedded_partitions.rename(connection, *place, before.values, renamed)
        case DropPartitions(table=table, partitions=dropped):
            values = [partition.values for partition in dropped]
            embedded_partitions.drop(connection, table.database, table.name, values)
        case DeleteLoadedFiles() | RecordCounts() | RecordCompaction():
            pass


def _change_table(
    connection: sqlite3.Connection,
    txn_id: int,
    change: AlterTable | ReplaceTable | RenameTable | DropTable | ShowTable,
) -> None:
    match change:
        case AlterTable(after=after):
            catalog.alter_table(connection, after)
        case ReplaceTable(after=after):
            catalog.replace_table(connection, txn_id, after)
            file_operations.note_readers(connection, txn_id)
        case RenameTable(table=table, database=database, name=name, location=location):
            catalog.rename_table(connection, table.database, table.name, database, name, location)
        case DropTable(table=table):
            catalog.drop_table(connection, table.database, table.name)
        case ShowTable(staged=staged, name=name):
            catalog.show_table(connection, staged, name)


def _add_partitions(connection: sqlite3.Connection, change: AddPartitions) -> None:
    database, name = change.table.database, change.table.name
    embedded_partitions.add(connection, database, name, change.partitions)
    if change.had_files and change.partitions:
        owner = catalog.table_id(connection, database, name)
        table_history.record_limit(connection, owner, LimitedBy.PARTITIONS)


def _record(
    connection: sqlite3.Connection, change: RecordWrites | RecordStatistics | RecordOffset
) -> None:
    table = change.table
    table_id = catalog.table_id(connection, table.database, table.name)
    if isinstance(change, RecordOffset):
        offsets.record(connection, table_id, change.stream, change.before, change.offset)
        return
    if isinstance(change, RecordStatistics):
        statistics.record(connection, table_id, change.computed)
        return
    if change.written and table.partition_columns:
        embedded_partitions.add(connection, table.database, table.name, change.written)
    statistics.mark_changed(connection, table_id, [p.values for p in change.written])
