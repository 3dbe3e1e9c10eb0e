"""Nesting of columns into ``row``, by changing the type tree in the footer of an ORC file.

ORC numbers columns depth first, and a struct without nulls has no data of its own. So these two
files differ only in the type tree of their footers, from the seventh column on::

    struct<operation, …, row:struct<a>, b, c>     as Spark writes it into staging
    struct<operation, …, row:struct<a, b, c>>     the ACID layout

Spark's ORC writer is much slower inside a struct than outside, since it creates an object for every
nested value.
"""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.format.protobuf import (
    Field,
    corrupt,
    octets,
    read_fields,
    read_packed,
    write_integer,
    write_octets,
    write_varint,
)

_KIND, _SUBTYPES, _FIELD_NAMES = 1, 2, 3
_STRUCT = write_integer(_KIND, 12)
# Column ids of the root and of ``row``, the last of the six ACID columns.
_ROOT, _ROW = 0, 6


def nest(types: Sequence[Field], names: Sequence[str]) -> list[bytes]:
    """Return the ``types`` fields of a footer, with all columns after ``row`` made fields of it.

    Args:
        types: the ``types`` fields of the footer as it is.
        names: of all fields of ``row``; it has the first of them already.

    Raises:
        FormatError: the file has other columns (INVALID_ORC_TAIL).
    """
    messages = [octets(field) for field in types]
    if len(messages) <= _ROW or _STRUCT not in (field.raw for field in read_fields(messages[_ROW])):
        raise corrupt("it has not the columns of an ACID file")
    top, inner = _subtypes(messages[_ROOT]), _subtypes(messages[_ROW])
    fields = [*inner, *top[_ROW:]]
    if top[:_ROW] != list(range(1, _ROW + 1)) or len(fields) != len(names):
        raise corrupt(f"it has {len(fields)} columns, {len(names)} were written")
    own_names = [octets(f) for f in read_fields(messages[_ROOT]) if f.number == _FIELD_NAMES]
    replaced = {
        _ROOT: _struct(messages[_ROOT], top[:_ROW], own_names[:_ROW]),
        _ROW: _struct(messages[_ROW], fields, [name.encode() for name in names]),
    }
    number = types[_ROOT].number
    return [
        write_octets(number, replaced[i]) if i in replaced else field.raw
        for i, field in enumerate(types)
    ]


def _subtypes(message: bytes) -> list[int]:
    return [
        column
        for field in read_fields(message)
        if field.number == _SUBTYPES
        for column in read_packed(field.value)
    ]


def _struct(message: bytes, subtypes: Sequence[int], names: Sequence[bytes]) -> bytes:
    """Build a ``Type`` message like another one, with other children."""
    kept = b"".join(
        field.raw for field in read_fields(message) if field.number not in (_SUBTYPES, _FIELD_NAMES)
    )
    packed = b"".join(write_varint(column) for column in subtypes)
    return (
        kept
        + write_octets(_SUBTYPES, packed)
        + b"".join(write_octets(_FIELD_NAMES, name) for name in names)
    )
