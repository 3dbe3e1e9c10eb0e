"""Generated columns, of which Hive knows nothing: their expressions are properties of the table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from acidsql.metastore.model import Column, Table

_PREFIX = "acidsql.generated."


def is_generated_property(key: str) -> bool:
    """Return whether a property is the expression of a generated column."""
    return key.startswith(_PREFIX)


def generated_properties(table: Table) -> dict[str, str]:
    """Return the properties that keep the expressions of a table's generated columns."""
    return {f"{_PREFIX}{c.stored_name}": c.generated or "" for c in table.generated_columns}


def with_generated(columns: Iterable[Column], properties: Mapping[str, str]) -> tuple[Column, ...]:
    """Return columns with the expressions that the properties of their table have for them."""
    return tuple(
        replace(column, generated=properties.get(f"{_PREFIX}{column.stored_name}"))
        for column in columns
    )
