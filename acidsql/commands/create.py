"""CREATE TABLE, also over a directory with an existing ACID table."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict

from pyspark.sql import DataFrame

from acidsql.commands import result, write_schema
from acidsql.commands.adopt_table import check_location, existing
from acidsql.commands.constraints import with_constraints
from acidsql.commands.created_columns import given_columns, is_insert_only, queried_columns
from acidsql.commands.definitions import (
    check_local_times,
    check_properties,
    warn_of_retention,
    with_codec,
)
from acidsql.commands.generated_columns import check_generated
from acidsql.commands.insert import write_query
from acidsql.commands.new_table import (
    check_empty,
    definition_like,
    filling,
    new_table_name,
)
from acidsql.errors import AcidAnalysisError, quoted_name
from acidsql.format.bucket_codec import MAX_BUCKET_ID
from acidsql.injection_points import Point, reach
from acidsql.insert_only.read import check_text_columns
from acidsql.metastore.history import RecordedStatement, WriteCounts
from acidsql.metastore.model import Column, FileFormat, Operation, Table, TableType
from acidsql.planning.name_resolution import find, in_metastore
from acidsql.planning.statement import StatementSnapshot
from acidsql.planning.statement_snapshots import leased_snapshot
from acidsql.planning.unchanged_reads import UnchangedReads
from acidsql.session.acid_session import AcidSession
from acidsql.session.settings import Isolation, name_key
from acidsql.session.table_owner import check_unowned
from acidsql.storage.bucketing import check_bucket_columns
from acidsql.storage.filesystem import child
from acidsql.storage.sync import make_directory
from acidsql.syntax.nodes import Clustering
from acidsql.syntax.statements import CreateTable, CreateTableLike
from acidsql.transactions.current import refuse_in_transaction

# File formats of insert-only tables, by the word after STORED AS.
_FORMATS = {
    "orc": FileFormat.ORC,
    "parquet": FileFormat.PARQUET,
    "textfile": FileFormat.TEXT,
    "text": FileFormat.TEXT,
}


# Properties that determine the kind of a table.
_KINDS = ("transactional", "transactional_properties")


def create_table(
    session: AcidSession, statement: CreateTable, *, of_frame: bool = False
) -> DataFrame | None:
    """Run CREATE TABLE, also AS SELECT.

    Args:
        session: the session.
        statement: the statement.
        of_frame: whether the statement was made from a DataFrame; its text is then not recorded.
    """
    refuse_in_transaction(session, "CREATE TABLE")
    if statement.query is not None:
        return _create_as_select(session, statement, None if of_frame else statement.text)
    name = _new_name(session, statement)
    if name is None:
        return result.nothing(session.spark)
    try:
        columns, partition_columns, constraints = given_columns(session, statement)
        table = _defined(session, statement, *name, columns, partition_columns)
        check_generated(session, table)
        table = with_constraints(session, table, constraints)
        session.metastore.check_table(table)
        _create(session, table, adopts=statement.location is not None)
    except AcidAnalysisError:
        # Another process may have created the table after the statement checked for it.
        if not (statement.if_not_exists and in_metastore(session, name)):
            raise
    return result.nothing(session.spark)


def create_like(session: AcidSession, statement: CreateTableLike) -> DataFrame | None:
    """Run CREATE TABLE … LIKE a transactional table.

    The new table has the columns, partition columns, buckets and properties of the other table, but
    no rows.

    Returns:
        None if the other table is not in the metastore.
    """
    source = find(session, statement.like)
    if source is None or source.table_type is TableType.VIEW:
        if statement.transactional:
            raise _unsupported("LIKE", "the other table is not transactional: name the columns")
        return None
    refuse_in_transaction(session, "CREATE TABLE")
    for clause in statement.unsupported:
        raise _unsupported(clause, "leave the clause out")
    name = new_table_name(session, statement.name, if_not_exists=statement.if_not_exists)
    if name is None:
        return result.nothing(session.spark)
    words = (statement.stored_as or statement.using or "").lower()
    if words and _FORMATS.get(words) is not source.file_format:
        raise _unsupported(
            f"STORED AS {words}",
            f"{source.full_name} is stored as {source.file_format.value}: leave the clause out",
            "STORED_AS",
        )
    check_properties(statement.properties)
    warn_of_retention(session, statement.properties)
    for key, value in statement.properties.items():
        kept = source.properties.get(key.lower(), "true" if key == "transactional" else "default")
        if key.lower() in _KINDS and value.lower() != kept.lower():
            raise _unsupported(
                f"{key}={value}", f"{source.full_name} has {kept}: leave the property out", "LIKE"
            )
    source = replace(source, constraints=())  # Hive and Spark copy no constraints either
    table = definition_like(session, source, name, statement.location, statement.properties)
    _create(session, table, adopts=statement.location is not None)
    return result.nothing(session.spark)


def _new_name(session: AcidSession, statement: CreateTable) -> tuple[str, str] | None:
    """Return the database and the name of the table to create, and refuse unsupported clauses.

    Returns:
        None if the table exists and the statement has IF NOT EXISTS.
    """
    name = new_table_name(session, statement.name, if_not_exists=statement.if_not_exists)
    if name is None:
        return None
    check_clauses(session, statement)
    return name


def check_clauses(session: AcidSession, statement: CreateTable) -> None:
    """Refuse unsupported clauses and properties before the statement changes anything.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE, INVALID_TABLE_PROPERTY.
    """
    _refuse(statement)
    check_properties(statement.properties)
    warn_of_retention(session, statement.properties)


def _refuse(statement: CreateTable) -> None:
    refused = {
        "EXTERNAL": statement.external,
        "OR REPLACE": statement.replaces and statement.if_not_exists,
        "SORTED BY": bool(statement.clustered_by and statement.clustered_by.sorted),
    }
    reasons = {
        "EXTERNAL": "an external table cannot be transactional; leave EXTERNAL out, LOCATION may "
        "stay",
        "OR REPLACE": "IF NOT EXISTS says the opposite; leave one of them out",
        "SORTED BY": "a transactional table is sorted by its row ids; leave SORTED BY out",
    }
    for clause, present in refused.items():
        if present:
            raise _unsupported(clause, reasons[clause])
    for clause in statement.unsupported:
        raise _unsupported(clause, "leave the clause out")
    stored_as = _stored_as(statement)
    known = _FORMATS if is_insert_only(statement) else {"orc": FileFormat.ORC}
    if stored_as not in known:
        raise _unsupported(
            f"STORED AS {stored_as}",
            f"this transactional table needs STORED AS {' or '.join(known).upper()}",
            "STORED_AS",
        )
    if statement.clustered_by is not None and is_insert_only(statement):
        raise _unsupported("CLUSTERED BY", "an insert-only table has no buckets; leave it out")


def _stored_as(statement: CreateTable) -> str:
    """Return the file format of a new table in lower case; the default is ORC."""
    return (statement.stored_as or statement.using or "ORC").lower()


def _unsupported(feature: str, reason: str, condition: str | None = None) -> AcidAnalysisError:
    condition = "UNSUPPORTED_FEATURE." + (condition or feature.upper().replace(" ", "_"))
    return AcidAnalysisError(
        condition, f"{feature} is not supported for transactional tables: {reason}"
    )


def _defined(
    session: AcidSession,
    statement: CreateTable,
    database: str,
    name: str,
    columns: tuple[Column, ...],
    partition_columns: tuple[Column, ...],
) -> Table:
    """Return the definition of a new table; refuse a location that belongs to another table."""
    location = statement.location
    if location is None:
        location = child(session.database_location(database), name)
    place = session.files.qualify(location)
    table = definition(session, statement, (database, name), columns, partition_columns, place)
    if statement.location is not None or not session.metastore.capabilities.chooses_locations:
        # A metastore that chooses locations gives each table a different one. The check is then
        # unnecessary, and it would read many tables.
        check_location(session, table)
    return table


def definition(
    session: AcidSession,
    statement: CreateTable,
    name: tuple[str, str],
    columns: tuple[Column, ...],
    partition_columns: tuple[Column, ...],
    location: str,
) -> Table:
    """Return the definition of a table that CREATE TABLE creates.

    Args:
        session: the session.
        statement: the statement.
        name: database and name of the table.
        columns: the columns in files.
        partition_columns: the partition columns.
        location: directory of the table, qualified.

    Raises:
        AcidAnalysisError: the errors of ``check_bucket_columns``, ``Metastore.check_table`` and
            ``check_text_columns``.
    """
    database, table_name = name
    properties = dict(statement.properties)
    if statement.clustered_by is not None:
        properties.setdefault("bucketing_version", "2")
    if statement.comment is not None:
        properties["comment"] = statement.comment
    table = Table(
        database=database,
        name=table_name,
        columns=columns,
        partition_columns=partition_columns,
        location=location,
        properties=properties,
        owner=session.user,
        created=int(time.time()),
        file_format=_FORMATS[_stored_as(statement)],
        **_buckets(session, statement.clustered_by, columns),
    )
    check_bucket_columns(session.spark, table)
    check_local_times(table)
    session.metastore.check_table(table)
    if table.file_format is FileFormat.TEXT:
        check_text_columns(session, table)
    return table


def _create(session: AcidSession, table: Table, *, adopts: bool) -> None:
    """Create a table in the metastore, with the partitions and ids of an existing directory.

    Args:
        session: the session.
        table: the table.
        adopts: whether the directory can contain a table, because the statement names it.
    """
    reach(Point.BEFORE_CREATING, table)
    if not adopts:
        check_empty(session, table)
    check_unowned(session, table.location)
    adopted = existing(session, table)
    is_checked = table.enforced_constraints or table.generated_columns or table.identity_columns
    if is_checked and (adopted.partitions or adopted.highest_write_id):
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.CHECK_OF_ADOPTED_TABLE",
            f"the rows in {table.location} were never checked: leave CHECK out, then run ALTER "
            "TABLE … ADD CONSTRAINT, which checks them; leave GENERATED out",
        )
    make_directory(session.files, table.location)
    session.metastore.create_table(
        with_codec(session, table, adopted.codec),
        adopted.partitions,
        adopted.highest_write_id,
        adopted.highest_txn_id,
    )


class _Buckets(TypedDict):
    bucket_columns: tuple[str, ...]
    num_buckets: int


def _buckets(
    session: AcidSession, clustering: Clustering | None, columns: Sequence[Column]
) -> _Buckets:
    """Return the bucket columns and the number of buckets; () and 0 without CLUSTERED BY."""
    if clustering is None:
        return {"bucket_columns": (), "num_buckets": 0}
    key = name_key(session.spark)
    known = {key(c.name): c.name for c in columns}
    names = tuple(known.get(key(name), name) for name in clustering.columns)
    for name in names:
        if key(name) not in known:
            raise AcidAnalysisError(
                "COLUMN_NOT_FOUND",
                f"CLUSTERED BY names {name}, which is not stored in files: choose among "
                f"{', '.join(known.values())}",
                {"colName": quoted_name([name])},
            )
        if names.count(name) > 1:
            raise AcidAnalysisError(
                "COLUMN_ALREADY_EXISTS",
                f"CLUSTERED BY names {name} twice: name it once",
                {"columnName": quoted_name([name])},
            )
    if not 1 <= clustering.buckets <= MAX_BUCKET_ID + 1:
        raise AcidAnalysisError(
            "INVALID_BUCKET_COUNT",
            f"CLUSTERED BY … INTO {clustering.buckets} BUCKETS: choose 1 to {MAX_BUCKET_ID + 1}",
            {
                "numBuckets": str(clustering.buckets),
                "bucketingMaxBuckets": str(MAX_BUCKET_ID + 1),
            },
        )
    return {"bucket_columns": names, "num_buckets": clustering.buckets}


def defined_by_query(
    session: AcidSession, snapshot: StatementSnapshot, statement: CreateTable
) -> tuple[Table, DataFrame] | None:
    """Return the table that CREATE TABLE … AS SELECT creates, and its rows.

    The columns of the rows are in the order of the table.

    Returns:
        None if the table exists and the statement has IF NOT EXISTS.
    """
    name = _new_name(session, statement)
    if name is None:
        return None
    columns, partition_columns, rows = queried_columns(session, snapshot, statement)
    table = _defined(session, statement, *name, columns, partition_columns)
    check_empty(session, table)
    check_unowned(session, table.location)
    return table, rows


def _create_as_select(session: AcidSession, statement: CreateTable, text: str | None) -> DataFrame:
    """Create a table with the columns and rows of a query; one commit makes both visible.

    Args:
        session: the session.
        statement: the statement.
        text: text of the statement for the table's history, or None.
    """
    source = RecordedStatement(operation="CREATE TABLE AS SELECT", text=text)
    with leased_snapshot(session, kept=False) as snapshot:
        defined = defined_by_query(session, snapshot, statement)
        if defined is None:
            return result.nothing(session.spark)
        table, rows = defined
        with filling(session, with_codec(session, table, None), source) as write:
            shape = write_schema.write_schema_of(session, write.table)
            static = None if table.partition_columns else ()
            outcome = write_query(write, shape, rows, static)
            if write.isolation is Isolation.SERIALIZABLE:
                write.conflict_checks.append(UnchangedReads(txn_id=write.txn_id, snapshot=snapshot))
            inserted = outcome.events(deletes=False)
            changed = [outcome.changed(Operation.INSERT, deletes=False)]
            write.commit(changed, WriteCounts(inserted=inserted))
    return result.counts(session.spark, affected=inserted, inserted=inserted)
