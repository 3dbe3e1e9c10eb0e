"""Checksum files that Hadoop's local file system writes next to files (``ChecksumFileSystem``).

Hadoop fails to read a file that does not match its checksum file.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO

_MAGIC = b"crc\0"
_HEADER = struct.Struct(">4si")
_CRC = struct.Struct(">I")


def checksum_name(name: str) -> str:
    """Return the name of the checksum file of a file.

    >>> checksum_name("bucket_00000")
    '.bucket_00000.crc'
    """
    return f".{name}.crc"


def file_of_checksum(name: str) -> str | None:
    """Return the name of the file that a checksum file describes; None for other files."""
    is_checksum = name.startswith(".") and name.endswith(".crc") and len(name) > len("..crc")
    return name[1 : -len(".crc")] if is_checksum else None


def mismatch(checksums: bytes, size: int, content: BinaryIO | None = None) -> str | None:
    """Describe how a file differs from its checksum file; return None if they match.

    Args:
        checksums: content of the checksum file.
        size: size of the file in bytes.
        content: the open file; None compares only the size.
    """
    if len(checksums) < _HEADER.size:
        return "the checksum file is cut off"
    magic, chunk = _HEADER.unpack_from(checksums)
    if magic != _MAGIC or chunk <= 0:
        return "the checksum file does not begin like one"
    chunks = -(-size // chunk)
    covered = (len(checksums) - _HEADER.size) / _CRC.size
    if covered != chunks:
        return f"it has checksums of {covered:g} chunks, the file has {chunks}"
    if content is None:
        return None
    for number, expected in enumerate(_sums(checksums)):
        if zlib.crc32(content.read(chunk)) != expected:
            return f"the {chunk} bytes from {number * chunk} on have another checksum"
    return None


def _sums(checksums: bytes) -> Iterator[int]:
    return (value for (value,) in _CRC.iter_unpack(checksums[_HEADER.size :]))
