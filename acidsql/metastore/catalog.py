"""Databases, tables, views and partitions of the embedded metastore."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import asdict, replace

from acidsql.errors import AcidAnalysisError, AcidLookupError
from acidsql.metastore.names import lowered
from acidsql.metastore.protocol import Column, Partition, Table, TableType

DEFAULT_DATABASE = "default"


def create_database(
    connection: sqlite3.Connection, name: str, location: str, comment: str | None
) -> None:
    """``Metastore.create_database``."""
    name = lowered(name)
    if _has_database(connection, name):
        raise AcidAnalysisError(
            "SCHEMA_ALREADY_EXISTS",
            f"database {name!r} exists already; choose another name or add IF NOT EXISTS",
        )
    connection.execute("INSERT INTO databases VALUES (?, ?, ?)", (name, location, comment))


def drop_database(connection: sqlite3.Connection, name: str) -> None:
    """``Metastore.drop_database``."""
    name = _existing_database(connection, name)
    if name == DEFAULT_DATABASE:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.DROP_DATABASE",
            "database 'default' cannot be dropped; drop its tables",
        )
    if tables(connection, name):
        raise AcidAnalysisError(
            "SCHEMA_NOT_EMPTY",
            f"database {name!r} has tables; drop them first (SHOW TABLES IN {name})",
        )
    connection.execute("DELETE FROM databases WHERE name = ?", (name,))


def databases(connection: sqlite3.Connection) -> tuple[str, ...]:
    """``Metastore.databases``."""
    return tuple(sorted(row[0] for row in connection.execute("SELECT name FROM databases")))


def database_location(connection: sqlite3.Connection, name: str) -> str:
    """``Metastore.database_location``."""
    name = _existing_database(connection, name)
    row = connection.execute("SELECT location FROM databases WHERE name = ?", (name,)).fetchone()
    return str(row[0])


def create_table(connection: sqlite3.Connection, table: Table) -> None:
    """``Metastore.create_table``."""
    table = _with_lowered_names(table)
    _existing_database(connection, table.database)
    if find_table(connection, table.database, table.name) is not None:
        raise AcidAnalysisError(
            "TABLE_OR_VIEW_ALREADY_EXISTS",
            f"table or view {table.full_name!r} exists already; "
            "choose another name or add IF NOT EXISTS",
        )
    connection.execute(
        "INSERT INTO tables (columns, partition_columns, properties, table_type, location,"
        " view_text, owner, created, database_name, table_name)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*_definition(table), table.database, table.name),
    )


def drop_table(connection: sqlite3.Connection, table_id: int) -> None:
    """Forget a table; its partitions, write ids, locks, write set and queue entries go with it."""
    connection.execute("DELETE FROM tables WHERE table_id = ?", (table_id,))


def alter_table(connection: sqlite3.Connection, table: Table) -> None:
    """``Metastore.alter_table``."""
    table = _with_lowered_names(table)
    connection.execute(
        "UPDATE tables SET columns = ?, partition_columns = ?, properties = ?, table_type = ?,"
        " location = ?, view_text = ?, owner = ?, created = ? WHERE table_id = ?",
        (*_definition(table), table_id(connection, table.database, table.name)),
    )


def table(connection: sqlite3.Connection, database: str, name: str) -> Table:
    """``Metastore.table``."""
    found = find_table(connection, database, name)
    if found is None:
        raise _table_not_found(database, name)
    return found


def find_table(connection: sqlite3.Connection, database: str, name: str) -> Table | None:
    """``Metastore.find_table``."""
    row = connection.execute(
        "SELECT * FROM tables WHERE database_name = ? AND table_name = ?",
        (lowered(database), lowered(name)),
    ).fetchone()
    return None if row is None else _table_of(row)


def tables(connection: sqlite3.Connection, database: str) -> tuple[str, ...]:
    """``Metastore.tables``."""
    rows = connection.execute(
        "SELECT table_name FROM tables WHERE database_name = ?",
        (_existing_database(connection, database),),
    )
    return tuple(sorted(row[0] for row in rows))


def table_id(connection: sqlite3.Connection, database: str, name: str) -> int:
    """The internal id of a table, which no other table ever has, not even one of the same name."""
    row = connection.execute(
        "SELECT table_id FROM tables WHERE database_name = ? AND table_name = ?",
        (lowered(database), lowered(name)),
    ).fetchone()
    if row is None:
        raise _table_not_found(database, name)
    return int(row[0])


def add_partitions(
    connection: sqlite3.Connection, database: str, name: str, added: Iterable[Partition]
) -> None:
    """``Metastore.add_partitions``."""
    columns = table(connection, database, name).partition_columns
    owner = table_id(connection, database, name)
    for partition in added:
        if len(partition.values) != len(columns):
            raise AcidAnalysisError(
                "PARTITION_VALUES_MISMATCH",
                f"partition {partition.values!r} does not have one value for each of the "
                f"{len(columns)} partition columns of '{lowered(database)}.{lowered(name)}'",
            )
        connection.execute(
            "INSERT OR IGNORE INTO partitions VALUES (?, ?, ?)",
            (owner, json.dumps(partition.values), partition.location),
        )


def drop_partitions(
    connection: sqlite3.Connection, database: str, name: str, dropped: Iterable[tuple[str, ...]]
) -> None:
    """``Metastore.drop_partitions``; PARTITION_NOT_FOUND if one of them is not there."""
    owner = table_id(connection, database, name)
    for values in dropped:
        cursor = connection.execute(
            "DELETE FROM partitions WHERE table_id = ? AND partition_values = ?",
            (owner, json.dumps(values)),
        )
        if cursor.rowcount == 0:
            raise AcidLookupError(
                "PARTITION_NOT_FOUND",
                f"table '{lowered(database)}.{lowered(name)}' has no partition {values!r}; "
                "see SHOW PARTITIONS",
            )


def partitions(connection: sqlite3.Connection, database: str, name: str) -> tuple[Partition, ...]:
    """``Metastore.partitions``."""
    rows = connection.execute(
        "SELECT partition_values, location FROM partitions WHERE table_id = ?",
        (table_id(connection, database, name),),
    )
    found = (Partition(values=tuple(json.loads(row[0])), location=row[1]) for row in rows)
    return tuple(sorted(found, key=lambda partition: partition.values))


def _has_database(connection: sqlite3.Connection, name: str) -> bool:
    row = connection.execute("SELECT 1 FROM databases WHERE name = ?", (name,)).fetchone()
    return row is not None


def _existing_database(connection: sqlite3.Connection, name: str) -> str:
    name = lowered(name)
    if not _has_database(connection, name):
        raise AcidLookupError(
            "SCHEMA_NOT_FOUND", f"database {name!r} cannot be found; see SHOW DATABASES"
        )
    return name


def _table_not_found(database: str, name: str) -> AcidLookupError:
    return AcidLookupError(
        "TABLE_OR_VIEW_NOT_FOUND",
        f"table or view '{lowered(database)}.{lowered(name)}' cannot be found; "
        f"check the name (SHOW TABLES IN {lowered(database)})",
    )


def _with_lowered_names(table: Table) -> Table:
    return replace(
        table,
        database=lowered(table.database),
        name=lowered(table.name),
        columns=tuple(replace(c, name=lowered(c.name)) for c in table.columns),
        partition_columns=tuple(replace(c, name=lowered(c.name)) for c in table.partition_columns),
    )


def _definition(table: Table) -> tuple[object, ...]:
    return (
        json.dumps([asdict(column) for column in table.columns]),
        json.dumps([asdict(column) for column in table.partition_columns]),
        json.dumps(dict(table.properties)),
        table.table_type.value,
        table.location,
        table.view_text,
        table.owner,
        table.created,
    )


def _table_of(row: sqlite3.Row) -> Table:
    return Table(
        database=row["database_name"],
        name=row["table_name"],
        columns=tuple(Column(**column) for column in json.loads(row["columns"])),
        partition_columns=tuple(
            Column(**column) for column in json.loads(row["partition_columns"])
        ),
        location=row["location"],
        properties=json.loads(row["properties"]),
        table_type=TableType(row["table_type"]),
        view_text=row["view_text"],
        owner=row["owner"],
        created=row["created"],
    )
