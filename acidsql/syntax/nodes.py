"""What the dataclasses of statements are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Name: TypeAlias = tuple[str, ...]
"""The parts of a qualified name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A part of the statement's text.

    Attributes:
        start: offset of the first code point.
        end: offset behind the last code point.
    """

    start: int
    end: int

    def of(self, text: str) -> str:
        """Return the part of ``text`` that the span covers."""
        return text[self.start : self.end]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSpec:
    """``PARTITION (column = value, column)``.

    Attributes:
        values: for each column its value as SQL text, ``None`` where none is given.
    """

    values: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFilter:
    """``PARTITION (column < value, column)``: those that meet all comparisons.

    Attributes:
        comparisons: column, operator, and value as SQL text, the last two ``None`` where none is
            given.
    """

    comparisons: tuple[tuple[str, str | None, str | None], ...]

    def spec(self) -> PartitionSpec | None:
        """The same as a specification; None if it compares by anything but equality."""
        if any(operator not in (None, "=") for _, operator, _ in self.comparisons):
            return None
        return PartitionSpec(values=tuple((column, text) for column, _, text in self.comparisons))


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustering:
    """``CLUSTERED BY (columns) [SORTED BY (…)] INTO n BUCKETS``."""

    columns: tuple[str, ...]
    sorted: bool
    buckets: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What statements about one table, view or database have in common."""

    text: str
    name: Name
    name_span: Span
