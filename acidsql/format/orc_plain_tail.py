"""Plain tails, which let Arrow read any ORC file of Hive or Spark.

A plain tail differs from the original tail in two points:

- Timestamps are declared as integers. The first stream of a timestamp contains its seconds and is
  encoded like the stream of an integer. Arrow's timestamps have nanoseconds, which end in 2262, and
  Arrow converts time zones by its own rules. Reading integers returns the stored seconds.
- The fields of structs are named after their column ids: ``c7``. Arrow selects columns by paths of
  names, and cannot distinguish a dot in a name from a dot in the path.
"""

from __future__ import annotations

from acidsql.format import orc_compression
from acidsql.format.orc_postscript import parse_postscript, write_postscript
from acidsql.format.orc_tail import footer_content
from acidsql.format.protobuf import (
    integer,
    octets,
    read_fields,
    read_packed,
    write_integer,
    write_octets,
)

# Footer, StripeInformation
_STRIPES, _STRIPE_ROWS = 3, 5
_TYPES, _ITEMS, _STATISTICS, _CALENDAR = 4, 5, 7, 11
_PROLEPTIC = 2  # CalendarKind.PROLEPTIC_GREGORIAN
# Type
_KIND, _SUBTYPES, _NAMES = 1, 2, 3
_LONG, _TIMESTAMPS = 4, (9, 18)  # Type.Kind


def plain_name(column_id: int) -> str:
    """Return the name of a field of a struct in a plain tail."""
    return f"c{column_id}"


def plain_tail(last_bytes: bytes) -> bytes:
    """Return the tail that replaces the last ``tail_length`` bytes of a file.

    It contains no statistics and no user metadata.

    Args:
        last_bytes: at least the last ``tail_length`` bytes of the file.

    Raises:
        FormatError: see ``parse_tail``.
    """
    postscript = parse_postscript(last_bytes)
    footer = b"".join(
        write_octets(_TYPES, _plain_type(octets(field))) if field.number == _TYPES else field.raw
        for field in read_fields(footer_content(last_bytes))
        if field.number not in (_ITEMS, _STATISTICS)
    )
    section = orc_compression.store(footer, postscript.compression, postscript.block_size)
    above = postscript.metadata_length + postscript.footer_length
    encrypted = postscript.section(
        last_bytes,
        above + postscript.stripe_statistics_length,
        postscript.stripe_statistics_length,
    )
    return encrypted + section + write_postscript(postscript, len(section), 0)


def cut_tail(plain: bytes, stripe: int, rows: int) -> bytes:
    """Return a plain tail that declares fewer rows in a stripe, so that only these are decoded.

    Args:
        plain: see ``plain_tail``.
        stripe: number of the stripe.
        rows: number of rows to keep, from the first one on.

    Raises:
        FormatError: see ``parse_tail``.
    """
    postscript = parse_postscript(plain)
    footer: list[bytes] = []
    stripes = 0
    for field in read_fields(footer_content(plain)):
        if field.number == _STRIPES:
            kept = (f.raw for f in read_fields(octets(field)) if f.number != _STRIPE_ROWS)
            cut = b"".join(kept) + write_integer(_STRIPE_ROWS, rows)
            footer.append(write_octets(_STRIPES, cut) if stripes == stripe else field.raw)
            stripes += 1
        else:
            footer.append(field.raw)
    content = b"".join(footer)
    section = orc_compression.store(content, postscript.compression, postscript.block_size)
    encrypted = plain[: len(plain) - 1 - postscript.length - postscript.footer_length]
    return encrypted + section + write_postscript(postscript, len(section))


def is_proleptic(last_bytes: bytes) -> bool:
    """Return whether a file uses the proleptic Gregorian calendar instead of the hybrid one."""
    fields = read_fields(footer_content(last_bytes))
    return any(f.number == _CALENDAR and integer(f) == _PROLEPTIC for f in fields)


def _plain_type(message: bytes) -> bytes:
    fields = list(read_fields(message))
    kind = next((integer(field) for field in fields if field.number == _KIND), 0)
    ids = [i for field in fields if field.number == _SUBTYPES for i in read_packed(field.value)]
    named = any(field.number == _NAMES for field in fields)
    made = write_integer(_KIND, _LONG if kind in _TIMESTAMPS else kind)
    made += b"".join(field.raw for field in fields if field.number not in (_KIND, _NAMES))
    names = (plain_name(i).encode() for i in (ids if named else ()))
    return made + b"".join(write_octets(_NAMES, name) for name in names)
