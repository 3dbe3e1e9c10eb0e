"""ORC tails: the metadata section, the footer and the postscript at the end of a file.

The parser reads the parts that ACID tables need (stripes, types, user metadata, integer
statistics). User metadata is added to a finished file by appending a second tail, which ORC readers
find first.
Layout: ORC specification v1, ``orc_proto.proto``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from acidsql.format import orc_compression
from acidsql.format.orc_postscript import PostScript, parse_postscript, write_postscript
from acidsql.format.protobuf import (
    Field,
    corrupt,
    integer,
    octets,
    read_fields,
    read_packed,
    write_octets,
    zigzag_decode,
)

# Footer
_FOOTER_STRIPES = 3
_FOOTER_TYPES = 4
_FOOTER_METADATA = 5
_FOOTER_ROWS = 6
_FOOTER_STATISTICS = 7
# Metadata, StripeStatistics, ColumnStatistics
_STRIPE_STATS = 1
_COLUMN_STATS = 1
_VALUES = 1
_INT_STATISTICS = 2

_STRUCT = "struct"
_KINDS = (
    "boolean",
    "byte",
    "short",
    "int",
    "long",
    "float",
    "double",
    "string",
    "binary",
    "timestamp",
    "list",
    "map",
    _STRUCT,
    "union",
    "decimal",
    "date",
    "varchar",
    "char",
    "timestamp_instant",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stripe:
    """Position of a stripe: offset and lengths of its three parts in bytes, and number of rows."""

    offset: int
    index_length: int
    data_length: int
    footer_length: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OrcType:
    """Node of the type tree.

    Attributes:
        kind: lower-case name of ORC's ``Type.Kind``.
        subtypes: column ids of the children.
        field_names: names of the children of a struct.
        precision: precision of a decimal.
        scale: scale of a decimal.
    """

    kind: str
    subtypes: tuple[int, ...] = ()
    field_names: tuple[str, ...] = ()
    precision: int = 0
    scale: int = 0


class IntStats(NamedTuple):
    """Statistics of an integer column in a stripe or file; ``values`` counts non-null values."""

    minimum: int
    maximum: int
    values: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OrcTail:
    """Parsed tail of a file.

    Attributes:
        file_length: length of the file in bytes.
        compression: ``none``, ``zlib``, ``snappy``, ``lzo``, ``lz4``, ``zstd`` or ``brotli``.
        block_size: compression block size in bytes.
        rows: number of rows.
        stripes: the stripes in order.
        types: the type tree in depth-first order; a type's index is its column id, 0 the root.
        metadata: user metadata.
        file_statistics: undecoded ``ColumnStatistics`` by column id.
        stripe_statistics: undecoded ``StripeStatistics`` by stripe; empty if the writer wrote none.
    """

    file_length: int
    compression: str
    block_size: int
    rows: int
    stripes: tuple[Stripe, ...]
    types: tuple[OrcType, ...]
    metadata: Mapping[str, bytes]
    file_statistics: tuple[bytes, ...]
    stripe_statistics: tuple[bytes, ...]

    def struct_fields(self, type_id: int = 0) -> tuple[tuple[str, int], ...]:
        """Return the (name, column id) pairs of a struct's fields; empty for any other type."""
        node = self.types[type_id]
        return tuple(zip(node.field_names, node.subtypes, strict=False))

    def file_int_stats(self, column_id: int) -> IntStats | None:
        """Return the statistics of an integer column over the file.

        The result is ``None`` if the column has no values, or the file lacks integer statistics.
        """
        if column_id >= len(self.file_statistics):
            return None
        return _int_stats(self.file_statistics[column_id])

    def values_of(self, column_id: int) -> int | None:
        """Return the number of non-null values of a column; None if the file lacks it."""
        if column_id >= len(self.file_statistics):
            return None
        fields = read_fields(self.file_statistics[column_id])
        return next((integer(field) for field in fields if field.number == _VALUES), None)

    def stripe_int_stats(self, column_id: int) -> tuple[IntStats | None, ...]:
        """Return the statistics of an integer column for each stripe, ``None`` if missing."""
        if not self.stripe_statistics:
            return (None,) * len(self.stripes)
        return tuple(_column_stats(message, column_id) for message in self.stripe_statistics)


def tail_length(last_bytes: bytes) -> int:
    """Return the number of bytes at the end of the file that :func:`parse_tail` needs.

    Args:
        last_bytes: at least the last 256 bytes of the file (all bytes of a shorter file).

    Raises:
        FormatError: the bytes are not the end of an ORC file (INVALID_ORC_TAIL).
    """
    return parse_postscript(last_bytes).tail_length


def parse_tail(last_bytes: bytes, file_length: int) -> OrcTail:
    """Parse the tail at the end of a file.

    Args:
        last_bytes: at least the last :func:`tail_length` bytes of the file.
        file_length: length of the whole file.

    Raises:
        FormatError: there are too few bytes or they are damaged (INVALID_ORC_TAIL), or acidsql
            cannot read their codec (UNSUPPORTED_ORC_COMPRESSION).
    """
    postscript = _parse_checked_postscript(last_bytes, file_length)
    footer = _read_footer(postscript, last_bytes)
    metadata = _read_metadata(postscript, last_bytes)
    by_number: dict[int, list[Field]] = {}
    for field in read_fields(footer):
        by_number.setdefault(field.number, []).append(field)
    stripes = tuple(_parse_stripe(octets(field)) for field in by_number.get(_FOOTER_STRIPES, ()))
    types = _parse_types(tuple(octets(field) for field in by_number.get(_FOOTER_TYPES, ())))
    stripe_statistics = tuple(
        octets(field) for field in read_fields(metadata) if field.number == _STRIPE_STATS
    )
    if len(stripe_statistics) not in (0, len(stripes)):
        raise corrupt(f"{len(stripe_statistics)} stripe statistics for {len(stripes)} stripes")
    rows = by_number.get(_FOOTER_ROWS, ())
    statistics = by_number.get(_FOOTER_STATISTICS, ())
    return OrcTail(
        file_length=file_length,
        compression=postscript.compression,
        block_size=postscript.block_size,
        rows=integer(rows[-1]) if rows else 0,
        stripes=stripes,
        types=types,
        metadata=dict(_parse_item(octets(item)) for item in by_number.get(_FOOTER_METADATA, ())),
        file_statistics=tuple(octets(field) for field in statistics),
        stripe_statistics=stripe_statistics,
    )


def footer_content(last_bytes: bytes) -> bytes:
    """Return the decompressed footer, which is a protobuf message.

    Args:
        last_bytes: see :func:`parse_tail`.
    """
    return _read_footer(parse_postscript(last_bytes), last_bytes)


def append_metadata(last_bytes: bytes, file_length: int, items: Mapping[str, bytes]) -> bytes:
    """Return the bytes that add user metadata to a file when they are appended to it.

    The bytes are a copy of the tail's sections, an additional chunk of the footer with the items,
    and a new postscript. Protobuf allows repeated fields anywhere in a message, and ORC readers
    start at the end of the file, so the old tail becomes dead bytes. A new item replaces an old
    item with the same key, because readers do not agree which of the two they use.

    Args:
        last_bytes: at least the last :func:`tail_length` bytes of the file.
        file_length: length of the whole file.
        items: UTF-8 values by key.

    Raises:
        FormatError: see :func:`parse_tail`.
    """
    postscript = _parse_checked_postscript(last_bytes, file_length)
    added = b"".join(
        write_octets(_FOOTER_METADATA, write_octets(1, key.encode()) + write_octets(2, value))
        for key, value in items.items()
    )
    footer = _read_footer(postscript, last_bytes)
    fields = [field for field in read_fields(footer) if _item_key(field) not in items]
    kept = b"".join(field.raw for field in fields)
    if kept == footer:
        copied = _footer_section(postscript, last_bytes)
    else:
        copied = orc_compression.store(kept, postscript.compression, postscript.block_size)
    footer_section = copied + orc_compression.store(
        added, postscript.compression, postscript.block_size
    )
    before_footer = postscript.stripe_statistics_length + postscript.metadata_length
    sections = postscript.section(
        last_bytes, before_footer + postscript.footer_length, before_footer
    )
    return sections + footer_section + write_postscript(postscript, len(footer_section))


def _parse_checked_postscript(last_bytes: bytes, file_length: int) -> PostScript:
    postscript = parse_postscript(last_bytes)
    if postscript.tail_length > file_length:
        raise corrupt(f"it is {postscript.tail_length} bytes long, the file {file_length}")
    if postscript.tail_length > len(last_bytes):
        raise corrupt(
            f"it is {postscript.tail_length} bytes long, only {len(last_bytes)} were read"
        )
    return postscript


def _footer_section(postscript: PostScript, last_bytes: bytes) -> bytes:
    return postscript.section(last_bytes, postscript.footer_length, postscript.footer_length)


def _read_footer(postscript: PostScript, last_bytes: bytes) -> bytes:
    section = _footer_section(postscript, last_bytes)
    return orc_compression.decompress(section, postscript.compression, postscript.block_size)


def _read_metadata(postscript: PostScript, last_bytes: bytes) -> bytes:
    before_postscript = postscript.metadata_length + postscript.footer_length
    section = postscript.section(last_bytes, before_postscript, postscript.metadata_length)
    return orc_compression.decompress(section, postscript.compression, postscript.block_size)


def _parse_stripe(message: bytes) -> Stripe:
    values = {field.number: integer(field) for field in read_fields(message) if field.number <= 5}
    return Stripe(
        offset=values.get(1, 0),
        index_length=values.get(2, 0),
        data_length=values.get(3, 0),
        footer_length=values.get(4, 0),
        rows=values.get(5, 0),
    )


@lru_cache(maxsize=256)
def _parse_types(messages: tuple[bytes, ...]) -> tuple[OrcType, ...]:
    """Parse a type tree; the result is cached for all files with the same type tree."""
    types = tuple(map(_parse_type, messages))
    for node in types:
        if any(subtype >= len(types) for subtype in node.subtypes):
            raise corrupt("a column of the type tree does not exist")
        if len(node.field_names) != (len(node.subtypes) if node.kind == _STRUCT else 0):
            raise corrupt("a struct has not one name for each field")
    return types


def _parse_type(message: bytes) -> OrcType:
    kind = 0
    subtypes: list[int] = []
    field_names: list[str] = []
    precision = scale = 0
    for field in read_fields(message):
        if field.number == 1:
            kind = integer(field)
        elif field.number == 2:
            subtypes += read_packed(field.value)
        elif field.number == 3:
            field_names.append(_text(octets(field)))
        elif field.number == 5:
            precision = integer(field)
        elif field.number == 6:
            scale = integer(field)
    if kind >= len(_KINDS):
        raise corrupt(f"type kind {kind} does not exist")
    return OrcType(
        kind=_KINDS[kind],
        subtypes=tuple(subtypes),
        field_names=tuple(field_names),
        precision=precision,
        scale=scale,
    )


def _parse_item(message: bytes) -> tuple[str, bytes]:
    values = {field.number: octets(field) for field in read_fields(message)}
    return _text(values.get(1, b"")), values.get(2, b"")


def _item_key(field: Field) -> str | None:
    return _parse_item(octets(field))[0] if field.number == _FOOTER_METADATA else None


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise corrupt(f"{value!r} is not UTF-8 text") from error


def _column_stats(stripe_statistics: bytes, column_id: int) -> IntStats | None:
    columns: Iterator[bytes] = (
        octets(field) for field in read_fields(stripe_statistics) if field.number == _COLUMN_STATS
    )
    message = next(islice(columns, column_id, None), None)
    return None if message is None else _int_stats(message)


def _int_stats(message: bytes) -> IntStats | None:
    fields = {field.number: field for field in read_fields(message)}
    if _INT_STATISTICS not in fields:
        return None
    bounds = {
        field.number: integer(field) for field in read_fields(octets(fields[_INT_STATISTICS]))
    }
    if not {1, 2} <= bounds.keys():
        return None
    count = integer(fields[_VALUES]) if _VALUES in fields else 0
    return IntStats(zigzag_decode(bounds[1]), zigzag_decode(bounds[2]), count)
