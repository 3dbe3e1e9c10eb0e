"""Compressed sections of ORC files: chunks with a three-byte header.

ORC: ``InStream``, ``OutStream``.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa

from acidsql.errors import FormatError
from acidsql.format.protobuf import corrupt, read_varint

NONE = "none"
KINDS = (NONE, "zlib", "snappy", "lzo", "lz4", "zstd", "brotli")

_HEADER_SIZE = 3
_MAX_CHUNK = 2**23 - 1


def decompress(section: bytes, compression: str, block_size: int) -> bytes:
    """Decompress a section.

    Args:
        section: bytes of the section, which are whole chunks.
        compression: one of ``KINDS``.
        block_size: largest content of a chunk in bytes, from the postscript.

    Raises:
        FormatError: the bytes are damaged (INVALID_ORC_TAIL), or acidsql cannot read their codec
            (UNSUPPORTED_ORC_COMPRESSION).
    """
    if compression == NONE:
        return section
    decompress_chunk = _DECOMPRESSORS.get(compression)
    if decompress_chunk is None:
        raise FormatError(
            "UNSUPPORTED_ORC_COMPRESSION",
            f"the file is compressed with {compression}: rewrite it with one of "
            f"{', '.join((NONE, *_DECOMPRESSORS))}",
        )
    return b"".join(
        chunk if stored else decompress_chunk(chunk, block_size)
        for chunk, stored in _chunks(section)
    )


def store(content: bytes, compression: str, block_size: int) -> bytes:
    """Build a section with uncompressed content, in chunks of a size that every reader accepts."""
    if compression == NONE:
        return content
    size = min(block_size, _MAX_CHUNK)
    chunks = (content[start : start + size] for start in range(0, len(content), size))
    return b"".join(
        (len(chunk) << 1 | 1).to_bytes(_HEADER_SIZE, "little") + chunk for chunk in chunks
    )


def _chunks(section: bytes) -> Iterator[tuple[bytes, bool]]:
    position = 0
    while position < len(section):
        header = int.from_bytes(section[position : position + _HEADER_SIZE], "little")
        position += _HEADER_SIZE
        end = position + (header >> 1)
        if end > len(section):
            raise corrupt("a compressed chunk ends after its section")
        yield section[position:end], bool(header & 1)
        position = end


def _zlib(chunk: bytes, block_size: int) -> bytes:
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        content = inflater.decompress(chunk, block_size)
    except zlib.error as error:
        raise corrupt(str(error)) from error
    if not inflater.eof:
        raise corrupt("a zlib chunk is longer than the block size or has no end")
    return content


def _snappy(chunk: bytes, block_size: int) -> bytes:
    size, _ = read_varint(chunk, 0)
    return _arrow("snappy", chunk, size, block_size)


def _lz4(chunk: bytes, block_size: int) -> bytes:
    return _arrow("lz4_raw", chunk, _lz4_size(chunk), block_size)


def _lz4_size(chunk: bytes) -> int:
    """Compute the content size of an LZ4 block in bytes, because the block does not contain it."""
    position = size = 0
    try:
        while position < len(chunk):
            token = chunk[position]
            literals, position = _lz4_length(chunk, position + 1, token >> 4)
            position += literals
            size += literals
            if position < len(chunk):
                match, position = _lz4_length(chunk, position + 2, token & 15)
                size += match + 4
    except IndexError as error:
        raise corrupt("an LZ4 chunk ends too early") from error
    return size


def _lz4_length(chunk: bytes, position: int, nibble: int) -> tuple[int, int]:
    length = nibble
    more = nibble == 15
    while more:
        length += chunk[position]
        more = chunk[position] == 255
        position += 1
    return length, position


def _arrow(codec: str, chunk: bytes, size: int, block_size: int) -> bytes:
    if size > block_size:
        raise corrupt(f"a {codec} chunk is longer than the block size")
    try:
        content = pa.Codec(codec).decompress(chunk, decompressed_size=size, asbytes=True)
    except (OSError, pa.ArrowException) as error:
        raise corrupt(str(error)) from error
    return bytes(content)


def _zstd(chunk: bytes, block_size: int) -> bytes:
    try:
        with pa.CompressedInputStream(pa.BufferReader(chunk), "zstd") as stream:
            content = bytes(stream.read(block_size + 1))
    except (OSError, pa.ArrowException) as error:
        raise corrupt(str(error)) from error
    if len(content) > block_size:
        raise corrupt("a zstd chunk is longer than the block size")
    return content


_DECOMPRESSORS: Mapping[str, Callable[[bytes, int], bytes]] = {
    "zlib": _zlib,
    "snappy": _snappy,
    "lz4": _lz4,
    "zstd": _zstd,
}
