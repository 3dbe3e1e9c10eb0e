"""Databases, tables and views of the Hive Metastore."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from acidsql.errors import AcidAnalysisError, AcidSqlError, MetastoreError, WriteConflictError
from acidsql.limits import limits
from acidsql.metastore import failures
from acidsql.metastore.hive import constraints
from acidsql.metastore.hive.conversions import (
    DDL_TIME,
    STATISTICS,
    ColumnConstraints,
    from_hive,
    is_ours,
    to_hive,
)
from acidsql.metastore.hive.idl import hms
from acidsql.metastore.hive.server import CAPABILITIES, CATALOG, PROCESSOR, Server
from acidsql.metastore.model import Column, Table, TableType
from acidsql.metastore.names import lowered

DEFAULT_DATABASE = "default"
# Message with which Hive 4 refuses to alter a table that has another time of change.
_MODIFIED = "The table has been modified"
# Keeps the server from listing the files of a table to count rows and bytes.
NO_STATISTICS = {"DO_NOT_UPDATE_STATS": "true"}


def create_database(server: Server, name: str, location: str, comment: str | None) -> None:
    """Create a database (``Metastore.create_database``)."""
    database = hms.Database(
        name=lowered(name),
        description=comment,
        locationUri=location or None,
        parameters={},
        ownerName=server.user,
        ownerType=hms.PrincipalType.USER,
    )
    try:
        server.call("create_database", database, repeatable=False)
    except hms.AlreadyExistsException as error:
        raise failures.schema_exists(name) from error
    except hms.InvalidObjectException as error:
        raise _invalid(name, error) from error


def drop_database(server: Server, name: str) -> None:
    """Drop an empty database (``Metastore.drop_database``)."""
    if lowered(name) == DEFAULT_DATABASE:
        raise failures.default_schema_stays()
    database(server, name)  # Hive 3.1 fails with a null pointer where there is none
    try:
        server.call("drop_database", lowered(name), False, False, repeatable=False)
    except hms.NoSuchObjectException as error:
        raise failures.schema_not_found(name) from error
    except hms.InvalidOperationException as error:
        raise failures.schema_not_empty(name) from error


def databases(server: Server) -> tuple[str, ...]:
    """Return the names of all databases, sorted (``Metastore.databases``)."""
    return tuple(sorted(server.call("get_all_databases")))


def database(server: Server, name: str) -> Any:
    """Return the server's database (``hms.Database``)."""
    try:
        return server.call("get_database", lowered(name))
    except hms.NoSuchObjectException as error:
        raise failures.schema_not_found(name) from error


def database_location(server: Server, name: str) -> str:
    """Return the location of a database's managed tables (``Metastore.database_location``).

    The rule is Warehouse.getDatabaseManagedPath. Hive 4 may keep managed and external tables apart;
    the database's own location is then that of its external tables.
    """
    found = database(server, name)
    if found.managedLocationUri:
        return str(found.managedLocationUri)
    external = (
        server.setting("hive.metastore.warehouse.external.dir", "") if server.is_hive4 else ""
    )
    if external and f"{_path(found.locationUri)}/".startswith(f"{_path(external)}/"):
        root = server.setting("hive.metastore.warehouse.dir", "")
        if root and _path(root) != _path(external):
            own = "" if found.name == DEFAULT_DATABASE else f"/{found.name}.db"
            return root.rstrip("/") + own
    return str(found.locationUri)


def _path(uri: str) -> str:
    """Return the path of a URI, without scheme and authority, which servers write in different
    ways.
    """
    _, separator, rest = uri.partition(":")
    path = rest if separator else uri
    if path.startswith("//"):
        path = "/" + path[2:].partition("/")[2]
    return path.rstrip("/")


def create_table(server: Server, table: Table) -> None:
    """Create a table or view (``Metastore.create_table``)."""
    not_null, defaults = constraints.for_new_table(table)
    made = to_hive(table)
    try:
        if server.is_hive4:
            request = hms.CreateTableRequest(
                table=made,
                notNullConstraints=not_null,
                defaultConstraints=defaults,
                processorCapabilities=list(CAPABILITIES),
                processorIdentifier=PROCESSOR,
            )
            server.call("create_table_req", request, repeatable=False)
        else:
            of_others: list[Any] = []
            arguments = (made, of_others, of_others, of_others, not_null, defaults, of_others)
            server.call("create_table_with_constraints", *arguments, repeatable=False)
    except hms.AlreadyExistsException as error:
        raise failures.table_exists(table.database, table.name) from error
    except hms.InvalidObjectException as error:
        database(server, table.database)
        raise _invalid(table.full_name, error) from error
    except MetastoreError as error:
        raise _place_refused(table, error) from error


def _place_refused(table: Table, error: MetastoreError) -> AcidSqlError:
    """Return the error for a location that Hive 4 refuses: managed tables must lie below the
    warehouse.

    The rule is in MetastoreDefaultTransformer. Other errors are returned as they are.
    """
    if "managed table's location" not in error.message:
        return error
    return AcidAnalysisError(
        "LOCATION_OUTSIDE_WAREHOUSE",
        f"the metastore does not allow {table.full_name} at {table.location}: leave LOCATION out, "
        "or name a place below the managed location of the warehouse or of the database",
    )


def _invalid(name: str, error: Any) -> AcidAnalysisError:
    return AcidAnalysisError(
        "INVALID_OBJECT",
        f"the metastore refuses {name}: {error.message}; names have letters of the English "
        "alphabet, digits and underscores",
    )


def convert(server: Server, table: Table) -> None:
    """Make a plain table of the server transactional.

    Its statistics are removed: nothing guarantees that they are right.
    """
    existing = fetch_any(server, table.database, table.name)
    if existing is None:
        raise failures.table_not_found(table.database, table.name)
    altered = to_hive(table, existing)
    altered.tableType = TableType.MANAGED.value
    altered.parameters = {k: v for k, v in altered.parameters.items() if k not in STATISTICS}
    send_altered(server, existing, altered)


def drop_table(server: Server, database_name: str, name: str, *, delete_data: bool = False) -> None:
    """Drop a table (``Metastore.drop_table``), and have the server delete its files or not."""
    arguments = (lowered(database_name), lowered(name), delete_data, None)
    try:
        server.call("drop_table_with_environment_context", *arguments, repeatable=False)
    except hms.NoSuchObjectException as error:
        raise failures.table_not_found(database_name, name) from error


def fetch_table(server: Server, database_name: str, name: str) -> Any:
    """Return the server's table if it is transactional or a view, else None."""
    found = fetch_any(server, database_name, name)
    return found if found is not None and is_ours(found) else None


def fetch_any(server: Server, database_name: str, name: str) -> Any:
    """Return the server's table of any kind, or None."""
    request = hms.GetTableRequest(
        dbName=lowered(database_name),
        tblName=lowered(name),
        capabilities=hms.ClientCapabilities(values=[hms.ClientCapability.INSERT_ONLY_TABLES]),
        processorCapabilities=list(CAPABILITIES),
        processorIdentifier=PROCESSOR,
    )
    try:
        return server.call("get_table_req", request).table
    except hms.NoSuchObjectException:
        return None


def convert_table(server: Server, found: Any) -> Table:
    """Convert the server's table to a ``Table``, with its constraints; a view has none."""
    if found.tableType == TableType.VIEW.value:
        return from_hive(found, ColumnConstraints(defaults={}))
    return from_hive(found, constraints.of_table(server, found.dbName, found.tableName))


def alter_table(server: Server, existing: Any, table: Table) -> None:
    """Replace the definition of a table (``Metastore.alter_table``).

    Args:
        existing: the server's table.
        table: its new definition.
    """
    of_view = table.table_type is TableType.VIEW
    altered = to_hive(table, existing)
    anew = not server.is_hive4 and altered.sd.cols != existing.sd.cols
    changed = None if of_view else constraints.changes(server, table, anew=anew)
    if changed is not None:
        constraints.drop(server, table, changed.dropped)
    send_altered(server, existing, altered)
    if changed is not None:
        constraints.add(server, changed)


def replace_table(server: Server, existing: Any, before: Table, after: Table) -> None:
    """Replace the definition of a table if it is still the one that was read.

    Raises:
        WriteConflictError: CONCURRENT_WRITE.
    """
    if not _is(from_hive(existing, ColumnConstraints(defaults={})), before):
        raise altered_by_others(existing.dbName, existing.tableName)
    try:
        alter_table(server, existing, after)
    except (AcidAnalysisError, WriteConflictError):
        if before.table_type is not TableType.VIEW:
            changed = constraints.changes(server, before, anew=False)
            constraints.drop(server, before, changed.dropped)
            constraints.add(server, changed)
        raise


def _is(current: Table, made: Table) -> bool:
    """Return whether a table is as it was made, but for constraints."""
    return current == replace(
        made,
        columns=_unconstrained(made.columns),
        partition_columns=_unconstrained(made.partition_columns),
    )


def _unconstrained(columns: Sequence[Column]) -> tuple[Column, ...]:
    return tuple(replace(column, nullable=True, default=None) for column in columns)


def send_altered(server: Server, existing: Any, altered: Any, **context: Any) -> None:
    """Replace a table of the server by another version of it, perhaps of another name.

    Hive 4 does so only if the table still has the time of change with which it was fetched
    (HiveAlterHandler, ``expected_parameter_key``). Every alteration gives it a later one, except
    those that only mark statistics as out of date: two of them may cross each other.

    Args:
        context: of Hive 4: ``writeId`` and ``validWriteIdList``, where a transaction vouches for
            changed statistics.

    Raises:
        WriteConflictError: CONCURRENT_WRITE, somebody has altered or dropped it since.
    """
    before = (existing.parameters or {}).get(DDL_TIME, "")
    if "writeId" not in context:
        altered.parameters[DDL_TIME] = _later(before)
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
    """Send an altered table, with the time of change that the server compares, if it can."""
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


def _later(changed: str) -> str:
    """Return the time in seconds since 1970 for a change after another one."""
    before = int(changed) if changed.isdecimal() else 0
    return str(max(int(time.time()), before + 1))


def _is_altered(server: Server, altered: Any) -> bool:
    """Return whether the table is as it was to be: the call was sent again after its answer was
    lost, and the server refused what it had done before.
    """
    found = fetch_any(server, altered.dbName, altered.tableName)
    if found is None:
        return False
    wanted = (altered.sd.cols, altered.partitionKeys, altered.createTime)
    same = wanted == (found.sd.cols, found.partitionKeys, found.createTime)
    return bool(same and altered.parameters.items() <= found.parameters.items())


def altered_by_others(database_name: str, name: str) -> WriteConflictError:
    """Return the error for a table that another client altered at the same time."""
    return WriteConflictError(
        "CONCURRENT_WRITE",
        f"{database_name}.{name} was altered or dropped by another client at the same time, and is "
        "as that client left it; run the statement again",
        {"object": f"{database_name}.{name}"},
    )


def tables(server: Server, database_name: str) -> tuple[str, ...]:
    """Return the names of transactional tables and views, sorted (``Metastore.tables``)."""
    database(server, database_name)
    names = sorted(server.call("get_all_tables", lowered(database_name)))
    return tuple(t.tableName for t in definitions(server, database_name, names) if is_ours(t))


def definitions(server: Server, database_name: str, names: Sequence[str]) -> list[Any]:
    """Return the server's tables of these names, sorted by name."""
    found = []
    for start in range(0, len(names), limits().tables_per_call):
        request = hms.GetTablesRequest(
            dbName=lowered(database_name),
            tblNames=list(names[start : start + limits().tables_per_call]),
            capabilities=hms.ClientCapabilities(values=[hms.ClientCapability.INSERT_ONLY_TABLES]),
            processorCapabilities=list(CAPABILITIES),
            processorIdentifier=PROCESSOR,
        )
        found += server.call("get_table_objects_by_name_req", request).tables
    return sorted(found, key=lambda table: str(table.tableName))


def rename_table(server: Server, existing: Any, new_database: str, new_name: str) -> None:
    """Rename a table (``Metastore.rename_table``).

    The server moves a managed table that lies in its default place, with its partitions
    (HiveAlterHandler).
    """
    new_database, new_name = lowered(new_database), lowered(new_name)
    database(server, new_database)
    if fetch_any(server, new_database, new_name) is not None:
        raise failures.table_exists(new_database, new_name)
    altered = copy.deepcopy(existing)
    altered.dbName, altered.tableName = new_database, new_name
    send_altered(server, existing, altered)


def table_at(server: Server, location: str, database_name: str) -> Table | None:
    """Find the managed table that overlaps a location (``Metastore.table_at``)."""
    place = f"{_path(location)}/"
    named = {part[:-3] for part in place.split("/") if part.endswith(".db")}
    for candidate in sorted({lowered(database_name), DEFAULT_DATABASE, *named}):
        names = server.call("get_all_tables", candidate)
        for table in filter(is_ours, definitions(server, candidate, names)):
            taken = f"{_path(table.sd.location or '')}/"
            overlaps = place.startswith(taken) or taken.startswith(place)
            if overlaps and table.tableType == TableType.MANAGED.value:
                return from_hive(table, ColumnConstraints(defaults={}))
    return None
