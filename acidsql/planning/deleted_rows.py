"""Requests for deleted rows, through a table property as in Hive.

The text of a statement can set the property for one reference.
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


def with_read_options(
    table: Table, options: Mapping[str, str], *, live_only: bool = False
) -> Table:
    """Return a table with the property value that a reference to it requests.

    Args:
        table: a table or view of the metastore.
        options: options of the reference, names in lower case.
        live_only: whether to ignore the property of the table itself.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.DELETED_ROWS, the text requests the deleted rows of
            a view or table that cannot show them.
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
    """Return whether the property of a table makes a statement read its deleted rows too.

    The property has no effect if rows have no row ids, or if the user has declared a column
    ``row__is__deleted``.
    """
    requested = _is_true(table.properties.get(FETCH_DELETED_ROWS, ""))
    is_table = table.table_type is TableType.MANAGED
    return requested and is_table and IS_DELETED_COLUMN in virtual_columns(table)


def _is_true(value: str) -> bool:
    """Return whether Java, and therefore Hive, parses a value as true."""
    return value.lower() == "true"


def _with_property(table: Table, value: str) -> Table:
    return replace(table, properties={**table.properties, FETCH_DELETED_ROWS: value})


def _why_not(table: Table) -> str:
    if table.table_type is not TableType.MANAGED:
        return "a view; name its table in the view's text"
    if table.insert_only:
        return "insert-only, and its rows have no row ids"
    return f"a table with a column {IS_DELETED_COLUMN} of its own"
