"""Stripe footers of ORC: streams of a stripe, encodings of its columns, and its time zone.

Layout: ``StripeFooter`` of ``orc_proto.proto``.
"""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.format import orc_compression
from acidsql.format.orc_tail import OrcTail
from acidsql.format.protobuf import integer, octets, read_fields

# Stream.Kind
SECONDARY = 5
_STREAMS, _COLUMNS, _TIME_ZONE = 1, 2, 3
_V1_ENCODINGS = (0, 1)  # DIRECT, DICTIONARY


@dataclass(frozen=True, slots=True, kw_only=True)
class OrcStream:
    """Stream of a column: its kind, and its place in the file in bytes."""

    kind: int
    column: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StripeFooter:
    """Parsed footer of a stripe.

    Attributes:
        streams: streams in their order in the file.
        encodings: version of the run-length encoding of each column, 1 or 2, by column id.
        time_zone: name of the writer's time zone, "" if it is not known.
    """

    streams: tuple[OrcStream, ...]
    encodings: tuple[int, ...]
    time_zone: str

    def stream(self, column: int, kind: int) -> OrcStream | None:
        """Return the stream of a column with this kind, or None."""
        return next((s for s in self.streams if (s.column, s.kind) == (column, kind)), None)


def parse_stripe_footer(section: bytes, tail: OrcTail, stripe: int) -> StripeFooter:
    """Parse the footer of a stripe.

    Args:
        section: bytes of the footer in the file.
        tail: tail of the file.
        stripe: number of the stripe.

    Raises:
        FormatError: the bytes are damaged (INVALID_ORC_TAIL), or their codec cannot be read
            (UNSUPPORTED_ORC_COMPRESSION).
    """
    message = orc_compression.decompress(section, tail.compression, tail.block_size)
    streams: list[OrcStream] = []
    encodings: list[int] = []
    time_zone = ""
    position = tail.stripes[stripe].offset
    for field in read_fields(message):
        if field.number == _TIME_ZONE:
            time_zone = octets(field).decode("utf-8", "replace")
        if field.number not in (_STREAMS, _COLUMNS):
            continue
        values = {f.number: integer(f) for f in read_fields(octets(field)) if f.number <= 3}
        if field.number == _COLUMNS:
            encodings.append(1 if values.get(1, 0) in _V1_ENCODINGS else 2)
            continue
        length = values.get(3, 0)
        streams.append(
            OrcStream(
                kind=values.get(1, 0), column=values.get(2, 0), offset=position, length=length
            )
        )
        position += length
    return StripeFooter(streams=tuple(streams), encodings=tuple(encodings), time_zone=time_zone)
