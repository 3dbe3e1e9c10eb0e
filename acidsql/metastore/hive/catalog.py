"""Databases, tables and views of the Hive Metastore."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from acidsql.errors import AcidAnalysisError, AcidSqlError, MetastoreError
from acidsql.format.identifiers import lowered
from acidsql.limits import limits
from acidsql.metastore import failures
from acidsql.metastore.hive import constraints
from acidsql.metastore.hive.conversions import (
    ColumnConstraints,
    from_hive,
    is_ours,
    to_hive,
)
from acidsql.metastore.hive.idl import hms
from acidsql.metastore.hive.server import CAPABILITIES, PROCESSOR, Server
from acidsql.metastore.hive.server_limits import check_table
from acidsql.metastore.hive.table_constraints import is_name_taken, name_exists
from acidsql.metastore.model import Table, TableType

DEFAULT_DATABASE = "default"
# Prevents the server from listing the files of a table to count rows and bytes.
NO_STATISTICS = {"DO_NOT_UPDATE_STATS": "true"}


def create_database(
    server: Server, name: str, location: str, comment: str | None, properties: Mapping[str, str]
) -> None:
    """Create a database (``Metastore.create_database``)."""
    made = hms.Database(
        name=lowered(name),
        description=comment,
        locationUri=location or None,
        parameters=dict(properties),
        ownerName=server.user,
        ownerType=hms.PrincipalType.USER,
    )
    try:
        server.call_once("create_database", made, is_done=lambda: _is_made(server, made))
    except hms.AlreadyExistsException as error:
        raise failures.schema_exists(name) from error
    except hms.InvalidObjectException as error:
        raise _invalid(name, error) from error


def _is_made(server: Server, made: Any) -> bool:
    """Return whether the database exists as this user requested it."""
    try:
        existing = server.call("get_database", made.name)
    except hms.NoSuchObjectException:
        return False
    return (existing.ownerName, existing.description) == (made.ownerName, made.description)


def drop_database(server: Server, name: str) -> None:
    """Drop an empty database (``Metastore.drop_database``)."""
    if lowered(name) == DEFAULT_DATABASE:
        raise failures.default_schema_stays()
    database(server, name)  # Hive 3.1 fails with a null pointer if the database is missing
    try:
        arguments = (lowered(name), False, False)
        server.call_once(
            "drop_database", *arguments, is_done=lambda: lowered(name) not in databases(server)
        )
    except hms.NoSuchObjectException as error:
        raise failures.schema_not_found(name) from error
    except hms.InvalidOperationException as error:
        raise failures.schema_not_empty(name) from error


def databases(server: Server) -> tuple[str, ...]:
    """Return the sorted names of all databases (``Metastore.databases``)."""
    return tuple(sorted(server.call("get_all_databases")))


def database(server: Server, name: str) -> Any:
    """Return the server's database (``hms.Database``)."""
    try:
        return server.call("get_database", lowered(name))
    except hms.NoSuchObjectException as error:
        raise failures.schema_not_found(name) from error


def database_properties(server: Server, name: str) -> dict[str, str]:
    """Return the properties of a database (``Metastore.database_properties``)."""
    return dict(database(server, name).parameters or {})


def change_database_properties(
    server: Server, name: str, changes: Mapping[str, str | None]
) -> None:
    """Set or remove properties of a database (``Metastore.change_database_properties``)."""
    existing = database(server, name)
    changed = {**(existing.parameters or {}), **changes}
    existing.parameters = {key: value for key, value in changed.items() if value is not None}
    server.call("alter_database", existing.name, existing)


def database_location(server: Server, name: str) -> str:
    """Return the location of a database's managed tables (``Metastore.database_location``).

    The rule is that of Warehouse.getDatabaseManagedPath. Hive 4 may separate managed and external
    tables. The location of the database then contains its external tables.
    """
    existing = database(server, name)
    if existing.managedLocationUri:
        return str(existing.managedLocationUri)
    external = (
        server.setting("hive.metastore.warehouse.external.dir", "") if server.is_hive4 else ""
    )
    if external and f"{_path(existing.locationUri)}/".startswith(f"{_path(external)}/"):
        root = server.setting("hive.metastore.warehouse.dir", "")
        if root and _path(root) != _path(external):
            directory = "" if existing.name == DEFAULT_DATABASE else f"/{existing.name}.db"
            return root.rstrip("/") + directory
    return str(existing.locationUri)


def _path(uri: str) -> str:
    """Return the path of a URI without scheme and authority, whose spelling varies by server."""
    _, separator, rest = uri.partition(":")
    path = rest if separator else uri
    if path.startswith("//"):
        path = "/" + path[2:].partition("/")[2]
    return path.rstrip("/")


def create_table(server: Server, table: Table) -> None:
    """Create a table or view (``Metastore.create_table``)."""
    check_table(table)
    new = constraints.for_new_table(table)
    made = to_hive(table)
    is_created = partial(_is_created, server, made)
    try:
        if server.is_hive4:
            request = hms.CreateTableRequest(
                table=made,
                primaryKeys=new.others.primary_keys,
                foreignKeys=new.others.foreign_keys,
                uniqueConstraints=new.others.unique,
                notNullConstraints=new.not_null,
                defaultConstraints=new.defaults,
                checkConstraints=new.others.checks,
                processorCapabilities=list(CAPABILITIES),
                processorIdentifier=PROCESSOR,
            )
            server.call_once("create_table_req", request, is_done=is_created)
        else:
            others = new.others
            keys = (others.primary_keys, others.foreign_keys, others.unique)
            arguments = (made, *keys, new.not_null, new.defaults, others.checks)
            server.call_once("create_table_with_constraints", *arguments, is_done=is_created)
    except hms.AlreadyExistsException as error:
        raise failures.table_exists(table.database, table.name) from error
    except hms.InvalidObjectException as error:
        database(server, table.database)
        if is_name_taken(error.message):
            raise name_exists(error.message) from error
        raise _invalid(table.full_name, error) from error
    except MetastoreError as error:
        raise _place_refused(table, error) from error


def _is_created(server: Server, made: Any) -> bool:
    """Return whether the table exists as this user requested it."""
    existing = fetch_any(server, made.dbName, made.tableName)
    if existing is None:
        return False
    wanted = (made.owner, made.tableType, made.sd.cols, made.partitionKeys or [])
    same = wanted == (
        existing.owner,
        existing.tableType,
        existing.sd.cols,
        existing.partitionKeys or [],
    )
    return bool(same and made.parameters.items() <= existing.parameters.items())


def _place_refused(table: Table, error: MetastoreError) -> AcidSqlError:
    """Return the error for a location that Hive 4 refuses because it is outside the warehouse.

    MetastoreDefaultTransformer requires that managed tables are below the warehouse. Other errors
    are returned unchanged.
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


def drop_table(server: Server, database_name: str, name: str, *, delete_data: bool = False) -> None:
    """Drop a table (``Metastore.drop_table``), and its files if ``delete_data`` is true."""
    arguments = (lowered(database_name), lowered(name), delete_data, None)
    try:
        server.call_once(
            "drop_table_with_environment_context",
            *arguments,
            is_done=lambda: fetch_any(server, database_name, name) is None,
        )
    except hms.NoSuchObjectException as error:
        raise failures.table_not_found(database_name, name) from error


def fetch_table(server: Server, database_name: str, name: str) -> Any:
    """Return the server's table if it is transactional or a view, otherwise None."""
    existing = fetch_any(server, database_name, name)
    return existing if existing is not None and is_ours(existing) else None


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


def convert_table(server: Server, existing: Any) -> Table:
    """Convert the server's table to a ``Table``, with its constraints; a view has none."""
    if existing.tableType == TableType.VIEW.value:
        return from_hive(existing, ColumnConstraints(defaults={}))
    return from_hive(existing, constraints.of_table(server, existing.dbName, existing.tableName))


def tables(server: Server, database_name: str) -> tuple[str, ...]:
    """Return the sorted names of transactional tables and views (``Metastore.tables``)."""
    database(server, database_name)
    names = sorted(server.call("get_all_tables", lowered(database_name)))
    return tuple(t.tableName for t in definitions(server, database_name, names) if is_ours(t))


def definitions(server: Server, database_name: str, names: Sequence[str]) -> list[Any]:
    """Return the server's tables of these names, sorted by name."""
    fetched = []
    for start in range(0, len(names), limits().tables_per_call):
        request = hms.GetTablesRequest(
            dbName=lowered(database_name),
            tblNames=list(names[start : start + limits().tables_per_call]),
            capabilities=hms.ClientCapabilities(values=[hms.ClientCapability.INSERT_ONLY_TABLES]),
            processorCapabilities=list(CAPABILITIES),
            processorIdentifier=PROCESSOR,
        )
        fetched += server.call("get_table_objects_by_name_req", request).tables
    return sorted(fetched, key=lambda table: str(table.tableName))


def table_at(server: Server, location: str, database_name: str) -> Table | None:
    """Find the managed table that overlaps a location (``Metastore.table_at``)."""
    place = f"{_path(location)}/"
    named = {part[:-3] for part in place.split("/") if part.endswith(".db")}
    for candidate in sorted({lowered(database_name), DEFAULT_DATABASE, *named}):
        names = server.call("get_all_tables", candidate)
        for table in filter(is_ours, definitions(server, candidate, names)):
            other_place = f"{_path(table.sd.location or '')}/"
            overlaps = place.startswith(other_place) or other_place.startswith(place)
            if overlaps and table.tableType == TableType.MANAGED.value:
                return from_hive(table, ColumnConstraints(defaults={}))
    return None
