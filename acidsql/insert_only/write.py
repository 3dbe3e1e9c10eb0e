"""Writing of insert-only tables: files of Spark's writers, with Hive's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pyarrow import parquet
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, CharType, DataType, StringType, VarcharType

from acidsql import bridge
from acidsql.errors import AcidAnalysisError
from acidsql.format.names import original_file_name
from acidsql.format.partitions import escape
from acidsql.insert_only.read import check_text_columns, delimiter, null_text
from acidsql.insert_only.staged import staged_directories
from acidsql.limits import limits
from acidsql.metastore.model import FileFormat, Table
from acidsql.schema.columns import data_schema
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import child
from acidsql.storage.finalize import FinishedDirectory, UnwrittenFile
from acidsql.storage.object_store import WholeFile
from acidsql.storage.parallel import in_parallel
from acidsql.storage.staging import ORC_COMPRESS, TARGET, codec, part_columns, save
from acidsql.storage.staging_place import StagingPlace
from acidsql.storage.tails import read_tail
from acidsql.syntax.lexer import quote

_SOURCES = "org.apache.spark.sql.execution.datasources"
_WRITERS = {
    FileFormat.ORC: f"{_SOURCES}.orc.OrcFileFormat",
    FileFormat.PARQUET: f"{_SOURCES}.parquet.ParquetFileFormat",
    FileFormat.TEXT: f"{_SOURCES}.text.TextFileFormat",
}


def write_insert_only(
    session: AcidSession,
    rows: DataFrame,
    table: Table,
    staging: StagingPlace,
    target: str,
    values: Sequence[str] | None,
    bucket: str | None = None,
) -> None:
    """Write rows into staging.

    Args:
        rows: rows with the table's columns, then the texts of the partition values
            (``part_columns``).
        staging: staging place of the statement.
        target: name of the directory in staging.
        values: partition values if all rows go to one partition, or None.
        bucket: name of an additional last column with the bucket of each row. Each bucket becomes
            one file in a separate directory.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.TEXT_COLUMNS.
        WriteJobError: the job failed.
    """
    parts = part_columns(table)
    path = child(staging.path, f"{TARGET}={target}")
    if values is not None:
        named_values = zip(parts, values, strict=True)
        path = child(path, *[f"{name}={escape(value)}" for name, value in named_values])
        placed, parts = rows.drop(*parts), []
    else:
        placed = rows
    if bucket is not None:
        parts = [*parts, bucket]
        placed = placed.repartition(*parts).sortWithinPartitions(*parts)
    elif parts:
        is_small = bridge.input_bytes(rows) <= limits().one_task_bytes
        once = rows if is_small else bridge.computed_once(rows)
        placed = once.coalesce(1) if is_small else bridge.rebalance(once, parts)
        placed = placed.sortWithinPartitions(*parts)
    if table.file_format is FileFormat.TEXT:
        placed = placed.select(_line(session, table).alias("value"), *parts)
    elif any(c.name != c.stored_name for c in table.columns):
        placed = placed.toDF(*[c.stored_name for c in table.columns], *parts)
    save(placed, staging, path, _WRITERS[table.file_format], _writer_options(table), parts)


def _writer_options(table: Table) -> dict[str, str]:
    """Return the options of the write job: table options, and options that are always fixed."""
    options = {
        k: v for k, v in table.properties.items() if k.startswith("orc.") and k != ORC_COMPRESS
    }
    compression = {"compression": codec(table)} if table.file_format is FileFormat.ORC else {}
    return {
        **options,
        **compression,
        "maxRecordsPerFile": "0",
        "mapreduce.fileoutputcommitter.algorithm.version": "1",
        "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    }


def _line(session: AcidSession, table: Table) -> Column:
    """Build a line of Hive's ``LazySimpleSerDe`` from the columns of a row.

    A value cannot contain a delimiter or a line break: a row with this value makes the job fail.
    """
    check_text_columns(session, table)
    separator, null = delimiter(table.serde_properties), null_text(table.serde_properties)
    fields = []
    for stored, field in zip(table.columns, data_schema(session.spark, table), strict=True):
        value = F.col(quote(stored.name))
        text = F.base64(value) if isinstance(field.dataType, BinaryType) else value.cast("string")
        if _may_hold_anything(field.dataType):
            wrong = text.rlike(f"[\\Q{separator}\\E\\n\\r]") | (text == null)
            message = (
                f"column {stored.name} has a value that a text file cannot hold: use ORC or Parquet"
            )
            text = F.when(wrong, F.raise_error(F.lit(message))).otherwise(text)
        fields.append(F.coalesce(text, F.lit(null)))
    return F.concat_ws(separator, *fields)


def _may_hold_anything(data_type: DataType) -> bool:
    return isinstance(data_type, StringType | CharType | VarcharType)


def finalize_insert_only(
    session: AcidSession, table: Table, staging: StagingPlace
) -> list[FinishedDirectory]:
    """Give the staged files Hive's names, and delete files without rows.

    Directories without files are left out.
    """
    finished = []
    for directory in staged_directories(session.files, staging):
        paths = [child(directory.path, name) for name in sorted(directory.files)]
        counts = in_parallel(lambda path: _counted(session, table, path), paths)
        kept = [path for path, count in zip(paths, counts, strict=True) if count.rows]
        for path in set(paths) - set(kept):
            session.files.delete(path)
        names = [original_file_name(number) for number in range(len(kept))]
        sizes = [count.size for count in counts if count.rows]
        unwritten: list[UnwrittenFile] = []
        for path, name, size in zip(kept, names, sizes, strict=True):
            if staging.local is not None:
                unwritten.append(UnwrittenFile(name, WholeFile(path, size)))
            else:
                session.files.rename(path, child(directory.path, name))
        if kept:
            finished.append(
                FinishedDirectory(
                    path=directory.path,
                    values=directory.values,
                    deletes=False,
                    statement_id=int(directory.target[1:]),
                    events=sum(count.rows for count in counts),
                    files=len(kept),
                    size=sum(sizes),
                    unwritten=tuple(unwritten),
                )
            )
    return finished


class _Counted(NamedTuple):
    rows: int
    size: int


def _counted(session: AcidSession, table: Table, path: str) -> _Counted:
    return _Counted(rows=_rows(session, table, path), size=session.files.size(path))


def _rows(session: AcidSession, table: Table, path: str) -> int:
    """Count the rows in a file."""
    files = session.files
    if table.file_format is FileFormat.ORC:
        return read_tail(files, path).rows
    with files.open(path) as stream:
        if table.file_format is FileFormat.PARQUET:
            return int(parquet.ParquetFile(stream).metadata.num_rows)
        blocks = iter(lambda: stream.read(limits().copy_buffer_bytes), b"")
        return sum(block.count(b"\n") for block in blocks)


def refuse_row_changes(table: Table, statement: str) -> None:
    """Refuse UPDATE, DELETE and MERGE on an insert-only table, because its rows have no row ids.

    Hive: ``ErrorMsg`` 10414.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.INSERT_ONLY_TABLE.
    """
    if table.insert_only:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.INSERT_ONLY_TABLE",
            f"{statement} is not possible on {table.full_name}, an insert-only table: its rows "
            "have no identity; use INSERT OVERWRITE, or a table without "
            "'transactional_properties'='insert_only'",
        )
