"""Databases of the embedded metastore."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping

from acidsql.format.identifiers import lowered
from acidsql.metastore import failures

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
    name = existing_database(connection, name)
    if name == DEFAULT_DATABASE:
        raise failures.default_schema_stays()
    row = connection.execute(
        "SELECT 1 FROM tables WHERE database_name = ? LIMIT 1", (name,)
    ).fetchone()
    if row is not None:
        raise failures.schema_not_empty(name)
    connection.execute("DELETE FROM databases WHERE name = ?", (name,))


def databases(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Return the sorted names of all databases (``Metastore.databases``)."""
    return tuple(sorted(row[0] for row in connection.execute("SELECT name FROM databases")))


def database_location(connection: sqlite3.Connection, name: str) -> str:
    """Return the location URI of a database (``Metastore.database_location``)."""
    name = existing_database(connection, name)
    row = connection.execute("SELECT location FROM databases WHERE name = ?", (name,)).fetchone()
    return str(row[0])


def database_properties(connection: sqlite3.Connection, name: str) -> dict[str, str]:
    """Return the properties of a database (``Metastore.database_properties``)."""
    name = existing_database(connection, name)
    row = connection.execute("SELECT properties FROM databases WHERE name = ?", (name,)).fetchone()
    return dict(json.loads(row[0]))


def change_database_properties(
    connection: sqlite3.Connection, name: str, changes: Mapping[str, str | None]
) -> None:
    """Set or remove properties of a database (``Metastore.change_database_properties``)."""
    changed = {**database_properties(connection, name), **changes}
    properties = {key: value for key, value in changed.items() if value is not None}
    connection.execute(
        "UPDATE databases SET properties = ? WHERE name = ?",
        (json.dumps(properties), lowered(name)),
    )


def _has_database(connection: sqlite3.Connection, name: str) -> bool:
    row = connection.execute("SELECT 1 FROM databases WHERE name = ?", (name,)).fetchone()
    return row is not None


def existing_database(connection: sqlite3.Connection, name: str) -> str:
    """Return the name of an existing database, as the file stores it.

    Raises:
        AcidAnalysisError: SCHEMA_NOT_FOUND.
    """
    name = lowered(name)
    if not _has_database(connection, name):
        raise failures.schema_not_found(name)
    return name
