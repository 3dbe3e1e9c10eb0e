"""History of a table, read from the names of its directories and the counts of their files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from acidsql.format.names import AcidDirectory, DirectoryKind


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDirectory:
    """Directory of a table, and what its files show.

    Attributes:
        partition: name of its partition, or None.
        path: of the directory.
        directory: its parsed name.
    """

    partition: str | None
    path: str
    directory: AcidDirectory


class Writer(NamedTuple):
    """Origin of some directories: the transaction of a write id, or a compaction of a partition.

    Attributes:
        write_id: the highest.
        txn_id: of the compaction; 0 if it is none, or of Hive 3.1.
        first_write_id: the lowest.
        partition: that a compaction merged.
    """

    write_id: int
    txn_id: int
    first_write_id: int
    partition: str | None

    @property
    def is_compaction(self) -> bool:
        """Whether it is known to be a compaction."""
        return self.txn_id > 0


def by_writer(
    found: Iterable[FoundDirectory], below: int | None, most: int | None
) -> dict[Writer, list[FoundDirectory]]:
    """Group directories by what wrote them, the newest first.

    Args:
        found: the directories.
        below: write ids from this one on are left out.
        most: largest number of groups.
    """
    groups: dict[Writer, list[FoundDirectory]] = defaultdict(list)
    for one in found:
        d = one.directory
        if d.max_write_id < 1 or (below is not None and d.max_write_id >= below):
            continue
        first = d.min_write_id
        if d.kind is DirectoryKind.BASE and d.visibility_txn_id:
            first = 1  # it has the rows of all write ids up to its own
        partition = one.partition if d.visibility_txn_id else None
        groups[Writer(d.max_write_id, d.visibility_txn_id, first, partition)].append(one)
    newest = sorted(groups, key=lambda w: (*w[:3], w.partition or ""), reverse=True)
    return {writer: groups[writer] for writer in newest[:most]}


def operation_of(
    directories: Iterable[AcidDirectory], inserted: int | None, deleted: int, *, truncated: bool
) -> str | None:
    """Return the operation that leaves such directories under one write id.

    UPDATE and MERGE leave the same ones; a MERGE that only inserts or deletes is taken for an
    INSERT or a DELETE, and LOAD DATA for an INSERT.

    Args:
        directories: of one write id, in all partitions.
        inserted: number of rows in them, None if it is not known.
        deleted: number of delete events in them.
        truncated: whether a base says of itself that it is TRUNCATE's.

    Returns:
        The operation; None if a streaming client or a compaction of Hive 3.1 may have left them.
    """
    given = list(directories)
    if any(d.min_write_id != d.max_write_id for d in given):
        return None
    if any(d.kind is DirectoryKind.BASE for d in given):
        return "TRUNCATE" if truncated else "INSERT OVERWRITE"
    if not deleted:
        return "INSERT"
    return "DELETE" if inserted == 0 else "UPDATE or MERGE"
