"""Columns of a new table, from its column list or from its query."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from acidsql import bridge
from acidsql.commands.definitions import (
    check_columns,
    with_timestamp_types,
)
from acidsql.commands.identity_columns import check_identities, with_identities
from acidsql.errors import AcidAnalysisError, quoted_name
from acidsql.metastore.model import Column
from acidsql.planning.statement import StatementSnapshot
from acidsql.schema.columns import as_nullable, columns_of
from acidsql.session.acid_session import AcidSession
from acidsql.session.settings import name_key
from acidsql.syntax.constraints import Constraint, split_columns
from acidsql.syntax.lexer import quote
from acidsql.syntax.statements import CreateTable


def is_insert_only(statement: CreateTable) -> bool:
    """Return whether a new table is insert-only (``transactional_properties``)."""
    properties = {key.lower(): value.lower() for key, value in statement.properties.items()}
    return properties.get("transactional_properties") == "insert_only"


def given_columns(
    session: AcidSession, statement: CreateTable
) -> tuple[tuple[Column, ...], tuple[Column, ...], tuple[Constraint, ...]]:
    """Return the columns and constraints of CREATE TABLE without a query.

    Returns:
        The columns in files, the partition columns and the constraints.

    Raises:
        AcidAnalysisError: MISSING_COLUMNS; see ``check_columns``.
    """
    if statement.columns is None:
        raise AcidAnalysisError(
            "MISSING_COLUMNS", "CREATE TABLE has no columns: list them, or write AS SELECT"
        )
    given = split_columns(statement.columns.of(statement.text))
    columns = columns_of(session.spark, bridge.parse_columns(session.spark, given.columns))
    columns = with_identities(columns, given.identities)
    columns, partition_columns = _checked(session, statement, columns)
    check_identities(columns, partition_columns)
    return columns, partition_columns, given.constraints


def _checked(
    session: AcidSession, statement: CreateTable, columns: tuple[Column, ...]
) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    """Return the columns in files and the partition columns, with the types of new tables.

    Raises:
        AcidAnalysisError: see ``check_columns``.
    """
    partition_columns: tuple[Column, ...] = ()
    if statement.partitioned_by is not None:
        columns, partition_columns = _split(
            session, columns, statement.partitioned_by.of(statement.text)
        )
    columns = with_timestamp_types(session, columns, insert_only=is_insert_only(statement))
    check_columns(session, columns, partition_columns)
    return columns, partition_columns


def _split(
    session: AcidSession, columns: tuple[Column, ...], text: str
) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    """Separate partition columns from the columns in files.

    ``PARTITIONED BY (p INT)`` adds a column; ``PARTITIONED BY (p)`` names one of the columns.
    """
    names = bridge.parse_names(session.spark, text)
    if names is None:
        transforms = bridge.transforms(session.spark, text)
        if transforms:
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.PARTITION_TRANSFORM",
                f"a transactional table cannot be partitioned by {transforms[0]}: name columns, "
                "and store the value in one",
            )
        return columns, columns_of(session.spark, bridge.parse_columns(session.spark, text))
    key = name_key(session.spark)
    by_name = {key(c.name): c for c in columns}
    missing = [n for n in names if key(n) not in by_name]
    if missing:
        raise AcidAnalysisError(
            "COLUMN_NOT_FOUND",
            f"partition column {missing[0]} has no type: write {missing[0]} with its type",
            {"colName": quoted_name([missing[0]])},
        )
    chosen = tuple(by_name[key(n)] for n in names)
    return tuple(c for c in columns if c not in chosen), chosen


def queried_columns(
    session: AcidSession, snapshot: StatementSnapshot, statement: CreateTable
) -> tuple[tuple[Column, ...], tuple[Column, ...], DataFrame]:
    """Return the columns and rows of CREATE TABLE … AS SELECT.

    Returns:
        The columns in files, the partition columns, and the rows with their columns in this order.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.CTAS_COLUMNS; see ``check_columns``.
    """
    if statement.columns is not None or statement.query is None:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.CTAS_COLUMNS",
            "CREATE TABLE … AS SELECT takes its columns from the query: name them there",
        )
    rows = snapshot.run(statement.query.of(statement.text))
    of_query = columns_of(session.spark, as_nullable(rows.schema))
    columns = tuple(Column(name=c.name, type=c.type, comment=c.comment) for c in of_query)
    columns, partition_columns = _checked(session, statement, columns)
    return columns, partition_columns, rows.select(*_quoted([*columns, *partition_columns]))


def _quoted(columns: Sequence[Column]) -> list[str]:
    return [quote(column.name) for column in columns]
