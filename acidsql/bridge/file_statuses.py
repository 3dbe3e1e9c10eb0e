"""Hadoop's ``FileStatus`` objects of files to scan, handed to the JVM as bytes.

Constructing each would take several calls. ``FileStatus`` is a ``Writable``, and Hadoop reads an
array of them from a stream (``ObjectWritable``); each is a protobuf message (``FileStatusProto``).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from acidsql.format.protobuf import write_integer, write_octets

_STATUS = "org.apache.hadoop.fs.FileStatus"
# Field numbers of FileStatusProto, and the value of its type field for a file.
TYPE, PATH, SIZE, MODIFIED = 1, 2, 3, 7
IS_FILE = 2


class ScanFile(NamedTuple):
    """File to scan.

    Attributes:
        path: qualified.
        size: in bytes.
        ordinal: number that all rows of the file carry, as its modification time
            (``FILE_ORDINAL``).
    """

    path: str
    size: int
    ordinal: int = 0


def encode(files: Sequence[ScanFile]) -> bytes:
    """Encode an array of ``FileStatus`` as ``ObjectWritable`` does."""
    head = 2 * _utf(_STATUS)  # the declared class and the actual one
    parts = [_utf(f"[L{_STATUS};"), struct.pack(">i", len(files))]
    for file in files:
        message = (
            write_integer(TYPE, IS_FILE)
            + write_octets(PATH, file.path.encode())
            + write_integer(SIZE, file.size)
            + write_integer(MODIFIED, file.ordinal)
        )
        parts += [head, struct.pack(">i", len(message)), message]
    return b"".join(parts)


def _utf(text: str) -> bytes:
    """Encode a text as Java's ``writeUTF``; it has no characters that UTF-8 has in other bytes."""
    return struct.pack(">H", len(text)) + text.encode()
