"""Reading of insert-only tables (Hive's "MM" tables): plain files in base and delta directories.

Their rows have no row ids and are never deleted, so the selected directories determine the rows of
a snapshot (``AcidUtils.getAcidState``). The files may have formats other than ORC. They may be in
subdirectories, which UNION ALL writes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    CharType,
    DataType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from acidsql import bridge
from acidsql.errors import AcidAnalysisError
from acidsql.format.names import is_hidden
from acidsql.metastore.model import FileFormat, Table
from acidsql.scan.columns import ORDINAL, partition_columns
from acidsql.scan.directories import insert_directories
from acidsql.scan.record import ScanRecord
from acidsql.scan.relation import file_relation, plain_files, projected
from acidsql.scan.snapshot import TableSnapshot, with_nested_originals
from acidsql.schema.columns import data_schema, file_schema, has_type
from acidsql.schema.spark_limits import has_nested_type
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import child
from acidsql.storage.relation import ReadOptions
from acidsql.syntax.lexer import quote
from acidsql.syntax.literals import string_value

_OPTIONS = {"ignoreMissingFiles": "false", "ignoreCorruptFiles": "false"}
_READERS = {
    FileFormat.PARQUET: "parquet.ParquetFileFormat",
    FileFormat.TEXT: "text.TextFileFormat",
}
# Array column with the fields of a line.
_FIELDS = "__fields"
_LINE = StructType([StructField("value", StringType())])


def rows(session: AcidSession, record: ScanRecord, *, as_stored: bool = False) -> DataFrame:
    """Build a DataFrame of a snapshot's rows, with the table's columns in their order.

    Args:
        record: record with the snapshot; this function adds the files and bytes that it reads.
        as_stored: whether timestamps keep the values of Spark's reader, to be written again. They
            are then not converted to the session's time zone.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.TEXT_COLUMNS, text with nested or escaped values.
    """
    snapshot = record.snapshot
    table = snapshot.table
    schema = data_schema(session.spark, table)
    is_text = table.file_format is FileFormat.TEXT
    in_files = file_schema(session.spark, table)
    stored = StructType([StructField(f.name, f.dataType) for f in in_files.fields])
    scanned = _scanned(session, snapshot)
    record.files, record.bytes = len(scanned), sum(file.size for file in scanned)
    if table.file_format is FileFormat.ORC:
        files = file_relation(
            session,
            table,
            snapshot.partitions,
            plain_files(snapshot, scanned),
            ReadOptions(zone=session.jvm_time_zone if as_stored else None),
            statistics=(max(1, record.bytes), -1),
        )
        return projected(session.spark, table, files).frame()
    columns = _LINE if is_text else stored
    reader = _READERS[table.file_format]
    relation = bridge.file_scan(session.spark, scanned, columns, _OPTIONS, reader)
    session.leases.watch(relation.index)
    scanned_rows = relation.rows
    if table.partition_columns:
        scanned_rows = scanned_rows.select("*", f"{bridge.FILE_ORDINAL} AS {ORDINAL}")
    frame = scanned_rows.frame()
    if is_text:
        split = F.split("value", re.escape(delimiter(table.serde_properties)), -1)
        frame = frame.select("*", split.alias(_FIELDS))
        values = _from_text(session, table, schema)
    else:
        values = [F.col(quote(f.name)) for f in stored.fields]
    shown = [
        with_blanks(value, bridge.parse_type(session.spark, column.type)).alias(
            field.name, metadata=field.metadata
        )
        for value, column, field in zip(values, table.columns, schema.fields, strict=True)
    ]
    return frame.select(*shown, *partition_columns(session, snapshot))


def _scanned(session: AcidSession, snapshot: TableSnapshot) -> list[bridge.ScanFile]:
    """List the files of a snapshot, also in subdirectories."""
    scanned = []
    for data in insert_directories(snapshot):
        for path in with_nested_originals(session.files, snapshot.listings, data.path):
            if not any(map(is_hidden, path.split("/"))):
                place, _, name = child(data.path, path).rpartition("/")
                scanned.append(snapshot.listings.get(place).scanned(name, data.ordinal))
    return scanned


def _from_text(session: AcidSession, table: Table, schema: StructType) -> list[Column]:
    """Build the columns from lines of Hive's ``LazySimpleSerDe``; invalid values become NULL."""
    check_text_columns(session, table)
    null = string_value(null_text(table.serde_properties))
    values = []
    for i, field in enumerate(schema.fields):
        text = f"nullif(get({_FIELDS}, {i}), {null})"
        is_binary = isinstance(field.dataType, BinaryType)
        declared = bridge.type_sql(session.spark, field.dataType)
        values.append(
            F.expr(f"unbase64({text})" if is_binary else f"try_cast({text} AS {declared})")
        )
    return values


def check_text_columns(session: AcidSession, table: Table) -> None:
    """Check that a text table only has values that acidsql can read and write without Hive.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.TEXT_COLUMNS.
    """
    fields = data_schema(session.spark, table).fields
    nested = [f.name for f in fields if has_nested_type(f.dataType)]
    if nested or "escape.delim" in table.serde_properties:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.TEXT_COLUMNS",
            f"{table.full_name} is stored as text with nested or escaped values, which is not "
            "supported: store it as ORC or Parquet",
        )


def null_text(properties: Mapping[str, str]) -> str:
    """Return the text that means NULL in a text table."""
    return properties.get("serialization.null.format", "\\N")


def delimiter(properties: Mapping[str, str]) -> str:
    """Return the field delimiter, which the property may give as a code (``LazyUtils.getByte``)."""
    text = properties.get("field.delim", properties.get("serialization.format", "1"))
    try:
        return chr(int(text) & 0xFF)
    except ValueError:
        return text[:1]


def with_blanks(value: Column, declared: DataType) -> Column:
    """Pad the CHAR values in a column with blanks to their declared lengths.

    Spark compares padded values.

    Args:
        declared: type of the column; CHAR may also occur inside arrays, maps and structs.
    """
    if not has_type(declared, (CharType,)):
        return value
    if isinstance(declared, CharType):
        return F.rpad(value, declared.length, " ")
    if isinstance(declared, ArrayType):
        element = declared.elementType
        return F.transform(value, lambda e: with_blanks(e, element))
    if isinstance(declared, MapType):
        keys, items = declared.keyType, declared.valueType
        filled = F.transform_keys(value, lambda k, _: with_blanks(k, keys))
        return F.transform_values(filled, lambda _, v: with_blanks(v, items))
    fields = [with_blanks(value.getField(f.name), f.dataType).alias(f.name) for f in declared]
    return F.when(value.isNotNull(), F.struct(*fields))
