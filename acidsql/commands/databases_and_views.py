"""CREATE and DROP of databases and views, and USE."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from pyspark.sql import DataFrame

from acidsql import bridge
from acidsql.commands import result
from acidsql.errors import AcidAnalysisError, AcidLookupError, quoted_name
from acidsql.metastore import failures
from acidsql.metastore.model import Column, Table, TableType
from acidsql.planning.name_resolution import (
    already_exists,
    find,
    in_metastore,
    known_to_spark,
    names_temp_view,
    qualified,
)
from acidsql.planning.statement import (
    VIEW_DATABASE,
    VIEW_TEMPORARY,
    latest_snapshot,
    parse_and_resolve,
)
from acidsql.session.acid_session import AcidSession, mirror_database
from acidsql.storage.filesystem import child
from acidsql.syntax.lexer import quote
from acidsql.syntax.nodes import Name
from acidsql.syntax.statements import CreateDatabase, CreateView, DropDatabase, DropView, Use


def create_database(session: AcidSession, statement: CreateDatabase) -> DataFrame | None:
    """Run CREATE DATABASE, in the metastore and in Spark's own catalog."""
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
    place = statement.location or ""
    if not place and not session.metastore.capabilities.chooses_locations:
        place = child(session.warehouse, f"{name}.db")
    location = session.files.qualify(place) if place else ""
    session.metastore.create_database(name, location, statement.comment)
    mirror_database(session, name, statement.comment)
    return result.nothing(session.spark)


def drop_database(session: AcidSession, statement: DropDatabase) -> DataFrame | None:
    """Run DROP DATABASE, in the metastore and in Spark's own catalog.

    The database must be empty unless CASCADE is given.
    """
    name = _database(session, statement.name)
    if name is None or not session.has_database(name):
        return None
    mirror_database(session, name)
    tables = session.metastore.tables(name)
    if tables and not statement.cascade:
        raise AcidAnalysisError(
            "SCHEMA_NOT_EMPTY",
            f"database {name} holds {tables[0]}: drop its tables first, or use CASCADE",
            {"schemaName": quoted_name([name])},
        )
    session.spark.sql(statement.text)
    for table_name in tables:
        table = session.metastore.table(name, table_name)
        session.metastore.drop_table(name, table_name)
        if table.table_type is TableType.MANAGED:
            session.files.delete(table.location)
    if session.has_database(name):  # Spark's catalog may be the same metastore
        session.metastore.drop_database(name)
    return result.nothing(session.spark)


def use(session: AcidSession, statement: Use) -> DataFrame | None:
    """Make a database of the metastore known to Spark, which then runs USE itself."""
    name = _database(session, statement.name)
    if name is not None and session.has_database(name):
        mirror_database(session, name)
    return None


def _database(session: AcidSession, parts: Name) -> str | None:
    """Return the name of a database of spark_catalog, or None."""
    name = qualified(session, (*parts, "t"))
    return name[0] if name and len(parts) <= 2 else None


def create_view(session: AcidSession, statement: CreateView) -> DataFrame | None:
    """Run CREATE VIEW over ACID tables, or in place of a view of the metastore.

    The text is kept, and each query resolves it again. None for other views, which are Spark's.
    """
    query = statement.query.of(statement.text)
    found = parse_and_resolve(session, query)
    if not found.tables and not _names_own(session, statement):
        return None
    for clause in statement.unsupported:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.CREATE_VIEW",
            f"{clause} is not supported in a view of ACID tables: leave it out",
        )
    if statement.global_temporary:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.GLOBAL_TEMPORARY_VIEW",
            "a global temporary view of ACID tables is not supported: use CREATE TEMPORARY VIEW "
            "or CREATE VIEW",
        )
    temporary = {r.parts for r in found.references if names_temp_view(session, r.parts)}
    if temporary and not statement.temporary:
        raise AcidAnalysisError(
            "INVALID_TEMP_OBJ_REFERENCE",
            f"{'.'.join(statement.name)} would outlive the temporary view "
            f"{'.'.join(min(temporary))}: use CREATE TEMPORARY VIEW",
        )
    snapshot = latest_snapshot(session)
    frame = bridge.frame_of(session.spark, snapshot.plan_of(found))
    place = None if statement.temporary else qualified(session, statement.name)
    if statement.or_replace and (place or ("", statement.name[-1].lower())) in snapshot.views:
        raise AcidAnalysisError(
            "RECURSIVE_VIEW",
            f"{'.'.join(statement.name)} would read itself: use another name",
            {"viewIdent": quoted_name(statement.name)},
        )
    columns: tuple[Column, ...] = ()
    if statement.columns is not None:
        names = bridge.parse_names(session.spark, statement.columns.of(statement.text)) or ()
        frame = frame.toDF(*names)
        columns = tuple(Column(name=n, type="string") for n in names)
    taken = Counter(name.lower() for name in frame.columns)
    for name, count in taken.items():
        if count > 1:
            raise AcidAnalysisError(
                "COLUMN_ALREADY_EXISTS",
                f"the view has two columns {name}: rename one of them",
                {"columnName": quoted_name([name])},
            )
    view = Table(
        database="",
        name=statement.name[-1],
        columns=columns,
        table_type=TableType.VIEW,
        view_text=query,
        properties={
            VIEW_DATABASE: session.spark.catalog.currentDatabase(),
            **({VIEW_TEMPORARY: json.dumps(_local_names(temporary))} if temporary else {}),
        },
        owner=session.user,
        created=int(time.time()),
    )
    if statement.temporary:
        session.temp_views.create(view, frame, replace=statement.or_replace)
        return result.nothing(session.spark)
    return _create_view(session, statement, view)


def _local_names(temporary: Iterable[Name]) -> list[str]:
    """Return the names of temporary views that are not qualified by a database, sorted."""
    return sorted(name[0].lower() for name in temporary if len(name) == 1)


def _names_own(session: AcidSession, statement: CreateView) -> bool:
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
    existing = find(session, name)
    spark_has_it = existing is None and known_to_spark(session, name)
    if (existing or spark_has_it) and not statement.or_replace:
        if statement.if_not_exists:
            return result.nothing(session.spark)
        raise already_exists(name)
    if spark_has_it:
        # Refused by Spark if it is a table.
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
    placed = replace(view, database=name[0], name=name[1])
    if existing is not None:
        session.metastore.alter_table(placed)
    else:
        session.metastore.create_table(placed)
    return result.nothing(session.spark)


def drop_view(session: AcidSession, statement: DropView) -> DataFrame | None:
    """Run DROP VIEW of a view of the metastore; None for other views, which are Spark's."""
    if bridge.is_temp_view(session.spark, statement.name):
        return None
    view = find(session, statement.name)
    if view is None:
        return None
    if view.table_type is not TableType.VIEW:
        raise AcidAnalysisError(
            "EXPECT_VIEW_NOT_TABLE",
            f"{view.full_name} is a table: use DROP TABLE",
            {"tableName": quoted_name([view.database, view.name]), "operation": "DROP VIEW"},
        )
    session.metastore.drop_table(view.database, view.name)
    return result.nothing(session.spark)
