"""Rules that the initiator uses to decide whether a partition needs a compaction.

They are the rules of Hive's initiator (InitiatorBase), and only consider names and sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from acidsql.format.thresholds import Thresholds
from acidsql.metastore.model import Compaction, CompactionState, CompactionType

NO_AUTO_COMPACTION = "no_auto_compaction"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSizes:
    """Sizes of a partition, or of a table without partitions.

    Attributes:
        base_bytes: size of the base or of the original files; 0 without either.
        delta_bytes: size of the deltas and delete deltas that a compaction may merge.
        insert_deltas: number of these deltas.
        delete_deltas: number of these delete deltas.
        obsolete: number of directories that the newest snapshot does not need.
        obsolete_bases: number of bases among the obsolete directories.
        aborted: number of directories that aborted transactions have left.
    """

    base_bytes: int = 0
    delta_bytes: int = 0
    insert_deltas: int = 0
    delete_deltas: int = 0
    obsolete: int = 0
    obsolete_bases: int = 0
    aborted: int = 0

    @property
    def deltas(self) -> int:
        """Number of deltas and delete deltas."""
        return self.insert_deltas + self.delete_deltas

    @property
    def bytes(self) -> int:
        """Size of the files that a major compaction reads."""
        return self.base_bytes + self.delta_bytes


def wanted(
    sizes: PartitionSizes, thresholds: Thresholds, *, insert_only: bool = False
) -> CompactionType | None:
    """Return the compaction that a partition needs; None if it needs none.

    An insert-only table only has major compactions.

    >>> many = PartitionSizes(base_bytes=1000, delta_bytes=50, insert_deltas=11)
    >>> wanted(many, Thresholds()).value
    'minor'
    >>> large = PartitionSizes(base_bytes=1000, delta_bytes=101, insert_deltas=1)
    >>> wanted(large, Thresholds()).value
    'major'
    """
    has_base = sizes.base_bytes > 0 or sizes.delta_bytes == 0
    is_large = (
        sizes.delta_bytes > thresholds.delta_pct * sizes.base_bytes
        and sizes.delta_bytes >= thresholds.least_delta_bytes
    )
    if has_base and (is_large or (sizes.delta_bytes == 0 and sizes.obsolete_bases)):
        return CompactionType.MAJOR
    if sizes.deltas <= thresholds.delta_num:
        return None
    return CompactionType.MINOR if has_base and not insert_only else CompactionType.MAJOR


def next_look(sizes: PartitionSizes, thresholds: Thresholds) -> int:
    """Return the number of writes after which the deltas of a partition may need a compaction.

    A write creates a delta. An update also creates a delete delta.

    >>> next_look(PartitionSizes(insert_deltas=2, delete_deltas=1), Thresholds())
    4
    """
    return max(1, (thresholds.delta_num + 1 - sizes.deltas) // 2)


def is_backing_off(history: Iterable[Compaction], thresholds: Thresholds, now: float) -> bool:
    """Return whether a partition's last compactions failed, and a retry is not yet due.

    Args:
        history: entries of the partition, newest first.
        now: seconds since 1970.
    """
    ended = [c for c in history if c.state in (CompactionState.SUCCEEDED, CompactionState.FAILED)]
    last = ended[: thresholds.failed_num]
    return (
        len(last) >= thresholds.failed_num > 0
        and all(c.state is CompactionState.FAILED for c in last)
        and now - (last[0].ended or now) < thresholds.failed_retry_seconds
    )


def is_waiting(history: Iterable[Compaction]) -> bool:
    """Return whether a compaction of a partition is requested or running."""
    return any(c.state in (CompactionState.INITIATED, CompactionState.WORKING) for c in history)


def may_compact(*properties: Mapping[str, str]) -> bool:
    """Return whether the properties of a table and its database allow the initiator to compact.

    As in Hive, the case of the property's name does not matter. The first mapping with the property
    decides.
    """
    for each in properties:
        for name, value in each.items():
            if name.lower() == NO_AUTO_COMPACTION:
                return value.lower() != "true"
    return True
