"""Partitions of the tables of the embedded metastore."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

from acidsql.metastore import failures
from acidsql.metastore.embedded import statistics, table_history
from acidsql.metastore.embedded.catalog import columns_of, columns_text, table, table_id
from acidsql.metastore.embedded.table_history import LimitedBy
from acidsql.metastore.model import Partition
from acidsql.metastore.partition_filter import PartitionFilter, sqlite_condition


def add(
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
        if cursor.rowcount:  # the new partition may already have files
            statistics.mark_changed(connection, owner, ())


def alter(
    connection: sqlite3.Connection, database: str, name: str, altered: Iterable[Partition]
) -> None:
    """Replace the location and columns of partitions (``Metastore.alter_partitions``)."""
    owner = table_id(connection, database, name)
    for partition in altered:
        place = connection.execute(
            "SELECT location FROM partitions WHERE table_id = ? AND partition_values = ?",
            (owner, json.dumps(partition.values)),
        ).fetchone()
        if place is not None and place[0] != partition.location:
            table_history.record_limit(connection, owner, LimitedBy.PARTITIONS)
        cursor = connection.execute(
            "UPDATE partitions SET location = ?, columns = ?"
            " WHERE table_id = ? AND partition_values = ?",
            (partition.location, _own_columns(partition), owner, json.dumps(partition.values)),
        )
        if cursor.rowcount == 0:
            raise failures.partition_not_found(database, name, partition.values)


def rename(
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
    table_history.record_limit(connection, owner, LimitedBy.PARTITIONS)


def drop(
    connection: sqlite3.Connection, database: str, name: str, dropped: Iterable[tuple[str, ...]]
) -> None:
    """Drop partitions (``Metastore.drop_partitions``).

    Raises:
        AcidLookupError: PARTITION_NOT_FOUND, one of the partitions does not exist.
    """
    owner = table_id(connection, database, name)
    for values in dropped:
        cursor = connection.execute(
            "DELETE FROM partitions WHERE table_id = ? AND partition_values = ?",
            (owner, json.dumps(values)),
        )
        if cursor.rowcount == 0:
            raise failures.partition_not_found(database, name, values)
        statistics.forget(connection, owner, [values])
        table_history.record_limit(connection, owner, LimitedBy.PARTITIONS)


def values_of(
    connection: sqlite3.Connection, database: str, name: str, accepted: PartitionFilter
) -> tuple[tuple[str, ...], ...]:
    """Return the sorted values of partitions (``Metastore.partition_values``)."""
    owner = table_id(connection, database, name)
    condition, parameters = sqlite_condition(accepted, "partition_values")
    rows = connection.execute(
        f"SELECT partition_values FROM partitions WHERE table_id = ? AND ({condition})",
        (owner, *parameters),
    )
    return tuple(sorted(tuple(json.loads(row[0])) for row in rows))


def partitions(
    connection: sqlite3.Connection,
    database: str,
    name: str,
    values: Iterable[tuple[str, ...]] | None = None,
) -> tuple[Partition, ...]:
    """Return partitions, sorted by their values (``Metastore.partitions``)."""
    query = "SELECT partition_values, location, columns FROM partitions WHERE table_id = ?"
    owner = table_id(connection, database, name)
    if values is None:
        rows = connection.execute(query, (owner,))
    else:
        texts = json.dumps([json.dumps(one) for one in values])
        rows = connection.execute(
            f"{query} AND partition_values IN (SELECT value FROM json_each(?))", (owner, texts)
        )
    existing = (
        Partition(
            values=tuple(json.loads(row[0])),
            location=row[1],
            columns=None if row[2] is None else columns_of(row[2]),
        )
        for row in rows
    )
    return tuple(sorted(existing, key=lambda partition: partition.values))


def _check_values(partition: Partition, columns: int, database: str, name: str) -> None:
    if len(partition.values) != columns:
        raise failures.partition_values_mismatch(database, name, partition.values, columns)


def _own_columns(partition: Partition) -> str | None:
    return None if partition.columns is None else columns_text(partition.columns)
