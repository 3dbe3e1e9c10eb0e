"""Partitions of the Hive Metastore."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from acidsql.errors import AcidAnalysisError, MetastoreError
from acidsql.format.partitions import parse_partition_name, partition_name
from acidsql.limits import limits
from acidsql.metastore import failures
from acidsql.metastore.hive.catalog import NO_STATISTICS
from acidsql.metastore.hive.conversions import (
    ACCURATE,
    partition_from_hive,
    partition_to_hive,
)
from acidsql.metastore.hive.idl import hms
from acidsql.metastore.hive.server import CATALOG, Server
from acidsql.metastore.hive.server_limits import check_partition
from acidsql.metastore.model import Partition
from acidsql.metastore.partition_filter import PartitionFilter, accepts, hive_filter

_Item = TypeVar("_Item")


def _batches(items: Sequence[_Item]) -> Iterator[list[_Item]]:
    """Split a sequence into batches for one call each."""
    size = limits().partitions_per_call
    return (list(items[start : start + size]) for start in range(0, len(items), size))


def name_of(table: Any, values: Sequence[str]) -> str:
    """Return the name of a partition, ``p=1/q=2``."""
    return partition_name([field.name for field in table.partitionKeys], values)


def add(server: Server, table: Any, added: Iterable[Partition]) -> None:
    """Add partitions (``Metastore.add_partitions``)."""
    made = list(added)
    for partition in made:
        _check_values(table, partition.values)
    for batch in _batches(made):
        request = hms.AddPartitionsRequest(
            dbName=table.dbName,
            tblName=table.tableName,
            parts=[partition_to_hive(table, partition) for partition in batch],
            ifNotExists=True,
            needResult=False,
            environmentContext=hms.EnvironmentContext(properties=dict(NO_STATISTICS)),
        )
        server.call("add_partitions_req", request)


def drop(
    server: Server, table: Any, dropped: Iterable[tuple[str, ...]], *, delete_data: bool = False
) -> None:
    """Drop partitions (``Metastore.drop_partitions``); with ``delete_data`` delete their files."""
    values = list(dropped)
    if not values:
        return
    present = {tuple(p.values) for p in fetch(server, table, values)}
    missing = next((v for v in values if v not in present), None)
    if missing is not None:
        raise failures.partition_not_found(table.dbName, table.tableName, missing)
    for batch in _batches(values):
        names = [name_of(table, v) for v in batch]
        request = hms.DropPartitionsRequest(
            dbName=table.dbName,
            tblName=table.tableName,
            parts=hms.RequestPartsSpec(names=names),
            deleteData=delete_data,
            ifExists=True,
            needResult=False,
        )
        server.call("drop_partitions_req", request)


def alter(server: Server, table: Any, altered: Iterable[Partition]) -> None:
    """Replace the location and columns of partitions (``Metastore.alter_partitions``)."""
    wanted = {p.values: p for p in altered}
    existing = {tuple(p.values): p for p in fetch(server, table, wanted)}
    for values, partition in wanted.items():
        if values not in existing:
            raise failures.partition_not_found(table.dbName, table.tableName, values)
        descriptor = existing[values].sd
        descriptor.location = partition.location
        descriptor.cols = partition_to_hive(table, partition).sd.cols
    send(server, table, list(existing.values()))


def send(server: Server, table: Any, partitions: Sequence[Any], **context: Any) -> None:
    """Replace partitions of the server by changed versions.

    Args:
        context: ``writeId`` and ``validWriteIdList`` for Hive 4, if a transaction changes the
            statistics.
    """
    environment = hms.EnvironmentContext(properties=dict(NO_STATISTICS))
    for batch in _batches(partitions):
        try:
            if server.is_hive4:
                request = hms.AlterPartitionsRequest(
                    catName=CATALOG,
                    dbName=table.dbName,
                    tableName=table.tableName,
                    partitions=batch,
                    environmentContext=environment,
                    **context,
                )
                server.call("alter_partitions_req", request)
            else:
                arguments = (table.dbName, table.tableName, batch, environment)
                server.call("alter_partitions_with_environment_context", *arguments)
        except hms.InvalidOperationException as error:
            raise AcidAnalysisError(
                "INVALID_ALTER_TABLE",
                f"the metastore refuses to change partitions of {table.dbName}.{table.tableName} "
                f"({error.message}): change the statement, or see the server's log",
            ) from error


def rename(server: Server, table: Any, values: tuple[str, ...], renamed: Partition) -> None:
    """Rename a partition (``Metastore.rename_partition``)."""
    _check_values(table, renamed.values)
    existing = {tuple(p.values): p for p in fetch(server, table, {values, renamed.values})}
    if values not in existing:
        raise failures.partition_not_found(table.dbName, table.tableName, values)
    if renamed.values != values and renamed.values in existing:
        raise failures.partition_exists(table.dbName, table.tableName, renamed.values)
    made = copy.deepcopy(existing[values])
    made.values = list(renamed.values)
    made.sd.location = renamed.location
    made.sd.cols = partition_to_hive(table, renamed).sd.cols
    arguments = (table.dbName, table.tableName, list(values), made)
    try:
        server.call_once(
            "rename_partition", *arguments, is_done=lambda: not fetch(server, table, {values})
        )
    except hms.InvalidOperationException as error:
        raise AcidAnalysisError(
            "INVALID_ALTER_TABLE",
            f"the metastore refuses to rename partition {values!r} of "
            f"{table.dbName}.{table.tableName} ({error.message}): change the statement, or see the "
            "server's log",
        ) from error


def forget_column_statistics(server: Server, table: Any) -> None:
    """Mark the column statistics of a table's partitions as out of date."""
    counted = [
        p for p in fetch(server, table) if "COLUMN_STATS" in (p.parameters or {}).get(ACCURATE, "")
    ]
    for partition in counted:
        del partition.parameters[ACCURATE]
    send(server, table, counted)


def values_of(
    server: Server, table: Any, accepted: PartitionFilter = ()
) -> tuple[tuple[str, ...], ...]:
    """Return the sorted values of partitions (``Metastore.partition_values``)."""
    listed = _list_values(server, table, accepted) if table.partitionKeys else ()
    return tuple(sorted(values for values in listed if accepts(accepted, values)))


def _list_values(
    server: Server, table: Any, accepted: PartitionFilter
) -> Iterable[tuple[str, ...]]:
    """Return the values of the partitions that the server finds by a filter, else of all."""
    condition = hive_filter(accepted, [field.name for field in table.partitionKeys])
    if condition is not None:
        arguments = (table.dbName, table.tableName, condition, -1)
        try:
            return [tuple(p.values) for p in server.call("get_partitions_by_filter", *arguments)]
        except MetastoreError as error:
            # A server can limit the number of partitions in an answer.
            if error.condition != "METASTORE_ERROR":
                raise
    names = server.call("get_partition_names", table.dbName, table.tableName, -1)
    return [tuple(value for _, value in parse_partition_name(name)) for name in names]


def fetch(server: Server, table: Any, values: Iterable[tuple[str, ...]] | None = None) -> list[Any]:
    """Return the server's partitions with these values (by default all), sorted by values.

    The result skips values that no partition has.
    """
    wanted = sorted(values_of(server, table) if values is None else set(values))
    fetched = []
    for batch in _batches(wanted):
        names = [name_of(table, v) for v in batch]
        arguments = (table.dbName, table.tableName, names)
        fetched += server.call("get_partitions_by_names", *arguments)
    return sorted(fetched, key=lambda partition: list(partition.values))


def partitions(
    server: Server, table: Any, values: Iterable[tuple[str, ...]] | None
) -> tuple[Partition, ...]:
    """Return partitions, sorted by their values (``Metastore.partitions``)."""
    return tuple(partition_from_hive(table, p) for p in fetch(server, table, values))


def _check_values(table: Any, values: tuple[str, ...]) -> None:
    columns = len(table.partitionKeys)
    if len(values) != columns:
        raise failures.partition_values_mismatch(table.dbName, table.tableName, values, columns)
    check_partition(
        f"{table.dbName}.{table.tableName}",
        [field.name for field in table.partitionKeys],
        values,
        name_of(table, values),
    )
