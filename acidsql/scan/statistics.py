"""Statistics of a scan for Spark's optimiser: rows, and the size of the columns that are used.

Spark reckons that a projection keeps as much of a relation's size as its columns are of the
relation's columns, by the default sizes of their types (``SizeInBytesOnlyStatsPlanVisitor``). Of an
ACID file it sees the ACID columns and those fields of ``row`` that are left after pruning. So a
relation is given the size from which this rule computes what it computes for the same rows in a
plain table. With the cost-based optimiser on, Spark multiplies the number of rows instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampType,
)

from acidsql import bridge
from acidsql.format.identifiers import folded
from acidsql.limits import limits
from acidsql.scan.directories import DataDirectory, file_tails
from acidsql.scan.snapshot import TableSnapshot
from acidsql.schema.acid_file import event_schema, padded
from acidsql.schema.columns import data_schema, partition_schema
from acidsql.session.acid_session import AcidSession
from acidsql.storage.parallel import in_parallel

# Bytes that Spark adds for each row (``EstimationUtils.getSizePerRow``).
_ROW_OVERHEAD = 8
# Bytes of the one field of ``_metadata`` that the scan of a partitioned table reads.
_FILE_METADATA = 8
_SIZES: dict[type[DataType], int] = {
    BooleanType: 1,
    ByteType: 1,
    ShortType: 2,
    IntegerType: 4,
    FloatType: 4,
    DateType: 4,
    LongType: 8,
    DoubleType: 8,
    TimestampType: 8,
    StringType: 20,
    BinaryType: 100,
}
_LONG_DECIMAL_DIGITS = 18


def default_size(data_type: DataType) -> int:
    """Return the bytes that Spark assumes a value of a type to have (defaultSize of ``DataType``).

    CHAR and VARCHAR are strings in a plan.
    """
    match data_type:
        case StructType():
            return sum(default_size(field.dataType) for field in data_type.fields)
        case ArrayType():
            return default_size(data_type.elementType)
        case MapType():
            return default_size(data_type.keyType) + default_size(data_type.valueType)
        case DecimalType():
            return 8 if data_type.precision <= _LONG_DECIMAL_DIGITS else 16
    return _SIZES.get(type(data_type), _SIZES[StringType])


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Part of a snapshot's files that a plan uses.

    Attributes:
        table: database and name of the table.
        rows_per_byte: of the files; rows that are deleted count.
        kept: fraction of the rows that are not deleted.
        width: size that the relation must have, as a multiple of that of its files.
    """

    table: tuple[str, str]
    rows_per_byte: float
    kept: float
    width: float

    def of(self, files: Sequence[bridge.ScanFile]) -> bridge.RelationStatistics:
        """Return the statistics of a relation over some files."""
        kept = sum(file.size for file in files) * self.kept
        return bridge.RelationStatistics(
            table=self.table,
            size=max(1, round(kept * self.width)),
            rows=max(1, round(kept * self.rows_per_byte)),
        )


def usage_of(
    session: AcidSession,
    snapshot: TableSnapshot,
    directories: Sequence[DataDirectory],
    events: int,
    columns: frozenset[str] | None,
) -> Usage:
    """Find how much of a snapshot's files a plan uses.

    Rows are counted by the first files of some directories, whose tails the scan needs anyhow: all
    others are taken to have as many for each byte.

    Args:
        directories: with the snapshot's rows.
        events: number of delete events; each deletes one row, or one that is gone already.
        columns: keys of the columns that are used (``Column.key``); None for all.
    """
    step = -(-len(directories) // limits().sampled_tails) or 1

    def look(data: DataDirectory) -> tuple[int, int]:
        tails = file_tails(session, snapshot.listings.get(data.path))
        _, first = next(tails, ("", None))
        return (0, 0) if first is None else (first.rows, first.file_length)

    looked = list(in_parallel(look, directories[::step]))
    rows, size = (sum(counts) for counts in zip(*looked, strict=True)) if looked else (0, 0)
    per_byte = rows / size if size else 0.0
    whole = sum(
        version.size
        for data in directories
        for version in snapshot.listings.get(data.path).files.values()
    )
    total = per_byte * whole
    table = snapshot.table
    return Usage(
        table=(table.database, table.name),
        rows_per_byte=per_byte,
        kept=max(0.0, 1 - events / total) if total and events else 1.0,
        width=relative_width(
            data_schema(session.spark, table), partition_schema(session.spark, table), columns
        ),
    )


def relative_width(
    row: StructType, partitions: StructType, columns: frozenset[str] | None
) -> float:
    """Return the size of the rows that Spark sees in a relation, divided by that of the table's.

    Args:
        row: columns in the files.
        partitions: partition columns, which are computed from the file of a row.
        columns: those that are used, None for all.
    """
    used = [f for f in row.fields if columns is None or folded(f.name) in columns]
    seen = default_size(event_schema(padded(StructType(used))))
    if partitions.fields:
        seen += _FILE_METADATA
    whole = default_size(row) + default_size(partitions)
    return (_ROW_OVERHEAD + seen) / (_ROW_OVERHEAD + whole)
