"""Columns that older versions of a table have, in a property of it: the server keeps none.

The property is compact JSON, written together with a change of columns by acidsql: ``created``, the
time at which the table was created, so that another table does not take a copy of it for its own;
``now``, a digest of the columns after the change, which shows whether another client has changed
them since; ``older``, pairs of a write id and the columns that versions below it have; ``since``,
the lowest version whose columns are known.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from acidsql.metastore.model import Column, Table

PROPERTY = "acidsql.columns.history"
# Of the text; what is older is forgotten.
_MOST_CHARACTERS = 60_000


def recorded(before: Table, after: Table, write_id: int) -> Table:
    """Return a definition with the columns of versions below a write id, if it changes them.

    Args:
        before: the table.
        after: its new definition.
        write_id: of the transaction that changes it.
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
    """Return the columns that a version of a table has; None if they are those of now, or
    unknown.
    """
    history = _history(table)
    if history is None or version < history["since"]:
        return None
    later = [(until, columns) for until, columns in history["older"] if until > version]
    if not later:
        return None
    return tuple(Column(name=name, type=kind) for name, kind in min(later)[1])


def _history(table: Table) -> Mapping[str, Any] | None:
    """Return what the property of a table says; None if there is none, or another client has
    changed the columns since.
    """
    text = table.properties.get(PROPERTY)
    if text is None:
        return None
    try:
        history: Mapping[str, Any] = json.loads(text)
        is_own = (history["created"], history["now"]) == (table.created, _digest(table.columns))
    except (ValueError, KeyError, TypeError):  # another client has written something else
        return None
    return history if is_own else None


def _digest(columns: Sequence[Column]) -> str:
    shape = [[c.stored_name, c.type.lower().replace(" ", "")] for c in columns]
    return hashlib.blake2b(json.dumps(shape).encode(), digest_size=8).hexdigest()
