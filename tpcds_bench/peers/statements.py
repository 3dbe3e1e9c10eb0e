"""Statements that every engine runs, and their SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tpcds_bench.data import Column
from tpcds_bench.tables import maxima, names

KEY = ("ss_ticket_number", "ss_item_sk")
"""Columns that identify a row of store_sales."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """Add all rows of a view.

    Args:
        table: table that is changed.
        source: temporary view with the same columns.
    """

    table: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """Give a column of some rows another value.

    Args:
        table: table that is changed.
        column: the column.
        value: expression of its new value.
        where: condition of the rows.
    """

    table: str
    column: str
    value: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """Remove some rows.

    Args:
        table: table that is changed.
        where: condition of the rows.
    """

    table: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Delete, replace and insert rows by their key; the table is ``t`` and the source ``s``.

    Args:
        table: table that is changed.
        source: temporary view with the same columns.
        deleted: condition of the matched rows that are deleted.
    """

    table: str
    source: str
    deleted: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compact:
    """Bring a table into the state as if it had been written in one step.

    Args:
        table: table that is compacted.
    """

    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Rewrite a table so that a condition on any of some columns skips most of the table.

    Args:
        table: table that is rewritten.
        columns: the columns.
    """

    table: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """Count rows.

    Args:
        table: table that is read.
        where: condition of the rows; all rows if empty.
    """

    table: str
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Maxima:
    """Read every column.

    Args:
        table: table that is read.
        where: condition of the rows; all rows if empty.
    """

    table: str
    where: str = ""


Change: TypeAlias = Insert | Update | Delete | Merge
Read: TypeAlias = Count | Maxima
Statement: TypeAlias = Change | Read | Compact | Cluster


def change_sql(change: Change, target: str, columns: Sequence[Column]) -> str:
    """Return the SQL of a change.

    Args:
        change: the change.
        target: the table's name in SQL.
        columns: columns of the table.
    """
    match change:
        case Insert():
            return f"INSERT INTO {target} SELECT {names(columns)} FROM {change.source}"
        case Update():
            return f"UPDATE {target} SET {change.column} = {change.value} WHERE {change.where}"
        case Delete():
            return f"DELETE FROM {target} WHERE {change.where}"
        case Merge():
            return (
                f"MERGE INTO {target} t USING {change.source} s ON {on_key()}"
                f" WHEN MATCHED AND {change.deleted} THEN DELETE"
                " WHEN MATCHED THEN UPDATE SET *"
                " WHEN NOT MATCHED THEN INSERT *"
            )


def read_sql(read: Read, target: str, columns: Sequence[Column]) -> str:
    """Return the SQL of a query; for the arguments see :func:`change_sql`."""
    selected = "count(*)" if isinstance(read, Count) else maxima(columns)
    return f"SELECT {selected} FROM {target}" + (f" WHERE {read.where}" if read.where else "")


def checksum_sql(target: str, columns: Sequence[Column]) -> str:
    """Return the query of a table's checksum, which does not depend on the order of rows.

    ``xxhash64`` ignores NULL, so the query also hashes whether each value is NULL.
    """
    hashed = ", ".join(f"{column.name}, {column.name} IS NULL" for column in columns)
    return f"SELECT count(*), sum(CAST(xxhash64({hashed}) AS DECIMAL(38,0))) FROM {target}"


def on_key() -> str:
    """Return the condition that rows of ``t`` and ``s`` have the same key."""
    return " AND ".join(f"t.{name} = s.{name}" for name in KEY)
