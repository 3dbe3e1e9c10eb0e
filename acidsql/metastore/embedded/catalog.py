"""Databases, tables, views and partitions of the embedded metastore."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace

from acidsql.metastore import failures
from acidsql.metastore.embedded import statistics
from acidsql.metastore.model import Column, FileFormat, Partition, Table, TableType
from acidsql.metastore.names import lowered

DEFAULT_DATABASE = "default"


def create_database(
    connection: sqlite3.Connection,
    name: str,
    location: str,
    comment: str | None,
    properties: Mapping[str, str],
) -> None:
    """Create a database (``Metastore.create_database``)."""
    failures.check_name(name)
    name = lowered(name)
    if _has_database(connection, name):
        raise failures.schema_exists(name)
    connection.execute(
        "INSERT INTO databases (name, location, comment, properties) VALUES (?, ?, ?, ?)",
        (name, location, comment, json.dumps(dict(properties))),
    )


def drop_database(connection: sqlite3.Connection, name: str) -> None:
    """Drop an empty database (``Metastore.drop_database``)."""
    name = _existing_database(connection, name)
    if name == DEFAULT_DATABASE:
        raise failures.default_schema_stays()
    held = connection.execute(
        "SELECT 1 FROM tables WHERE database_name = ? LIMIT 1", (name,)
    ).fetchone()
    if held is not None:
        raise failures.schema_not_empty(name)
    connection.execute("DELETE FROM databases WHERE name = ?", (name,))


def databases(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Return the names of all databases, sorted (``Metastore.databases``)."""
    return tuple(sorted(row[0] for row in connection.execute("SELECT name FROM databases")))


def database_location(connection: sqlite3.Connection, name: str) -> str:
    """Return the location URI of a database (``Metastore.database_location``)."""
    name = _existing_database(connection, name)
    row = connection.execute("SELECT location FROM databases WHERE name = ?", (name,)).fetchone()
    return str(row[0])


def database_properties(connection: sqlite3.Connection, name: str) -> dict[str, str]:
    """Return the properties of a database (``Metastore.database_properties``)."""
    name = _existing_database(connection, name)
    row = connection.execute("SELECT properties FROM databases WHERE name = ?", (name,)).fetchone()
    return dict(json.loads(row[0]))


def change_database_properties(
    connection: sqlite3.Connection, name: str, changes: Mapping[str, str | None]
) -> None:
    """Set or remove properties of a database (``Metastore.change_database_properties``)."""
    changed = {**database_properties(connection, name), **changes}
    kept = {key: value for key, value in changed.items() if value is not None}
    connection.execute(
        "UPDATE databases SET properties = ? WHERE name = ?", (json.dumps(kept), lowered(name))
    )


def create_table(
    connection: sqlite3.Connection, table: Table, created_by_txn: int | None = None
) -> None:
    """Create a table or view (``Metastore.create_table``).

    Args:
        created_by_txn: transaction without whose commit it does not exist, or None.
    """
    failures.check_name(table.name)
    table = _with_lowered_names(table)
    _existing_database(connection, table.database)
    if find_table(connection, table.database, table.name) is not None:
        raise failures.table_exists(table.database, table.name)
    cursor = connection.execute(
        f"INSERT INTO tables ({', '.join(_DEFINED)}, database_name, table_name, created_by_txn)"
        f" VALUES ({', '.join('?' for _ in _DEFINED)}, ?, ?, ?)",
        (*_definition(table), table.database, table.name, created_by_txn),
    )
    _check_place(connection, table.location, int(cursor.lastrowid or 0))


def show_table(connection: sqlite3.Connection, staged: Table, name: str) -> None:
    """Give a table that was created for a transaction alone its name (``ShowTable``)."""
    name = lowered(name)
    if find_table(connection, staged.database, name) is not None:
        raise failures.table_exists(staged.database, name)
    connection.execute(
        "UPDATE tables SET table_name = ?, created_by_txn = NULL WHERE table_id = ?",
        (name, table_id(connection, staged.database, staged.name)),
    )


def drop_created_by(connection: sqlite3.Connection, txn_id: int) -> None:
    """Drop the tables that were created for a transaction alone."""
    connection.execute("DELETE FROM tables WHERE created_by_txn = ?", (txn_id,))


def drop_table(connection: sqlite3.Connection, database: str, name: str) -> None:
    """Delete a table with its partitions, write ids, locks, write set and queue entries."""
    connection.execute(
        "DELETE FROM tables WHERE table_id = ?", (table_id(connection, database, name),)
    )


def alter_table(connection: sqlite3.Connection, table: Table) -> None:
    """Replace the definition of a table (``Metastore.alter_table``)."""
    table = _with_lowered_names(table)
    connection.execute(
        f"UPDATE tables SET {', '.join(f'{c} = ?' for c in _DEFINED)} WHERE table_id = ?",
        (*_definition(table), table_id(connection, table.database, table.name)),
    )


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
        location: its new directory, for the partitions below it as well; None keeps it.
    """
    renamed = table_id(connection, database, name)
    new_database, new_name = _existing_database(connection, new_database), lowered(new_name)
    if find_table(connection, new_database, new_name) is not None:
        raise failures.table_exists(new_database, new_name)
    connection.execute(
        "UPDATE tables SET database_name = ?, table_name = ? WHERE table_id = ?",
        (new_database, new_name, renamed),
    )
    if location is None:
        return
    _check_place(connection, location, renamed)
    old = str(
        connection.execute("SELECT location FROM tables WHERE table_id = ?", (renamed,)).fetchone()[
            0
        ]
    )
    connection.execute("UPDATE tables SET location = ? WHERE table_id = ?", (location, renamed))
    connection.execute(
        "UPDATE partitions SET location = ?1 || substr(location, length(?2) + 1)"
        " WHERE table_id = ?3 AND substr(location, 1, length(?2) + 1) = ?2 || '/'",
        (location, old, renamed),
    )


def table(connection: sqlite3.Connection, database: str, name: str) -> Table:
    """Return a table (``Metastore.table``)."""
    found = find_table(connection, database, name)
    if found is None:
        raise failures.table_not_found(database, name)
    return found


def find_table(connection: sqlite3.Connection, database: str, name: str) -> Table | None:
    """Find a table, or return None (``Metastore.find_table``)."""
    row = connection.execute(
        "SELECT * FROM tables WHERE database_name = ? AND table_name = ?",
        (lowered(database), lowered(name)),
    ).fetchone()
    return None if row is None else _table_of(row)


def tables(connection: sqlite3.Connection, database: str) -> tuple[str, ...]:
    """Return the names of tables and views, sorted (``Metastore.tables``)."""
    rows = connection.execute(
        "SELECT table_name FROM tables WHERE database_name = ? AND created_by_txn IS NULL",
        (_existing_database(connection, database),),
    )
    return tuple(sorted(row[0] for row in rows))


def _check_place(connection: sqlite3.Connection, location: str, own: int) -> None:
    """Check that a new or renamed table lies in no other one, and contains none.

    Commands look before as well; this is in the same transaction as the change.

    Raises:
        AcidAnalysisError: LOCATION_IN_USE.
    """
    other = table_at(connection, location, own) if location else None
    if other is not None:
        raise failures.location_in_use(location, other)


def table_at(connection: sqlite3.Connection, location: str, but: int | None = None) -> Table | None:
    """Find a managed table that overlaps a location, in all databases (``Metastore.table_at``).

    Args:
        connection: to the metastore's file.
        location: a directory.
        but: internal id of a table that is left out.
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
    """Return the id that was given to the metastore's file when it was made."""
    return str(connection.execute("SELECT metastore_id FROM identity").fetchone()[0])


def has_table_id(connection: sqlite3.Connection, wanted: int) -> bool:
    """Return whether there is a table with an id."""
    found = connection.execute("SELECT 1 FROM tables WHERE table_id = ?", (wanted,)).fetchone()
    return found is not None


def table_id(connection: sqlite3.Connection, database: str, name: str) -> int:
    """Return the internal id of a table, which no later table of the same name gets again."""
    row = connection.execute(
        "SELECT table_id FROM tables WHERE database_name = ? AND table_name = ?",
        (lowered(database), lowered(name)),
    ).fetchone()
    if row is None:
        raise failures.table_not_found(database, name)
    return int(row[0])


def add_partitions(
    connection: sqlite3.Connection, database: str, name: str, added: Iterable[Partition]
) -> None:
    """Add partitions (``Metastore.add_partitions``)."""
    columns = table(connection, database, name).partition_columns
    owner = table_id(connection, database, name)
    for partition in added:
        _check_values(partition, len(columns), database, name)
        cursor = connection.execute(
            "INSERT OR IGNORE INTO partitions VALUES (?, ?, ?, ?)",
            (owner, json.dumps(partition.values), partition.location, _own_columns(partition)),
        )
        if cursor.rowcount:  # it may have files already
            statistics.mark_changed(connection, owner, ())


def alter_partitions(
    connection: sqlite3.Connection, database: str, name: str, altered: Iterable[Partition]
) -> None:
    """Replace the location and columns of partitions (``Metastore.alter_partitions``)."""
    owner = table_id(connection, database, name)
    for partition in altered:
        cursor = connection.execute(
            "UPDATE partitions SET location = ?, columns = ?"
            " WHERE table_id = ? AND partition_values = ?",
            (partition.location, _own_columns(partition), owner, json.dumps(partition.values)),
        )
        if cursor.rowcount == 0:
            raise failures.partition_not_found(database, name, partition.values)


def rename_partition(
    connection: sqlite3.Connection,
    database: str,
    name: str,
    values: tuple[str, ...],
    renamed: Partition,
) -> None:
    """Rename a partition (``Metastore.rename_partition``)."""
    owner = table_id(connection, database, name)
    columns = table(connection, database, name).partition_columns
    _check_values(renamed, len(columns), database, name)
    if renamed.values != values and partitions(connection, database, name, [renamed.values]):
        raise failures.partition_exists(database, name, renamed.values)
    cursor = connection.execute(
        "UPDATE partitions SET partition_values = ?, location = ?, columns = ?"
        " WHERE table_id = ? AND partition_values = ?",
        (
            json.dumps(renamed.values),
            renamed.location,
            _own_columns(renamed),
            owner,
            json.dumps(values),
        ),
    )
    if cursor.rowcount == 0:
        raise failures.partition_not_found(database, name, values)
    statistics.forget(connection, owner, [values])


def drop_partitions(
    connection: sqlite3.Connection, database: str, name: str, dropped: Iterable[tuple[str, ...]]
) -> None:
    """Drop partitions (``Metastore.drop_partitions``); PARTITION_NOT_FOUND if one is missing."""
    owner = table_id(connection, database, name)
    for values in dropped:
        cursor = connection.execute(
            "DELETE FROM partitions WHERE table_id = ? AND partition_values = ?",
            (owner, json.dumps(values)),
        )
        if cursor.rowcount == 0:
            raise failures.partition_not_found(database, name, values)
        statistics.forget(connection, owner, [values])


def partition_values(
    connection: sqlite3.Connection, database: str, name: str
) -> tuple[tuple[str, ...], ...]:
    """Return the values of all partitions, sorted (``Metastore.partition_values``)."""
    rows = connection.execute(
        "SELECT partition_values FROM partitions WHERE table_id = ?",
        (table_id(connection, database, name),),
    )
    return tuple(sorted(tuple(json.loads(row[0])) for row in rows))


def partitions(
    connection: sqlite3.Connection,
    database: str,
    name: str,
    values: Iterable[tuple[str, ...]] | None = None,
) -> tuple[Partition, ...]:
    """Return partitions, sorted by their values (``Metastore.partitions``)."""
    rows = connection.execute(
        "SELECT partition_values, location, columns FROM partitions WHERE table_id = ?",
        (table_id(connection, database, name),),
    )
    found = (
        Partition(
            values=tuple(json.loads(row[0])),
            location=row[1],
            columns=None if row[2] is None else _columns_of(row[2]),
        )
        for row in rows
    )
    wanted = None if values is None else set(values)
    chosen = (p for p in found if wanted is None or p.values in wanted)
    return tuple(sorted(chosen, key=lambda partition: partition.values))


def _has_database(connection: sqlite3.Connection, name: str) -> bool:
    row = connection.execute("SELECT 1 FROM databases WHERE name = ?", (name,)).fetchone()
    return row is not None


def _existing_database(connection: sqlite3.Connection, name: str) -> str:
    name = lowered(name)
    if not _has_database(connection, name):
        raise failures.schema_not_found(name)
    return name


def _check_values(partition: Partition, columns: int, database: str, name: str) -> None:
    if len(partition.values) != columns:
        raise failures.partition_values_mismatch(database, name, partition.values, columns)


def _own_columns(partition: Partition) -> str | None:
    return None if partition.columns is None else _columns_text(partition.columns)


def _columns_text(columns: Iterable[Column]) -> str:
    return json.dumps([asdict(column) for column in columns])


def _columns_of(text: str) -> tuple[Column, ...]:
    return tuple(Column(**column) for column in json.loads(text))


def _with_lowered_names(table: Table) -> Table:
    return replace(
        table,
        database=lowered(table.database),
        name=lowered(table.name),
        columns=tuple(replace(c, name=lowered(c.name)) for c in table.columns),
        partition_columns=tuple(replace(c, name=lowered(c.name)) for c in table.partition_columns),
        bucket_columns=tuple(map(lowered, table.bucket_columns)),
    )


# Columns of ``tables`` that hold a table's definition, in the order of ``_definition``.
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
)


def _definition(table: Table) -> tuple[object, ...]:
    return (
        _columns_text(table.columns),
        _columns_text(table.partition_columns),
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
    )


def _table_of(row: sqlite3.Row) -> Table:
    return Table(
        database=row["database_name"],
        name=row["table_name"],
        columns=_columns_of(row["columns"]),
        partition_columns=_columns_of(row["partition_columns"]),
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
    )
