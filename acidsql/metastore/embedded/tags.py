"""Tags of tables in the embedded metastore."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from acidsql.format.valid_lists import ValidWriteIdList
from acidsql.metastore.moments import TableVersion
from acidsql.metastore.tags import Tag, tag_exists, tag_not_found

_COLUMNS = "tag_id, name, version, committed, write_ids, created, expires"
# Condition for tags that protect directories. Expired tags are still listed and can be dropped.
_IS_LIVE = "(expires IS NULL OR expires > :now)"


def create(
    connection: sqlite3.Connection,
    table_id: int,
    name: str,
    version: TableVersion,
    number: int,
    now: float,
    expires: float | None,
) -> Tag:
    """Create a tag.

    Args:
        connection: connection to the metastore's file.
        table_id: id of the table.
        name: name of the tag.
        version: the version that it names.
        number: number of the last commit in the version.
        now: seconds since 1970.
        expires: seconds since 1970; None: never.

    Raises:
        AcidAnalysisError: TAG_ALREADY_EXISTS, even if the existing tag has expired.
    """
    if _find(connection, table_id, name) is not None:
        raise tag_exists(version.write_ids.table, name)
    connection.execute(
        "INSERT INTO tags (table_id, name, version, commit_number, committed, write_ids, created,"
        " expires) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            table_id,
            name,
            version.write_id,
            number,
            version.committed,
            version.write_ids.to_string(),
            now,
            expires,
        ),
    )
    row = _find(connection, table_id, name)
    assert row is not None  # this transaction has inserted it
    return _tag(row)


def drop(connection: sqlite3.Connection, table_id: int, table: str, name: str) -> None:
    """Drop a tag.

    Raises:
        AcidLookupError: TAG_NOT_FOUND.
    """
    dropped = connection.execute(
        "DELETE FROM tags WHERE table_id = ? AND name = ?", (table_id, name)
    ).rowcount
    if not dropped:
        raise tag_not_found(table, name)


def of_table(connection: sqlite3.Connection, table_id: int) -> tuple[Tag, ...]:
    """Return the tags of a table, including expired ones, in the order of their versions."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM tags WHERE table_id = ? ORDER BY version, name", (table_id,)
    )
    return tuple(map(_tag, rows))


def version_of(
    connection: sqlite3.Connection, table_id: int, name: str
) -> tuple[TableVersion, int] | None:
    """Return the version of a tag and its commit number; None if the tag does not exist."""
    row = _find(connection, table_id, name)
    if row is None:
        return None
    number = connection.execute(
        "SELECT commit_number FROM tags WHERE table_id = ? AND name = ?", (table_id, name)
    ).fetchone()[0]
    return _tag(row).version, number


def is_kept(
    connection: sqlite3.Connection, table_id: int, version: TableVersion, now: float
) -> bool:
    """Return whether a tag that has not expired has the same rows as a version."""
    row = connection.execute(
        f"SELECT 1 FROM tags WHERE table_id = :table AND write_ids = :write_ids AND {_IS_LIVE}",
        {"table": table_id, "write_ids": version.write_ids.to_string(), "now": now},
    ).fetchone()
    return row is not None


def is_unconsidered(
    connection: sqlite3.Connection, table_id: int, considered: Collection[int], now: float
) -> bool:
    """Return whether a tag exists that has not expired and that a cleaner has not considered."""
    rows = connection.execute(
        f"SELECT tag_id FROM tags WHERE table_id = :table AND {_IS_LIVE}",
        {"table": table_id, "now": now},
    )
    return any(row[0] not in considered for row in rows)


def _find(connection: sqlite3.Connection, table_id: int, name: str) -> sqlite3.Row | None:
    row: sqlite3.Row | None = connection.execute(
        f"SELECT {_COLUMNS} FROM tags WHERE table_id = ? AND name = ?", (table_id, name)
    ).fetchone()
    return row


def _tag(row: sqlite3.Row) -> Tag:
    tag_id, name, write_id, committed, write_ids, created, expires = row
    return Tag(
        tag_id=tag_id,
        name=name,
        version=TableVersion(
            write_id=write_id,
            committed=committed,
            write_ids=ValidWriteIdList.from_string(write_ids),
        ),
        created=created,
        expires=expires,
    )
