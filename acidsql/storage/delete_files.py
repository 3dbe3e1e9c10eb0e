"""Delete files written by the driver: a few thousand keys are not worth a Spark job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import NamedTuple

import pyarrow as pa
import pyarrow.orc as pa_orc
import pyorc
from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructField, StructType

from acidsql.errors import FormatError
from acidsql.format.acid_metadata import footer_items
from acidsql.format.bucket_codec import decode_bucket
from acidsql.format.names import bucket_file_name
from acidsql.schema import event_schema
from acidsql.storage.filesystem import FileSystem, child

_DELETE = 2
_CODECS = {
    "none": pyorc.CompressionKind.NONE,
    "zlib": pyorc.CompressionKind.ZLIB,
    "snappy": pyorc.CompressionKind.SNAPPY,
    "lz4": pyorc.CompressionKind.LZ4,
    "zstd": pyorc.CompressionKind.ZSTD,
}


class RowId(NamedTuple):
    """Identity of a row, in the order in which ACID files are sorted."""

    write_id: int
    bucket: int
    row_id: int


class DeleteEvent(NamedTuple):
    """The row that is deleted, and the write id of the transaction that deletes it."""

    key: RowId
    write_id: int


def read_events(files: FileSystem, path: str) -> list[DeleteEvent]:
    """The events of a delete file, in its order.

    Raises:
        FormatError: it is damaged (FAILED_READ_FILE).
    """
    columns = (column.to_pylist() for column in read_table(files, path).columns)
    return [DeleteEvent(RowId(*key), w) for *key, w in zip(*columns, strict=True)]


def read_table(files: FileSystem, path: str) -> pa.Table:
    """The events of a delete file, in its order: the parts of the row id under their names in
    ``RowId``, and ``deleted_by``, the write id of the transaction that deletes it.

    Raises:
        FormatError: it is damaged (FAILED_READ_FILE).
    """
    try:
        with files.open(path) as stream:
            reader = pa_orc.ORCFile(stream)
            # Query-based compaction writes the names in lower case.
            table = reader.read(columns=reader.schema.names[1:5])
    except (OSError, pa.ArrowException) as error:
        raise FormatError("FAILED_READ_FILE", f"{path} cannot be read: {error}") from error
    return table.rename_columns([*RowId._fields, "deleted_by"])


def write_buckets(
    files: FileSystem, directory: str, events: Iterable[DeleteEvent], row: StructType, codec: str
) -> None:
    """Write sorted events, each to the file of its bucket; the other arguments are ``encode``'s."""
    buckets: dict[int, list[DeleteEvent]] = defaultdict(list)
    for event in events:
        buckets[decode_bucket(event.key.bucket)].append(event)
    for bucket_id, own in buckets.items():
        files.write(child(directory, bucket_file_name(bucket_id)), encode(own, row, codec))


def encode(events: Sequence[DeleteEvent], row: StructType, codec: str) -> bytes:
    """The bytes of a delete file.

    Args:
        events: sorted by row id, each row id once; so few that they make one stripe.
        row: the table's columns: the file has them in its schema, and null in every event.
        codec: name of the compression, as the table property ``orc.compress`` has
            it, in lower case.
    """
    buffer = BytesIO()
    writer = pyorc.Writer(buffer, _orc_type(event_schema(row)), compression=_CODECS[codec])
    with writer:
        for key, write_id in events:
            writer.write((_DELETE, *key, write_id, None))
        writer.set_user_metadata(**footer_items([e.key for e in events[-1:]], 0, len(events)))
    return buffer.getvalue()


_ORC_NAMES = {
    "boolean": pyorc.Boolean,
    "byte": pyorc.TinyInt,
    "short": pyorc.SmallInt,
    "integer": pyorc.Int,
    "long": pyorc.BigInt,
    "float": pyorc.Float,
    "double": pyorc.Double,
    "string": pyorc.String,
    "binary": pyorc.Binary,
    "date": pyorc.Date,
    "timestamp": pyorc.Timestamp,
}


def _orc_type(data_type: DataType) -> pyorc.TypeDescription:
    """The ORC type that Spark's writer gives to a type."""
    if isinstance(data_type, StructType):
        fields: list[StructField] = data_type.fields
        return pyorc.Struct(**{f.name: _orc_type(f.dataType) for f in fields})
    if isinstance(data_type, ArrayType):
        return pyorc.Array(_orc_type(data_type.elementType))
    if isinstance(data_type, MapType):
        return pyorc.Map(key=_orc_type(data_type.keyType), value=_orc_type(data_type.valueType))
    if isinstance(data_type, DecimalType):
        return pyorc.Decimal(precision=data_type.precision, scale=data_type.scale)
    return _ORC_NAMES[data_type.typeName()]()
