"""Columns of older table versions in a property of the table, because the server stores none.

The property is compact JSON. acidsql writes it when it changes the columns. Its keys are:

* ``created``: time at which the table was created, so that a copy in another table is not valid;
* ``now``: digest of the columns after the change, which shows later changes by other clients;
* ``older``: pairs of a write id and the columns of the versions below it;
* ``since``: lowest version with known columns.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from acidsql.metastore.model import Column, Table

PROPERTY = "acidsql.columns.history"
# Maximum length of the text; the oldest columns are forgotten if it is longer.
_MOST_CHARACTERS = 60_000


def recorded(before: Table, after: Table, write_id: int) -> Table:
    """Add the columns of versions below a write id to a definition that changes the columns.

    Args:
        before: the table.
        after: its new definition.
        write_id: write id of the transaction that changes the table.

    Returns:
        The new definition, unchanged if the columns are the same.
    """
    if _digest(before.columns) == _digest(after.columns):
        return after
    history = _history(before)
    since = 0 if PROPERTY not in before.properties else write_id - 1
    older: list[Any] = []
    if history is not None:
        older, since = list(history["older"]), history["since"]
    older.append([write_id, [[c.name, c.type] for c in before.columns]])
    while True:
        value = {
            "created": before.created,
            "now": _digest(after.columns),
            "older": older,
            "since": since,
        }
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        if len(text) <= _MOST_CHARACTERS or not older:
            return replace(after, properties={**after.properties, PROPERTY: text})
        since = older.pop(0)[0]


def columns_at(table: Table, version: int) -> tuple[Column, ...] | None:
    """Return the columns of a table version; None if they are the current ones, or unknown."""
    history = _history(table)
    if history is None or version < history["since"]:
        return None
    later = [(until, columns) for until, columns in history["older"] if until > version]
    if not later:
        return None
    return tuple(Column(name=name, type=kind) for name, kind in min(later)[1])


def _history(table: Table) -> Mapping[str, Any] | None:
    """Return the content of a table's property.

    None if the table has no such property, or if another client has changed the columns since.
    """
    text = table.properties.get(PROPERTY)
    if text is None:
        return None
    try:
        history: Mapping[str, Any] = json.loads(text)
        is_current = (history["created"], history["now"]) == (table.created, _digest(table.columns))
    except (ValueError, KeyError, TypeError):  # another client wrote the property
        return None
    return history if is_current else None


def _digest(columns: Sequence[Column]) -> str:
    shape = [[c.stored_name, c.type.lower().replace(" ", "")] for c in columns]
    return hashlib.blake2b(json.dumps(shape).encode(), digest_size=8).hexdigest()
