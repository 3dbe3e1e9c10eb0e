"""Identity columns: their declarations and their values."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1
_DECLARED = re.compile(
    r"GENERATED (ALWAYS|BY DEFAULT) AS IDENTITY \(START WITH (-?\d+) INCREMENT BY (-?\d+)\)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Declaration of an identity column, ``GENERATED … AS IDENTITY``.

    A table assigns each new row an ordinal: 0, 1, 2 and so on. It never assigns an ordinal twice.
    The value of a row is ``start + increment * ordinal``.

    Attributes:
        start: value of the first row.
        increment: difference between consecutive values; not 0.
        always: whether statements cannot give explicit values (``ALWAYS``).
    """

    start: int = 1
    increment: int = 1
    always: bool = True

    @property
    def text(self) -> str:
        """SQL text, which ``identity_of`` parses."""
        words = "ALWAYS" if self.always else "BY DEFAULT"
        return (
            f"GENERATED {words} AS IDENTITY (START WITH {self.start} INCREMENT BY {self.increment})"
        )

    @property
    def ordinals(self) -> int:
        """Number of ordinals with values that fit into 64 bits.

        >>> Identity(start=2**63 - 2).ordinals
        2
        """
        last = _LONG_MAX if self.increment > 0 else _LONG_MIN
        return (last - self.start) // self.increment + 1

    @property
    def fits(self) -> bool:
        """Return whether BIGINT holds the first value and the increment."""
        return all(_LONG_MIN <= number <= _LONG_MAX for number in (self.start, self.increment))

    def value(self, ordinal: int) -> int:
        """Return the value of a row."""
        return self.start + self.increment * ordinal

    def ordinal_beyond(self, value: int) -> int:
        """Return the first ordinal with a value beyond ``value``, in the increment's direction.

        >>> Identity(start=1, increment=10).ordinal_beyond(21), Identity().ordinal_beyond(-5)
        (3, 0)
        """
        return max(0, (value - self.start) // self.increment + 1)


def identity_of(text: str) -> Identity:
    """Parse the text of an identity declaration.

    >>> identity_of(Identity(start=5, increment=-1, always=False).text)
    Identity(start=5, increment=-1, always=False)
    """
    match = _DECLARED.fullmatch(text)
    assert match is not None, text
    words, start, increment = match.groups()
    return Identity(start=int(start), increment=int(increment), always=words == "ALWAYS")
