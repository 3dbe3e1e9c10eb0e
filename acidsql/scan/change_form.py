"""Form of a table's changes: columns, keys, checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from acidsql.errors import AcidAnalysisError, quoted_name
from acidsql.format.checkpoints import Checkpoint
from acidsql.format.identifiers import folded
from acidsql.format.valid_lists import ValidWriteIdList
from acidsql.metastore.model import Table, TableType
from acidsql.metastore.protocol import Metastore

CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP = (
    "_change_type",
    "_commit_version",
    "_commit_timestamp",
)
"""Additional columns of changes, with Delta Lake's names."""

INSERT, DELETE, PREIMAGE, POSTIMAGE = "insert", "delete", "update_preimage", "update_postimage"
"""Values of ``_change_type``."""

KEYS_PROPERTY = "acidsql.changes.keys"
"""Property of a table: key columns of its changes, unless the request gives keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeForm:
    """Form of the changes that are reported.

    Attributes:
        keys: columns that identify a row, in lower case. A row that is deleted and inserted with
            the same key is an update. Without keys, the statements in the history determine which
            changes are updates.
        net: whether rows that were inserted and deleted again are left out.
    """

    keys: tuple[str, ...] = ()
    net: bool = False


def check_has_changes(table: Table) -> None:
    """Check that a table has changes that can be reported.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.CHANGE_FEED, the table is a view or insert-only;
            COLUMN_ALREADY_EXISTS, a column of the table has the name of a column of changes.
    """
    is_view = table.table_type is TableType.VIEW
    if is_view or table.insert_only:
        name = table.full_name if table.database else table.name
        why = "is a view" if is_view else "is insert-only, and its rows do not say who wrote them"
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.CHANGE_FEED",
            f"{name} {why}: only tables with row ids have changes to read",
            {"relationId": quoted_name(name.split("."))},
        )
    names = {c.key for c in (*table.columns, *table.partition_columns)}
    taken = sorted(names & {CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP})
    if taken:
        raise AcidAnalysisError(
            "COLUMN_ALREADY_EXISTS",
            f"{table.full_name} has a column {taken[0]}, which its changes have too: rename it",
            {"columnName": quoted_name([taken[0]])},
        )


def keys_of(table: Table, names: Sequence[str]) -> tuple[str, ...]:
    """Return columns of a table that identify rows, as the table spells them.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE.CHANGES, a name is not a column of the table.
    """
    keys, missing = _found(table, names)
    if missing is not None:
        raise invalid_changes(table, f"the key {missing!r} is no column of the table")
    return keys


def own_keys(table: Table) -> tuple[str, ...]:
    """Return the keys in the property of a table; none by default.

    Raises:
        AcidAnalysisError: INVALID_TABLE_PROPERTY, a key is not a column of the table.
    """
    text = table.properties.get(KEYS_PROPERTY)
    if text is None:
        return ()
    keys, missing = _found(table, text.split(","))
    if missing is not None:
        raise AcidAnalysisError(
            "INVALID_TABLE_PROPERTY",
            f"{table.full_name}: {KEYS_PROPERTY} is {text!r}, and {missing!r} is no column: name "
            "columns, separated by commas",
        )
    return keys


def keys_then(now: Table, then: Table, keys: Sequence[str]) -> tuple[str, ...]:
    """Return the names that the key columns had in an older definition of the table.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE.CHANGES, a key column was added later.
    """
    pairs = zip(now.columns, then.columns, strict=False)
    names = {n.key: t.name for n, t in pairs} | {c.key: c.name for c in now.partition_columns}
    added = [key for key in keys if folded(key) not in names]
    if added:
        raise invalid_changes(now, f"the key {added[0]!r} was added after the last change")
    return tuple(names[folded(key)] for key in keys)


def _found(table: Table, names: Sequence[str]) -> tuple[tuple[str, ...], str | None]:
    """Return the named columns of a table, and the first name that is not a column or None."""
    known = {c.key: c.name for c in (*table.columns, *table.partition_columns)}
    given = [name.strip() for name in names]
    missing = next((name for name in given if folded(name) not in known), None)
    return tuple(known[folded(name)] for name in given if folded(name) in known), missing


def seen_at(metastore: Metastore, table: Table, text: str) -> ValidWriteIdList:
    """Return the write ids whose changes had been read at a checkpoint.

    Raises:
        AcidAnalysisError: INVALID_CHECKPOINT, the text is not a checkpoint, or a checkpoint of
            another table.
    """
    checkpoint = Checkpoint.from_string(text)
    if checkpoint.table_id != metastore.table_identity(table.database, table.name):
        raise AcidAnalysisError(
            "INVALID_CHECKPOINT",
            f"the checkpoint is of another table than {table.full_name}, perhaps of one that was "
            "dropped and created again: begin with None, which returns the rows that are there",
            {"tableName": table.full_name},
        )
    return replace(checkpoint.write_ids, table=table.full_name)


def invalid_changes(table: Table, message: str) -> AcidAnalysisError:
    """Return the error for arguments that do not define a range of changes."""
    return AcidAnalysisError(
        "INVALID_PARAMETER_VALUE.CHANGES",
        f"changes of {table.full_name}: {message}",
    )
