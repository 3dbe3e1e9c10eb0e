"""CACHE TABLE, UNCACHE TABLE and CLEAR CACHE of tables and views of the metastore."""

from __future__ import annotations

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from acidsql import bridge
from acidsql.commands import result
from acidsql.commands.databases_and_views import create_view
from acidsql.errors import AcidAnalysisError
from acidsql.format.identifiers import lowered
from acidsql.metastore.model import Table
from acidsql.planning.name_resolution import find, qualified
from acidsql.planning.parsed_statement import refers_to_acid
from acidsql.planning.statement_snapshots import leased_snapshot
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.statements import CacheTable, ClearCache, CreateView, UncacheTable

_LEVEL = "storagelevel"


def cache_table(session: AcidSession, statement: CacheTable) -> DataFrame | None:
    """Run CACHE TABLE; with a query, create a temporary view first.

    Returns:
        None if the table or the tables of the query are Spark's.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE, Spark does not have the storage level.
    """
    if statement.query is not None:
        if not refers_to_acid(session, statement.query.of(statement.text)):
            return None
    elif find(session, statement.name) is None:
        return None
    level = _level(statement)
    if statement.query is not None:
        view = CreateView(
            text=statement.text,
            name=statement.name,
            name_span=statement.name_span,
            query=statement.query,
            temporary=True,
        )
        create_view(session, view)
    table = find(session, statement.name)
    if table is None:
        return None
    keep(session, table, level)
    if not statement.lazy:
        with leased_snapshot(session, kept=False) as snapshot:
            bridge.frame_of(session.spark, snapshot.relation(table)).count()
    return result.nothing(session.spark)


def uncache_table(session: AcidSession, statement: UncacheTable) -> DataFrame | None:
    """Run UNCACHE TABLE; return None if the table is Spark's or does not exist."""
    table = find(session, statement.name)
    place = qualified(session, statement.name) if table is None else _place(table)
    was_cached = place is not None and session.cached_relations.remove(place)
    return result.nothing(session.spark) if was_cached or table is not None else None


def clear_cache(session: AcidSession, _: ClearCache) -> None:
    """Forget the cached tables and views of the metastore; Spark then runs CLEAR CACHE itself."""
    session.cached_relations.clear()


def keep(session: AcidSession, table: Table, level: StorageLevel | None) -> None:
    """Cache a table or view of the metastore when it is read next."""
    session.cached_relations.add(_place(table), level)


def is_cached(session: AcidSession, table: Table) -> bool:
    """Return whether a table or view of the metastore is cached."""
    return _place(table) in session.cached_relations


def _place(table: Table) -> tuple[str, str]:
    return table.database, lowered(table.name)


def _level(statement: CacheTable) -> StorageLevel | None:
    names = {key.lower(): value for key, value in statement.properties.items()}
    if _LEVEL not in names:
        return None
    level = getattr(StorageLevel, names[_LEVEL].upper(), None)
    if not isinstance(level, StorageLevel):
        raise AcidAnalysisError(
            "INVALID_PARAMETER_VALUE",
            f"storageLevel is {names[_LEVEL]!r}: use one of Spark's, such as MEMORY_AND_DISK",
            {"parameter": "storageLevel"},
        )
    return level
