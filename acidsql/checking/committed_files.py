"""Files that committed write ids must have: their number is in the history of the table.

Nothing in a table shows that a delete delta was there: without it, its rows are back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from acidsql.checking.problems import Problem
from acidsql.checking.survey import SeenDirectory, Survey
from acidsql.format.names import DirectoryKind, is_hidden
from acidsql.metastore.history import COMPACT, HistoryEntry
from acidsql.storage.filesystem import child

# Operations whose files stay in directories of their own write id until a compaction merges them,
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
# Operations that take away or move directories of write ids before their own.
_MOVES = frozenset({"DROP PARTITION", "RENAME PARTITION", "REPAIR", "REPAIR TABLE"})


def lost_files(survey: Survey, history: Sequence[HistoryEntry]) -> Iterator[Problem]:
    """Find the write ids whose files are gone.

    Write ids that a compaction has merged in some partition, or a base replaced, are left out. So
    are those from before the table was replaced or partitions were dropped or renamed: the history
    has the numbers of files of the whole table.

    Args:
        survey: of the whole table.
        history: of the table, read after the survey.
    """
    if None in survey.states:
        return  # a directory is gone with what was in it, which is a problem of its own
    there = Counter[int]()
    for seen in survey.directories:
        if _is_of_one_write(seen):
            there[seen.directory.max_write_id] += sum(
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
            and there[write_id] < entry.counts.files
        ):
            yield Problem(
                name="LOST_FILES",
                path=child(survey.table.location, _expected(entry)),
                detail=f"write id {write_id} ({entry.operation}) has committed "
                f"{entry.counts.files} files with rows or delete events, and {there[write_id]} "
                "are there",
            )


def _is_of_one_write(seen: SeenDirectory) -> bool:
    directory = seen.directory
    return not directory.visibility_txn_id and directory.min_write_id == directory.max_write_id


def _highest_base(survey: Survey) -> int:
    """Return the highest write id of a base that is read; directories below it may be gone."""
    bases = (s.directory for s in survey.directories if s.directory.kind is DirectoryKind.BASE)
    return max((d.max_write_id for d in bases), default=0)


def _expected(entry: HistoryEntry) -> str:
    """Return the beginning of the names that directories of a write id have."""
    if entry.operation == "INSERT OVERWRITE":
        return f"base_{entry.write_id:07}"
    kind = "delete_delta" if entry.operation == "DELETE" else "delta"
    return f"{kind}_{entry.write_id:07}_{entry.write_id:07}"
