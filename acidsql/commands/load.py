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
from acidsql.metastore.catalog_changes import DeleteLoadedFiles, LoadedFile
from acidsql.metastore.history import RecordedStatement, WriteCounts
from acidsql.metastore.model import FileFormat, Table
from acidsql.scan.directories import is_acid_file
from acidsql.scan.relation import projected
from acidsql.schema.columns import data_schema, has_type
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import FileVersion, child
from acidsql.storage.relation import ReadOptions, file_relation
from acidsql.storage.splits import DataFile, FileKind
from acidsql.storage.tails import read_tail
from acidsql.syntax.lexer import quote
from acidsql.syntax.statements import LoadData
from acidsql.transactions.write_intent import insert_intent
from acidsql.transactions.write_transaction import TableWrite, write_transaction

# ORC's union type: acidsql does not read the corresponding type of Hive tables.
_UNION = "union"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedFiles:
    """Files to load, after the checks.

    Attributes:
        rows: number of rows in ORC files; None for other formats.
        keeps_timestamps: whether the files store timestamps as the table does: instants for
            TIMESTAMP_LTZ, otherwise local times. If they do not, the rows must be rewritten.
    """

    rows: int | None
    keeps_timestamps: bool = True


def load(session: AcidSession, table: Table, statement: LoadData) -> DataFrame:
    """Run LOAD DATA: put files into a delta, or with OVERWRITE into a base.

    The files are copied, or linked on a local disk, and deleted after the commit unless they are
    LOCAL. acidsql reads and rewrites the rows instead if the table has buckets, CHECK constraints,
    generated columns or identity columns, or if the files store timestamps in another form. A load
    that fails at any point leaves the files in their place.
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
        # Read the versions before the copy. A file that changes in the meantime then has another
        # version, and is not deleted.
        versions = [(source, session.files.version(source)) for source in sources]
        if not statement.local:
            transaction.changes.append(_delete(versions))
        if table.num_buckets or has_checks(table) or not checked.keeps_timestamps:
            return _load_rows(transaction, versions, values)
        write_id = transaction.write_id
        name = base_name(write_id) if overwrite else delta_name(write_id, write_id, 0)
        # A LOCAL source remains, and later changes to it must not change the table.
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
        transaction: the transaction.
        sources: the files, with their versions before they are read.
        values: values of the partition.
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
        transaction: transaction of the statement.
        places: files of each partition, by its values; the size of each file in bytes, by its path.
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
    # In an identity column, the files can have NULL, for which a value is generated.
    columns = tuple(
        replace(c, nullable=c.nullable or c.identity is not None) for c in table.columns
    )
    read = replace(table, columns=columns)
    relation, _ = file_relation(
        session.spark, read, list(places), files, ReadOptions(), zone=zone, statistics=statistics
    )
    rows = projected(session.spark, read, relation).frame()
    every = [quote(column.name) for column in (*table.columns, *table.partition_columns)]
    shape = write_schema_of(session, table, transaction)
    static = next(iter(places)) if len(places) == 1 else None
    return write_query(transaction, shape, rows.select(*every), static)


def has_checks(table: Table) -> list[str]:
    """Return descriptions of the constraints and columns that require reading each new row."""
    return [
        *(f"the constraint {c.name} {c.definition}" for c in table.enforced_constraints),
        *(f"the generated column {c.name}" for c in table.generated_columns),
        *(f"the identity column {c.name}" for c in table.identity_columns),
    ]


def refuse_checks(table: Table, statement: str) -> None:
    """Refuse to add files to a table whose constraints or columns require reading each new row.

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
    """Return the values of the partition that receives the files; () without partition columns."""
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
        AcidAnalysisError: NOT_NULL_CONSTRAINT_VIOLATION, according to an ORC file's statistics.
        FormatError: LOAD_DATA_ACID_FILE, LOAD_DATA_SCHEMA_MISMATCH, and the errors of
            ``read_tail``.
    """
    if table.file_format is FileFormat.TEXT:
        return CheckedFiles(rows=None)
    if table.file_format is FileFormat.PARQUET:
        for source in sources:
            schema = session.spark.read.format("parquet").load(source).schema
            _check_columns(session, table, source, schema)
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
    """Return whether a file stores timestamps in the same form as the table.

    Raises:
        FormatError: LOAD_DATA_SCHEMA_MISMATCH, acidsql cannot rewrite the rows of the file either.
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
    """Refuse a file with NULL in a NOT NULL column; an UPDATE would read the NULL as a value.

    The file can have NULL in identity and generated columns, which get computed values. It can lack
    a column that was added with a DEFAULT.
    """
    fields = tail.struct_fields()
    for position, column in enumerate(table.columns):
        is_computed = column.identity is not None or column.generated is not None
        if column.nullable or is_computed:
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


def _check_columns(session: AcidSession, table: Table, source: str, schema: StructType) -> None:
    """Refuse a file without the table's columns in their order; the last columns can be missing.

    A column that Spark reads as TIMESTAMP_NTZ is a number in the file, but the table stores its
    TIMESTAMP_NTZ columns as ORC's TIMESTAMP.
    """
    expected = data_schema(session.spark, table).fields
    fits = len(schema.fields) <= len(expected) and all(
        lowered(have.name) == lowered(want.name)
        and not has_type(have.dataType, (TimestampNTZType,))
        and (
            have.dataType.simpleString().lower()
            == with_timestamps(want.dataType.simpleString().lower(), repeat(TIMESTAMP))
            or convertible(have.dataType, want.dataType)
        )
        for have, want in zip(schema.fields, expected, strict=False)
    )
    if not fits:
        have, want = (
            ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in fields)
            for fields in (schema.fields, expected)
        )
        raise FormatError(
            "LOAD_DATA_SCHEMA_MISMATCH",
            f"{source} has the columns {have}, {table.full_name} {want}: read it with Spark and "
            "INSERT INTO the table",
        )
