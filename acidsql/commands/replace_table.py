"""CREATE OR REPLACE TABLE and REPLACE TABLE, also AS SELECT.

A table keeps its name, its write ids, its history and its grants. If the new columns have the same
places in files as the old columns, acidsql replaces the rows as INSERT OVERWRITE does: it writes
bases, which hide older rows. Otherwise a reader would find other columns in the old files. In this
case acidsql writes the new rows to a new directory, and the commit gives the table this directory
together with the columns.
"""

from __future__ import annotations

import re
from dataclasses import replace

from pyspark.sql import DataFrame

from acidsql.commands import create, events, result, write_schema
from acidsql.commands.constraints import with_constraints
from acidsql.commands.created_columns import given_columns, queried_columns
from acidsql.commands.definitions import with_codec
from acidsql.commands.events import WriteResult
from acidsql.commands.generated_columns import check_generated
from acidsql.commands.insert import publish_empty, write_query
from acidsql.errors import AcidAnalysisError, quoted_name
from acidsql.metastore import failures
from acidsql.metastore.catalog_changes import AlterTable
from acidsql.metastore.history import RecordedStatement, WriteCounts
from acidsql.metastore.model import Table, TableType
from acidsql.planning.name_resolution import qualified
from acidsql.planning.statement import StatementSnapshot
from acidsql.planning.statement_snapshots import latest_snapshot
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.constraints import Constraint
from acidsql.syntax.lexer import quote
from acidsql.syntax.statements import CreateTable
from acidsql.transactions.current import refuse_in_transaction
from acidsql.transactions.write_intent import insert_intent, replace_intent
from acidsql.transactions.write_transaction import TableWrite, write_transaction

# Suffix of a directory that a replacement has created.
_SUFFIX = re.compile(r"_acidsql_\d+$")


def create_or_replace(
    session: AcidSession, statement: CreateTable, *, of_frame: bool = False
) -> DataFrame | None:
    """Run CREATE TABLE, CREATE OR REPLACE TABLE or REPLACE TABLE, also AS SELECT.

    Args:
        session: the session.
        statement: the statement.
        of_frame: whether the statement was made from a DataFrame; its text is then not recorded.

    Raises:
        AcidAnalysisError: EXPECT_TABLE_NOT_VIEW; UNSUPPORTED_FEATURE.REPLACE_LOCATION,
            UNSUPPORTED_FEATURE.REPLACE_LAYOUT; the errors of CREATE TABLE.
        AcidLookupError: TABLE_OR_VIEW_NOT_FOUND, for REPLACE TABLE.
    """
    if not statement.replaces:
        return create.create_table(session, statement, of_frame=of_frame)
    refuse_in_transaction(session, "CREATE TABLE")
    create.check_clauses(session, statement)
    old = replaced_table(session, statement)
    if old is None:
        return create.create_table(session, statement, of_frame=of_frame)
    return _replace(session, statement, old, None if of_frame else statement.text)


def replaced_table(session: AcidSession, statement: CreateTable) -> Table | None:
    """Return the table that a statement replaces, or None if the statement creates a table.

    Raises:
        AcidAnalysisError: EXPECT_TABLE_NOT_VIEW.
        AcidLookupError: TABLE_OR_VIEW_NOT_FOUND, for REPLACE TABLE.
    """
    name = qualified(session, statement.name)
    table = session.metastore.find_table(*name) if name is not None else None
    if table is None and statement.replace_table:
        raise failures.table_not_found(*(name or ("", ".".join(statement.name))))
    if table is not None and table.table_type is TableType.VIEW:
        raise AcidAnalysisError(
            "EXPECT_TABLE_NOT_VIEW",
            f"{table.full_name} is a view: DROP VIEW it first, or choose another name",
            {"viewName": quoted_name([table.database, table.name]), "operation": "REPLACE TABLE"},
        )
    return table


def planned(
    session: AcidSession, snapshot: StatementSnapshot, statement: CreateTable, old: Table
) -> tuple[Table, DataFrame | None]:
    """Return the definition of a table that replaces ``old``, and its rows.

    The rows are None without a query.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.REPLACE_LOCATION,
            UNSUPPORTED_FEATURE.REPLACE_LAYOUT, UNSUPPORTED_FEATURE.REPLACE_TAGGED; the errors of
            CREATE TABLE.
    """
    rows: DataFrame | None = None
    constraints: tuple[Constraint, ...] = ()
    if statement.query is None:
        columns, partition_columns, constraints = given_columns(session, statement)
    else:
        columns, partition_columns, rows = queried_columns(session, snapshot, statement)
    name = old.database, old.name
    made = create.definition(session, statement, name, columns, partition_columns, old.location)
    check_generated(session, made)
    made = with_constraints(session, made, constraints)
    _check_location(session, statement, old)
    new = with_codec(session, replacement(old, made))
    _check_layout(session, old, new)
    return new, rows


def replacement(old: Table, made: Table) -> Table:
    """Return the definition of a table after its replacement.

    The table keeps its owner, its creation time, and properties that the statement does not set.

    Args:
        old: the table before the replacement.
        made: the definition that the statement gives.
    """
    same_kind = old.insert_only == made.insert_only
    same_buckets = (old.bucket_columns, old.num_buckets) == (made.bucket_columns, made.num_buckets)
    left_out = {
        "transactional": True,
        "transactional_properties": not same_kind,
        "bucketing_version": not same_buckets,
    }
    kept = {k: v for k, v in old.properties.items() if not left_out.get(k.lower(), False)}
    given = dict(made.properties)
    if same_buckets and "bucketing_version" in kept:
        given.pop("bucketing_version", None)
    return replace(
        made,
        location=old.location,
        owner=old.owner,
        created=old.created,
        properties={**kept, **given},
        serde_properties=old.serde_properties if made.file_format is old.file_format else {},
        replaced_by=old.replaced_by,
    )


def keeps_layout(old: Table, new: Table) -> bool:
    """Return whether rows of both definitions can be in one directory.

    The new table must begin with the columns of the old table; more columns can follow. The
    partition columns, buckets and format must be the same.
    """
    return _layout(old, len(old.columns)) == _layout(new, len(old.columns))


def _layout(table: Table, columns: int) -> tuple[object, ...]:
    """Return the properties of a table that determine how readers find rows in its directories.

    Args:
        table: the table.
        columns: number of the leading columns in files to compare.
    """
    return (
        [(c.stored_name, c.type.lower()) for c in table.columns[:columns]],
        [(c.stored_name, c.type.lower()) for c in table.partition_columns],
        table.num_buckets,
        [name.lower() for name in table.bucket_columns],
        table.bucketing_version if table.num_buckets else 0,
        table.file_format,
        table.insert_only,
    )


def _check_location(session: AcidSession, statement: CreateTable, old: Table) -> None:
    """Refuse another directory for a table that is replaced."""
    if statement.location is None:
        return
    given = session.files.qualify(statement.location)
    if given not in (old.location, _SUFFIX.sub("", old.location)):
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.REPLACE_LOCATION",
            f"{old.full_name} lies in {old.location}, and a table that replaces it cannot lie in "
            f"{given}: leave LOCATION out, or drop the table first",
        )


def _check_layout(session: AcidSession, old: Table, new: Table) -> None:
    """Refuse a new layout if no commit can publish it together with the rows, or a tag exists.

    A tag retains the old directories. Hive Metastores cannot publish new columns with the rows.
    """
    metastore = session.metastore
    if metastore.capabilities.replaces_tables:
        tags = () if keeps_layout(old, new) else metastore.tags(old.database, old.name)
        if tags:
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.REPLACE_TAGGED",
                f"{old.full_name} cannot be replaced by a table with other columns, partitions, "
                f"buckets or files, because its tag {tags[0].name} keeps the old ones: "
                f"ALTER TABLE {old.full_name} DROP TAG {quote(tags[0].name)} first",
            )
        return
    if keeps_layout(old, new) and len(old.columns) == len(new.columns):
        return
    other = f"{old.name}_new"
    raise AcidAnalysisError(
        "UNSUPPORTED_FEATURE.REPLACE_LAYOUT",
        f"{old.full_name} cannot be replaced by a table with other columns, partitions, buckets or "
        "files, because a Hive Metastore changes those before it commits the rows, and readers "
        f"would see one without the other: CREATE TABLE {other} … AS SELECT, then DROP TABLE "
        f"{old.name} and ALTER TABLE {other} RENAME TO {old.name}",
    )


def operation_of(statement: CreateTable) -> str:
    """Return the name of a replacement in the history of its table."""
    words = "REPLACE TABLE" if statement.replace_table else "CREATE OR REPLACE TABLE"
    return words if statement.query is None else f"{words} AS SELECT"


def _replace(
    session: AcidSession, statement: CreateTable, old: Table, text: str | None
) -> DataFrame:
    # Plan first without a lock, so that a refused statement takes no lock and no write id.
    new, _ = planned(session, latest_snapshot(session), statement, old)
    in_place = keeps_layout(old, new)
    recorded = RecordedStatement(operation=operation_of(statement), text=text)
    intent = replace_intent(old, recorded)
    if in_place:
        intent = insert_intent(old, recorded, overwrite=True)
    with write_transaction(session, intent) as write:
        # Plan again under the lock, to read rows that others have added in the meantime.
        new, rows = planned(session, events.snapshot_of(write), statement, write.table)
        if keeps_layout(write.table, new) is not in_place:
            raise failures.table_replaced(write.table)
        inserted = (_write_in_place if in_place else _write_apart)(write, new, rows)
    if rows is None:
        return result.nothing(session.spark)
    return result.counts(session.spark, affected=inserted, inserted=inserted)


def _write_in_place(write: TableWrite, new: Table, rows: DataFrame | None) -> int:
    """Replace the rows and the definition of a table, and commit; return the number of rows."""
    outcome = _write_rows(write, new, rows)
    every: set[tuple[str, ...]] = {()}
    if write.table.partition_columns:
        every = {p.values for p in write.partitions()}
    if new != write.table:
        write.changes.append(AlterTable(before=write.table, after=new))
    inserted = outcome.events(deletes=False)
    changed = publish_empty(write, outcome, every)
    write.commit(changed, WriteCounts(inserted=inserted, deleted=None))
    return inserted


def _write_apart(write: TableWrite, new: Table, rows: DataFrame | None) -> int:
    """Write rows to a new directory and commit it with the new definition; return their number."""
    place = f"{_SUFFIX.sub('', new.location)}_acidsql_{write.txn_id}"
    new = replace(new, location=place)
    write.replace_table(new)
    outcome = _write_rows(write, new, rows)
    inserted = outcome.events(deletes=False)
    changed = [outcome.changed(write.intent.operation, deletes=False)]
    write.commit(changed, WriteCounts(inserted=inserted, deleted=None))
    return inserted


def _write_rows(write: TableWrite, new: Table, rows: DataFrame | None) -> WriteResult:
    if rows is None:
        return WriteResult(finished=())
    shape = write_schema.write_schema_of(write.session, new)
    return write_query(write, shape, rows, None if new.partition_columns else ())
