"""Directories that can make two versions of a partition differ, selected only by their names.

A row that only the later version has must have a write id that the older version does not see,
because a deleted row never returns with its row id. A row that only the older version has is named
by a delete event or hidden by a base.
"""

from __future__ import annotations

from enum import Enum

from acidsql.format.names import AcidDirectory, DirectoryKind
from acidsql.format.selection import AcidState
from acidsql.format.valid_lists import RangeValidity, ValidWriteIdList


class Lost(Enum):
    """Ways to find the rows of an older version that a later one lacks.

    ``ALL`` means all rows, because their row ids may identify other rows in the later version.
    """

    NONE = "none"
    BY_EVENTS = "by_events"
    BY_ROW_IDS = "by_row_ids"
    ALL = "all"


def ways_of_loss(old: AcidState, new: AcidState, seen: ValidWriteIdList) -> Lost:
    """Return how to find the rows of an older version that a later one lacks.

    Args:
        old: directories of the older version.
        new: directories of the later version.
        seen: write ids that the older version sees.
    """
    if not old.directories and not old.originals:
        return Lost.NONE
    if old.base == new.base:
        return Lost.BY_EVENTS if later_delete_deltas(new, seen) else Lost.NONE
    # A rebalance gives all rows its highest write id. The older version can see this write id and
    # lack a lower one, which committed later. It then has other rows with the same row ids.
    is_compacted = new.base is not None and new.base.visibility_txn_id > 0
    if is_compacted and seen.min_open is not None:
        return Lost.ALL
    return Lost.BY_ROW_IDS


def later_delete_deltas(new: AcidState, seen: ValidWriteIdList) -> tuple[AcidDirectory, ...]:
    """Return the delete deltas of a later version with events that an older one may not see.

    Args:
        new: directories of the later version.
        seen: write ids that the older version sees.
    """
    return tuple(d for d in new.delete_deltas if not _is_all_seen(d, seen))


def with_later_rows(old: AcidState, new: AcidState, seen: ValidWriteIdList) -> AcidState:
    """Return the directories of a later version that can contain rows an older one does not see.

    The result includes all delete deltas.

    Args:
        old: directories of the older version.
        new: directories of the later version.
        seen: write ids that the older version sees.
    """
    base = None if new.base == old.base else new.base
    inserts = [d for d in new.insert_deltas if not _is_all_seen(d, seen)]
    return AcidState(base=base, deltas=(*inserts, *new.delete_deltas))


def with_write_ids(state: AcidState, lowest: int, highest: int) -> AcidState:
    """Return the directories of a version that can contain rows of a range of write ids.

    The result includes all delete deltas.
    """
    inserts = [
        d for d in state.insert_deltas if d.min_write_id <= highest and d.max_write_id >= lowest
    ]
    base = state.base
    # A base that was compacted from only original files can have a write id below 0, which is the
    # write id of its rows.
    if base is not None and max(base.max_write_id, 0) < lowest:
        base = None
    return AcidState(
        base=base,
        deltas=(*inserts, *state.delete_deltas),
        originals=state.originals if lowest <= 0 else (),
    )


def has_rows(state: AcidState) -> bool:
    """Return whether there are directories or original files with rows."""
    return bool(state.base or state.insert_deltas or state.originals)


def is_replaced_after(directory: AcidDirectory, write_id: int, write_ids: ValidWriteIdList) -> bool:
    """Return whether a directory is the base of a later INSERT OVERWRITE or TRUNCATE.

    The base must have a higher write id and be committed.

    Args:
        directory: directory of a partition.
        write_id: the write id.
        write_ids: write ids that are visible.
    """
    return (
        directory.kind is DirectoryKind.BASE
        and not directory.visibility_txn_id
        and directory.max_write_id > write_id
        and write_ids.is_valid(directory.max_write_id)
    )


def _is_all_seen(directory: AcidDirectory, seen: ValidWriteIdList) -> bool:
    bounds = directory.min_write_id, directory.max_write_id
    return seen.range_validity(*bounds) is RangeValidity.ALL
