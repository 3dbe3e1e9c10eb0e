"""Report of a copy: the types of its columns, and the checksum of the compared rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnReport:
    """Column of a copy: its type in the source and in the target.

    Attributes:
        name: name of the column.
        source: its type in the source, as SQL.
        target: its type in the target; None if it cannot be copied.
        note: why it cannot be copied, or how it differs in the target; otherwise empty.
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
    """Number of rows, and the sum and exclusive or of their hashes, in any row order."""

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
        source: the table that was copied.
        target: the copy.
        version: version or snapshot id of the source; None if the source has none.
        columns: types of each column, in the order of the source.
        partition_columns: names of the partition columns of the target.
        batches: number of transactions that copy the rows.
        copied: number of batches that this call copied; earlier calls copied the others.
        rows: number of rows that were compared; None if nothing was compared.
        checksum: checksum of the rows of both tables; None if nothing was compared.

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
