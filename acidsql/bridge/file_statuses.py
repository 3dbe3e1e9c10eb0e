"""Hadoop's ``FileStatus`` objects for the files of a scan, passed to the JVM as bytes.

To construct each object would take several calls. ``FileStatus`` is a ``Writable``, and Hadoop can
read an array of them from a stream (``ObjectWritable``). Each element is a protobuf message
(``FileStatusProto``).
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
        path: qualified path.
        size: size in bytes.
        ordinal: number that every row of the file carries. Spark gets it as the modification
            time of the file (``FILE_ORDINAL``).
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
    """Encode an ASCII text like Java's ``writeUTF``."""
    return struct.pack(">H", len(text)) + text.encode()
