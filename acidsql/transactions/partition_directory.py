"""Directories of new partitions: their paths, their creation and their removal."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress

from acidsql.errors import AcidAnalysisError, AcidLookupError
from acidsql.format.paths import can_exist, child, parent
from acidsql.metastore.model import Partition, Table
from acidsql.session.table_owner import TableWriter
from acidsql.storage.publication import Publication, sync_all


def partition_directory(table: Table, values: Sequence[str]) -> str:
    """Return the directory of a partition that has no LOCATION.

    Raises:
        AcidAnalysisError: INVALID_PARTITION_NAME, the values cannot be names of directories.
    """
    place = child(table.location, table.partition_name(values))
    if not can_exist(place):
        raise AcidAnalysisError(
            "INVALID_PARTITION_NAME",
            f"{table.partition_name(values)[:200]!r} cannot be a directory of {table.full_name}, "
            "because its name is too long, or has a character NUL: choose another value",
        )
    return place


def make_partition(
    writer: TableWriter, table: Table, values: tuple[str, ...], publication: Publication
) -> Partition:
    """Create the directory of a new partition; object stores have no directories.

    Raises:
        AcidAnalysisError: see ``partition_directory``.
    """
    location = partition_directory(table, values)
    if writer.files.object_store(location) is None:
        writer.files.make_directory(location)
    publication.add_name(location)
    return Partition(values=values, location=location)


def add_beforehand(
    writer: TableWriter, table: Table, made: Sequence[Partition], publication: Publication
) -> None:
    """Add new partitions to a Hive Metastore, which must know them before files are written there.

    Other metastores add the partitions at the commit.
    """
    if made and writer.metastore.capabilities.learns_writes_from_locks:
        sync_all(writer.files, [publication])
        writer.metastore.add_partitions(table.database, table.name, made)


def take_back(
    writer: TableWriter,
    table: Table,
    made: Iterable[Partition],
    known: Collection[tuple[str, ...]],
) -> None:
    """Remove new partitions with their directories, unless another transaction uses them.

    Another transaction may be publishing into a partition, and adds the partition after that.
    Partitions that a Hive Metastore knows are therefore dropped first, and added again if they are
    not empty.

    Args:
        writer: the session or client that created the partitions.
        table: their table.
        made: the new partitions.
        known: values of the partitions that an embedded metastore knows. Other transactions have
            added them in the meantime (``Metastore.held_location``).
    """
    metastore, used = writer.metastore, []
    is_known = metastore.capabilities.learns_writes_from_locks
    for partition in made:
        if is_known:
            # The statement failed before it added the partitions, or another one dropped this one.
            with suppress(AcidLookupError):
                metastore.drop_partitions(table.database, table.name, [partition.values])
        elif partition.values in known:
            continue
        if writer.files.delete_if_empty(partition.location):
            delete_empty_above(writer, table, partition.location)
        else:
            used.append(partition)
    if is_known:
        metastore.add_partitions(table.database, table.name, used)


def delete_empty_above(writer: TableWriter, table: Table, location: str) -> None:
    """Delete the empty directories between a table's directory and a partition's."""
    above = parent(location)
    while above.startswith(f"{table.location}/") and writer.files.delete_if_empty(above):
        above = parent(above)
