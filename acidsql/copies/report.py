"""Report of a copy: what becomes of each column, and what was compared at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnReport:
    """Column of a copy: its type in the source, and in the target.

    Attributes:
        name: of the column.
        source: its type in the source, as SQL.
        target: its type in the target; None: it cannot be copied.
        note: why it cannot, or what is other there; empty if nothing is.
    """

    name: str
    source: str
    target: str | None
    note: str = ""

    @property
    def is_refused(self) -> bool:
        """Whether the column cannot be copied."""
        return self.target is None

    def __str__(self) -> str:
        becomes = "refused" if self.target is None else self.target
        return f"{self.name} {self.source}: {becomes}" + (f", {self.note}" if self.note else "")


class Checksum(NamedTuple):
    """Number of rows, and sum and exclusive or of their hashes, which no order changes."""

    rows: int
    total: int
    mixed: int

    def __str__(self) -> str:
        rows = "1 row" if self.rows == 1 else f"{self.rows} rows"
        return f"{rows}, checksum {self.total:x}-{self.mixed & (2**64 - 1):016x}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyReport:
    """Result of ``acidsql.convert`` or ``acidsql.export``.

    Attributes:
        source: what was copied.
        target: where to.
        version: version or snapshot id of the source; None where it has none.
        columns: what becomes of each column, in the order of the source.
        partition_columns: names of the partition columns of the target.
        batches: number of transactions that copy the rows.
        copied: number of those that this call has done; the others were done before.
        rows: number of rows that were compared; None before anything was copied.
        checksum: the checksum of all columns that both sides have; None if nothing was compared.

    >>> done = acidsql.export(spark, "pet", "parquet:pets_of_a_report")
    >>> for column in done.columns:
    ...     print(column)
    id INT: INT
    name STRING: STRING
    """

    source: str
    target: str
    version: str | None
    columns: Sequence[ColumnReport]
    partition_columns: Sequence[str]
    batches: int
    copied: int = 0
    rows: int | None = None
    checksum: str | None = None
