"""Names in the directory of a table or partition that a snapshot does not read, with the reasons.

A reader needs only the directories that ``selection.select`` returns. This module explains why the
other names are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from acidsql.format.names import (
    STAGING_PREFIX,
    AcidDirectory,
    DirectoryKind,
    is_hidden,
    parse_directory,
)
from acidsql.format.selection import AcidState
from acidsql.format.valid_lists import RangeValidity, ValidTxnList, ValidWriteIdList


class Reason(Enum):
    """Reason why a snapshot does not read a name."""

    OBSOLETE = "obsolete"
    ABORTED = "of aborted transactions"
    OPEN = "of an open transaction"
    LATER = "later than the snapshot"
    STAGING = "staging"
    HIDDEN = "hidden name"
    EMPTY = "no files"


class HiddenName(NamedTuple):
    """Name of a file or directory that a snapshot does not read, and the reason."""

    name: str
    reason: Reason


def hidden_names(
    names: Iterable[str], state: AcidState, write_ids: ValidWriteIdList, txns: ValidTxnList
) -> tuple[HiddenName, ...]:
    """Return the names that a snapshot does not read, in the order given.

    Args:
        names: children of the directory.
        state: directories that ``selection.select`` has selected from the names.
        write_ids: the table's valid write ids that were used for the selection.
        txns: the valid transactions that were used for the selection.
    """
    read = {d.name for d in state.directories} | {n.split("/")[0] for n in state.originals}
    obsolete, aborted = frozenset(state.obsolete), frozenset(state.aborted)

    def reason(name: str) -> Reason:
        if name in obsolete:
            return Reason.OBSOLETE
        if name in aborted:
            return Reason.ABORTED
        if name.startswith(STAGING_PREFIX):
            return Reason.STAGING
        if is_hidden(name):
            return Reason.HIDDEN
        directory = parse_directory(name)
        if directory is None:
            return Reason.EMPTY
        return _reason(directory, state, write_ids, txns)

    return tuple(HiddenName(name, reason(name)) for name in names if name not in read)


def _reason(
    directory: AcidDirectory, state: AcidState, write_ids: ValidWriteIdList, txns: ValidTxnList
) -> Reason:
    """Return why a directory that is neither obsolete nor aborted is not read."""
    if directory.visibility_txn_id > txns.high_water_mark:
        return Reason.LATER
    if directory.visibility_txn_id in txns.open:
        return Reason.OPEN
    first, last = directory.min_write_id, directory.max_write_id
    if directory.kind is not DirectoryKind.BASE and state.base is not None:
        above = state.base.max_write_id + 1
        first = max(first, above) if last >= above else first
    if first > write_ids.high_water_mark:
        return Reason.LATER
    if directory.kind is DirectoryKind.BASE:
        return Reason.LATER if last > write_ids.high_water_mark else Reason.OPEN
    if any(first <= write_id <= last for write_id in write_ids.open):
        return Reason.OPEN
    if last > write_ids.high_water_mark:
        return Reason.LATER
    is_aborted = write_ids.range_aborted(first, last) is RangeValidity.ALL
    return Reason.ABORTED if is_aborted and first <= last else Reason.OBSOLETE
