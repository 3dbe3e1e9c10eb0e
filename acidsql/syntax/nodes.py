"""Parts that several statement dataclasses share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Name: TypeAlias = tuple[str, ...]
"""Parts of a qualified name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Part of a statement's text.

    Attributes:
        start: offset of the first code point.
        end: offset after the last code point.
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
        values: name of each column, and its value as SQL text or ``None``.
    """

    values: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFilter:
    """``PARTITION (column < value, column)``: the partitions that satisfy all comparisons.

    Attributes:
        comparisons: column, operator, and value as SQL text. Operator and value are ``None`` for a
            column without a comparison.
    """

    comparisons: tuple[tuple[str, str | None, str | None], ...]

    def spec(self) -> PartitionSpec | None:
        """Return the filter as a specification; None if a comparison is not an equality."""
        if any(operator not in (None, "=") for _, operator, _ in self.comparisons):
            return None
        return PartitionSpec(values=tuple((column, text) for column, _, text in self.comparisons))


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionSpec:
    """``VERSION AS OF …`` or ``TIMESTAMP AS OF …``; exactly one attribute is set.

    Attributes:
        version: the number, or the value of the string.
        timestamp: the value of the string.
    """

    version: str | None = None
    timestamp: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustering:
    """``CLUSTERED BY (columns) [SORTED BY (…)] INTO n BUCKETS``."""

    columns: tuple[str, ...]
    sorted: bool
    buckets: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """Base of statements about one table, view or database.

    Attributes:
        text: source of the statement, without the semicolon that ends it.
        name: parts of the name.
        name_span: position of the name in the text.
    """

    text: str
    name: Name
    name_span: Span
