"""Histories of concurrent statements: what each saw, did and wrote, and the order of their
commits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

RowId = tuple[int, int, int]
"""Write id, bucket property and number of a row: ``row__id``."""

Values = tuple[int, int, int]
"""``id``, ``v`` and ``p`` of a row; ``p`` is 0 in a table without partitions."""

Rows = Mapping[RowId, Values]
"""State of a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What a statement has to do to a table.

    Attributes:
        deleted: rows that it deletes or updates.
        inserted: new rows, with how often each.
        replaced: partitions whose rows it replaces, all of them.
    """

    deleted: frozenset[RowId] = frozenset()
    inserted: Counter[Values] = field(default_factory=Counter)
    replaced: frozenset[int] = frozenset()


class Change(Protocol):
    """Statement whose effect follows from the rows that it sees."""

    @property
    def sql(self) -> str:
        """Text of the statement."""

    def effects(self, seen: Mapping[str, Rows]) -> Mapping[str, Effect]:
        """Return what it does to each table that it writes to, given the rows of all tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Write ids of a table that a statement sees: those up to ``high`` that are not hidden."""

    high: int
    hidden: frozenset[int] = frozenset()

    def sees(self, write_id: int) -> bool:
        """Return whether a write id is visible."""
        return write_id <= self.high and write_id not in self.hidden


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """Directories that a transaction wrote into a table.

    Attributes:
        write_id: of the transaction in the table.
        inserted: new rows.
        deleted: row ids in its delete events, with the partition of each event.
        replaced: partitions where it wrote a base.
    """

    write_id: int
    inserted: Rows = field(default_factory=dict)
    deleted: frozenset[tuple[int, RowId]] = frozenset()
    replaced: frozenset[int] = frozenset()

    @property
    def changed(self) -> frozenset[int]:
        """Partitions where it updated, deleted or replaced rows."""
        return frozenset(p for p, _ in self.deleted) | self.replaced

    @property
    def touched(self) -> frozenset[int]:
        """Partitions where it did anything."""
        return self.changed | {p for _, _, p in self.inserted.values()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Statement that writes.

    Attributes:
        by: the writer.
        change: what it had to do.
        began: number of the last commit of all when it was called.
        ended: the same when it had returned or raised.
        txn_id: its transaction, if it began to write.
        snapshots: tables that it read or wrote, with what it saw of each, as often as it looked.
        writes: what it wrote, by table.
        last_seen: rows of tables as a transaction of several statements saw them before its commit.
        failure: condition of the error that it raised, or None.
    """

    by: str
    change: Change
    began: int
    ended: int
    txn_id: int | None = None
    snapshots: tuple[tuple[str, Snapshot], ...] = ()
    writes: Mapping[str, Write] = field(default_factory=dict)
    last_seen: Mapping[str, Counter[Values]] = field(default_factory=dict)
    failure: str | None = None

    def __str__(self) -> str:
        return f"{self.by}, transaction {self.txn_id}: {self.change.sql}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Evaluation of a DataFrame.

    Attributes:
        began: number of the last commit of all when it was made.
        ended: the same when it had been made, which is before it was evaluated.
        rows: all rows of the tables that it reads.
        before: what an earlier evaluation of the same DataFrame gave, if there was one.
        failure: condition of the error that it raised, or None.
    """

    by: str
    began: int
    ended: int
    snapshots: tuple[tuple[str, Snapshot], ...]
    rows: Mapping[str, Rows]
    before: Mapping[str, Rows] | None = None
    failure: str | None = None

    def __str__(self) -> str:
        return f"{self.by}, a query of {', '.join(self.rows)} begun after commit {self.began}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """Transaction that the metastore has committed.

    Attributes:
        number: its position among all commits.
        write_ids: by table.
    """

    number: int
    txn_id: int
    write_ids: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What happened between two moments without a running statement."""

    commits: tuple[Commit, ...]
    statements: tuple[Statement, ...]
    readings: tuple[Reading, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """State of all tables in such a moment.

    Attributes:
        number: of the last commit.
        tables: rows by table.
        highest: highest write id that was seen, by table.
    """

    number: int
    tables: Mapping[str, Rows]
    highest: Mapping[str, int] = field(default_factory=dict)
