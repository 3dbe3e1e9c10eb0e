"""LOAD DATA: files become part of a table unchanged; readers give their rows row ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType, TimestampNTZType

from acidsql.commands import result
from acidsql.commands.events import WriteResult
from acidsql.commands.file_timestamps import (
    FILE_INSTANT,
    differing_timestamps,
    schema_of_file,
)
from acidsql.commands.insert import insert_counts, publish_empty, write_query
from acidsql.commands.partitions import full_values
from acidsql.commands.protect_acid_tables import owner_of
from acidsql.commands.type_widening import convertible
from acidsql.commands.write_schema import write_schema_of
from acidsql.errors import AcidAnalysisError, AcidLookupError, FormatError
from acidsql.format.identifiers import lowered
from acidsql.format.names import base_name, delta_name, is_hidden, original_file_name
from acidsql.format.orc_tail import OrcTail
from acidsql.format.timestamp_types import LOCAL_TIME, TIMESTAMP, with_timestamps
from acidsql.metastore.changes import DeleteLoadedFiles, LoadedFile
from acidsql.metastore.history import RecordedStatement, WriteCounts
from acidsql.metastore.model import FileFormat, Table
from acidsql.scan.directories import is_acid_file
from acidsql.scan.relation import projected
from acidsql.schema.columns import data_schema, has_type
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import FileVersion, child
from acidsql.storage.relation import Reading, file_relation
from acidsql.storage.splits import DataFile, FileKind
from acidsql.storage.tails import read_tail
from acidsql.syntax.lexer import quote
from acidsql.syntax.statements import LoadData
from acidsql.transactions.write_intent import insert_intent
from acidsql.transactions.write_transaction import TableWrite, write_transaction

# ORC's type for which Hive tables have no type that acidsql reads.
_UNION = "union"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedFiles:
    """Files that are loaded.

    Attributes:
        rows: number of rows of ORC files; None of others.
        keeps_timestamps: whether files have the timestamps of the table in its form: local times,
            and instants of TIMESTAMP_LTZ. If not, the rows have to be written again.
    """

    rows: int | None
    keeps_timestamps: bool = True


def load(session: AcidSession, table: Table, statement: LoadData) -> DataFrame:
    """Run LOAD DATA: put files into a delta, or with OVERWRITE into a base.

    They are copied, or on a local disk linked, and deleted after the commit unless they are LOCAL.
    Rows that have to be looked at, because of buckets, CHECK constraints, generated or identity
    columns, or timestamps in another form, are written again instead. A load that fails at any
    point leaves the files where they are.
    """
    if table.insert_only:
        refuse_checks(table, "LOAD DATA")
    values = _partition(session, table, statement)
    sources = _sources(session, statement)
    checked = check_files(session, table, sources)
    overwrite = statement.overwrite
    recorded = RecordedStatement(operation="LOAD DATA", text=statement.text)
    intent = insert_intent(table, recorded, values or None, overwrite=overwrite)
    with write_transaction(session, intent) as transaction:
        # Taken before the copy: a file that is written meanwhile differs from it, and stays.
        versions = [(source, session.files.version(source)) for source in sources]
        if not statement.local:
            transaction.changes.append(_delete(versions))
        if table.num_buckets or has_checks(table) or not checked.keeps_timestamps:
            return _load_rows(transaction, versions, values)
        write_id = transaction.write_id
        name = base_name(write_id) if overwrite else delta_name(write_id, write_id, 0)
        # A LOCAL source stays, and what becomes of it must not change the table.
        take = session.files.copy if statement.local else session.files.link
        with transaction.placing(values, name) as directory:
            for number, source in enumerate(sources):
                take(source, child(directory, original_file_name(number)))
        sizes = [0 if version is None else version.size for _, version in versions]
        counts = WriteCounts(
            inserted=checked.rows,
            deleted=None if overwrite else 0,
            files=len(sizes),
            size=sum(sizes),
        )
        transaction.commit([(intent.operation, [values])], counts)
    return result.nothing(session.spark)


def _load_rows(
    transaction: TableWrite,
    sources: Sequence[tuple[str, FileVersion | None]],
    values: tuple[str, ...],
) -> DataFrame:
    """Insert the rows of files, and commit.

    Args:
        sources: the files, as they were before they are read.
        values: of the partition.
    """
    session = transaction.session
    files = {path: version.size for path, version in sources if version is not None}
    outcome = write_rows_of(transaction, {values: files})
    overwrite = transaction.intent.overwrite
    changes = publish_empty(transaction, outcome, {values} if overwrite else set())
    inserted = outcome.events(deletes=False)
    transaction.commit(changes, insert_counts(inserted, overwrite=overwrite))
    return result.nothing(session.spark)


def write_rows_of(
    transaction: TableWrite, places: Mapping[tuple[str, ...], Mapping[str, int]]
) -> WriteResult:
    """Write the rows of plain ORC files, and publish them.

    Args:
        transaction: of the statement.
        places: bytes of the files of each partition by their paths, by its values.
    """
    session, table = transaction.session, transaction.table
    files = [
        DataFile(
            kind=FileKind.PLAIN,
            path=path,
            length=size,
            columns=len(table.columns),
            ordinal=ordinal,
        )
        for ordinal, sizes in enumerate(places.values())
        for path, size in sizes.items()
    ]
    size = sum(file.length for file in files)
    zone, statistics = session.time_zone, (max(1, size), -1)
    # NULL in an identity column is a row without a value.
    columns = tuple(
        replace(c, nullable=c.nullable or c.identity is not None) for c in table.columns
    )
    read = replace(table, columns=columns)
    relation, _ = file_relation(
        session.spark, read, list(places), files, Reading(), zone=zone, statistics=statistics
    )
    rows = projected(session.spark, read, relation).frame()
    every = [quote(column.name) for column in (*table.columns, *table.partition_columns)]
    shape = write_schema_of(session, table, transaction)
    static = next(iter(places)) if len(places) == 1 else None
    return write_query(transaction, shape, rows.select(*every), static)


def has_checks(table: Table) -> list[str]:
    """Return what has each new row of a table looked at."""
    return [
        *(f"the constraint {c.name} {c.definition}" for c in table.enforced_constraints),
        *(f"the generated column {c.name}" for c in table.generated_columns),
        *(f"the identity column {c.name}" for c in table.identity_columns),
    ]


def refuse_checks(table: Table, statement: str) -> None:
    """Refuse to put files into a table with CHECK constraints: their rows are not checked.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.CHECK_OF_FILES.
    """
    has = has_checks(table)
    if has:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.CHECK_OF_FILES",
            f"{statement} does not look at rows, and {table.full_name} has {has[0]}: read the "
            "files with Spark and INSERT INTO it",
        )


def _delete(sources: Sequence[tuple[str, FileVersion | None]]) -> DeleteLoadedFiles:
    files = (
        LoadedFile(path=path, size=version.size, modified=version.modified)
        for path, version in sources
        if version is not None
    )
    return DeleteLoadedFiles(files=tuple(files))


def _partition(session: AcidSession, table: Table, statement: LoadData) -> tuple[str, ...]:
    """Return the values of the partition to which the files go; () without partition columns."""
    spec = statement.partition
    values = () if spec is None else full_values(session, table, spec)
    columns = [c.name for c in table.partition_columns]
    if values is None or len(values) != len(columns):
        raise AcidLookupError(
            "PARTITIONS_NOT_FOUND",
            f"{table.full_name} is partitioned by {', '.join(columns) or 'nothing'}: LOAD DATA "
            "goes to one partition, so give a value for each of its partition columns",
        )
    return values


def _sources(session: AcidSession, statement: LoadData) -> list[str]:
    """Return the files of a path: the path itself, or the files in it that are not hidden."""
    files = session.files
    given = statement.inpath
    if statement.local and "://" not in given and not given.startswith("file:"):
        given = f"file:{Path(given).absolute()}"
    path = files.qualify(given).rstrip("/")
    table = owner_of(session, path)
    if table is not None:
        raise AcidAnalysisError(
            "LOCATION_IN_USE",
            f"{path} belongs to the transactional table {table.full_name}: SELECT its rows and "
            "INSERT INTO the other table",
        )
    if not files.is_directory(path):
        sources = [path] if files.exists(path) else []
    else:
        sources = [child(path, name) for name in files.names(path) if not is_hidden(name)]
    for source in sources:
        if files.is_directory(source):
            raise AcidAnalysisError(
                "LOAD_DATA_DIRECTORY",
                f"{source} is a directory in {path}: LOAD DATA takes only the files of one "
                "directory, so load each directory by itself",
            )
    if not sources:
        raise AcidLookupError(
            "LOAD_DATA_PATH_NOT_EXISTS",
            f"there is no file in {path}: check the path",
            {"path": path},
        )
    return sources


def check_files(session: AcidSession, table: Table, sources: Sequence[str]) -> CheckedFiles:
    """Refuse files that readers of the table could not read.

    Raises:
        AcidAnalysisError: NOT_NULL_CONSTRAINT_VIOLATION, by the statistics of an ORC file.
        FormatError: LOAD_DATA_ACID_FILE, LOAD_DATA_SCHEMA_MISMATCH, and those of ``read_tail``.
    """
    if table.file_format is FileFormat.TEXT:
        return CheckedFiles(rows=None)
    if table.file_format is FileFormat.PARQUET:
        for source in sources:
            found = session.spark.read.format("parquet").load(source).schema
            _check_columns(session, table, source, found)
        return CheckedFiles(rows=None)
    first: OrcTail | None = None
    rows, keeps_timestamps = 0, True
    for source in sources:
        tail = _orc_tail(session, source)
        if first is None or tail.types != first.types:
            _check_columns(session, table, source, _orc_schema(session, source, tail))
            keeps_timestamps &= _keeps_timestamps(session, table, source, tail)
        _check_no_nulls(table, source, tail)
        first = first or tail
        rows += tail.rows
    return CheckedFiles(rows=rows, keeps_timestamps=keeps_timestamps)


def _orc_schema(session: AcidSession, source: str, tail: OrcTail) -> StructType:
    if any(node.kind == FILE_INSTANT for node in tail.types):
        return schema_of_file(session.spark, tail)
    return session.spark.read.format("orc").load(source).schema


def _keeps_timestamps(session: AcidSession, table: Table, source: str, tail: OrcTail) -> bool:
    """Return whether a file has the timestamps of the table in its form.

    Raises:
        FormatError: LOAD_DATA_SCHEMA_MISMATCH, its rows could not be written again either.
    """
    differing = differing_timestamps(session.spark, table, tail)
    if LOCAL_TIME in differing or (differing and table.insert_only):
        raise FormatError(
            "LOAD_DATA_SCHEMA_MISMATCH",
            f"{source} has instants, and {table.full_name} local times: read it with Spark and "
            "INSERT INTO the table",
        )
    return not differing


def _check_no_nulls(table: Table, source: str, tail: OrcTail) -> None:
    """Refuse a file with NULL in a column that is NOT NULL, which an UPDATE would read as a value.

    A column with values of its own, identity, generated or from before it was added, may lack.
    """
    fields = tail.struct_fields()
    for position, column in enumerate(table.columns):
        own = column.identity is not None or column.generated is not None
        if column.nullable or own:
            continue
        if position < len(fields):
            values = tail.values_of(fields[position][1])
        else:
            values = 0 if column.initial is None else None
        if values is not None and values < tail.rows:
            raise AcidAnalysisError(
                "NOT_NULL_CONSTRAINT_VIOLATION",
                f"{source} has NULL in the column {column.name} of {table.full_name}, which is "
                "NOT NULL: read it with Spark and INSERT INTO the table, with COALESCE",
            )


def _orc_tail(session: AcidSession, source: str) -> OrcTail:
    try:
        tail = read_tail(session.files, source)
    except FormatError as error:
        raise FormatError(
            error.condition,
            f"{source} is not an ORC file ({error.message}): LOAD DATA does not convert files, so "
            "read it with Spark and INSERT INTO the table",
        ) from error
    if is_acid_file(tail):
        raise FormatError(
            "LOAD_DATA_ACID_FILE",
            f"{source} was written by a transactional table and has row ids of its own: SELECT "
            "from that table and INSERT INTO this one",
        )
    if any(node.kind == _UNION for node in tail.types):
        raise FormatError(
            "LOAD_DATA_SCHEMA_MISMATCH",
            f"{source} has values of type {_UNION}: read it with Spark and INSERT INTO the table",
        )
    return tail


def _check_columns(session: AcidSession, table: Table, source: str, found: StructType) -> None:
    """Refuse a file without the table's columns in their order; the last ones may be missing.

    What Spark finds as TIMESTAMP_NTZ is a number in the file, and what the table has as one is
    ORC's TIMESTAMP.
    """
    expected = data_schema(session.spark, table).fields
    fits = len(found.fields) <= len(expected) and all(
        lowered(have.name) == lowered(want.name)
        and not has_type(have.dataType, (TimestampNTZType,))
        and (
            have.dataType.simpleString().lower()
            == with_timestamps(want.dataType.simpleString().lower(), repeat(TIMESTAMP))
            or convertible(have.dataType, want.dataType)
        )
        for have, want in zip(found.fields, expected, strict=False)
    )
    if not fits:
        have, want = (
            ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in fields)
            for fields in (found.fields, expected)
        )
        raise FormatError(
            "LOAD_DATA_SCHEMA_MISMATCH",
            f"{source} has the columns {have}, {table.full_name} {want}: read it with Spark and "
            "INSERT INTO the table",
        )
