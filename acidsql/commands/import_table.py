"""IMPORT TABLE: loads the rows of an archive that EXPORT TABLE of Hive or acidsql has written."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from acidsql.commands import result
from acidsql.commands.adopt_table import check_location
from acidsql.commands.definitions import check_columns, check_local_times, with_codec
from acidsql.commands.load import check_files, refuse_checks, write_rows_of
from acidsql.commands.new_table import check_empty, filling, new_table_name
from acidsql.commands.partitions import full_values
from acidsql.errors import AcidAnalysisError, AcidLookupError, FormatError
from acidsql.format.identifiers import lowered
from acidsql.format.names import (
    delta_name,
    is_hidden,
    is_original_file,
    original_file_name,
    parse_directory,
)
from acidsql.metastore.history import RecordedStatement, WriteCounts
from acidsql.metastore.model import Column, Operation, Table
from acidsql.planning.name_resolution import find_acid_table
from acidsql.schema.columns import shown_type
from acidsql.session.acid_session import AcidSession
from acidsql.session.table_owner import check_unowned
from acidsql.storage.filesystem import child
from acidsql.syntax.copy_statements import ImportTable
from acidsql.syntax.nodes import PartitionSpec
from acidsql.transactions.write_intent import insert_intent
from acidsql.transactions.write_transaction import TableWrite, write_transaction

if TYPE_CHECKING:
    from acidsql.metastore.hive.archive import Archive


def import_table(session: AcidSession, statement: ImportTable) -> DataFrame:
    """Run IMPORT TABLE; return one row of counts.

    The files become a delta without changes, as in LOAD DATA. acidsql rewrites the rows if the
    table is bucketed, to put each row in its bucket, and if the files store timestamps in another
    form than the table.
    """
    if statement.external:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.EXTERNAL",
            "IMPORT EXTERNAL is not supported: an external table cannot be transactional; leave "
            "EXTERNAL out",
        )
    path = session.files.qualify(statement.archive).rstrip("/")
    archive = _read(session, path)
    name = statement.name or (archive.table.name,)
    existing = find_acid_table(session, name)
    table = _new_table(session, statement, archive, name) if existing is None else existing
    if existing is not None:
        _check_fits(session, existing, archive.table, statement.location)
        refuse_checks(existing, "IMPORT")
    wanted = _wanted(session, table, archive, statement.partition)
    places = [(values, _sources(session, table, path, values)) for values in wanted]
    checked = [check_files(session, table, files) for _, files in places]
    rows = sum(one.rows or 0 for one in checked)
    if existing is not None:
        _check_free(session, existing, wanted)
    source = RecordedStatement(operation="IMPORT", text=statement.text)
    writing: AbstractContextManager[TableWrite] = (
        filling(session, with_codec(session, table), source)
        if existing is None
        else write_transaction(session, insert_intent(table, source))
    )
    with writing as write:
        # The name of a file does not determine the bucket of its rows: in an archive of Hive, it
        # can contain the number of a task.
        if rows and (table.num_buckets or not all(one.keeps_timestamps for one in checked)):
            sizes = {values: _sizes(session, files) for values, files in places}
            write_rows_of(write, sizes)
        else:
            for values, files in places:
                _place(write, values, files)
        counts = WriteCounts(inserted=rows, files=sum(len(files) for _, files in places))
        write.commit([(Operation.INSERT, list(wanted))], counts)
    return result.counts(session.spark, affected=rows, inserted=rows)


def _read(session: AcidSession, path: str) -> Archive:
    """Read the definition of an archive.

    Raises:
        FormatError: INVALID_ARCHIVE.
        AcidAnalysisError: UNSUPPORTED_FILE_FORMAT.
    """
    # Import the metastore server's Thrift structures only when they are needed.
    from acidsql.metastore.hive import archive  # noqa: PLC0415

    file = child(path, archive.METADATA)
    if not session.files.exists(file):
        raise FormatError(
            "INVALID_ARCHIVE",
            f"there is no {file}: name the path that EXPORT TABLE has written",
        )
    try:
        text = session.files.read(file).decode()
    except UnicodeDecodeError:
        text = ""  # refused by read_archive as well
    return archive.read_archive(path, text)


def _new_table(
    session: AcidSession, statement: ImportTable, archive: Archive, parts: Sequence[str]
) -> Table:
    """Return the definition of the new table that IMPORT creates.

    Raises:
        AcidAnalysisError: NOT_A_TRANSACTIONAL_TABLE, the archived table is not transactional.
    """
    name = new_table_name(session, parts, if_not_exists=False)
    assert name is not None  # without IF NOT EXISTS, an existing table raises an error
    if not archive.transactional:
        raise AcidAnalysisError(
            "NOT_A_TRANSACTIONAL_TABLE",
            "the table in the archive is not transactional: create a transactional table "
            f"{'.'.join(parts)} with its columns, and IMPORT into it",
        )
    database, table_name = name
    location = statement.location
    if location is None:
        location = child(session.database_location(database), table_name)
    table = replace(
        archive.table,
        # The values of the rows in an identity column are unknown.
        columns=tuple(replace(column, identity=None) for column in archive.table.columns),
        database=database,
        name=table_name,
        location=session.files.qualify(location),
        owner=session.user,
        created=int(time.time()),
    )
    check_columns(session, table.columns, table.partition_columns)
    check_local_times(table)
    if statement.location is not None or not session.metastore.capabilities.chooses_locations:
        check_location(session, table)
    check_empty(session, table)
    check_unowned(session, table.location)
    return table


def _check_fits(session: AcidSession, table: Table, archived: Table, location: str | None) -> None:
    """Refuse an archive of a table with another definition.

    The counterpart in Hive is checkTable of ``ImportSemanticAnalyzer``.

    Raises:
        AcidAnalysisError: IMPORT_SCHEMA_MISMATCH.
    """
    in_table, in_archive = _shape(session, table), _shape(session, archived)
    for what, expected in in_table.items():
        if in_archive[what] != expected:
            raise AcidAnalysisError(
                "IMPORT_SCHEMA_MISMATCH",
                f"{table.full_name} has other {what} than the table in the archive, which has "
                f"{in_archive[what] or 'none'}: IMPORT into a new table",
            )
    is_elsewhere = location is not None and session.files.qualify(location) != table.location
    if is_elsewhere and not table.partition_columns:
        raise AcidAnalysisError(
            "IMPORT_SCHEMA_MISMATCH",
            f"{table.full_name} lies in {table.location}: leave LOCATION out",
        )


def _shape(session: AcidSession, table: Table) -> dict[str, str]:
    """Return texts that must be equal for two tables to share files."""

    def typed(columns: Sequence[Column]) -> str:
        return ", ".join(
            f"{c.stored_name} {lowered(shown_type(session.spark, c.type))}" for c in columns
        )

    buckets = f"{', '.join(map(lowered, table.bucket_columns))} in {table.num_buckets}"
    return {
        "columns": typed(table.columns),
        "partition columns": typed(table.partition_columns),
        "buckets": buckets if table.num_buckets else "",
        "files": table.file_format.value,
    }


def _wanted(
    session: AcidSession, table: Table, archive: Archive, spec: PartitionSpec | None
) -> tuple[tuple[str, ...], ...]:
    """Return the values of the partitions to import; ``((),)`` for a table without partitions.

    Raises:
        AcidLookupError: PARTITIONS_NOT_FOUND, the archive does not contain the partition.
    """
    if not table.partition_columns and spec is None:
        return ((),)
    if spec is None:
        return archive.partitions
    values = full_values(session, table, spec)
    if values is None or values not in archive.partitions:
        names = ", ".join(map(table.partition_name, archive.partitions)) or "none"
        raise AcidLookupError(
            "PARTITIONS_NOT_FOUND",
            f"the archive has the partitions {names}: give a value of one of them for each "
            "partition column",
        )
    return (values,)


def _sources(session: AcidSession, table: Table, path: str, values: tuple[str, ...]) -> list[str]:
    """Return the files of a partition in an archive."""
    from acidsql.metastore.hive.archive import DATA  # noqa: PLC0415 - see ``_read``

    place = child(path, table.partition_name(values) if values else DATA)
    names = [name for name in session.files.names(place) if not is_hidden(name)]
    strange = [
        name
        for name in names
        if not is_original_file(name) or session.files.is_directory(child(place, name))
    ]
    if strange:
        raise FormatError(
            "INVALID_ARCHIVE",
            f"{child(place, strange[0])} is no file that EXPORT writes: EXPORT the table again",
        )
    return [child(place, name) for name in sorted(names)]


def _check_free(session: AcidSession, table: Table, wanted: Sequence[tuple[str, ...]]) -> None:
    """Refuse an import into a table with rows, or into partitions that exist, as Hive does.

    Raises:
        AcidAnalysisError: IMPORT_TARGET_NOT_EMPTY, PARTITIONS_ALREADY_EXIST.
    """
    if table.partition_columns:
        existing = session.metastore.partitions(table.database, table.name, wanted)
        if existing:
            raise AcidAnalysisError(
                "PARTITIONS_ALREADY_EXIST",
                f"{table.full_name} has the partition {table.partition_name(existing[0].values)} "
                "already: name others in IMPORT … PARTITION, or drop it first",
            )
        return
    left = [n for n in session.files.names(table.location) if not is_hidden(n)]
    if left:
        what = "rows" if parse_directory(left[0]) else left[0]
        raise AcidAnalysisError(
            "IMPORT_TARGET_NOT_EMPTY",
            f"{table.full_name} has {what} already: IMPORT into a new table, and INSERT INTO this "
            "one from it",
        )


def _place(write: TableWrite, values: tuple[str, ...], files: Sequence[str]) -> None:
    """Copy the files of a partition into a delta."""
    if not files:
        return
    session, write_id = write.session, write.write_id
    with write.placing(values, delta_name(write_id, write_id, 0)) as staged:
        for i, file in enumerate(files):
            session.files.copy(file, child(staged, original_file_name(i)))


def _sizes(session: AcidSession, files: Sequence[str]) -> dict[str, int]:
    """Return the sizes of files in bytes, by their paths."""
    versions = {file: session.files.version(file) for file in files}
    return {file: version.size for file, version in versions.items() if version is not None}
