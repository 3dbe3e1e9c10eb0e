"""Statistics of a scan for Spark's optimiser: rows for each byte, and how many are not deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acidsql.limits import limits
from acidsql.scan.directories import DataDirectory, file_tails
from acidsql.scan.snapshot import TableSnapshot
from acidsql.session.acid_session import AcidSession
from acidsql.storage.parallel import in_parallel


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Statistics of the files of a snapshot.

    Attributes:
        rows_per_byte: rows in a byte of a file; those that are deleted count.
        kept: fraction of the rows that are not deleted.
    """

    rows_per_byte: float
    kept: float


def statistics_of(
    session: AcidSession,
    snapshot: TableSnapshot,
    directories: Sequence[DataDirectory],
    events: int,
) -> Statistics:
    """Estimate the rows of a snapshot's files.

    Rows are counted by the first files of some directories: all others are taken to have as many
    for each byte.

    Args:
        session: the session.
        snapshot: the snapshot.
        directories: with its rows.
        events: number of delete events; each deletes one row, or one that is gone already.
    """
    step = -(-len(directories) // limits().sampled_tails) or 1

    def look(data: DataDirectory) -> tuple[int, int]:
        tails = file_tails(session, snapshot.listings.get(data.path))
        _, first = next(tails, ("", None))
        return (0, 0) if first is None else (first.rows, first.file_length)

    looked = list(in_parallel(look, directories[::step]))
    rows, size = (sum(counts) for counts in zip(*looked, strict=True)) if looked else (0, 0)
    per_byte = rows / size if size else 0.0
    whole = sum(
        version.size
        for data in directories
        for version in snapshot.listings.get(data.path).files.values()
    )
    total = per_byte * whole
    return Statistics(
        rows_per_byte=per_byte, kept=max(0.0, 1 - events / total) if total and events else 1.0
    )
