"""Limits of the definitions that a server can store, checked before acidsql calls the server.

The lengths come from the mapping of Hive's tables (package.jdo), and count Java characters. The
server itself would answer with an error of its database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from acidsql.errors import AcidAnalysisError, quoted_name
from acidsql.metastore.hive.column_types import has_required_field, hive_type
from acidsql.metastore.model import Column, Table, TableType

DATABASE_NAME = 128
COLUMN_NAME = 767
COLUMN_COMMENT = 256
PARTITION_COLUMN_NAME = 128
LONG_COMMENT = 4000
"""Limit for the comment of a database or partition column, and for a property of a database."""
DEFAULT_TEXT = 255
TYPE_TEXT = 32_672
PARTITION_COLUMN_TYPE = 767
TABLE_PROPERTY_NAME = 256
DATABASE_PROPERTY_NAME = 180
PARTITION_VALUE = 256
PARTITION_NAME = 767
"""Limit for the name with all columns: ``p=1/q=2``."""


def check_database(name: str, comment: str | None, properties: Mapping[str, str]) -> None:
    """Check a new database.

    Raises:
        AcidAnalysisError: INVALID_SCHEMA_OR_RELATION_NAME, COMMENT_TOO_LONG, INVALID_OBJECT.
    """
    if _is_longer(name, DATABASE_NAME):
        raise AcidAnalysisError(
            "INVALID_SCHEMA_OR_RELATION_NAME",
            f"the name {_start(name)} {_has(name, DATABASE_NAME)} of a database: choose a shorter "
            "one",
            {"name": quoted_name([name])},
        )
    _check_comment(f"database {name}", comment, LONG_COMMENT)
    check_database_properties(name, properties)


def check_database_properties(name: str, properties: Mapping[str, str | None]) -> None:
    """Check new properties of a database.

    Raises:
        AcidAnalysisError: INVALID_OBJECT.
    """
    for key, value in properties.items():
        for text, most in ((key, DATABASE_PROPERTY_NAME), (value or "", LONG_COMMENT)):
            if _is_longer(text, most):
                raise AcidAnalysisError(
                    "INVALID_OBJECT",
                    f"the property {_start(key)} of database {name} {_has(text, most)} of it: "
                    "shorten it",
                )


def check_table(table: Table) -> None:
    """Check a new definition of a table or view.

    Raises:
        AcidAnalysisError: see ``CatalogProtocol.check_table``.
    """
    for column in table.columns:
        _check(column, COLUMN_NAME, TYPE_TEXT, COLUMN_COMMENT)
        if table.table_type is TableType.MANAGED and has_required_field(column.type):
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.TABLE_CONSTRAINT",
                f"column {column.name} has NOT NULL within its type, which a Hive Metastore does "
                "not keep: leave it out there; the column itself can be NOT NULL",
            )
    for constraint in table.constraints:
        if _is_longer(constraint.expression or "", DEFAULT_TEXT):
            raise AcidAnalysisError(
                "INVALID_CHECK_CONSTRAINT",
                f"the condition of the constraint {_start(constraint.expression or '')} "
                f"{_has(constraint.expression or '', DEFAULT_TEXT)}: divide it into several ones",
                {"checkCondition": constraint.expression or ""},
            )
    for column in table.partition_columns:
        _check(column, PARTITION_COLUMN_NAME, PARTITION_COLUMN_TYPE, LONG_COMMENT)
    for key in table.properties:
        if _is_longer(key, TABLE_PROPERTY_NAME):
            raise AcidAnalysisError(
                "INVALID_TABLE_PROPERTY",
                f"the name of the property {_start(key)} {_has(key, TABLE_PROPERTY_NAME)}: "
                "shorten it",
            )


def _check(column: Column, name: int, type_text: int, comment: int) -> None:
    """Check a column; the arguments are the limits for its name, type and comment."""
    where = f"column {_start(column.name)}"
    if _is_longer(column.name, name):
        raise AcidAnalysisError(
            "UNSUPPORTED_COLUMN_NAME",
            f"the name of {where} {_has(column.name, name)}: choose a shorter one",
        )
    if _is_longer(hive_type(column.type), type_text):
        raise AcidAnalysisError(
            "UNSUPPORTED_DATATYPE",
            f"the type of {where} {_has(hive_type(column.type), type_text)}: use several columns",
            {"typeName": _start(column.type)},
        )
    _check_comment(where, column.comment, comment)
    if _is_longer(column.default or "", DEFAULT_TEXT):
        raise AcidAnalysisError(
            "INVALID_DEFAULT_VALUE.TOO_LONG",
            f"the DEFAULT of {where} {_has(column.default or '', DEFAULT_TEXT)}: shorten it, or "
            "write the value in each statement",
            {"colName": quoted_name([column.name])},
        )


def _check_comment(where: str, comment: str | None, most: int) -> None:
    if _is_longer(comment or "", most):
        raise AcidAnalysisError(
            "COMMENT_TOO_LONG", f"the comment of {where} {_has(comment or '', most)}: shorten it"
        )


def check_partition(table: str, columns: Iterable[str], values: Sequence[str], name: str) -> None:
    """Check a new partition.

    Args:
        table: name of its table, for the error.
        columns: names of the partition columns.
        values: values of the partition columns.
        name: name of the partition, ``p=1/q=2``.

    Raises:
        AcidAnalysisError: INVALID_PARTITION_NAME.
    """
    for column, value in zip(columns, values, strict=True):
        if _is_longer(value, PARTITION_VALUE):
            raise AcidAnalysisError(
                "INVALID_PARTITION_NAME",
                f"the value {_start(value)} of {column} in a partition of {table} "
                f"{_has(value, PARTITION_VALUE)}: use a shorter one",
            )
    if _is_longer(name, PARTITION_NAME):
        raise AcidAnalysisError(
            "INVALID_PARTITION_NAME",
            f"the name {_start(name)} of a partition of {table} {_has(name, PARTITION_NAME)}: use "
            "shorter values, or fewer partition columns",
        )


def _has(text: str, most: int) -> str:
    return f"has {_length(text):,} characters, and a Hive Metastore keeps {most:,}"


def _is_longer(text: str, most: int) -> bool:
    return len(text) * 2 > most and _length(text) > most


def _length(text: str) -> int:
    """Return the length in Java characters; an emoji counts as two."""
    return len(text.encode("utf-16-le", errors="surrogatepass")) // 2


def _start(text: str) -> str:
    return repr(text if len(text) <= 30 else f"{text[:30]}…")
