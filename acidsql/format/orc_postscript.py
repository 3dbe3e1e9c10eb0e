"""ORC postscripts: the last bytes of a file, with the lengths of the sections of its tail."""

from __future__ import annotations

from typing import NamedTuple

from acidsql.errors import FormatError
from acidsql.format import orc_compression
from acidsql.format.protobuf import (
    Field,
    corrupt,
    integer,
    read_fields,
    read_packed,
    write_integer,
)

_FOOTER_LENGTH = 1
_COMPRESSION = 2
_BLOCK_SIZE = 3
_VERSION = 4
_METADATA_LENGTH = 5
_STRIPE_STATISTICS_LENGTH = 7
_MAGIC = 8000
_DEFAULT_BLOCK_SIZE = 262_144
_MAX_BLOCK_SIZE = 2**23
_NEWEST_VERSION = (0, 12)


class PostScript(NamedTuple):
    """Postscript of an ORC file.

    Attributes:
        fields: all fields of the message.
        length: length of the message in bytes.
        compression: one of ``orc_compression.KINDS``.
        block_size: largest content of a compressed chunk in bytes.
        footer_length: length of the footer in bytes.
        metadata_length: length of the metadata section in bytes.
        stripe_statistics_length: length of the encrypted stripe statistics in bytes.
    """

    fields: tuple[Field, ...]
    length: int
    compression: str
    block_size: int
    footer_length: int
    metadata_length: int
    stripe_statistics_length: int

    @property
    def tail_length(self) -> int:
        """Number of bytes from the first section of the tail to the end of the file."""
        sections = self.stripe_statistics_length + self.metadata_length + self.footer_length
        return sections + self.length + 1

    def section(self, last_bytes: bytes, before_postscript: int, length: int) -> bytes:
        """Return the bytes of a section.

        Args:
            last_bytes: last bytes of the file.
            before_postscript: number of bytes from the section's start to the postscript.
            length: length of the section in bytes.
        """
        start = len(last_bytes) - 1 - self.length - before_postscript
        return last_bytes[start : start + length]


def parse_postscript(last_bytes: bytes) -> PostScript:
    """Parse the postscript at the end of a file.

    Args:
        last_bytes: last bytes of the file.

    Raises:
        FormatError: the bytes are not the end of an ORC file (INVALID_ORC_TAIL), or the version of
            the format is above 0.12 (UNSUPPORTED_ORC_VERSION).
    """
    length = last_bytes[-1] if last_bytes else 0
    if not 0 < length < len(last_bytes):
        raise corrupt(f"a postscript of {length} bytes does not fit into {len(last_bytes)} bytes")
    fields = tuple(read_fields(last_bytes[-1 - length : -1]))
    values = {field.number: field for field in fields}
    magic = values.get(_MAGIC)
    if magic is None or magic.value != b"ORC":
        raise corrupt("the postscript does not say ORC")
    version = values.get(_VERSION)
    if version is not None and tuple(read_packed(version.value)) > _NEWEST_VERSION:
        text = ".".join(map(str, read_packed(version.value)))
        raise FormatError(
            "UNSUPPORTED_ORC_VERSION",
            f"it has version {text} of the ORC format: write it again with a writer of version "
            "0.12, as Hive and Spark have it",
        )

    def number(field_number: int) -> int:
        return integer(values[field_number]) if field_number in values else 0

    kind = number(_COMPRESSION)
    if kind >= len(orc_compression.KINDS):
        raise corrupt(f"compression kind {kind} does not exist")
    block_size = number(_BLOCK_SIZE) or _DEFAULT_BLOCK_SIZE
    if block_size > _MAX_BLOCK_SIZE:
        raise corrupt(f"a compression block of {block_size} bytes is too large")
    return PostScript(
        fields=fields,
        length=length,
        compression=orc_compression.KINDS[kind],
        block_size=block_size,
        footer_length=number(_FOOTER_LENGTH),
        metadata_length=number(_METADATA_LENGTH),
        stripe_statistics_length=number(_STRIPE_STATISTICS_LENGTH),
    )


def write_postscript(
    postscript: PostScript, footer_length: int, metadata_length: int | None = None
) -> bytes:
    """Return a copy of a postscript with other section lengths, and its length byte.

    Args:
        postscript: the postscript to copy.
        footer_length: new length of the footer in bytes.
        metadata_length: new length of the metadata section in bytes, None for the old length.
    """
    lengths = {_FOOTER_LENGTH: footer_length}
    if metadata_length is not None:
        lengths[_METADATA_LENGTH] = metadata_length
    # The order of fields is kept, because readers expect the magic at the end of the postscript.
    message = b"".join(
        write_integer(field.number, lengths[field.number]) if field.number in lengths else field.raw
        for field in postscript.fields
    )
    return message + bytes([len(message)])
