"""CREATE TABLE … CLONE: copies a table with its row ids, without decoding its stripes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import DataFrame

from acidsql import bridge
from acidsql.commands import result
from acidsql.commands.definitions import check_properties
from acidsql.commands.identity_columns import take_over_ordinals
from acidsql.commands.new_table import check_empty, definition_like, filling, new_table_name
from acidsql.compaction.merging import write_base
from acidsql.errors import AcidAnalysisError
from acidsql.format.names import VERSION_CONTENT, VERSION_FILE, base_name
from acidsql.metastore.history import RecordedStatement, WriteCounts
from acidsql.metastore.model import Operation, Table
from acidsql.metastore.moments import TimeMoment
from acidsql.planning.as_of import moment_of_version
from acidsql.planning.name_resolution import acid_table, is_of_delta
from acidsql.planning.statement_snapshots import leased_snapshot
from acidsql.planning.unchanged_reads import UnchangedReads
from acidsql.scan.record import ScanRecord
from acidsql.scan.snapshot import PartitionSnapshot, TableSnapshot
from acidsql.session.acid_session import AcidSession
from acidsql.session.metrics import Phase, phase
from acidsql.session.settings import Isolation
from acidsql.session.table_owner import check_unowned
from acidsql.storage.filesystem import child
from acidsql.storage.tails import read_tail
from acidsql.syntax.copy_statements import CloneTable
from acidsql.syntax.nodes import VersionSpec
from acidsql.transactions.write_transaction import TableWrite

# Properties that determine how the files of a table are read.
_OF_FILES = ("transactional", "transactional_properties", "bucketing_version")


def clone_table(session: AcidSession, statement: CloneTable) -> DataFrame | None:
    """Run CREATE TABLE … CLONE; return one row of counts.

    The copy has the columns, partitions, buckets and properties of the table, and its rows with
    their row ids. The copy's new write ids begin above those of the copied rows. New values of its
    identity columns follow those of the table. Deleted rows and the table's history are not copied.
    """
    if is_of_delta(session, statement.cloned):
        return None
    source = acid_table(session, statement.cloned)
    _refuse(statement, source)
    name = new_table_name(session, statement.name, if_not_exists=statement.if_not_exists)
    if name is None:
        return result.nothing(session.spark)
    # In a Hive Metastore, the name of a constraint must be unique across tables.
    unnamed = tuple(replace(constraint, name="") for constraint in source.constraints)
    source = replace(source, constraints=unnamed)
    table = definition_like(session, source, name, statement.location, statement.properties)
    check_empty(session, table)
    check_unowned(session, table.location)
    recorded = RecordedStatement(operation="CLONE", text=statement.text)
    with leased_snapshot(session, kept=False) as seen:
        snapshot = seen.snapshot(_version(session, source, statement.as_of))
        seen.scans.append(ScanRecord(snapshot=snapshot))
        with filling(session, table, recorded, _highest_write_id(snapshot)) as write:
            with phase(Phase.EXECUTE):
                rows = sum(_copy(write, snapshot, p) for p in snapshot.partitions)
            take_over_ordinals(session, source, write.table)
            if write.isolation is Isolation.SERIALIZABLE:
                write.conflict_checks.append(UnchangedReads(txn_id=write.txn_id, snapshot=seen))
            places = [partition.values for partition in snapshot.partitions]
            write.commit([(Operation.INSERT, places)], WriteCounts(inserted=rows))
    return result.counts(session.spark, affected=rows, inserted=rows)


def _refuse(statement: CloneTable, source: Table) -> None:
    """Refuse unsupported clauses and tables before the statement changes anything."""
    given = {
        "SHALLOW CLONE": statement.depth == "shallow",
        "OR REPLACE": statement.or_replace,
        "REPLACE TABLE": statement.replace_table,
        "EXTERNAL": statement.external,
        "INSERT ONLY CLONE": source.insert_only,
        **dict.fromkeys(statement.unsupported, True),
    }
    reasons = {
        "SHALLOW CLONE": "a table is the only owner of its files, and its compactions remove "
        "them; leave SHALLOW out",
        "OR REPLACE": "drop the table first",
        "REPLACE TABLE": "drop the table, and write CREATE TABLE",
        "EXTERNAL": "an external table cannot be transactional; leave EXTERNAL out",
        "INSERT ONLY CLONE": f"{source.full_name} is insert-only, and its rows have no row ids to "
        "keep; use CREATE TABLE … AS SELECT",
    }
    for feature, is_given in given.items():
        if is_given:
            reason = reasons.get(feature, "leave the clause out")
            condition = feature.replace(" ", "_")
            raise AcidAnalysisError(
                f"UNSUPPORTED_FEATURE.{condition}",
                f"{feature} is not supported for transactional tables: {reason}",
            )
    _check_new_properties(source, statement.properties)


def _check_new_properties(source: Table, properties: Mapping[str, str]) -> None:
    """Refuse properties with which the copied files would be read differently.

    Raises:
        AcidAnalysisError: INVALID_TABLE_PROPERTY, UNSUPPORTED_FEATURE.
    """
    check_properties(properties)
    for key, value in properties.items():
        kept = source.properties.get(key.lower(), "default")
        if key.lower() in _OF_FILES and value.lower() != kept.lower():
            raise AcidAnalysisError(
                "INVALID_TABLE_PROPERTY",
                f"a copy of {source.full_name} has its {key.lower()}, {kept!r}: leave it out",
            )


def _version(session: AcidSession, source: Table, as_of: VersionSpec | None) -> Table:
    """Return the table to copy, with the moment whose version is copied."""
    if as_of is None:
        return source
    if as_of.timestamp is not None:
        text = bridge.literal_sql(session.spark, as_of.timestamp)
        moment = TimeMoment(microseconds=bridge.timestamp_of_text(session.spark, text))
        return replace(source, as_of=moment)
    return replace(source, as_of=moment_of_version(source.full_name, str(as_of.version)))


def _highest_write_id(snapshot: TableSnapshot) -> int:
    """Return the highest write id that a row of a snapshot can have."""
    directories = [d for p in snapshot.partitions for d in p.state.directories]
    return max((d.max_write_id for d in directories), default=0)


def _copy(write: TableWrite, snapshot: TableSnapshot, partition: PartitionSnapshot) -> int:
    """Copy the rows of a partition into a base of the new table; return their number."""
    session = write.session
    alone = replace(snapshot, partitions=(partition,))
    rewritten = child(write.staging.path, f"rewritten{snapshot.partitions.index(partition)}")
    name = f"CLONE {snapshot.table.full_name}, txn {write.txn_id}"
    base = base_name(write.write_id)
    with (
        bridge.job_description(session.spark, name),
        write.placing(partition.values, base) as staged,
    ):
        # A partition whose columns differ from the table's is decoded, because the copy of a
        # partition always has the table's columns.
        write_base(session, alone, staged, rewritten, copies_stripes=partition.columns is None)
        files = session.files.names(staged)
        rows = sum(read_tail(session.files, child(staged, file)).rows for file in files)
        session.files.put(child(staged, VERSION_FILE), VERSION_CONTENT)
    return rows
