"""CREATE TEMPORARY TABLE: ACID tables that only one session sees, and that end with it.

Such a table has a generated name in the current database of the metastore, so that transactions,
maintenance and all statements treat it as any other table. Spark has a temporary view with the name
that the user gave. So the name follows Spark's rules for temporary views: it takes precedence over
other tables, and only the session sees it. The view raises an error if Spark reads it without
acidsql.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from acidsql import bridge
from acidsql.commands import result
from acidsql.commands.drop_table import drop
from acidsql.errors import AcidAnalysisError, quoted_name
from acidsql.metastore.model import Table
from acidsql.metastore.names import (
    TEMPORARY_PROCESS,
    is_temporary_table,
    temporary_table_name,
)
from acidsql.planning.name_resolution import CATALOG, names_temp_view, temporary_table
from acidsql.session.acid_session import AcidSession
from acidsql.session.at_work import at_work
from acidsql.session.process_identity import has_ended, this_process
from acidsql.syntax.lexer import quote
from acidsql.syntax.literals import quoted_string
from acidsql.syntax.statements import CreateTableLike

logger = logging.getLogger(__name__)

# Seconds that the end of a session waits for the locks of a temporary table.
_LOCK_TIMEOUT = 5.0

_creation = threading.Lock()

# A command of the dispatcher.
Command = Callable[[AcidSession, Any], DataFrame | None]


def or_temporary(create: Command) -> Command:
    """Return a command that also runs its statement with TEMPORARY.

    Args:
        create: command that creates a table; its statement has ``name``, ``temporary``,
            ``if_not_exists``, ``location`` and ``properties``.
    """

    def command(session: AcidSession, statement: Any) -> DataFrame | None:
        if statement.temporary:
            return _create(session, statement, create)
        return create(session, statement)

    return command


def _create(session: AcidSession, statement: Any, create: Command) -> DataFrame | None:
    """Create a temporary table.

    Raises:
        AcidAnalysisError: TEMP_TABLE_OR_VIEW_ALREADY_EXISTS; TEMP_VIEW_NAME_TOO_MANY_NAME_PARTS;
            UNSUPPORTED_FEATURE.TEMPORARY_TABLE_LOCATION; the errors of ``create``.
    """
    *qualifier, name = statement.name
    if qualifier:
        raise AcidAnalysisError(
            "TEMP_VIEW_NAME_TOO_MANY_NAME_PARTS",
            f"a temporary table belongs to no database: write {name} in place of "
            f"{'.'.join(statement.name)}",
            {"actualName": quoted_name(statement.name)},
        )
    if statement.location is not None:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.TEMPORARY_TABLE_LOCATION",
            f"the files of the temporary table {name} are deleted at the end of the session: leave "
            "LOCATION out",
        )
    replaces = getattr(statement, "or_replace", False)
    if names_temp_view(session, [name]) and not replaces:
        if statement.if_not_exists:
            return result.nothing(session.spark)
        raise AcidAnalysisError(
            "TEMP_TABLE_OR_VIEW_ALREADY_EXISTS",
            f"a temporary table or view {name} exists already: use another name, or drop it first",
            {"relationName": quoted_name([name])},
        )
    old = temporary_table(session, [name])
    catalog, current = bridge.current_namespace(session.spark)
    database = current if catalog == CATALOG else "default"
    hidden = temporary_table_name(name)
    changed: dict[str, bool] = {"or_replace": False} if replaces else {}
    if isinstance(statement, CreateTableLike):
        changed["transactional"] = True
    answer = create(
        session,
        replace(
            statement,
            name=(CATALOG, database, hidden),
            temporary=False,
            properties={**statement.properties, TEMPORARY_PROCESS: this_process()},
            **changed,
        ),
    )
    table = session.metastore.find_table(database, hidden)
    if answer is None or table is None:
        return None
    try:
        session.temp_views.create_table(name, table, _frame(session, name, table))
    except BaseException:
        drop(session, table)
        raise
    _drop_at_end(session)
    if old is not None:
        drop(session, old)
    _drop_leftovers(session, table.database)
    return answer


def _frame(session: AcidSession, name: str, table: Table) -> DataFrame:
    """Return a DataFrame with the columns of a table, which raises an error when it is executed."""
    message = quoted_string(
        f"{name} is a temporary table of acidsql: read it with acidsql.sql, or call "
        "acidsql.enable(spark) first"
    )
    columns = (*table.columns, *table.partition_columns)
    values = ", ".join(f"CAST(NULL AS {column.type}) AS {quote(column.name)}" for column in columns)
    return session.spark.sql(f"SELECT {values} WHERE raise_error({message}) IS NOT NULL")


def _drop_at_end(session: AcidSession) -> None:
    """Drop the temporary tables of a session when it ends, or before Spark stops."""
    with _creation:
        if session.temp_views.drop_tables is None:
            ending = _End(session)
            session.temp_views.drop_tables = ending.drop
            session.at_close.callback(ending.drop)
            bridge.before_stop(session.spark, ending.drop)


class _End:
    """End of a session with temporary tables."""

    def __init__(self, session: AcidSession) -> None:
        self._session = session

    def drop(self) -> None:
        """Drop the temporary tables; report in the log which of them cannot be dropped."""
        tables = self._session.temp_views.tables
        if not tables:
            return
        self._session.end_transactions()
        for table in list(tables.values()):
            with at_work():
                _drop_if_unlocked(self._session, table, _LOCK_TIMEOUT)


def _drop_if_unlocked(session: AcidSession, table: Table, timeout: float) -> None:
    """Drop a temporary table that nothing else needs; report in the log if this is impossible.

    Args:
        session: the session.
        table: table of the metastore; it may have been dropped.
        timeout: seconds to wait for its lock.
    """
    try:
        if session.metastore.find_table(table.database, table.name) is not None:
            drop(session, table, timeout)
    except (PySparkException, OSError) as error:
        logger.warning("the temporary table %s is left: %s", table.full_name, error)


def _drop_leftovers(session: AcidSession, database: str) -> None:
    """Drop the temporary tables of a database whose process on this machine was killed."""
    for name in filter(is_temporary_table, session.metastore.tables(database)):
        table = session.metastore.find_table(database, name)
        if table is not None and has_ended(table.properties.get(TEMPORARY_PROCESS, "")):
            logger.info(
                "the process of the temporary table %s was killed: dropped", table.full_name
            )
            drop(session, table)
