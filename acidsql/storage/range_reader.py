"""A remote file as a seekable stream."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import BinaryIO, cast


def open_ranges(read: Callable[[int, int], bytes], size: int) -> BinaryIO:
    """Open a file so that only the parts that are read are fetched.

    Args:
        read: reads bytes of the file; its arguments are the offset and the number of bytes.
        size: size of the file in bytes.
    """
    return cast(BinaryIO, io.BufferedReader(_RangeReader(read, size), 256 * 1024))


class _RangeReader(io.RawIOBase):
    """Stream that reads ranges."""

    def __init__(self, read: Callable[[int, int], bytes], size: int) -> None:
        self._read = read
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = start + offset
        return self._position

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]  # any writable buffer
        wanted = min(len(buffer), self._size - self._position)
        if wanted <= 0:
            return 0
        content = self._read(self._position, wanted)
        buffer[: len(content)] = content
        self._position += len(content)
        return len(content)
