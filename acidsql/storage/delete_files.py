"""Delete files written by the driver: a few thousand keys are not worth a Spark job."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import NamedTuple

import pyarrow.orc as pa_orc
import pyorc
from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructField, StructType

from acidsql.format.acid_metadata import footer_items
from acidsql.schema import event_schema
from acidsql.storage.filesystem import FileSystem

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


def read_keys(files: FileSystem, path: str) -> list[RowId]:
    """The row ids in an ACID file, in its order."""
    with files.open(path) as stream:
        table = pa_orc.ORCFile(stream).read(columns=["originalTransaction", "bucket", "rowId"])
    columns = (c.to_pylist() for c in (table.column(i) for i in range(3)))
    return [RowId(*key) for key in zip(*columns, strict=True)]


def encode(keys: Sequence[RowId], write_id: int, row: StructType, codec: str) -> bytes:
    """The bytes of a delete file.

    Args:
        keys: ids of the deleted rows, sorted, each once.
        write_id: of the deleting transaction.
        row: the table's columns: the file has them in its schema, and null in every event.
        codec: name of the compression, as the table property ``orc.compress`` has
            it, in lower case.
    """
    buffer = BytesIO()
    writer = pyorc.Writer(buffer, _orc_type(event_schema(row)), compression=_CODECS[codec])
    with writer:
        for key in keys:
            writer.write((_DELETE, *key, write_id, None))
        # So few events make one stripe.
        writer.set_user_metadata(**footer_items(keys[-1:], 0, len(keys)))
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
