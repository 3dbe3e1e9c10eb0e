"""History of a table, read from the names of its directories and the counts of their files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from acidsql.format.names import AcidDirectory, DirectoryKind


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDirectory:
    """Directory of a table.

    Attributes:
        partition: name of the directory's partition, or None.
        path: path of the directory.
        directory: parsed name of the directory.
    """

    partition: str | None
    path: str
    directory: AcidDirectory


class Writer(NamedTuple):
    """Origin of some directories: the transaction of a write id, or a compaction of a partition.

    Attributes:
        write_id: the highest write id.
        txn_id: transaction id of the compaction; 0 for other writers, and for compactions of Hive
            3.1.
        first_write_id: the lowest write id.
        partition: partition that a compaction merged.
    """

    write_id: int
    txn_id: int
    first_write_id: int
    partition: str | None

    @property
    def is_compaction(self) -> bool:
        """Whether the writer is known to be a compaction."""
        return self.txn_id > 0


def by_writer(
    directories: Iterable[FoundDirectory], below: int | None, most: int | None
) -> dict[Writer, list[FoundDirectory]]:
    """Group directories by their writers, the newest first.

    Args:
        directories: the directories.
        below: write ids from this one on are left out.
        most: largest number of groups.
    """
    groups: dict[Writer, list[FoundDirectory]] = defaultdict(list)
    for one in directories:
        d = one.directory
        if d.max_write_id < 1 or (below is not None and d.max_write_id >= below):
            continue
        first = d.min_write_id
        if d.kind is DirectoryKind.BASE and d.visibility_txn_id:
            first = 1  # the base contains the rows of all write ids up to its own
        partition = one.partition if d.visibility_txn_id else None
        groups[Writer(d.max_write_id, d.visibility_txn_id, first, partition)].append(one)
    newest = sorted(groups, key=lambda w: (*w[:3], w.partition or ""), reverse=True)
    return {writer: groups[writer] for writer in newest[:most]}


def operation_of(
    directories: Iterable[AcidDirectory], inserted: int | None, deleted: int, *, truncated: bool
) -> str | None:
    """Return the operation that leaves these directories under one write id.

    UPDATE and MERGE leave the same directories. A MERGE that only inserts or deletes is reported as
    INSERT or DELETE, and LOAD DATA as INSERT.

    Args:
        directories: directories of one write id, in all partitions.
        inserted: number of rows in the directories, None if it is not known.
        deleted: number of delete events in the directories.
        truncated: whether the metadata of a base shows that TRUNCATE has written it.

    Returns:
        The operation; None if a streaming client or a compaction of Hive 3.1 may have left the
            directories.
    """
    given = list(directories)
    if any(d.min_write_id != d.max_write_id for d in given):
        return None
    if any(d.kind is DirectoryKind.BASE for d in given):
        return "TRUNCATE" if truncated else "INSERT OVERWRITE"
    if not deleted:
        return "INSERT"
    return "DELETE" if inserted == 0 else "UPDATE or MERGE"
