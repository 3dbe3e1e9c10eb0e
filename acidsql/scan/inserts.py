"""Places of the rows of a snapshot: directories of ACID files, and original files."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import TypeVar

from acidsql.format.names import DirectoryKind
from acidsql.scan.directories import DataDirectory
from acidsql.scan.original_files import OriginalFile

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inserts:
    """Places of the rows of a snapshot: directories of ACID files, and original files."""

    directories: tuple[DataDirectory, ...]
    originals: tuple[OriginalFile, ...]

    @property
    def is_empty(self) -> bool:
        """Whether there are no rows."""
        return not self.directories and not self.originals

    def but_of(self, partitions: Container[int]) -> Inserts:
        """Leave out the places in the partitions with some ordinals."""
        return Inserts(
            directories=tuple(d for d in self.directories if d.ordinal not in partitions),
            originals=tuple(f for f in self.originals if f.ordinal not in partitions),
        )


def parted(
    items: Sequence[_T], belongs: Callable[[_T], bool]
) -> tuple[tuple[_T, ...], tuple[_T, ...]]:
    """Split items by a predicate: first the items where it is false, then the others."""
    parts: tuple[list[_T], list[_T]] = [], []
    for item in items:
        parts[belongs(item)].append(item)
    return tuple(parts[0]), tuple(parts[1])


def write_ids_of(data: DataDirectory) -> tuple[int, int]:
    """Return the lowest and highest write id that the rows of a directory can have."""
    is_delta = data.directory.kind is DirectoryKind.DELTA
    # A base that was compacted from only original files has a write id of 0 or less. Its rows have
    # write id 0.
    return data.directory.min_write_id if is_delta else 0, max(data.directory.max_write_id, 0)
