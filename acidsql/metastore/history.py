"""Value objects of a table's history: the statement and the outcome of each write id."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.metastore.model import TxnState

# Operation of the entries for compactions.
COMPACT = "COMPACT"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedStatement:
    """Statement that a transaction carries out on a table.

    Attributes:
        operation: name in upper case, such as ``UPDATE`` or ``INSERT OVERWRITE``.
        text: its SQL text; None if the text must not be stored, or if the statement had none.
    """

    operation: str
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteCounts:
    """Rows, files and bytes that a transaction wrote to a table; None is an unknown number.

    Attributes:
        inserted: number of new rows.
        updated: number of replaced rows.
        deleted: number of deleted rows.
        files: number of files with rows or delete events.
        size: size of these files, in bytes.
    """

    inserted: int | None = 0
    updated: int | None = 0
    deleted: int | None = 0
    files: int | None = 0
    size: int | None = 0

    def __add__(self, other: WriteCounts) -> WriteCounts:
        """Return the sums; a sum is unknown if one of its numbers is unknown."""
        return WriteCounts(
            inserted=_sum(self.inserted, other.inserted),
            updated=_sum(self.updated, other.updated),
            deleted=_sum(self.deleted, other.deleted),
            files=_sum(self.files, other.files),
            size=_sum(self.size, other.size),
        )


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


# Counts of an entry if only its write id is known.
UNCOUNTED = WriteCounts(inserted=None, updated=None, deleted=None, files=None, size=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """Write id of a table, or a compaction, in the table's history.

    Attributes:
        write_id: the write id; for a compaction the highest that it merged.
        first_write_id: the same; for a compaction the lowest that it merged.
        state: state of the transaction.
        txn_id: the transaction; None if it is not known.
        started: time at which the transaction was opened, in seconds since 1970.
        ended: time of the commit or abort, in seconds since 1970.
        user: user who ran the transaction.
        host: host on which it ran.
        operation: see ``RecordedStatement``; None if it is not known.
        statement: text of the statement.
        partition: partition that a compaction merged.
        counts: what the transaction wrote; unknown if it did not commit.
    """

    write_id: int
    first_write_id: int
    state: TxnState
    txn_id: int | None = None
    started: float | None = None
    ended: float | None = None
    user: str | None = None
    host: str | None = None
    operation: str | None = None
    statement: str | None = None
    partition: str | None = None
    counts: WriteCounts = UNCOUNTED
