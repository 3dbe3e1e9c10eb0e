"""Detection of lost files: the history of a table has the number of files of each write id.

The files of a table do not show that a delete delta is missing. Without it, the deleted rows are
visible again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from acidsql.checking.problems import Problem
from acidsql.checking.survey import SeenDirectory, Survey
from acidsql.format.names import DirectoryKind, is_hidden
from acidsql.metastore.history import COMPACT, HistoryEntry
from acidsql.storage.filesystem import child

# The files of these operations stay in directories of one write id until a compaction merges them
# or a base replaces them.
_WRITES = frozenset(
    {
        "DELETE",
        "INSERT",
        "INSERT OVERWRITE",
        "MERGE",
        "REPLACE ON",
        "REPLACE USING",
        "REPLACE WHERE",
        "TRANSACTION",
        "UPDATE",
    }
)
# Operations that remove or move directories of earlier write ids.
_MOVES = frozenset({"DROP PARTITION", "RENAME PARTITION", "REPAIR", "REPAIR TABLE"})


def lost_files(survey: Survey, history: Sequence[HistoryEntry]) -> Iterator[Problem]:
    """Find the write ids with missing files.

    The history only has the number of files in the whole table. Therefore this function skips write
    ids that a compaction merged in a partition or that a base replaced. It also skips write ids
    before the table was replaced or a partition was dropped or renamed.

    Args:
        survey: survey of the whole table.
        history: history of the table, read after the survey.
    """
    if None in survey.states:
        return  # a whole directory is missing, which is a separate problem
    counts = Counter[int]()
    for seen in survey.directories:
        if _is_of_one_write(seen):
            counts[seen.directory.max_write_id] += sum(
                not is_hidden(name) for name in seen.listing.files
            )
    moved = (e.write_id for e in history if e.operation in _MOVES)
    lowest = max([_highest_base(survey), survey.table.replaced_by, *moved])
    merged = [
        (d.min_write_id, d.max_write_id)
        for d in (seen.directory for seen in survey.directories if not _is_of_one_write(seen))
        if d.kind is not DirectoryKind.BASE
    ]
    merged += [(e.first_write_id, e.write_id) for e in history if e.operation == COMPACT]
    for entry in history:
        write_id = entry.write_id
        if (
            entry.operation in _WRITES
            and entry.counts.files
            and write_id >= lowest
            and survey.write_ids.is_valid(write_id)
            and not any(first <= write_id <= last for first, last in merged)
            and counts[write_id] < entry.counts.files
        ):
            yield Problem(
                name="LOST_FILES",
                path=child(survey.table.location, _expected(entry)),
                detail=f"write id {write_id} ({entry.operation}) has committed "
                f"{entry.counts.files} files with rows or delete events, and {counts[write_id]} "
                "are there",
            )


def _is_of_one_write(seen: SeenDirectory) -> bool:
    directory = seen.directory
    return not directory.visibility_txn_id and directory.min_write_id == directory.max_write_id


def _highest_base(survey: Survey) -> int:
    """Return the highest write id of the selected bases; directories below it may be deleted."""
    bases = (s.directory for s in survey.directories if s.directory.kind is DirectoryKind.BASE)
    return max((d.max_write_id for d in bases), default=0)


def _expected(entry: HistoryEntry) -> str:
    """Return the common prefix of the directory names of a write id."""
    if entry.operation == "INSERT OVERWRITE":
        return f"base_{entry.write_id:07}"
    kind = "delete_delta" if entry.operation == "DELETE" else "delta"
    return f"{kind}_{entry.write_id:07}_{entry.write_id:07}"
