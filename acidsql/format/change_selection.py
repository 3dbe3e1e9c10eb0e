"""Selection of the directories that contain the changes between two valid lists of a table.

The base of a compaction has merged changes. Bases that contain some of the changes are therefore
left out, and the deltas that they have made obsolete are read instead. INSERT OVERWRITE and
TRUNCATE also write a base, and this base replaces the rows of all lower write ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from acidsql.format.names import AcidDirectory, DirectoryKind, parse_directory
from acidsql.format.selection import AcidState, is_compacted, select
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Directories of a partition between two bases that replaced all rows.

    Attributes:
        state: the directories.
        replaced_by: write id of the base that replaced the rows; None for the current rows.
    """

    state: AcidState
    replaced_by: int | None


def complete_up_to(write_ids: ValidWriteIdList) -> int:
    """Return the highest write id up to which a list has no open write ids."""
    lowest = write_ids.min_open
    return write_ids.high_water_mark if lowest is None else lowest - 1


def compactions_between(
    names: Iterable[str],
    seen: ValidWriteIdList,
    now: ValidWriteIdList,
    txns: ValidTxnList,
    formats: Mapping[str, str],
) -> list[AcidDirectory]:
    """Return the bases of compactions that have merged changes between two lists.

    Args:
        names: names in the directory.
        seen: the older list.
        now: the newer list.
        txns: transactions that are visible.
        formats: see ``selection.select``.
    """
    least = complete_up_to(seen)
    return [
        base
        for base in filter(None, map(parse_directory, names))
        if _is_merged(base, least, formats)
        and base.max_write_id <= now.high_water_mark
        and txns.is_valid(base.visibility_txn_id)
    ]


def change_segments(
    names: Iterable[str],
    seen: ValidWriteIdList,
    now: ValidWriteIdList,
    txns: ValidTxnList,
    formats: Mapping[str, str],
) -> list[Segment]:
    """Select the directories with the changes between two lists, the newest segment last.

    Args:
        names: names in the directory of a table or partition.
        seen: the older list.
        now: the newer list, which shows all write ids that the older list shows.
        txns: transactions that are visible.
        formats: see ``selection.select``.

    Raises:
        AcidAnalysisError: ACID_NOT_ENOUGH_HISTORY.
        FormatError: see ``select``.
    """
    least = complete_up_to(seen)
    parsed = {name: parse_directory(name) for name in names}
    kept = [name for name, d in parsed.items() if d is None or not _is_merged(d, least, formats)]
    # A base with write id 0 or less may have merged the original files; it does not replace them.
    shown = replace(seen, high_water_mark=max(seen.high_water_mark, 0))
    before = select(kept, shown, txns, formats).base
    floor = 0 if before is None else before.max_write_id
    replacing = sorted(
        {
            d.max_write_id
            for name in kept
            if (d := parsed[name]) is not None
            and d.kind is DirectoryKind.BASE
            and d.max_write_id > floor
            and not is_compacted(d, formats)
            and now.is_valid(d.max_write_id)
        }
    )
    return [
        *(
            Segment(state=select(kept, _below(now, w), txns, formats), replaced_by=w)
            for w in replacing
        ),
        Segment(state=select(kept, now, txns, formats), replaced_by=None),
    ]


def _is_merged(directory: AcidDirectory, least: int, formats: Mapping[str, str]) -> bool:
    """Return whether a directory is the base of a compaction with later changes than ``least``."""
    return (
        directory.kind is DirectoryKind.BASE
        and directory.max_write_id > max(least, 0)
        and is_compacted(directory, formats)
    )


def _below(write_ids: ValidWriteIdList, write_id: int) -> ValidWriteIdList:
    """Return a list that ends before a write id."""
    return ValidWriteIdList(
        table=write_ids.table,
        high_water_mark=write_id - 1,
        open=frozenset(w for w in write_ids.open if w < write_id),
        aborted=frozenset(w for w in write_ids.aborted if w < write_id),
    )
