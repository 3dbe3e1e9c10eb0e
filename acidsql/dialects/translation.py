"""Statement of another dialect as one of Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """A statement of Spark, and how Spark is to read it.

    Attributes:
        text: the statement.
        settings: settings of Spark under which it means what it meant.
        warnings: what the statement requested and does not get; the rows are the same.
    """

    text: str
    settings: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
