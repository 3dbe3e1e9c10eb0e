"""Values as Hadoop's ``Writable`` classes write them (WritableUtils, Text)."""

from __future__ import annotations

# First bytes from here on are numbers of one byte; those below say how many bytes follow.
_SMALLEST = -112
_SMALLEST_NEGATIVE = -120


class WritableError(Exception):
    """Failure to read bytes as what they should be."""


class WritableReader:
    """Reader of bytes, from their beginning.

    Args:
        content: the bytes.
    """

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._position = 0

    def take(self, count: int) -> bytes:
        """Return so many bytes.

        Raises:
            WritableError: there are fewer.
        """
        left = len(self._content) - self._position
        if not 0 <= count <= left:
            raise WritableError(f"{count} bytes are wanted at {self._position}, {left} are left")
        self._position += count
        return self._content[self._position - count : self._position]

    def number(self) -> int:
        r"""Return a number, as Hadoop's ``writeVLong`` and ``writeVInt`` write it.

        Raises:
            WritableError: it is cut off.

        >>> WritableReader(b"\x8e\x01\x00").number()
        256
        """
        first = int.from_bytes(self.take(1), signed=True)
        if first >= _SMALLEST:
            return first
        if first >= _SMALLEST_NEGATIVE:
            return int.from_bytes(self.take(_SMALLEST - first))
        return ~int.from_bytes(self.take(_SMALLEST_NEGATIVE - first))

    def text(self) -> str:
        """Return a text, as ``Text`` writes it.

        Raises:
            WritableError: it is cut off, or no UTF-8.
        """
        try:
            return self.take(self.number()).decode()
        except UnicodeDecodeError as error:
            raise WritableError(f"a text is no UTF-8 ({error})") from error

    def check_end(self) -> None:
        """Check that nothing is left.

        Raises:
            WritableError: there is.
        """
        left = len(self._content) - self._position
        if left:
            raise WritableError(f"{left} bytes follow")
