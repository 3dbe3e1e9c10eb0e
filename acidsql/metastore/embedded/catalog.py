"""Tables and views of the embedded metastore."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import fields, replace

from acidsql.format.identifiers import lowered
from acidsql.metastore import failures
from acidsql.metastore.embedded import table_history
from acidsql.metastore.embedded.constraints import constraints_of, constraints_text, named
from acidsql.metastore.embedded.databases import existing_database
from acidsql.metastore.embedded.table_history import LimitedBy
from acidsql.metastore.model import Column, FileFormat, Table, TableType


def create_table(
    connection: sqlite3.Connection, table: Table, created_by_txn: int | None = None
) -> None:
    """Create a table or view (``Metastore.create_table``).

    Args:
        created_by_txn: transaction that must commit for the table to become visible, or None.
    """
    failures.check_name(table.name)
    table = _as_kept(table)
    existing_database(connection, table.database)
    if find_table(connection, table.database, table.name) is not None:
        raise failures.table_exists(table.database, table.name)
    cursor = connection.execute(
        f"INSERT INTO tables ({', '.join(_DEFINED)}, database_name, table_name, created_by_txn,"
        f" cleaning_is_recorded) VALUES ({', '.join('?' for _ in _DEFINED)}, ?, ?, ?, 1)",
        (*_definition(table), table.database, table.name, created_by_txn),
    )
    _check_place(connection, table.location, int(cursor.lastrowid or 0))


def show_table(connection: sqlite3.Connection, staged: Table, name: str) -> None:
    """Give its final name to a table that was created only for a transaction (``ShowTable``)."""
    name = lowered(name)
    if find_table(connection, staged.database, name) is not None:
        raise failures.table_exists(staged.database, name)
    connection.execute(
        "UPDATE tables SET table_name = ?, created_by_txn = NULL WHERE table_id = ?",
        (name, table_id(connection, staged.database, staged.name)),
    )


def drop_created_by(connection: sqlite3.Connection, txn_id: int) -> None:
    """Drop the tables that were created only for a transaction."""
    connection.execute("DELETE FROM tables WHERE created_by_txn = ?", (txn_id,))


def drop_table(connection: sqlite3.Connection, database: str, name: str) -> None:
    """Delete a table with its partitions, write ids, locks, write set and queue entries."""
    connection.execute(
        "DELETE FROM tables WHERE table_id = ?", (table_id(connection, database, name),)
    )


def alter_table(connection: sqlite3.Connection, table: Table) -> None:
    """Replace the definition of a table (``Metastore.alter_table``)."""
    altered = _as_kept(table)
    owner = table_id(connection, altered.database, altered.name)
    before = find_table(connection, altered.database, altered.name)
    connection.execute(
        f"UPDATE tables SET {', '.join(f'{c} = ?' for c in _DEFINED)} WHERE table_id = ?",
        (*_definition(altered), owner),
    )
    if before is None:
        return
    if _shape(before.partition_columns) != _shape(altered.partition_columns):
        table_history.record_limit(connection, owner, LimitedBy.COLUMNS)
    if _shape(before.columns) != _shape(altered.columns):
        table_history.record_columns(connection, owner, columns_text(before.columns))
    if before.location != altered.location:
        table_history.record_limit(connection, owner, LimitedBy.LOCATION)


def replace_table(connection: sqlite3.Connection, txn_id: int, table: Table) -> None:
    """Give a table another definition and directory, without partitions (``ReplaceTable``).

    Args:
        txn_id: the transaction, which has a write id for the table.
        table: the new definition.
    """
    owner = table_id(connection, table.database, table.name)
    _check_place(connection, table.location, owner)
    connection.execute(
        f"UPDATE tables SET {', '.join(f'{c} = ?' for c in _DEFINED)}, replaced_by ="
        " (SELECT write_id FROM write_ids WHERE write_ids.txn_id = ?"
        " AND write_ids.table_id = tables.table_id) WHERE table_id = ?",
        (*_definition(_as_kept(table)), txn_id, owner),
    )
    for name in _OF_PLACES:
        connection.execute(f"DELETE FROM {name} WHERE table_id = ?", (owner,))
    table_history.record_limit(connection, owner, LimitedBy.REPLACED)


# SQLite tables that describe the partitions of a table and the contents of its directories.
_OF_PLACES = (
    *("partitions", "statistics", "compaction_candidates"),
    *("cleaned_history", "column_history"),
)


def _shape(columns: Iterable[Column]) -> tuple[tuple[str, str], ...]:
    """Return the names and types of columns, which the readers of older versions need."""
    return tuple((c.stored_name, c.type) for c in columns)


def rename_table(
    connection: sqlite3.Connection,
    database: str,
    name: str,
    new_database: str,
    new_name: str,
    location: str | None = None,
) -> None:
    """Rename a table (``Metastore.rename_table``).

    Args:
        location: its new directory, which also moves the partitions below it; None keeps it.
    """
    renamed = table_id(connection, database, name)
    new_database, new_name = existing_database(connection, new_database), lowered(new_name)
    if find_table(connection, new_database, new_name) is not None:
        raise failures.table_exists(new_database, new_name)
    connection.execute(
        "UPDATE tables SET database_name = ?, table_name = ? WHERE table_id = ?",
        (new_database, new_name, renamed),
    )
    if location is None:
        return
    _check_place(connection, location, renamed)
    old_location = str(
        connection.execute("SELECT location FROM tables WHERE table_id = ?", (renamed,)).fetchone()[
            0
        ]
    )
    connection.execute("UPDATE tables SET location = ? WHERE table_id = ?", (location, renamed))
    connection.execute(
        "UPDATE partitions SET location = ?1 || substr(location, length(?2) + 1)"
        " WHERE table_id = ?3 AND substr(location, 1, length(?2) + 1) = ?2 || '/'",
        (location, old_location, renamed),
    )


def reserve_ordinals(connection: sqlite3.Connection, database: str, name: str, count: int) -> int:
    """Reserve ordinals for new rows of a table (``Metastore.reserve_ordinals``)."""
    owner = table_id(connection, database, name)
    (first,) = connection.execute(
        "SELECT next_ordinal FROM tables WHERE table_id = ?", (owner,)
    ).fetchone()
    connection.execute(
        "UPDATE tables SET next_ordinal = ? WHERE table_id = ?", (first + count, owner)
    )
    return int(first)


def table(connection: sqlite3.Connection, database: str, name: str) -> Table:
    """Return a table (``Metastore.table``)."""
    definition = find_table(connection, database, name)
    if definition is None:
        raise failures.table_not_found(database, name)
    return definition


def find_table(connection: sqlite3.Connection, database: str, name: str) -> Table | None:
    """Find a table, or return None (``Metastore.find_table``)."""
    row = connection.execute(
        "SELECT * FROM tables WHERE database_name = ? AND table_name = ?",
        (lowered(database), lowered(name)),
    ).fetchone()
    return None if row is None else _table_of(row)


def tables(connection: sqlite3.Connection, database: str) -> tuple[str, ...]:
    """Return the sorted names of tables and views (``Metastore.tables``)."""
    rows = connection.execute(
        "SELECT table_name FROM tables WHERE database_name = ? AND created_by_txn IS NULL",
        (existing_database(connection, database),),
    )
    return tuple(sorted(row[0] for row in rows))


def _check_place(connection: sqlite3.Connection, location: str, placed_id: int) -> None:
    """Check that the directory of a new or renamed table overlaps no other table's directory.

    The commands check this before, too. This check is in the same transaction as the change.

    Raises:
        AcidAnalysisError: LOCATION_IN_USE.
    """
    overlapping = table_at(connection, location, placed_id) if location else None
    if overlapping is not None:
        raise failures.location_in_use(location, overlapping)


def table_at(connection: sqlite3.Connection, location: str, but: int | None = None) -> Table | None:
    """Find a managed table that overlaps a location, in all databases (``Metastore.table_at``).

    Args:
        connection: connection to the metastore's file.
        location: a directory.
        but: internal id of a table to ignore.
    """
    row = connection.execute(
        "SELECT * FROM tables WHERE table_type = ?1 AND table_id IS NOT ?3"
        " AND (substr(?2 || '/', 1, length(location) + 1) = location || '/'"
        " OR substr(location || '/', 1, length(?2) + 1) = ?2 || '/')"
        " ORDER BY table_id LIMIT 1",
        (TableType.MANAGED.value, location, but),
    ).fetchone()
    return None if row is None else _table_of(row)


def metastore_id(connection: sqlite3.Connection) -> str:
    """Return the id that the metastore's file got when it was created."""
    return str(connection.execute("SELECT metastore_id FROM identity").fetchone()[0])


def has_table_id(connection: sqlite3.Connection, candidate_id: int) -> bool:
    """Return whether a table has this id."""
    row = connection.execute("SELECT 1 FROM tables WHERE table_id = ?", (candidate_id,)).fetchone()
    return row is not None


def table_id(connection: sqlite3.Connection, database: str, name: str) -> int:
    """Return the internal id of a table; a later table of the same name gets another one."""
    row = connection.execute(
        "SELECT table_id FROM tables WHERE database_name = ? AND table_name = ?",
        (lowered(database), lowered(name)),
    ).fetchone()
    if row is None:
        raise failures.table_not_found(database, name)
    return int(row[0])


def partitions_at(
    connection: sqlite3.Connection, location: str, txn_id: int
) -> frozenset[tuple[str, ...]] | None:
    """Return the partitions of the table at a location; see ``Metastore.held_location``."""
    row = connection.execute(
        "SELECT table_id, table_id IN (SELECT table_id FROM write_ids WHERE txn_id = ?)"
        " FROM tables WHERE location = ?",
        (txn_id, location),
    ).fetchone()
    if row is None:
        return frozenset()
    if not row[1]:
        return None
    values = connection.execute(
        "SELECT partition_values FROM partitions WHERE table_id = ?", (row[0],)
    )
    return frozenset(tuple(json.loads(text)) for (text,) in values)


_COLUMN_FIELDS = tuple(field.name for field in fields(Column))


def columns_text(columns: Iterable[Column]) -> str:
    """Return the JSON text of columns, which ``columns_of`` reads."""
    return json.dumps([{name: getattr(c, name) for name in _COLUMN_FIELDS} for c in columns])


def columns_of(text: str) -> tuple[Column, ...]:
    """Return the columns of a JSON text."""
    return tuple(Column(**column) for column in json.loads(text))


def _as_kept(table: Table) -> Table:
    """Return a table as the file stores it.

    Its name is in lower case, and the names of its columns keep their case.
    """
    names = {column.stored_name: column.name for column in table.columns}
    buckets = map(lowered, table.bucket_columns)
    return replace(
        table,
        database=lowered(table.database),
        name=lowered(table.name),
        bucket_columns=tuple(names.get(name, name) for name in buckets),
        constraints=named(lowered(table.name), table.constraints),
    )


# Columns of ``tables`` that contain a table's definition, in the order of ``_definition``.
_DEFINED = (
    "columns",
    "partition_columns",
    "properties",
    "table_type",
    "location",
    "view_text",
    "owner",
    "created",
    "bucket_columns",
    "num_buckets",
    "file_format",
    "serde_properties",
    "constraints",
)


def _definition(table: Table) -> tuple[object, ...]:
    return (
        columns_text(table.columns),
        columns_text(table.partition_columns),
        json.dumps(dict(table.properties)),
        table.table_type.value,
        table.location,
        table.view_text,
        table.owner,
        table.created,
        json.dumps(table.bucket_columns),
        table.num_buckets,
        table.file_format.value,
        json.dumps(dict(table.serde_properties)),
        constraints_text(table.constraints),
    )


def _table_of(row: sqlite3.Row) -> Table:
    return Table(
        database=row["database_name"],
        name=row["table_name"],
        columns=columns_of(row["columns"]),
        partition_columns=columns_of(row["partition_columns"]),
        location=row["location"],
        properties=json.loads(row["properties"]),
        table_type=TableType(row["table_type"]),
        view_text=row["view_text"],
        owner=row["owner"],
        created=row["created"],
        bucket_columns=tuple(json.loads(row["bucket_columns"])),
        num_buckets=row["num_buckets"],
        file_format=FileFormat(row["file_format"]),
        serde_properties=json.loads(row["serde_properties"]),
        replaced_by=row["replaced_by"],
        constraints=constraints_of(row["constraints"]),
    )
