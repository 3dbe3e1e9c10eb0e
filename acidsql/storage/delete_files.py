"""Delete files that the driver reads and writes, because few row ids do not justify a Spark job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import accumulate
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc as pa_orc
from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructField, StructType

from acidsql.errors import FormatError
from acidsql.format.acid_metadata import footer_items
from acidsql.format.bucket_codec import decode_bucket
from acidsql.format.names import bucket_file_name
from acidsql.format.orc_tail import append_metadata, parse_tail
from acidsql.schema.acid_file import event_schema
from acidsql.storage.directory import FileVersion, child
from acidsql.storage.lru_cache import LruCache
from acidsql.storage.readable_files import ReadableFiles

_DELETE = 2
# Largest number of rows in a batch of ORC's writer.
_ROWS = 16_384


class WritableFiles(Protocol):
    """Files that can be written."""

    def put(self, path: str, content: bytes) -> None:
        """Create a file in a directory that only the caller's transaction writes to."""


class RowId(NamedTuple):
    """Row id. Row ids compare in the order of rows in ACID files."""

    write_id: int
    bucket: int
    row_id: int


# Column of events: write id of the transaction that deletes the row.
DELETED_BY = "deleted_by"


_KEY_TYPES = dict(zip(RowId._fields, (pa.int64(), pa.int32(), pa.int64()), strict=True))
# ``empty_table`` is not used, because it imports pandas if that is installed.
NO_KEYS = pa.Table.from_batches([], pa.schema(_KEY_TYPES))
NO_EVENTS = pa.Table.from_batches([], pa.schema({**_KEY_TYPES, DELETED_BY: pa.int64()}))


def read_events(files: ReadableFiles, path: str) -> pa.Table:
    """Read the events of a delete file, in the order of the file.

    Returns:
        A table with the parts of the row id (BIGINT, INT, BIGINT), named as in ``RowId``, and
            ``DELETED_BY`` (BIGINT).

    Raises:
        FormatError: FAILED_READ_FILE, the file is damaged.
    """
    try:
        with files.open(path) as stream:
            reader = pa_orc.ORCFile(stream)
            # Read by position: query-based compaction writes the names in lower case.
            table = reader.read(columns=reader.schema.names[1:5])
    except (OSError, pa.ArrowException) as error:
        raise FormatError(
            "FAILED_READ_FILE", f"{path} cannot be read: {error}", {"path": path}
        ) from error
    return table.rename_columns([*RowId._fields, DELETED_BY])


class EventCache:
    """LRU cache of the events of published delete files, which never change.

    Args:
        files: file system of the delete files.
        capacity: largest number of bytes to keep.
    """

    def __init__(self, files: ReadableFiles, capacity: int) -> None:
        self._files = files
        self._known: LruCache[pa.Table] = LruCache(capacity, size=lambda table: int(table.nbytes))

    def shared_with(self, files: ReadableFiles) -> EventCache:
        """Return a cache that shares these events, and reads further events through ``files``."""
        shared = EventCache(files, 0)
        shared._known = self._known
        return shared

    def events(self, path: str, version: FileVersion) -> pa.Table:
        """Return the events of this version of a file; see ``read_events``."""
        return self._known.get((path, version), lambda: read_events(self._files, path))


def distinct(events: pa.Table, *places: str) -> pa.Table:
    """Sort events by row id and remove duplicates.

    If a row has several events, the one with the lowest deleting write id is kept.

    Args:
        events: events, or only their row ids.
        places: names of further columns; rows with other values there are other rows.
    """
    key = (*places, *RowId._fields)
    names = [name for name in (*key, DELETED_BY) if name in events.column_names]
    columns = [events[name].to_numpy() for name in names]
    if _is_ascending(columns[: len(key)]):
        return events
    order = np.lexsort(columns[::-1])
    is_new = np.ones(len(order), np.bool_)
    keys = [column[order] for column in columns[: len(key)]]
    is_new[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    return events.take(order[is_new])


def _is_ascending(columns: Sequence[npt.NDArray[np.int64]]) -> bool:
    """Return whether each row is greater than the previous row; rows are compared as tuples."""
    is_greater = np.zeros(max(0, len(columns[0]) - 1), np.bool_)
    for column in reversed(columns):
        before, after = column[:-1], column[1:]
        is_greater = (after > before) | ((after == before) & is_greater)
    return bool(is_greater.all())


class EncodedFile(NamedTuple):
    """Delete file: the number of its bucket, its content, and the number of its events."""

    bucket: int
    content: bytes
    events: int


def write_buckets(
    files: WritableFiles, directory: str, events: pa.Table, row: StructType, codec: str
) -> None:
    """Write each event to the file of its bucket; see ``encode_buckets``."""
    for file in encode_buckets(events, row, codec):
        files.put(child(directory, bucket_file_name(file.bucket)), file.content)


def encode_buckets(events: pa.Table, row: StructType, codec: str) -> Iterator[EncodedFile]:
    """Yield a file for each bucket that has events.

    Args:
        events: see ``encode``.
        row: see ``encode``.
        codec: see ``encode``.
    """
    buckets: dict[int, list[int]] = defaultdict(list)
    for value in pc.unique(events["bucket"]).to_pylist():
        buckets[decode_bucket(value)].append(value)
    for bucket_id, values in buckets.items():
        wanted = pa.array(values, events["bucket"].type)
        bucket_events = (
            events.filter(pc.is_in(events["bucket"], wanted)) if len(buckets) > 1 else events
        )
        content = encode(bucket_events, row, codec)
        yield EncodedFile(bucket_id, content, len(bucket_events))


def encode(events: pa.Table, row: StructType, codec: str) -> bytes:
    """Return the bytes of a delete file.

    Args:
        events: at least one event, sorted and unique as from ``distinct``.
        row: the table's columns, for the schema of the file; ``row`` is null in every event.
        codec: compression in lower case, as in the table property ``orc.compress``.
    """
    columns = [
        pa.repeat(pa.scalar(_DELETE, pa.int32()), len(events)),
        *(events[name] for name in (*RowId._fields, DELETED_BY)),
        pa.nulls(len(events), _arrow_type(row)),
    ]
    table = pa.table(columns, event_schema(row).names)
    buffer = BytesIO()
    compression = "uncompressed" if codec == "none" else codec
    # A smaller batch saves time, because the writer allocates and clears a batch of every column.
    # The size does not change the file.
    pa_orc.write_table(table, buffer, compression=compression, batch_size=min(_ROWS, len(events)))
    content = buffer.getvalue()
    # Arrow's writer does not support user metadata.
    stripes = parse_tail(content, len(content)).stripes
    items = _items(events, [stripe.rows for stripe in stripes])
    return content + append_metadata(content, len(content), items)


def _items(events: pa.Table, stripes: Sequence[int]) -> dict[str, bytes]:
    """Return the user metadata of a file; ``stripes`` are the numbers of events in its stripes."""
    ends = [end - 1 for end in accumulate(stripes)]
    lasts = events.take(ends).select(RowId._fields).to_pylist()
    return footer_items([RowId(**last) for last in lasts], 0, len(events))


_ARROW_TYPES = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    # With a time zone it would be another ORC type.
    "timestamp": pa.timestamp("ns"),
    "timestamp_ntz": pa.timestamp("ns"),
}


def _arrow_type(data_type: DataType) -> pa.DataType:
    """Return the Arrow type that maps to the same ORC type as in Spark's writer."""
    # Imported here because programs without Spark read delete files.
    from acidsql.bridge import InstantType  # noqa: PLC0415

    if isinstance(data_type, StructType):
        fields: list[StructField] = data_type.fields
        return pa.struct([(field.name, _arrow_type(field.dataType)) for field in fields])
    if isinstance(data_type, ArrayType):
        return pa.list_(_arrow_type(data_type.elementType))
    if isinstance(data_type, MapType):
        return pa.map_(_arrow_type(data_type.keyType), _arrow_type(data_type.valueType))
    if isinstance(data_type, DecimalType):
        return pa.decimal128(data_type.precision, data_type.scale)
    if isinstance(data_type, InstantType):
        return pa.timestamp("ns", "UTC")
    return _ARROW_TYPES[data_type.typeName()]
