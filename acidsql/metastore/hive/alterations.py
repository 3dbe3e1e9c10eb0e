"""Alterations of tables in the Hive Metastore that do not undo the changes of other clients."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from acidsql.errors import AcidAnalysisError, MetastoreError, WriteConflictError
from acidsql.format.identifiers import lowered
from acidsql.injection_points import Point, reach
from acidsql.metastore import failures
from acidsql.metastore.hive import constraints, partitions
from acidsql.metastore.hive.catalog import NO_STATISTICS, database, fetch_any
from acidsql.metastore.hive.conversions import (
    ACCURATE,
    DDL_TIME,
    STATISTICS,
    ColumnConstraints,
    from_hive,
    to_hive,
)
from acidsql.metastore.hive.idl import hms
from acidsql.metastore.hive.server import CAPABILITIES, CATALOG, PROCESSOR, Server
from acidsql.metastore.hive.server_limits import check_table
from acidsql.metastore.model import Column, Table, TableType

# Message with which Hive 4 refuses to alter a table whose time of change differs.
_MODIFIED = "The table has been modified"
# Message with which Hive 4 refuses to move column statistics without a write id.
_NEEDS_WRITE_ID = "Cannot change stats state"


def convert(server: Server, table: Table) -> None:
    """Make a plain table of the server transactional.

    This removes its statistics, because they may be wrong.
    """
    existing = fetch_any(server, table.database, table.name)
    if existing is None:
        raise failures.table_not_found(table.database, table.name)
    altered = to_hive(table, existing)
    altered.tableType = TableType.MANAGED.value
    altered.parameters = {k: v for k, v in altered.parameters.items() if k not in STATISTICS}
    send_altered(server, existing, altered)


def alter_table(server: Server, existing: Any, table: Table, before: Table | None = None) -> None:
    """Replace the definition of a table (``Metastore.alter_table``).

    Args:
        existing: the server's table.
        table: its new definition.
        before: its definition, if it is known.
    """
    check_table(table)
    of_view = table.table_type is TableType.VIEW
    altered = to_hive(table, existing)
    recreate = not server.is_hive4 and altered.sd.cols != existing.sd.cols
    changed = (
        None if of_view else constraints.changes(server, table, recreate=recreate, before=before)
    )
    if changed is not None:
        constraints.drop(server, table, changed.dropped)
    if altered.sd.cols != existing.sd.cols and not server.moves_partition_statistics:
        partitions.forget_column_statistics(server, existing)
    send_altered(server, existing, altered)
    if changed is not None:
        constraints.add(server, changed)


def replace_table(server: Server, existing: Any, before: Table, after: Table) -> None:
    """Replace the definition of a table if no client has changed it since it was read.

    Raises:
        WriteConflictError: CONCURRENT_WRITE.
    """
    if not _is(from_hive(existing, ColumnConstraints(defaults={})), before):
        raise altered_by_others(existing.dbName, existing.tableName)
    try:
        alter_table(server, existing, after, before)
    except (AcidAnalysisError, WriteConflictError):
        if before.table_type is not TableType.VIEW:
            changed = constraints.changes(server, before, recreate=False, before=after)
            constraints.drop(server, before, changed.dropped)
            constraints.add(server, changed)
        raise


def rename_table(
    server: Server, existing: Any, new_database: str, new_name: str, **context: Any
) -> None:
    """Rename a table (``Metastore.rename_table``).

    If a managed table is in its default location, the server moves it with its partitions and its
    column statistics (HiveAlterHandler). To move column statistics of partitions, Hive 4.0 requires
    a write id.

    Args:
        context: see ``send_altered``, if a transaction renames the table.
    """
    new_database, new_name = lowered(new_database), lowered(new_name)
    database(server, new_database)
    if fetch_any(server, new_database, new_name) is not None:
        raise failures.table_exists(new_database, new_name)
    altered = copy.deepcopy(existing)
    altered.dbName, altered.tableName = new_database, new_name
    try:
        send_altered(server, existing, altered)
    except MetastoreError as error:
        if not context or _NEEDS_WRITE_ID not in error.message:
            raise
        altered.writeId = context["writeId"]
        send_altered(server, existing, altered, **context)


def send_altered(server: Server, existing: Any, altered: Any, **context: Any) -> None:
    """Replace a table of the server by a changed version, possibly with another name.

    Hive 4 does so only if the table still has the time of change with which acidsql fetched it
    (HiveAlterHandler, ``expected_parameter_key``). Every alteration sets a later time, except an
    alteration that only marks statistics as out of date. Two such alterations do not conflict.

    Args:
        existing: the server's table (``ServerTables.to_alter``).
        altered: its changed version.
        context: ``writeId`` and ``validWriteIdList`` for Hive 4, if a transaction changes the
            statistics.

    Raises:
        WriteConflictError: CONCURRENT_WRITE, another client has altered or dropped the table since.
    """
    reach(Point.BEFORE_ALTERING, existing)
    before = (existing.parameters or {}).get(DDL_TIME, "")
    if "writeId" not in context:
        altered.parameters[DDL_TIME] = _later(before)
        if _moves_column_statistics(existing, altered):
            # Hive 4 requires a write id to change these statistics, but not to drop them.
            altered.parameters.pop(ACCURATE, None)
    names = (existing.dbName, existing.tableName)
    try:
        _send(server, names, altered, before, context)
    except hms.InvalidOperationException as error:
        if _is_altered(server, altered):
            return
        raise AcidAnalysisError(
            "INVALID_ALTER_TABLE",
            f"the metastore refuses to change {names[0]}.{names[1]} ({error.message}): change the "
            "statement, or see the server's log",
        ) from error
    except MetastoreError as error:
        if _MODIFIED not in error.message:
            raise
        if _is_altered(server, altered):
            return
        raise altered_by_others(*names) from error


def _send(
    server: Server, names: tuple[str, str], altered: Any, before: str, context: Mapping[str, Any]
) -> None:
    """Send an altered table, with the expected time of change if the server can compare it."""
    properties = dict(NO_STATISTICS)
    if before and server.compares_before_alter:
        properties |= {"expected_parameter_key": DDL_TIME, "expected_parameter_value": before}
    environment = hms.EnvironmentContext(properties=properties)
    if not server.is_hive4:
        server.call("alter_table_with_environment_context", *names, altered, environment)
        return
    request = hms.AlterTableRequest(
        catName=CATALOG,
        dbName=names[0],
        tableName=names[1],
        table=altered,
        environmentContext=environment,
        processorCapabilities=list(CAPABILITIES),
        processorIdentifier=PROCESSOR,
        **context,
    )
    server.call("alter_table_req", request)


def _moves_column_statistics(existing: Any, altered: Any) -> bool:
    """Return whether the server must rewrite the column statistics of an altered table."""
    before, after = (
        (table.dbName, table.tableName, table.sd.cols) for table in (existing, altered)
    )
    return before != after and "COLUMN_STATS" in (existing.parameters or {}).get(ACCURATE, "")


def _later(changed: str) -> str:
    """Return a time in seconds since 1970 that is later than another time of change."""
    before = int(changed) if changed.isdecimal() else 0
    return str(max(int(time.time()), before + 1))


def _is_altered(server: Server, altered: Any) -> bool:
    """Return whether the table already has the requested state.

    In this case the answer to the first call was lost, the call was sent again, and the server
    refused to repeat it.
    """
    current = fetch_any(server, altered.dbName, altered.tableName)
    if current is None:
        return False
    wanted = (altered.sd.cols, altered.partitionKeys, altered.createTime)
    same = wanted == (current.sd.cols, current.partitionKeys, current.createTime)
    return bool(same and altered.parameters.items() <= current.parameters.items())


def _is(current: Table, made: Table) -> bool:
    """Return whether two definitions of a table are equal except for constraints."""
    return current == replace(
        made,
        columns=_unconstrained(made.columns),
        partition_columns=_unconstrained(made.partition_columns),
        constraints=(),
    )


def _unconstrained(columns: Sequence[Column]) -> tuple[Column, ...]:
    return tuple(replace(column, nullable=True, default=None) for column in columns)


def altered_by_others(database_name: str, name: str) -> WriteConflictError:
    """Return the error for a table that another client altered at the same time."""
    return WriteConflictError(
        "CONCURRENT_WRITE",
        f"{database_name}.{name} was altered or dropped by another client at the same time, and is "
        "as that client left it; run the statement again",
        {"object": f"{database_name}.{name}"},
    )
