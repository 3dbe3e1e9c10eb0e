"""Concatenation of ORC files: stripes are copied byte for byte, and a new tail is built.

A stripe contains no references to other parts of its file, so it can be in any file with the same
columns, compression and writer. Only the tail contains the offsets of stripes and the statistics of
all stripes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from acidsql.format import orc_compression
from acidsql.format.orc_postscript import PostScript, parse_postscript, write_postscript
from acidsql.format.orc_statistics import merge_columns
from acidsql.format.orc_tail import OrcTail, Stripe, footer_content, parse_tail
from acidsql.format.protobuf import integer, octets, read_fields, write_integer, write_octets

# Bytes before the first stripe.
HEADER = b"ORC"
# Footer: fields about the file's format, then those about its content.
_TYPES, _STRIDE, _WRITER, _ENCRYPTION, _CALENDAR, _SOFTWARE = 4, 8, 9, 10, 11, 12
_HEADER_LENGTH, _CONTENT_LENGTH, _STRIPES, _METADATA, _ROWS, _STATISTICS = 1, 2, 3, 5, 6, 7
# Postscript: version of the format, and of the writer.
_VERSION, _WRITER_VERSION = 4, 6
_COLUMN_STATISTICS = 1
# CalendarKind.PROLEPTIC_GREGORIAN
_PROLEPTIC = 2
# Prefix of the metadata items that each writer of ACID files sets itself; they are not copied.
_OWN_PREFIX = "hive.acid."


@dataclass(frozen=True, slots=True, kw_only=True)
class StripeFile:
    """File whose stripes can be copied.

    Attributes:
        tail: tail of the file.
        kind: bytes that identify the properties which all stripes of a file share; files of the
            same kind can be concatenated.
        types: type tree as bytes; rows of files with the same types can be written to one file.
        is_proleptic: whether dates use the proleptic Gregorian calendar instead of the hybrid one.
        footer: footer fields that are copied to the new footer, as bytes.
        postscript: postscript of the file.
    """

    tail: OrcTail
    kind: bytes
    types: bytes
    is_proleptic: bool
    footer: bytes
    postscript: PostScript


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedStripe:
    """Stripe to copy, given by its file and its number in that file."""

    file: StripeFile
    number: int

    @property
    def stripe(self) -> Stripe:
        """Position of the stripe in its file."""
        return self.file.tail.stripes[self.number]

    @property
    def length(self) -> int:
        """Length of the stripe in bytes."""
        stripe = self.stripe
        return stripe.index_length + stripe.data_length + stripe.footer_length

    @property
    def column_statistics(self) -> list[bytes]:
        """``ColumnStatistics`` messages of the stripe by column id."""
        message = self.file.tail.stripe_statistics[self.number]
        return [octets(f) for f in read_fields(message) if f.number == _COLUMN_STATISTICS]


def stripe_file(last_bytes: bytes, file_length: int) -> StripeFile | None:
    """Parse the end of a file whose stripes are to be copied.

    Stripes cannot be copied if columns are encrypted, or if there are no stripe statistics.

    Args:
        last_bytes: at least the last ``tail_length`` bytes of the file.
        file_length: length of the whole file.

    Returns:
        None if the stripes cannot be copied.

    Raises:
        FormatError: see ``parse_tail``.
    """
    tail = parse_tail(last_bytes, file_length)
    postscript = parse_postscript(last_bytes)
    fields = list(read_fields(footer_content(last_bytes)))
    is_encrypted = any(f.number == _ENCRYPTION for f in fields)
    if is_encrypted or len(tail.stripe_statistics) < len(tail.stripes):
        return None
    common = (_TYPES, _STRIDE, _WRITER, _CALENDAR)
    footer = b"".join(f.raw for f in fields if f.number in common)
    versions = [f.raw for f in postscript.fields if f.number in (_VERSION, _WRITER_VERSION)]
    codec = f"{postscript.compression} {postscript.block_size} ".encode()
    software = b"".join(f.raw for f in fields if f.number == _SOFTWARE)
    return StripeFile(
        tail=tail,
        kind=codec + b"".join(versions) + footer,
        types=b"".join(f.raw for f in fields if f.number == _TYPES),
        is_proleptic=any(f.number == _CALENDAR and integer(f) == _PROLEPTIC for f in fields),
        footer=footer + software,
        postscript=postscript,
    )


def stripes_of(file: StripeFile) -> list[CopiedStripe]:
    """Return all stripes of a file, in order."""
    return [CopiedStripe(file=file, number=i) for i in range(len(file.tail.stripes))]


def joined_tail(stripes: Sequence[CopiedStripe], items: Mapping[str, bytes]) -> bytes:
    """Build the tail of a file that consists of ``HEADER`` and consecutive stripes.

    Args:
        stripes: at least one stripe, from files of one kind.
        items: user metadata; items that are equal in all files are kept too.
    """
    first = stripes[0].file
    position, messages = len(HEADER), []
    for copied in stripes:
        stripe = copied.stripe
        lengths = (stripe.index_length, stripe.data_length, stripe.footer_length, stripe.rows)
        values = enumerate((position, *lengths), start=1)
        messages.append(b"".join(write_integer(number, value) for number, value in values))
        position += copied.length
    metadata = b"".join(
        write_octets(1, copied.file.tail.stripe_statistics[copied.number]) for copied in stripes
    )
    statistics = merge_columns([copied.column_statistics for copied in stripes])
    known = {**_common_items(stripes), **items}
    footer = b"".join(
        [
            write_integer(_HEADER_LENGTH, len(HEADER)),
            write_integer(_CONTENT_LENGTH, position),
            *[write_octets(_STRIPES, message) for message in messages],
            first.footer,
            *[
                write_octets(_METADATA, write_octets(1, k.encode()) + write_octets(2, v))
                for k, v in known.items()
            ],
            write_integer(_ROWS, sum(copied.stripe.rows for copied in stripes)),
            *[write_octets(_STATISTICS, message) for message in statistics],
        ]
    )
    codec = first.postscript.compression, first.postscript.block_size
    sections = [orc_compression.store(section, *codec) for section in (metadata, footer)]
    lengths_of = [len(section) for section in sections]
    return b"".join(sections) + write_postscript(first.postscript, lengths_of[1], lengths_of[0])


def _common_items(stripes: Sequence[CopiedStripe]) -> dict[str, bytes]:
    files = {id(copied.file): copied.file for copied in stripes}.values()
    first, *others = [file.tail.metadata for file in files]
    return {
        key: value
        for key, value in first.items()
        if not key.startswith(_OWN_PREFIX) and all(other.get(key) == value for other in others)
    }
