"""Minimal protobuf wire format, to read ORC tails and to add fields to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from acidsql.errors import FormatError

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_SIZES = {_FIXED64: 8, _FIXED32: 4}


class Field(NamedTuple):
    """Field of a message.

    Attributes:
        number: field number.
        value: int for a varint, otherwise bytes (numbers of fixed width are not decoded).
        raw: all bytes of the field, with its tag.
    """

    number: int
    value: int | bytes
    raw: bytes


def read_fields(message: bytes) -> Iterator[Field]:
    """Yield the fields of a message in order.

    Raises:
        FormatError: the message ends inside a field or has an unknown wire type (INVALID_ORC_TAIL).
    """
    position = 0
    while position < len(message):
        start = position
        tag, position = read_varint(message, position)
        wire_type = tag & 7
        value: int | bytes
        if wire_type == _VARINT:
            value, position = read_varint(message, position)
        else:
            size, position = _payload_size(message, position, wire_type)
            value = message[position : position + size]
            position += size
            if position > len(message):
                raise corrupt("a field ends after its message")
        yield Field(tag >> 3, value, message[start:position])


def _payload_size(message: bytes, position: int, wire_type: int) -> tuple[int, int]:
    if wire_type == _BYTES:
        return read_varint(message, position)
    if wire_type in _FIXED_SIZES:
        return _FIXED_SIZES[wire_type], position
    raise corrupt(f"wire type {wire_type} does not exist")


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Decode the unsigned 64-bit varint at a position; return it and the position after it.

    Raises:
        FormatError: the data ends inside the number, or the number is too long (INVALID_ORC_TAIL).
    """
    result = 0
    for shift in range(0, 70, 7):
        if position >= len(data):
            raise corrupt("a number ends after its message")
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & 0xFFFF_FFFF_FFFF_FFFF, position
    raise corrupt("a number is longer than 64 bits")


def read_packed(value: int | bytes) -> Iterator[int]:
    """Yield the numbers of a repeated varint field, packed or not."""
    if isinstance(value, int):
        yield value
        return
    position = 0
    while position < len(value):
        number, position = read_varint(value, position)
        yield number


def zigzag_decode(number: int) -> int:
    """Return the signed number of a ``sint64`` varint."""
    return (number >> 1) ^ -(number & 1)


def zigzag_encode(number: int) -> int:
    """Return the ``sint64`` varint of a signed 64-bit number."""
    return (number << 1) ^ (number >> 63)


def integer(field: Field) -> int:
    """Return the value of a varint field.

    Raises:
        FormatError: the field is not a varint (INVALID_ORC_TAIL).
    """
    if isinstance(field.value, int):
        return field.value
    raise corrupt(f"field {field.number} is not a number")


def octets(field: Field) -> bytes:
    """Return the value of a bytes field.

    Raises:
        FormatError: the field is not bytes (INVALID_ORC_TAIL).
    """
    if isinstance(field.value, bytes):
        return field.value
    raise corrupt(f"field {field.number} is not a byte string")


def write_varint(number: int) -> bytes:
    """Encode an unsigned varint."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def write_integer(number: int, value: int) -> bytes:
    """Encode a varint field."""
    return write_varint(number << 3 | _VARINT) + write_varint(value)


def write_octets(number: int, value: bytes) -> bytes:
    """Encode a field of bytes, text or a message."""
    return write_varint(number << 3 | _BYTES) + write_varint(len(value)) + value


def corrupt(detail: str) -> FormatError:
    """Build the error for an unreadable ORC tail."""
    return FormatError(
        "INVALID_ORC_TAIL",
        f"the end of the file is not an ORC tail: {detail}; "
        "the file is damaged or was not closed by its writer",
    )
