"""Reader of values that Hadoop's ``Writable`` classes wrote (WritableUtils, Text)."""

from __future__ import annotations

# A first byte of at least this value is the number itself. A lower one shows how many bytes follow.
_SMALLEST = -112
_SMALLEST_NEGATIVE = -120


class WritableError(Exception):
    """Failure to read bytes as the expected value."""


class WritableReader:
    """Reader of values from bytes, starting at the first byte.

    Args:
        content: the bytes.
    """

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._position = 0

    def take(self, count: int) -> bytes:
        """Return the next ``count`` bytes.

        Raises:
            WritableError: fewer bytes remain.
        """
        remaining = len(self._content) - self._position
        if not 0 <= count <= remaining:
            raise WritableError(
                f"{count} bytes are wanted at {self._position}, {remaining} are left"
            )
        self._position += count
        return self._content[self._position - count : self._position]

    def number(self) -> int:
        r"""Return a number, as Hadoop's ``writeVLong`` and ``writeVInt`` write it.

        Raises:
            WritableError: the number is cut off.

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
            WritableError: the text is cut off, or is not UTF-8.
        """
        try:
            return self.take(self.number()).decode()
        except UnicodeDecodeError as error:
            raise WritableError(f"a text is no UTF-8 ({error})") from error

    def check_end(self) -> None:
        """Check that no bytes remain.

        Raises:
            WritableError: some bytes remain.
        """
        remaining = len(self._content) - self._position
        if remaining:
            raise WritableError(f"{remaining} bytes follow")
