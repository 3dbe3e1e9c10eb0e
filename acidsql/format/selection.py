"""Selection of the directories that a snapshot reads, and of directories that no reader needs.

Hive: ``AcidUtils.getAcidState`` with ``processBaseDir``, ``processDeltaDir`` and
``findBestWorkingDeltas``. The selection uses only names. The caller lists the directory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from acidsql.errors import AcidAnalysisError, FormatError
from acidsql.format.names import (
    LONG_MIN,
    AcidDirectory,
    DirectoryKind,
    is_hidden,
    parse_directory,
)
from acidsql.format.valid_lists import (
    RangeValidity,
    ValidTxnList,
    ValidWriteIdList,
)

_COMPACTED = "compacted"
_DATA_FORMATS = frozenset({_COMPACTED, "truncated", "dropped"})
ACID_PREFIXES = tuple(f"{kind.value}_" for kind in DirectoryKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class AcidState:
    """Directories that a snapshot reads, and directories that can be removed.

    Attributes:
        base: the base to read, if any.
        deltas: insert and delete deltas to read, in Hive's order.
        originals: names of files and sub-directories from before the conversion to ACID, sorted.
        obsolete: names that neither this snapshot nor any later one needs, sorted.
        aborted: names of directories that only aborted transactions wrote, sorted.
    """

    base: AcidDirectory | None = None
    deltas: tuple[AcidDirectory, ...] = ()
    originals: tuple[str, ...] = ()
    obsolete: tuple[str, ...] = ()
    aborted: tuple[str, ...] = ()

    @property
    def directories(self) -> tuple[AcidDirectory, ...]:
        """The base, if there is one, and the deltas."""
        return (*([self.base] if self.base else []), *self.deltas)

    @property
    def insert_deltas(self) -> tuple[AcidDirectory, ...]:
        """Deltas with rows."""
        return tuple(delta for delta in self.deltas if delta.kind is DirectoryKind.DELTA)

    @property
    def delete_deltas(self) -> tuple[AcidDirectory, ...]:
        """Deltas with delete events."""
        return tuple(delta for delta in self.deltas if delta.kind is DirectoryKind.DELETE_DELTA)


@dataclass(slots=True, kw_only=True)
class _Listing:
    """Parsed names, and the names that are known to be obsolete or aborted."""

    bases: list[AcidDirectory] = field(default_factory=list)
    deltas: list[AcidDirectory] = field(default_factory=list)
    originals: list[str] = field(default_factory=list)
    obsolete: list[str] = field(default_factory=list)
    aborted: list[str] = field(default_factory=list)


def select(
    names: Iterable[str],
    write_ids: ValidWriteIdList,
    txns: ValidTxnList,
    metadata: Mapping[str, str] | None = None,
) -> AcidState:
    """Select the directories that a snapshot reads.

    This selection is stricter than Hive in two points. A base is read only if its own write id is
    valid. Hive also accepts a base with the lowest open write id, and relies on locks. If a range
    was compacted twice, only the newer compaction is read. Hive reads both, and relies on its
    compactor not to compact a range twice.

    Args:
        names: children of the table's or partition's directory, in any order. Originals in
            sub-directories are paths relative to this directory. Hidden names are ignored.
        write_ids: the table's valid write ids; a compactor's list selects what it may compact.
        txns: the valid transactions, which make directories with a ``_v`` suffix visible.
        metadata: ``dataFormat`` of each base that has a ``_metadata_acid`` file, by name.

    Raises:
        AcidAnalysisError: the snapshot is older than all bases that exist
            (ACID_NOT_ENOUGH_HISTORY).
        FormatError: a name has the prefix of an ACID directory but is not valid
            (INVALID_DIRECTORY_NAME), or a ``dataFormat`` is unknown (INVALID_BASE_METADATA).
    """
    listing = _classify(names, txns)
    base = _best_base(listing, write_ids, metadata or {})
    if base is not None:
        listing.obsolete += listing.originals
        listing.originals.clear()
    deltas = _best_deltas(listing, write_ids, base)
    return AcidState(
        base=base,
        deltas=deltas,
        originals=tuple(sorted(listing.originals)),
        obsolete=tuple(sorted(listing.obsolete)),
        aborted=tuple(sorted(listing.aborted)),
    )


def _classify(names: Iterable[str], txns: ValidTxnList) -> _Listing:
    """Parse the names, without the directories of compactions that the snapshot does not see."""
    listing = _Listing()
    for name in names:
        directory = parse_directory(name)
        if directory is None:
            if name.startswith(ACID_PREFIXES):
                raise FormatError(
                    "INVALID_DIRECTORY_NAME",
                    f"{name!r} starts like an ACID directory and is none: move it out of the table",
                )
            if not any(map(is_hidden, name.split("/"))):
                listing.originals.append(name)
        elif txns.is_aborted(directory.visibility_txn_id):
            listing.aborted.append(name)
        elif txns.is_valid(directory.visibility_txn_id):
            is_base = directory.kind is DirectoryKind.BASE
            (listing.bases if is_base else listing.deltas).append(directory)
    return listing


def _best_base(
    listing: _Listing, write_ids: ValidWriteIdList, metadata: Mapping[str, str]
) -> AcidDirectory | None:
    """Return the valid base with the highest write id.

    If two bases have the same write id, return the compacted one.
    """
    best: AcidDirectory | None = None
    min_open = write_ids.min_open
    bases = sorted(listing.bases, key=lambda base: (base.max_write_id, base.visibility_txn_id))
    for base in bases:
        compacted = is_compacted(base, metadata)
        if write_ids.is_aborted(base.max_write_id) and not compacted:
            listing.aborted.append(base.name)
        elif best is not None and best.max_write_id == base.max_write_id and not compacted:
            listing.obsolete.append(base.name)
        elif _is_valid_base(base.max_write_id, compacted, write_ids, min_open):
            if best is not None:
                listing.obsolete.append(best.name)
            best = base
    if best is None and bases and is_compacted(bases[0], metadata):
        raise _not_enough_history(bases[0], write_ids)
    return best


def is_compacted(base: AcidDirectory, metadata: Mapping[str, str]) -> bool:
    """Return whether a compaction wrote a base; other bases replace rows of lower write ids.

    Raises:
        FormatError: INVALID_BASE_METADATA.
    """
    data_format = metadata.get(base.name)
    if data_format is not None and data_format not in _DATA_FORMATS:
        raise FormatError(
            "INVALID_BASE_METADATA",
            f"base {base.name!r} has the unknown data format {data_format!r}: "
            f"expected one of {', '.join(sorted(_DATA_FORMATS))}",
        )
    return base.visibility_txn_id > 0 or data_format == _COMPACTED


def _is_valid_base(
    write_id: int, compacted: bool, write_ids: ValidWriteIdList, min_open: int | None
) -> bool:
    if write_id == LONG_MIN:
        return True
    if not compacted:
        return write_ids.is_valid(write_id)
    # In an old version, write ids that committed later count as open. The write id of a base can
    # be one of them.
    return write_id <= write_ids.high_water_mark if min_open is None else write_id < min_open


def _not_enough_history(oldest: AcidDirectory, write_ids: ValidWriteIdList) -> AcidAnalysisError:
    exceptions = write_ids.open | write_ids.aborted
    return AcidAnalysisError(
        "ACID_NOT_ENOUGH_HISTORY",
        f"not enough history for write ids up to {write_ids.high_water_mark} of "
        f"{write_ids.table} (lowest invalid one: {min(exceptions, default='none')}): the oldest "
        f"base left is {oldest.name}; run the statement again on a new snapshot",
    )


def _best_deltas(
    listing: _Listing, write_ids: ValidWriteIdList, base: AcidDirectory | None
) -> tuple[AcidDirectory, ...]:
    """Return the widest deltas with write ids above the base; other deltas become obsolete."""
    current = 0 if base is None else base.max_write_id
    statement_id: int | None = None
    taken: list[AcidDirectory] = []
    visible = _newest_compactions(listing, _visible_deltas(listing, write_ids))
    for delta in sorted(visible, key=_delta_order):
        if delta.max_write_id > current:
            new = write_ids.range_validity(current + 1, delta.max_write_id)
            if new is not RangeValidity.NONE:
                taken.append(delta)
                current = delta.max_write_id
                statement_id = delta.statement_id
        elif delta.max_write_id == current and statement_id is not None:
            # A delta of another statement of the transaction, or the delete delta that belongs to
            # an insert delta.
            taken.append(delta)
        elif taken and _same_range(delta, taken[-1]):
            # A compacted delta and its delete delta come in pairs.
            taken.append(delta)
        else:
            listing.obsolete.append(delta.name)
    return tuple(taken)


def _visible_deltas(listing: _Listing, write_ids: ValidWriteIdList) -> list[AcidDirectory]:
    visible: list[AcidDirectory] = []
    for delta in listing.deltas:
        bounds = delta.min_write_id, delta.max_write_id
        if write_ids.range_aborted(*bounds) is RangeValidity.ALL:
            listing.aborted.append(delta.name)
        elif write_ids.range_validity(*bounds) is not RangeValidity.NONE:
            visible.append(delta)
    return visible


def _newest_compactions(listing: _Listing, deltas: list[AcidDirectory]) -> list[AcidDirectory]:
    newest: dict[tuple[object, ...], int] = {}
    for delta in deltas:
        key = _range_key(delta)
        newest[key] = max(newest.get(key, 0), delta.visibility_txn_id)
    kept: list[AcidDirectory] = []
    for delta in deltas:
        if delta.visibility_txn_id == newest[_range_key(delta)]:
            kept.append(delta)
        else:
            listing.obsolete.append(delta.name)
    return kept


def _range_key(delta: AcidDirectory) -> tuple[object, ...]:
    return delta.kind, delta.min_write_id, delta.max_write_id, delta.statement_id


def _delta_order(delta: AcidDirectory) -> tuple[int, int, int, str]:
    return delta.min_write_id, -delta.max_write_id, _statement(delta), delta.name


def _same_range(one: AcidDirectory, other: AcidDirectory) -> bool:
    return _range_key(one)[1:] == _range_key(other)[1:]


def _statement(delta: AcidDirectory) -> int:
    return -1 if delta.statement_id is None else delta.statement_id


def without_later_compactions(names: Iterable[str], write_id: int) -> list[str]:
    """Leave out the names of compacted bases that contain rows of write ids above ``write_id``.

    Hive refuses a snapshot that is older than all compacted bases, because a cleaner may have
    removed its directories.
    """
    return [
        name
        for name in names
        for directory in [parse_directory(name)]
        if directory is None
        or directory.kind is not DirectoryKind.BASE
        or not directory.visibility_txn_id
        or directory.max_write_id <= write_id
    ]


def max_write_id(names: Iterable[str]) -> int:
    """Return the highest write id in directory names, 0 if there is none.

    Names of other files are ignored. Directories of aborted and unfinished transactions count,
    because their write ids are used up.
    """
    directories = filter(None, map(parse_directory, names))
    return max((0, *(directory.max_write_id for directory in directories)))


def needs_row_filter(directory: AcidDirectory, write_ids: ValidWriteIdList) -> bool:
    """Return whether the rows of a selected directory must be filtered by ``currentTransaction``.

    A streaming or compacted delta needs the filter if only some of its write ids are valid. A base
    never needs it, because it contains only committed rows.
    """
    if directory.kind is DirectoryKind.BASE:
        return False
    bounds = directory.min_write_id, directory.max_write_id
    return (
        write_ids.range_validity(*bounds) is not RangeValidity.ALL
        or write_ids.range_aborted(*bounds) is not RangeValidity.NONE
    )
