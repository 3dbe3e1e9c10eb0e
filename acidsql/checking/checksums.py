"""Checksum files that Hadoop's local file system keeps beside files (``ChecksumFileSystem``).

A reader of Hadoop fails if the file beside a checksum file does not match it.
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
    """Return the name of the file that a checksum file belongs to; None if it is none."""
    is_checksum = name.startswith(".") and name.endswith(".crc") and len(name) > len("..crc")
    return name[1 : -len(".crc")] if is_checksum else None


def mismatch(checksums: bytes, size: int, content: BinaryIO | None = None) -> str | None:
    """Return how a file differs from its checksum file; None if it does not.

    Args:
        checksums: content of the checksum file.
        size: of the file, in bytes.
        content: the file; None compares only its size.
    """
    if len(checksums) < _HEADER.size:
        return "the checksum file is cut off"
    magic, chunk = _HEADER.unpack_from(checksums)
    if magic != _MAGIC or chunk <= 0:
        return "the checksum file does not begin like one"
    chunks = -(-size // chunk)
    found = (len(checksums) - _HEADER.size) / _CRC.size
    if found != chunks:
        return f"it has checksums of {found:g} chunks, the file has {chunks}"
    if content is None:
        return None
    for number, expected in enumerate(_sums(checksums)):
        if zlib.crc32(content.read(chunk)) != expected:
            return f"the {chunk} bytes from {number * chunk} on have another checksum"
    return None


def _sums(checksums: bytes) -> Iterator[int]:
    return (value for (value,) in _CRC.iter_unpack(checksums[_HEADER.size :]))
