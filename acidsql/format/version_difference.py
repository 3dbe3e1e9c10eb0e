"""Directories that may make two versions of a partition differ, selected only by their names.

A row that a later version has and an older one has not is of a write id that the older one does not
see: nothing brings a deleted row back under its row id. A row that only the older one has is named
by a delete event, or hidden by a base.
"""

from __future__ import annotations

from enum import Enum

from acidsql.format.names import AcidDirectory, DirectoryKind
from acidsql.format.selection import AcidState
from acidsql.format.valid_lists import RangeValidity, ValidWriteIdList


class Lost(Enum):
    """Ways to find the rows of an older version that a later one lacks.

    ``ALL`` are rows whose row ids may mean other rows in the later version.
    """

    NONE = "none"
    BY_EVENTS = "by_events"
    BY_ROW_IDS = "by_row_ids"
    ALL = "all"


def ways_of_loss(old: AcidState, new: AcidState, seen: ValidWriteIdList) -> Lost:
    """Return how the rows of an older version that a later one lacks are found.

    Args:
        old: directories of the older version.
        new: directories of the later version.
        seen: write ids that the older version sees.
    """
    if not old.directories and not old.originals:
        return Lost.NONE
    if old.base == new.base:
        return Lost.BY_EVENTS if later_delete_deltas(new, seen) else Lost.NONE
    # A rebalance gives all rows its highest write id. If the older version sees that one and lacks
    # a lower one, which committed later, it has other rows under the same row ids.
    is_compacted = new.base is not None and new.base.visibility_txn_id > 0
    if is_compacted and seen.min_open is not None:
        return Lost.ALL
    return Lost.BY_ROW_IDS


def later_delete_deltas(new: AcidState, seen: ValidWriteIdList) -> tuple[AcidDirectory, ...]:
    """Return the delete deltas of a later version that may have events hidden from an older one.

    Args:
        new: directories of the later version.
        seen: write ids that the older version sees.
    """
    return tuple(d for d in new.delete_deltas if not _is_all_seen(d, seen))


def with_later_rows(old: AcidState, new: AcidState, seen: ValidWriteIdList) -> AcidState:
    """Return those directories of a later version that may have rows of write ids that an older
    one does not see, with all delete deltas.

    Args:
        old: directories of the older version.
        new: directories of the later version.
        seen: write ids that the older version sees.
    """
    base = None if new.base == old.base else new.base
    inserts = [d for d in new.insert_deltas if not _is_all_seen(d, seen)]
    return AcidState(base=base, deltas=(*inserts, *new.delete_deltas))


def with_write_ids(state: AcidState, lowest: int, highest: int) -> AcidState:
    """Return those directories of a version that may have rows of a range of write ids, with all
    delete deltas.
    """
    inserts = [
        d for d in state.insert_deltas if d.min_write_id <= highest and d.max_write_id >= lowest
    ]
    base = state.base
    # A base of only original files may have a write id below those of its rows, which is 0.
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
    """Return whether a directory is the base of an INSERT OVERWRITE or TRUNCATE that committed with
    a higher write id.

    Args:
        directory: of a partition.
        write_id: the write id.
        write_ids: that are visible.
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
