"""Deleted rows that a statement asks for, as Hive does: by a property of the table, which the text
of the statement can give too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from acidsql.errors import AcidAnalysisError
from acidsql.metastore.model import Table, TableType
from acidsql.scan.columns import virtual_columns
from acidsql.schema.acid_file import IS_DELETED_COLUMN

# Table property, and option of a reference to a table (``Constants.ACID_FETCH_DELETED_ROWS``).
FETCH_DELETED_ROWS = "acid.fetch.deleted.rows"


def as_asked(table: Table, options: Mapping[str, str], *, live_only: bool = False) -> Table:
    """Return a table with the property that a reference to it asks for.

    Args:
        table: a table or view of the metastore.
        options: of the reference, names in lower case.
        live_only: whether the property of the table itself has no effect.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.DELETED_ROWS, the text asks for deleted rows of
            what has none.
    """
    requested = options.get(FETCH_DELETED_ROWS)
    if requested is None:
        if live_only and shows_deleted_rows(table):
            return _with_property(table, "false")
        return table
    wanted = _with_property(table, requested)
    if _is_true(requested) and not shows_deleted_rows(wanted):
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.DELETED_ROWS",
            f"{table.full_name} cannot show deleted rows: it is {_why_not(table)}",
        )
    return wanted


def shows_deleted_rows(table: Table) -> bool:
    """Return whether a statement reads the deleted rows of a table too, by its property.

    The property has no effect where a row has no row id, or the table has a column
    ``row__is__deleted`` of its own.
    """
    requested = _is_true(table.properties.get(FETCH_DELETED_ROWS, ""))
    is_table = table.table_type is TableType.MANAGED
    return requested and is_table and IS_DELETED_COLUMN in virtual_columns(table)


def _is_true(value: str) -> bool:
    """Return whether a value is true to Java, and so to Hive."""
    return value.lower() == "true"


def _with_property(table: Table, value: str) -> Table:
    return replace(table, properties={**table.properties, FETCH_DELETED_ROWS: value})


def _why_not(table: Table) -> str:
    if table.table_type is not TableType.MANAGED:
        return "a view; name its table in the view's text"
    if table.insert_only:
        return "insert-only, and its rows have no row ids"
    return f"a table with a column {IS_DELETED_COLUMN} of its own"
