"""Writes of DataFrames: INSERT, CREATE TABLE … AS, and replacement of rows by a condition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from uuid import uuid4

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import CharType, VarcharType

from acidsql import bridge
from acidsql.commands import replace_rows, replace_table
from acidsql.commands.insert import insert
from acidsql.commands.replace_rows import Replacement, quoted_table
from acidsql.errors import AcidAnalysisError, quoted_name
from acidsql.format.identifiers import folded
from acidsql.insert_only.write import refuse_row_changes
from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.model import Table
from acidsql.schema.columns import partition_schema
from acidsql.session.acid_session import AcidSession
from acidsql.session.settings import name_key
from acidsql.syntax import parse
from acidsql.syntax.lexer import quote
from acidsql.syntax.nodes import Clustering, Name, PartitionSpec, Span
from acidsql.syntax.statements import CreateTable, Insert
from acidsql.transactions.retries import run_again_after_conflicts

_NOWHERE = Span(start=0, end=0)
_MODES = ("static", "dynamic")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTable:
    """Definition of a table that is created from a DataFrame.

    Attributes:
        name: name of the table.
        stored_as: file format.
        partitioned_by: names of the DataFrame's columns that become partition columns.
        clustered_by: columns and number of buckets; None without buckets.
        location: location of the table; None for the default location.
        properties: table properties, including ``transactional``.
    """

    name: Name
    stored_as: str = "ORC"
    partitioned_by: Sequence[str] = ()
    clustered_by: Clustering | None = None
    location: str | None = None
    properties: Mapping[str, str]


def append(
    session: AcidSession,
    table: Table,
    frame: DataFrame,
    *,
    by_name: bool = True,
    merges_schema: bool = False,
) -> DataFrame:
    """Run INSERT INTO with the rows of a DataFrame; return one row of counts.

    Args:
        session: the session.
        table: the table.
        frame: the rows.
        by_name: whether columns are matched by name, as in INSERT … BY NAME, or by position.
        merges_schema: whether the table gets the DataFrame's additional columns, as with WITH
            SCHEMA EVOLUTION.
    """

    def attempt() -> DataFrame:
        with _insert_of(
            session, table, frame, "INTO", by_name=by_name, merges_schema=merges_schema
        ) as statement:
            return insert(session, table, statement, of_frame=True)

    return run_again_after_conflicts(session, attempt, [frame])


def overwrite_mode(session: AcidSession) -> str:
    """Return the session's partition overwrite mode for DataFrames; Spark's default is static."""
    return str(session.spark.conf.get("spark.sql.sources.partitionOverwriteMode", "static"))


def overwrite(
    session: AcidSession,
    table: Table,
    frame: DataFrame,
    *,
    partitions: Mapping[str, object] | None = None,
    mode: str | None = None,
    by_name: bool = True,
    merges_schema: bool = False,
) -> DataFrame:
    """Run INSERT OVERWRITE of a table, or of some of its partitions; return one row of counts.

    Args:
        session: the session.
        table: the table.
        frame: the new rows.
        partitions: values of partition columns, which the DataFrame must not contain. Only
            partitions with these values are replaced.
        mode: ``static`` replaces all partitions that match ``partitions``, ``dynamic`` only the
            partitions that get rows; None uses the session's setting, as INSERT OVERWRITE does.
        by_name: see ``append``.
        merges_schema: see ``append``.

    Raises:
        AcidAnalysisError: INVALID_PARTITION_OVERWRITE_MODE, NON_PARTITION_COLUMN,
            STATIC_PARTITION_COLUMN_IN_INSERT_COLUMN_LIST.
    """
    if mode is not None and mode.lower() not in _MODES:
        raise AcidAnalysisError(
            "INVALID_PARTITION_OVERWRITE_MODE", f"the mode is {mode!r}: use static or dynamic"
        )

    def attempt() -> DataFrame:
        with _insert_of(
            session,
            table,
            frame,
            "OVERWRITE",
            by_name=by_name,
            partitions=partitions,
            merges_schema=merges_schema,
        ) as statement:
            return insert(session, table, statement, mode, of_frame=True)

    return run_again_after_conflicts(session, attempt, [frame])


def overwrite_where(
    session: AcidSession,
    table: Table,
    frame: DataFrame,
    condition: str,
    *,
    checked: bool,
    by_name: bool = True,
) -> DataFrame:
    """Delete the rows that meet a condition and insert a DataFrame's rows, in one transaction.

    Args:
        session: the session.
        table: the table.
        frame: the new rows.
        condition: the condition, as SQL text.
        checked: whether the new rows must meet the condition too.
        by_name: see ``append``.

    Returns:
        One row of counts.

    Raises:
        AcidAnalysisError: REPLACE_WHERE_MISMATCH, a new row does not meet the condition;
            UNSUPPORTED_FEATURE.REPLACE_WHERE, the condition cannot be checked.
        ParseException: the text is not a condition.
    """
    refuse_row_changes(table, "REPLACE WHERE")
    bridge.check_expression(session.spark, condition)

    def attempt() -> DataFrame:
        with _insert_of(session, table, frame, "INTO", by_name=by_name) as statement:
            replacement = Replacement(
                insert=statement,
                change=f"DELETE FROM {quoted_table(table)} WHERE {condition}",
                by_merge=False,
                checked=checked,
                recorded=RecordedStatement(operation="REPLACE WHERE", text=condition),
            )
            return replace_rows.run(session, table, replacement)

    return run_again_after_conflicts(session, attempt, [frame])


class Replacing(Enum):
    """Handling of an existing table with the name of a table to create."""

    NEVER = "CREATE TABLE"
    IF_THERE = "CREATE OR REPLACE TABLE"
    ALWAYS = "REPLACE TABLE"


def create_as(
    session: AcidSession, new: NewTable, frame: DataFrame, replacing: Replacing = Replacing.NEVER
) -> DataFrame | None:
    """Run CREATE TABLE … AS SELECT, or REPLACE TABLE, with a DataFrame; return one row of counts.

    Raises:
        AcidAnalysisError: see ``replace_table.create_or_replace``.
        AcidLookupError: TABLE_OR_VIEW_NOT_FOUND.
    """

    def attempt() -> DataFrame | None:
        return _create_as(session, new, frame, replacing)

    return run_again_after_conflicts(session, attempt, [frame])


def _create_as(
    session: AcidSession, new: NewTable, frame: DataFrame, replacing: Replacing
) -> DataFrame | None:
    with _temporary_view(session, frame) as view:
        query_text = f"SELECT * FROM {view}"
        partitioned_by = ", ".join(map(quote, new.partitioned_by))
        statement = CreateTable(
            text=query_text + partitioned_by,
            name=new.name,
            name_span=_NOWHERE,
            partitioned_by=_after(query_text, partitioned_by) if partitioned_by else None,
            clustered_by=new.clustered_by,
            stored_as=new.stored_as,
            location=new.location,
            properties=new.properties,
            query=_after("", query_text),
            or_replace=replacing is Replacing.IF_THERE,
            replace_table=replacing is Replacing.ALWAYS,
        )
        return replace_table.create_or_replace(session, statement, of_frame=True)


def _after(before: str, text: str) -> Span:
    return Span(start=len(before), end=len(before) + len(text))


@contextmanager
def _insert_of(
    session: AcidSession,
    table: Table,
    frame: DataFrame,
    kind: str,
    *,
    by_name: bool,
    partitions: Mapping[str, object] | None = None,
    merges_schema: bool = False,
) -> Iterator[Insert]:
    """Yield the INSERT of a DataFrame, which can be run in the block.

    Partition values are columns of its query, not part of its text. In a PARTITION clause, Spark
    accepts columns with a value only before columns without one, and with some settings it does not
    accept every string.
    """
    given = _by_column(session, table, partitions or {})
    place = _by_name if by_name else _by_position
    placed = place(table, frame, _columns(session, table, given))
    values = [(name, bridge.literal_sql(session.spark, value)) for name, value in given.items()]
    with _temporary_view(session, placed) as view:
        matched = "BY NAME " if by_name else ""
        evolving = "WITH SCHEMA EVOLUTION " if merges_schema else ""
        statement = parse(
            f"INSERT {evolving}{kind} TABLE {quoted_table(table)} {matched}SELECT * FROM {view}"
        )
        assert isinstance(statement, Insert)
        yield replace(statement, partition=PartitionSpec(values=tuple(values)) if values else None)


def _by_column(
    session: AcidSession, table: Table, partitions: Mapping[str, object]
) -> dict[str, object]:
    """Return values of partition columns, by the columns' names as spelled in the table."""
    key = name_key(session.spark)
    spelled = {key(c.name): c.name for c in table.partition_columns}
    for name in partitions:
        if key(name) not in spelled:
            raise AcidAnalysisError(
                "NON_PARTITION_COLUMN",
                f"{name} is no partition column of {table.full_name}: its partition columns are "
                f"{', '.join(spelled.values()) or 'none'}",
                {"columnName": quoted_name([name])},
            )
    return {spelled[key(name)]: value for name, value in partitions.items()}


def _columns(session: AcidSession, table: Table, values: Mapping[str, object]) -> dict[str, Column]:
    """Return partition values as columns with the table's types; CHAR and VARCHAR stay strings."""
    types = {f.name: f.dataType for f in partition_schema(session.spark, table)}
    return {
        name: F.lit(value)
        if isinstance(types[name], CharType | VarcharType)
        else F.lit(value).cast(types[name])
        for name, value in values.items()
    }


def _by_name(table: Table, frame: DataFrame, values: Mapping[str, Column]) -> DataFrame:
    """Add columns with partition values to a DataFrame."""
    taken = {folded(name) for name in frame.columns}
    for name in values:
        if folded(name) in taken:
            raise AcidAnalysisError(
                "STATIC_PARTITION_COLUMN_IN_INSERT_COLUMN_LIST",
                f"the DataFrame has the partition column {name} of {table.full_name}, whose value "
                "is given: drop the column, or leave the value out",
                {"staticName": quoted_name([name])},
            )
    return frame.select("*", *[value.alias(name) for name, value in values.items()])


def _by_position(table: Table, frame: DataFrame, values: Mapping[str, Column]) -> DataFrame:
    """Insert partition values at their positions among the last columns of a DataFrame.

    Columns that the table does not have precede the partition columns and keep their names.
    """
    number, given = len(table.columns), len(values)
    last = max(number, len(frame.columns) - (len(table.partition_columns) - given))
    names = [f"c{i}" for i in range(len(frame.columns))]  # never ambiguous
    names[number:last] = frame.columns[number:last]
    renamed = bridge.renamed(frame, names)
    rest = iter(renamed.columns[last:])
    partitions = [
        values[c.name].alias(f"p{i}") if c.name in values else next(rest, None)
        for i, c in enumerate(table.partition_columns)
    ]
    placed = [column for column in partitions if column is not None]
    return renamed.select(*renamed.columns[:last], *placed, *rest)


@contextmanager
def _temporary_view(session: AcidSession, frame: DataFrame) -> Iterator[str]:
    """Register a DataFrame, even of another session, as a temporary view; yield the view's name."""
    name = f"__acidsql_{uuid4().hex}"
    in_session = bridge.frame_of(session.spark, bridge.logical_plan(frame))
    in_session.createOrReplaceTempView(name)
    try:
        yield name
    finally:
        session.spark.catalog.dropTempView(name)
