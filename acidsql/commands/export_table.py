"""EXPORT TABLE: writes a table's rows and definition as an archive that any Hive cluster can read.

The files contain no row ids and no delete events, which have no meaning in another cluster. Hive
writes a separate table for the export (``AcidExportSemanticAnalyzer``). With acidsql, Spark writes
the files to the archive directly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from uuid import uuid4

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from acidsql import bridge
from acidsql.commands import result, write_schema
from acidsql.commands.partitions import matching
from acidsql.commands.protect_acid_tables import owner_of
from acidsql.errors import AcidAnalysisError, AcidLookupError
from acidsql.format.names import is_hidden, original_file_name
from acidsql.insert_only.write import finalize_insert_only, write_insert_only
from acidsql.metastore.model import FileFormat, Partition, Table
from acidsql.planning.name_resolution import acid_table
from acidsql.planning.statement_snapshots import leased_snapshot
from acidsql.schema.columns import has_instant
from acidsql.schema.spark_limits import why_not_written
from acidsql.session.acid_session import AcidSession
from acidsql.session.metrics import Phase, phase
from acidsql.storage.bucketing import bucket_id
from acidsql.storage.filesystem import child
from acidsql.storage.finalize import FinishedDirectory
from acidsql.storage.publication import Publication, sync_all
from acidsql.storage.staging import PART, named_sql
from acidsql.storage.staging_place import StagingPlace
from acidsql.syntax.copy_statements import ExportTable
from acidsql.syntax.nodes import PartitionSpec


def export_table(session: AcidSession, statement: ExportTable) -> DataFrame:
    """Run EXPORT TABLE; return one row of counts.

    ``_metadata`` is written last, because a directory without it is not an archive.
    """
    table = acid_table(session, statement.name)
    _refuse(session, table, statement)
    path = _target(session, statement.archive)
    wanted = _partitions(session, table, statement.partition)
    with leased_snapshot(session, kept=False) as snapshot:
        values = None if wanted is None else frozenset(p.values for p in wanted)
        rows = bridge.frame_of(session.spark, snapshot.relation(table, values))
        with _written(session, path) as staging, phase(Phase.EXECUTE):
            finished = _write(session, table, rows, staging)
            _place(session, table, finished, path)
    number = sum(directory.events for directory in finished)
    return result.counts(session.spark, affected=number)


def _refuse(session: AcidSession, table: Table, statement: ExportTable) -> None:
    reasons = {
        "EXPORT_FOR_REPLICATION": (
            "FOR REPLICATION" if statement.unsupported else None,
            "it belongs to Hive's REPL DUMP: leave it out",
        ),
    }
    for feature, (what, reason) in reasons.items():
        if what is not None:
            raise AcidAnalysisError(
                f"UNSUPPORTED_FEATURE.{feature}", f"EXPORT of {what} is not supported: {reason}"
            )
    if table.file_format is FileFormat.ORC:
        shape = write_schema.write_schema_of(session, table)
        unwritten = _why_no_instants(table) or why_not_written(shape.data)
        if unwritten is not None:
            raise AcidAnalysisError("UNSUPPORTED_DATATYPE", f"{table.full_name}: {unwritten}")


def _why_no_instants(table: Table) -> str | None:
    """Return the reason why Spark's ORC writer cannot write a column, or None."""
    for column in table.columns:
        if has_instant(column):
            return f"Spark's ORC writer makes the instants of column {column.name!r} local times"
    return None


def _target(session: AcidSession, given: str) -> str:
    """Return the path of a new archive; it must not exist, or must be an empty directory.

    Raises:
        AcidAnalysisError: PATH_ALREADY_EXISTS, LOCATION_IN_USE, INVALID_LOCATION.
    """
    path = session.files.qualify(given).rstrip("/")
    owner = owner_of(session, path)
    if owner is not None:
        raise AcidAnalysisError(
            "LOCATION_IN_USE",
            f"{path} belongs to the transactional table {owner.full_name}: export to another place",
        )
    is_file = session.files.exists(path) and not session.files.is_directory(path)
    present = [] if is_file else [n for n in session.files.names(path) if not is_hidden(n)]
    if is_file or present or session.files.exists(child(path, "_metadata")):
        raise AcidAnalysisError(
            "PATH_ALREADY_EXISTS",
            f"{path} {'is a file' if is_file else 'is not empty'}: export to another place",
            {"outputPath": path},
        )
    return path


def _partitions(
    session: AcidSession, table: Table, spec: PartitionSpec | None
) -> list[Partition] | None:
    """Return the partitions that a specification matches, None without a specification."""
    if spec is None:
        return None
    partitions = matching(session, table, spec)
    if not partitions:
        raise AcidLookupError(
            "PARTITIONS_NOT_FOUND",
            f"{table.full_name} has no such partition: SHOW PARTITIONS lists them",
        )
    return partitions


@contextmanager
def _written(session: AcidSession, path: str) -> Iterator[str]:
    """Yield a staging directory in an archive; if the block raises, delete all that it wrote."""
    exists, before = session.files.exists(path), session.files.names(path)
    staging = child(path, f"_acidsql_export_{uuid4().hex}")
    try:
        yield staging
    except BaseException:
        for name in set(session.files.names(path)) - set(before):
            session.files.delete(child(path, name))
        if not exists:
            session.files.delete(path)
        raise
    session.files.delete(staging)


def _write(
    session: AcidSession, table: Table, rows: DataFrame, staging: str
) -> list[FinishedDirectory]:
    """Write the rows of a table into files without row ids, by partition.

    If the table has buckets, each bucket also gets its own directory. The last value of a directory
    is then its bucket number.
    """
    plain = replace(
        table, properties={**table.properties, "transactional_properties": "insert_only"}
    )
    shape = write_schema.write_schema_of(session, plain)
    values = [f"c{i}" for i in range(len(rows.columns))]  # never ambiguous
    stored = shape.stored(bridge.renamed(rows, values), values, "")
    number = len(shape.data.fields)
    columns = {
        **dict(zip(shape.data.names, values, strict=False)),
        **shape.texts(values[number:]),
    }
    bucket = None
    if table.num_buckets:
        bucket = f"{PART}{len(table.partition_columns)}"
        data_columns = [F.col(name) for name in values[:number]]
        stored = stored.withColumn(bucket, bucket_id(session.spark, table, data_columns))
        columns[bucket] = bucket
    static = None if table.partition_columns else ()
    with bridge.job_description(session.spark, f"EXPORT {table.full_name}"):
        files = bridge.select(stored, *named_sql(columns))
        write_insert_only(session, files, plain, StagingPlace(staging), "i0", static, bucket)
    return finalize_insert_only(session, plain, StagingPlace(staging))


def _place(
    session: AcidSession, table: Table, finished: Sequence[FinishedDirectory], path: str
) -> None:
    """Move finished directories to their places in an archive, and write ``_metadata``."""
    # Import the metastore server's Thrift structures only when they are needed.
    from acidsql.metastore.hive import archive  # noqa: PLC0415

    publication = Publication(root=path)
    partitions: dict[tuple[str, ...], Partition] = {}
    for directory in finished:
        place = child(path, archive.DATA)
        values = directory.values[: len(table.partition_columns)]
        if table.partition_columns:
            place = child(path, table.partition_name(values))
            partitions[values] = Partition(values=values, location=place)
        if table.num_buckets:
            # Each bucket has one file, and the file's name contains the bucket number.
            session.files.make_directory(place)
            name = original_file_name(int(directory.values[-1]))
            session.files.rename(child(directory.path, original_file_name(0)), child(place, name))
        else:
            session.files.rename(directory.path, place)
        publication.add(place)
    if not finished and not table.partition_columns:
        session.files.make_directory(child(path, archive.DATA))
    sync_all(session.files, [publication])
    # IMPORT would create identity columns without knowing which values the rows already use.
    plain = replace(table, columns=tuple(replace(c, identity=None) for c in table.columns))
    text = archive.archive_text(plain, list(partitions.values()))
    session.files.write(child(path, archive.METADATA), text.encode())
