"""ALTER TABLE … ADD, DROP and RENAME PARTITION."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame

from acidsql.commands import result
from acidsql.commands.partitions import all_full_values, matching, meeting, required, the_one
from acidsql.commands.protect_acid_tables import owner_of
from acidsql.errors import AcidAnalysisError, AcidLookupError, quoted_name
from acidsql.format.names import is_hidden
from acidsql.metastore import catalog_changes
from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.model import Partition, Table
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import check_free
from acidsql.storage.sync import make_directory
from acidsql.syntax.alter_statements import (
    AddPartitions,
    DropPartitions,
    PlacedPartition,
    RenamePartition,
)
from acidsql.syntax.nodes import PartitionSpec
from acidsql.transactions.partition_directory import delete_empty_above, partition_directory
from acidsql.transactions.write_intent import alter_intent
from acidsql.transactions.write_transaction import TableWrite, write_transaction

Values = tuple[str, ...]


def add_partitions(session: AcidSession, table: Table, statement: AddPartitions) -> DataFrame:
    """Run ADD PARTITION: add empty partitions."""
    specs = [placed.spec for placed in statement.partitions]
    named = _in_full(session, table, specs)
    source = RecordedStatement(operation="ADD PARTITION", text=statement.text)
    with write_transaction(session, alter_intent(table, source)) as transaction:
        known = {p.values for p in transaction.partitions()}
        if transaction.table.partition_columns != table.partition_columns:
            named = _in_full(session, transaction.table, specs)
        for placed, values in zip(statement.partitions, named, strict=True):
            if values not in known:
                transaction.places.added.append(_new_partition(transaction, values, placed))
                known.add(values)
            elif not statement.if_not_exists:
                raise _exists(table, values)
        for partition in transaction.places.added:
            make_directory(session.files, partition.location)
        added = tuple(transaction.places.added)
        transaction.changes.append(
            catalog_changes.AddPartitions(table=transaction.table, partitions=added)
        )
        transaction.commit([])
    return result.nothing(session.spark)


def _new_partition(transaction: TableWrite, values: Values, placed: PlacedPartition) -> Partition:
    session, table = transaction.session, transaction.table
    if placed.location is None:
        location = default_location(table, values)
    else:
        location = session.files.qualify(placed.location).rstrip("/")
        _check_place(transaction, location)
    present = [name for name in session.files.names(location) if not is_hidden(name)]
    if present:
        raise AcidAnalysisError(
            "PARTITION_LOCATION_NOT_EMPTY",
            f"{location} is not empty, it holds {present[0]}: add directories of an ACID table "
            "with MSCK REPAIR TABLE, other files with LOAD DATA, or choose an empty location",
        )
    return Partition(values=values, location=location)


def default_location(table: Table, values: Values) -> str:
    """Return the directory of a partition that has no LOCATION.

    Raises:
        AcidAnalysisError: INVALID_PARTITION_NAME, as ``partition_directory``.
    """
    return partition_directory(table, values)


def _check_place(transaction: TableWrite, location: str) -> None:
    """Refuse a location that overlaps another table's or partition's (LOCATION_IN_USE)."""
    table = transaction.table
    other = owner_of(transaction.session, location)
    taken = other.location if other and other.full_name != table.full_name else None
    places = [*transaction.partitions(), *transaction.places.added]
    for partition in places:
        there, here = f"{partition.location}/", f"{location}/"
        if there.startswith(here) or here.startswith(there):
            taken = partition.location
    if taken or f"{table.location}/".startswith(f"{location}/"):
        raise AcidAnalysisError(
            "LOCATION_IN_USE",
            f"{location} cannot be a partition of {table.full_name}, because it overlaps "
            f"{taken or table.location}: choose another LOCATION",
        )


def drop_partitions(session: AcidSession, table: Table, statement: DropPartitions) -> DataFrame:
    """Run DROP PARTITION: drop the partitions that a specification matches, with their files."""
    list(_dropped(session, table, statement))
    source = RecordedStatement(operation="DROP PARTITION", text=statement.text)
    with write_transaction(session, alter_intent(table, source)) as transaction:
        by_values = {p.values: p for p in _dropped(session, transaction.table, statement)}
        dropped = tuple(by_values.values())
        transaction.changes.append(
            catalog_changes.DropPartitions(table=transaction.table, partitions=dropped)
        )
        transaction.commit([])
    for partition in dropped:
        delete_empty_above(session, transaction.table, partition.location)
    return result.nothing(session.spark)


def _dropped(session: AcidSession, table: Table, statement: DropPartitions) -> Iterator[Partition]:
    for wanted in statement.partitions:
        spec = wanted.spec()
        if spec is None:
            yield from meeting(session, table, wanted, if_exists=statement.if_exists)
        else:
            choose = matching if statement.if_exists else required
            yield from choose(session, table, spec)


def rename_partition(session: AcidSession, table: Table, statement: RenamePartition) -> DataFrame:
    """Run RENAME TO PARTITION; a directory in its default place is also renamed."""
    (values,) = _in_full(session, table, [statement.new_partition])
    the_one(session, table, statement.partition)
    source = RecordedStatement(operation="RENAME PARTITION", text=statement.text)
    with write_transaction(session, alter_intent(table, source)) as transaction:
        current = transaction.table
        old = the_one(session, current, statement.partition)
        if values in {p.values for p in transaction.partitions()}:
            raise _exists(table, values)
        location = old.location
        if location == default_location(current, old.values):
            if session.files.is_object_store(location):
                raise AcidAnalysisError(
                    "UNSUPPORTED_FEATURE.RENAME_PARTITION_ON_OBJECT_STORE",
                    f"{location} is on an object store, which cannot rename a directory in one "
                    "step: give the rows the new value by an UPDATE of the partition column",
                )
            location = default_location(current, values)
            check_free(session.files, old.location, location)
        renamed = Partition(values=values, location=location, columns=old.columns)
        transaction.changes.append(
            catalog_changes.RenamePartition(table=current, before=old, after=renamed)
        )
        transaction.commit([])
    delete_empty_above(session, transaction.table, old.location)
    return result.nothing(session.spark)


def _in_full(session: AcidSession, table: Table, specs: Sequence[PartitionSpec]) -> list[Values]:
    """Return the values of specifications, which must have a value for every partition column."""
    of_specs = all_full_values(session, table, specs)
    values = [v for v in of_specs if v]
    if len(values) < len(of_specs):
        columns = [c.name for c in table.partition_columns]
        raise AcidLookupError(
            "PARTITIONS_NOT_FOUND",
            f"{table.full_name} is partitioned by {', '.join(columns) or 'nothing'}: give a value "
            "for each of its partition columns",
        )
    return values


def _exists(table: Table, values: Sequence[str]) -> AcidAnalysisError:
    return AcidAnalysisError(
        "PARTITIONS_ALREADY_EXIST",
        f"{table.full_name} has a partition {table.partition_name(values)} already: add "
        "IF NOT EXISTS, or drop it first",
        {
            "partitionList": table.partition_name(values),
            "tableName": quoted_name([table.database, table.name]),
        },
    )
