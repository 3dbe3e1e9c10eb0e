"""CREATE and DROP of databases and views, and USE."""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame
from pyspark.sql.catalog import Table as CatalogTable

from acidsql import bridge
from acidsql.commands import result
from acidsql.commands.definitions import check_unique
from acidsql.errors import AcidAnalysisError, AcidLookupError, quoted_name
from acidsql.format.identifiers import lowered
from acidsql.metastore import catalog_changes, failures
from acidsql.metastore.model import Column, Table, TableType
from acidsql.planning.name_resolution import (
    already_exists,
    find,
    in_metastore,
    known_to_spark,
    names_temp_view,
    qualified,
)
from acidsql.planning.parsed_statement import parse_and_resolve
from acidsql.planning.statement import VIEW_DATABASE, VIEW_TEMPORARY
from acidsql.planning.statement_snapshots import latest_snapshot
from acidsql.planning.views import as_declared
from acidsql.session.acid_session import AcidSession, mirror_database
from acidsql.session.table_owner import check_owner
from acidsql.storage.filesystem import child
from acidsql.syntax.alter_statements import SetDatabaseProperties, UnsetDatabaseProperties
from acidsql.syntax.lexer import quote
from acidsql.syntax.literals import quoted_string
from acidsql.syntax.nodes import Name, Span
from acidsql.syntax.statements import (
    AlterViewAs,
    CreateDatabase,
    CreateView,
    DropDatabase,
    DropView,
    Use,
)
from acidsql.transactions.transaction import exclusive_request, locked_definition, transaction

logger = logging.getLogger(__name__)


def create_database(session: AcidSession, statement: CreateDatabase) -> DataFrame | None:
    """Run CREATE DATABASE, in the metastore and in Spark's catalog."""
    name = _database(session, statement.name)
    if name is None:
        return None
    if session.has_database(name):
        if statement.if_not_exists:
            mirror_database(session, name)
            return result.nothing(session.spark)
        raise AcidAnalysisError(
            "SCHEMA_ALREADY_EXISTS",
            f"database {name} exists already: use another name or IF NOT EXISTS",
            {"schemaName": quoted_name([name])},
        )
    failures.check_name(name)
    place = statement.location
    if place is None and not session.metastore.capabilities.chooses_locations:
        place = child(session.warehouse, f"{name}.db")
    location = "" if place is None else session.files.qualify(place)
    session.metastore.create_database(name, location, statement.comment, statement.properties)
    mirror_database(session, name, statement.comment)
    return result.nothing(session.spark)


def drop_database(session: AcidSession, statement: DropDatabase) -> DataFrame | None:
    """Run DROP DATABASE, in the metastore and in Spark's catalog.

    The database must be empty unless CASCADE is given.
    """
    name = _database(session, statement.name)
    if name is None or not session.has_database(name):
        return None
    mirror_database(session, name)
    location = session.database_location(name)
    tables = session.metastore.tables(name)
    if tables and not statement.cascade:
        raise AcidAnalysisError(
            "SCHEMA_NOT_EMPTY",
            f"database {name} holds {tables[0]}: drop its tables first, or use CASCADE",
            {"schemaName": quoted_name([name])},
        )
    if not statement.cascade and _spark_tables(session, name):
        session.spark.sql(statement.text)  # raises
    dropped = [session.metastore.table(name, table) for table in tables]
    for table in dropped:
        check_owner(session, table)
    with transaction(session) as opened:
        held = [exclusive_request(table) for table in dropped]
        if held:
            opened.wait_for_locks(held)
        made: list[catalog_changes.CatalogChange] = [
            catalog_changes.DropTable(table=locked_definition(session, table)) for table in dropped
        ]
        if not session.metastore.capabilities.has_other_clients:
            made.append(catalog_changes.DropDatabase(name=name, location=location))
        opened.commit(made)
    _drop_in_spark(session, name, location, statement.text)
    if session.has_database(name):  # Spark's catalog may be the same metastore
        session.metastore.drop_database(name)
    session.files.delete_if_empty(location)
    return result.nothing(session.spark)


def alter_database(
    session: AcidSession, statement: SetDatabaseProperties | UnsetDatabaseProperties
) -> DataFrame | None:
    """Set or remove DBPROPERTIES in the metastore; Spark then runs the statement in its catalog.

    Raises:
        ParseException: this version of Spark does not have the statement.
    """
    name = _database(session, statement.name)
    if name is None or not session.has_database(name):
        return None
    bridge.parse(session.spark, statement.text)
    mirror_database(session, name)
    changed: Mapping[str, str | None]
    if isinstance(statement, SetDatabaseProperties):
        changed = statement.properties
    else:
        changed = dict.fromkeys(statement.keys)
    session.metastore.change_database_properties(name, changed)
    return None


def _spark_tables(session: AcidSession, database: str) -> list[CatalogTable]:
    """Return the tables and views that Spark's catalog has in a database."""
    place = f"spark_catalog.{quote(database)}"
    tables = session.spark.catalog.listTables(place)
    return [table for table in tables if not table.isTemporary]


def _drop_in_spark(session: AcidSession, name: str, location: str, text: str) -> None:
    """Have Spark drop a database after the metastore has dropped its tables.

    Spark's catalog deletes the directory of a database with all its content, including files that
    others have added meanwhile. So the location of the database is first set to a directory that
    does not exist.
    """
    if not session.spark.catalog.databaseExists(f"spark_catalog.{quote(name)}"):
        return
    # With the database, Spark's in-memory catalog would drop only the entries of the tables. It
    # relies on the deletion of the directory to delete their files.
    for table in _spark_tables(session, name):
        kind = "VIEW" if table.tableType == "VIEW" else "TABLE"
        place = f"spark_catalog.{quote(name)}.{quote(table.name)}"
        session.spark.sql(f"DROP {kind} IF EXISTS {place}")
    nowhere = quoted_string(f"{location}_{uuid.uuid4().hex}")
    try:
        session.spark.sql(f"ALTER DATABASE spark_catalog.{quote(name)} SET LOCATION {nowhere}")
    except AnalysisException as error:
        # A catalog of Hive 2 cannot change the location, so the directory must be empty.
        if session.files.exists(location) and not session.files.delete_if_empty(location):
            logger.warning(
                "Spark keeps the database %s, whose directory is in use: %s", name, error
            )
            return
    session.spark.sql(text)


def use(session: AcidSession, statement: Use) -> DataFrame | None:
    """Add a database of the metastore to Spark's catalog; Spark then runs USE itself."""
    name = _database(session, statement.name)
    if name is not None and session.has_database(name):
        mirror_database(session, name)
    return None


def _database(session: AcidSession, parts: Name) -> str | None:
    """Return the name of a database of spark_catalog, or None."""
    name = qualified(session, (*parts, "t"))
    return name[0] if name and len(parts) <= 2 else None


def create_view(session: AcidSession, statement: CreateView) -> DataFrame | None:
    """Run CREATE VIEW if it reads ACID tables, or names a table or view of the metastore.

    The metastore stores the text of the query, and each use of the view resolves it again.

    Returns:
        None for other views, which are Spark's.
    """
    query = statement.query.of(statement.text)
    parsed = parse_and_resolve(session, query)
    if not parsed.tables and not _is_in_metastore(session, statement):
        return None
    for clause in statement.unsupported:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.CREATE_VIEW",
            f"{clause} is not supported in a view of ACID tables: leave it out",
        )
    temporary = {r.parts for r in parsed.references if names_temp_view(session, r.parts)}
    # Global temporary views live equally long, and their names are qualified by their database.
    outlived = {p for p in temporary if not (statement.global_temporary and len(p) > 1)}
    if outlived and not statement.temporary:
        raise AcidAnalysisError(
            "INVALID_TEMP_OBJ_REFERENCE",
            f"{'.'.join(statement.name)} would outlive the temporary view "
            f"{'.'.join(min(outlived))}: use CREATE TEMPORARY VIEW",
        )
    snapshot = latest_snapshot(session)
    frame = bridge.frame_of(session.spark, snapshot.plan_of(parsed))
    place = None if statement.temporary else qualified(session, statement.name)
    if statement.global_temporary:
        place = lowered(bridge.global_temp_database(session.spark)), lowered(statement.name[-1])
    if statement.or_replace and (place or ("", lowered(statement.name[-1]))) in snapshot.views:
        raise AcidAnalysisError(
            "RECURSIVE_VIEW",
            f"{'.'.join(statement.name)} would read itself: use another name",
            {"viewIdent": quoted_name(statement.name)},
        )
    columns: tuple[Column, ...] = ()
    if statement.columns is not None:
        columns = _view_columns(session, statement.text, statement.columns)
        frame = as_declared(frame, columns)
    check_unique(frame.columns, "the view")
    view = Table(
        database="",
        name=statement.name[-1],
        columns=columns,
        table_type=TableType.VIEW,
        view_text=query,
        properties={
            **statement.properties,
            **({} if statement.comment is None else {"comment": statement.comment}),
            VIEW_DATABASE: session.spark.catalog.currentDatabase(),
            **({VIEW_TEMPORARY: json.dumps(_local_names(temporary))} if temporary else {}),
        },
        owner=session.user,
        created=int(time.time()),
    )
    if statement.temporary:
        session.temp_views.create(view, frame, replace=statement.or_replace)
        return result.nothing(session.spark)
    if statement.global_temporary and place is not None:
        placed = replace(view, database=place[0])
        session.temp_views.create_global(placed, frame, replace=statement.or_replace)
        return result.nothing(session.spark)
    return _create_view(session, statement, view)


def alter_view_as(session: AcidSession, statement: AlterViewAs) -> DataFrame | None:
    """Run ALTER VIEW … AS on a view of the metastore; the view keeps its comment and properties.

    Returns:
        None for other views, which are Spark's.
    """
    view = find(session, statement.name)
    if view is None or view.table_type is not TableType.VIEW:
        return None
    internal = (VIEW_DATABASE, VIEW_TEMPORARY)
    return create_view(
        session,
        CreateView(
            text=statement.text,
            name=statement.name,
            name_span=statement.name_span,
            query=statement.query,
            or_replace=True,
            properties={
                key: value for key, value in view.properties.items() if key not in internal
            },
        ),
    )


def _view_columns(session: AcidSession, text: str, span: Span) -> tuple[Column, ...]:
    """Return the columns that CREATE VIEW lists, with their comments; their types are unknown."""
    try:
        given = bridge.parse_view_columns(session.spark, span.of(text))
    except ParseException:
        bridge.parse(session.spark, text)  # the error shows the whole statement
        raise
    return tuple(Column(name=name, type="string", comment=comment) for name, comment in given)


def _local_names(temporary: Iterable[Name]) -> list[str]:
    """Return the names of temporary views that are not qualified by a database, sorted."""
    return sorted(lowered(name[0]) for name in temporary if len(name) == 1)


def _is_in_metastore(session: AcidSession, statement: CreateView) -> bool:
    """Return whether the metastore has a table or view with the name of a persistent view."""
    if statement.temporary or statement.global_temporary:
        return False
    return in_metastore(session, statement.name)


def _create_view(session: AcidSession, statement: CreateView, view: Table) -> DataFrame:
    name = qualified(session, statement.name)
    if name is None:
        raise AcidLookupError(
            "SCHEMA_NOT_FOUND",
            f"{'.'.join(statement.name)} is not in spark_catalog: write database.view",
            {"schemaName": quoted_name(statement.name[:-1])},
        )
    placed = replace(view, database=name[0], name=name[1])
    session.metastore.check_table(placed)
    existing = find(session, name)
    spark_has_it = existing is None and known_to_spark(session, name)
    if (existing or spark_has_it) and not statement.or_replace:
        if statement.if_not_exists:
            return result.nothing(session.spark)
        raise already_exists(name)
    if spark_has_it:
        # Spark refuses this if the name is that of a table.
        session.spark.sql(f"DROP VIEW {'.'.join(map(quote, name))}")
    if existing is not None and existing.table_type is TableType.MANAGED:
        raise AcidAnalysisError(
            "EXPECT_VIEW_NOT_TABLE",
            f"{existing.full_name} is a table: drop it first",
            {
                "tableName": quoted_name([existing.database, existing.name]),
                "operation": "CREATE OR REPLACE VIEW",
            },
        )
    if existing is not None:
        session.metastore.alter_table(placed)
    else:
        session.metastore.create_table(placed)
    return result.nothing(session.spark)


def drop_view(session: AcidSession, statement: DropView) -> DataFrame | None:
    """Run DROP VIEW on a view of the metastore; return None for other views, which are Spark's."""
    view = find(session, statement.name)
    if view is None:
        return None
    if view.table_type is not TableType.VIEW:
        raise AcidAnalysisError(
            "EXPECT_VIEW_NOT_TABLE",
            f"{'.'.join(statement.name)} is a table: use DROP TABLE",
            {"tableName": quoted_name([view.database, view.name]), "operation": "DROP VIEW"},
        )
    if names_temp_view(session, statement.name):
        return None
    session.metastore.drop_table(view.database, view.name)
    return result.nothing(session.spark)
