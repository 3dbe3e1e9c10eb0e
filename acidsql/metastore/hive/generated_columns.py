"""Generated and identity columns in properties of the table, because Hive does not have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from acidsql.metastore.model import Column, Table

_PREFIX = "acidsql.generated."
_IDENTITY = "acidsql.identity."


def is_generated_property(key: str) -> bool:
    """Return whether a property describes a generated or an identity column."""
    return key.startswith((_PREFIX, _IDENTITY))


def generated_properties(table: Table) -> dict[str, str]:
    """Return the properties that describe a table's generated and identity columns."""
    return {
        **{f"{_PREFIX}{c.stored_name}": c.generated or "" for c in table.generated_columns},
        **{f"{_IDENTITY}{c.stored_name}": c.identity or "" for c in table.identity_columns},
    }


def has_identity(table: Any) -> bool:
    """Return whether the server's table has an identity column."""
    return any(key.startswith(_IDENTITY) for key in table.parameters or {})


def with_generated(columns: Iterable[Column], properties: Mapping[str, str]) -> tuple[Column, ...]:
    """Return columns with the expressions that the properties of their table contain."""
    return tuple(
        replace(
            column,
            generated=properties.get(f"{_PREFIX}{column.stored_name}"),
            identity=properties.get(f"{_IDENTITY}{column.stored_name}"),
        )
        for column in columns
    )
