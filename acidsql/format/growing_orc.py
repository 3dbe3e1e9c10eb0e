"""Tails of a growing ORC file: stripes are appended to it, and after some stripes a new tail.

Each tail completes the file for readers that treat the end of the tail as the end of the file.
Earlier tails, and stripes that no tail names, are dead bytes between the stripes. Hive's streaming
writer works in the same way (``WriterImpl.writeIntermediateFooter``).
"""

from __future__ import annotations

from collections.abc import Mapping

from acidsql.format import orc_compression
from acidsql.format.orc_postscript import write_postscript
from acidsql.format.orc_statistics import merge_columns
from acidsql.format.orc_stripes import HEADER, CopiedStripe, StripeFile
from acidsql.format.protobuf import read_fields, write_integer, write_octets

# Footer: lengths, stripes, user metadata, rows, statistics and the calendar of dates.
_HEADER_LENGTH, _CONTENT_LENGTH, _STRIPES, _METADATA, _ROWS, _STATISTICS = 1, 2, 3, 5, 6, 7
_CALENDAR, _PROLEPTIC = 11, 2
_STRIPE_STATISTICS = 1


class GrowingTail:
    """Stripes of a growing file that its next tail must name.

    The tail's entries for earlier stripes are kept as bytes, so that another tail only needs to
    copy them.
    """

    def __init__(self) -> None:
        self._first: StripeFile | None = None
        self._footer = b""
        self._stripes = b""
        self._stripe_statistics = b""
        self._columns: list[bytes] = []
        self.rows = 0

    def add(self, copied: CopiedStripe, offset: int) -> None:
        """Add a stripe.

        Args:
            copied: stripe of a file with the same columns and codec, by the same writer.
            offset: position of its first byte in the growing file.
        """
        if self._first is None:
            self._first = copied.file
            self._footer = copied.file.footer
            if not any(field.number == _CALENDAR for field in read_fields(self._footer)):
                # Arrow's writer omits the calendar. Java's reader would assume the hybrid one.
                self._footer += write_integer(_CALENDAR, _PROLEPTIC)
        stripe = copied.stripe
        lengths = (stripe.index_length, stripe.data_length, stripe.footer_length, stripe.rows)
        values = enumerate((offset, *lengths), start=1)
        message = b"".join(write_integer(number, value) for number, value in values)
        self._stripes += write_octets(_STRIPES, message)
        statistics = write_octets(
            _STRIPE_STATISTICS, copied.file.tail.stripe_statistics[copied.number]
        )
        # Chunks are stored independently, so the chunks of earlier stripes do not change.
        self._stripe_statistics += _stored(copied.file, statistics)
        columns = copied.column_statistics
        self._columns = merge_columns([self._columns, columns]) if self._columns else columns
        self.rows += stripe.rows

    def build(self, content_end: int, items: Mapping[str, bytes]) -> bytes:
        """Build the tail that follows the stripes; there must be at least one stripe.

        Args:
            content_end: position of the tail in the file.
            items: user metadata.
        """
        if self._first is None:
            raise ValueError("a file without stripes has no tail")
        footer = b"".join(
            [
                write_integer(_HEADER_LENGTH, len(HEADER)),
                write_integer(_CONTENT_LENGTH, content_end),
                self._stripes,
                self._footer,
                *[
                    write_octets(_METADATA, write_octets(1, k.encode()) + write_octets(2, v))
                    for k, v in items.items()
                ],
                write_integer(_ROWS, self.rows),
                *[write_octets(_STATISTICS, message) for message in self._columns],
            ]
        )
        stored = _stored(self._first, footer)
        sections = self._stripe_statistics + stored
        return sections + write_postscript(
            self._first.postscript, len(stored), len(self._stripe_statistics)
        )


def _stored(file: StripeFile, content: bytes) -> bytes:
    return orc_compression.store(content, file.postscript.compression, file.postscript.block_size)
