"""Run-length encoded unsigned integers of ORC.

ORC: ``RunLengthIntegerReader``, ``RunLengthIntegerReaderV2``. The fractions of timestamps are
stored in this encoding. Arrow decodes all other contents of a file.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from acidsql.errors import FormatError
from acidsql.format.protobuf import corrupt, read_varint, zigzag_decode

Numbers = npt.NDArray[np.int64]

# Numbers of bits by their five-bit code (``SerializationUtils.decodeBitWidth``).
_WIDTHS = (*range(1, 25), 26, 28, 30, 32, 40, 48, 56, 64)
_SHORT_REPEAT, _DIRECT, _PATCHED_BASE = 0, 1, 2


def decode_unsigned(stream: bytes, count: int, *, version: int) -> Numbers:
    """Decode numbers of less than 63 bits.

    Args:
        stream: decompressed bytes of the stream.
        count: number of numbers.
        version: version of the encoding, 1 (``DIRECT``) or 2 (``DIRECT_V2``).

    Returns:
        Array of shape (count,).

    Raises:
        FormatError: the bytes are damaged (INVALID_ORC_TAIL).
    """
    run = _run_v1 if version == 1 else _run_v2
    parts: list[Numbers] = []
    position = known = 0
    try:
        while known < count:
            numbers, position = run(stream, position)
            parts.append(numbers)
            known += len(numbers)
    except IndexError as error:
        raise _ends_early() from error
    return np.concatenate(parts)[:count] if parts else np.empty(0, np.int64)


def _run_v1(stream: bytes, position: int) -> tuple[Numbers, int]:
    control = stream[position]
    position += 1
    if control < 0x80:
        step = int.from_bytes(stream[position : position + 1], signed=True)
        first, position = read_varint(stream, position + 1)
        return first + step * np.arange(control + 3, dtype=np.int64), position
    literals = []
    for _ in range(0x100 - control):
        number, position = read_varint(stream, position)
        literals.append(number)
    return np.array(literals, np.int64), position


def _run_v2(stream: bytes, position: int) -> tuple[Numbers, int]:
    control = stream[position]
    kind = control >> 6
    if kind == _SHORT_REPEAT:
        size = (control >> 3 & 7) + 1
        value = int.from_bytes(_bytes(stream, position + 1, size))
        return np.full((control & 7) + 3, value, np.int64), position + 1 + size
    code = control >> 1 & 31
    length = (control & 1) << 8 | stream[position + 1]
    position += 2
    if kind == _DIRECT:
        return _unpack(stream, position, length + 1, _WIDTHS[code])
    if kind == _PATCHED_BASE:
        return _patched(stream, position, length + 1, _WIDTHS[code])
    return _deltas(stream, position, length + 1, _WIDTHS[code] if code else 0)


def _patched(stream: bytes, position: int, length: int, width: int) -> tuple[Numbers, int]:
    """Decode a run of small numbers above a base; patches add high bits to some of them."""
    base_size = (stream[position] >> 5) + 1
    patch_width = _WIDTHS[stream[position] & 31]
    gap_width = (stream[position + 1] >> 5) + 1
    patches = stream[position + 1] & 31
    position += 2
    base = int.from_bytes(_bytes(stream, position, base_size))
    sign = 1 << (base_size * 8 - 1)
    base = -(base & ~sign) if base & sign else base
    numbers, position = _unpack(stream, position + base_size, length, width)
    bits = next(w for w in _WIDTHS if w >= patch_width + gap_width)
    entries, position = _unpack(stream, position, patches, bits)
    place = 0
    for entry in entries.tolist():
        place += entry >> patch_width & (1 << gap_width) - 1
        patch = entry & (1 << patch_width) - 1
        if patch:  # without a patch, the entry only widens a gap
            numbers[place] |= patch << width
    return numbers + base, position


def _deltas(stream: bytes, position: int, length: int, width: int) -> tuple[Numbers, int]:
    """Decode a first number and differences; without a width all differences are equal."""
    base, position = read_varint(stream, position)
    encoded, position = read_varint(stream, position)
    first = zigzag_decode(encoded)
    if not width:
        return base + first * np.arange(length, dtype=np.int64), position
    steps, position = _unpack(stream, position, length - 2, width)
    signed = [0, first], (-steps if first < 0 else steps)
    return base + np.cumsum(np.concatenate(signed).astype(np.int64)), position


def _unpack(stream: bytes, position: int, count: int, width: int) -> tuple[Numbers, int]:
    """Decode numbers of ``width`` bits each, the first bit the highest."""
    size = (count * width + 7) // 8
    bits = np.unpackbits(np.frombuffer(_bytes(stream, position, size), np.uint8))
    table = bits[: count * width].reshape(count, width)
    return table @ (1 << np.arange(width - 1, -1, -1, dtype=np.int64)), position + size


def _bytes(stream: bytes, position: int, size: int) -> bytes:
    content = stream[position : position + size]
    if len(content) < size:
        raise _ends_early()
    return content


def _ends_early() -> FormatError:
    return corrupt("a stream of numbers ends too early")
