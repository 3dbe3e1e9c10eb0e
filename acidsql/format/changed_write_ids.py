"""Write ids that became visible between two valid lists of a table, for a change feed."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.format.valid_lists import RangeValidity, ValidWriteIdList

# High-water mark that shows no rows, not even those of original files, which have write id 0.
NOTHING = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedWriteIds(ValidWriteIdList):
    """Write ids that one list shows and an older list does not; only these are valid here.

    There may be many write ids up to the high-water mark of the older list, but few of them have
    become visible. Up to this mark, the visible write ids are listed; above it, the hidden ones.

    Attributes:
        above: high-water mark of the older list; all higher write ids that the newer list shows
            are valid.
        earlier: valid write ids up to that mark.
    """

    above: int
    earlier: frozenset[int]

    @classmethod
    def between(cls, seen: ValidWriteIdList, now: ValidWriteIdList) -> ChangedWriteIds:
        """Return the write ids that ``now`` shows and ``seen`` does not show."""
        hidden = seen.open | seen.aborted
        return cls(
            table=now.table,
            high_water_mark=now.high_water_mark,
            open=now.open,
            aborted=now.aborted,
            above=seen.high_water_mark,
            earlier=frozenset(w for w in hidden if now.is_valid(w)),
        )

    def is_valid(self, number: int) -> bool:
        """Return whether a write id has become visible."""
        if number <= self.above:
            return number in self.earlier
        return ValidWriteIdList.is_valid(self, number)

    @property
    def lowest(self) -> int:
        """Lower bound of the write ids."""
        return min(self.earlier, default=self.above + 1)

    def range_validity(self, minimum: int, maximum: int) -> RangeValidity:
        """Return how many write ids from ``minimum`` to ``maximum`` have become visible."""
        low, high = max(minimum, self.above + 1), min(maximum, self.high_water_mark)
        hidden = sum(low <= w <= high for w in self.open | self.aborted)
        later = max(high - low + 1, 0) - hidden
        count = later + sum(minimum <= w <= maximum for w in self.earlier)
        if count <= 0:
            return RangeValidity.NONE
        return RangeValidity.ALL if count == maximum - minimum + 1 else RangeValidity.SOME

    def listed(self, most: int) -> tuple[int, ...] | None:
        """Return the write ids, ascending; None if there may be more than ``most``."""
        if self.high_water_mark - self.above > most:
            return None
        later = range(self.above + 1, self.high_water_mark + 1)
        return (*sorted(self.earlier), *(w for w in later if ValidWriteIdList.is_valid(self, w)))


def nothing(table: str) -> ValidWriteIdList:
    """Return the list that shows no rows of a table, not even its original files."""
    return ValidWriteIdList(table=table, high_water_mark=NOTHING)


def without(write_ids: ValidWriteIdList, write_id: int) -> ValidWriteIdList:
    """Return a list that does not show one of the write ids."""
    return ValidWriteIdList(
        table=write_ids.table,
        high_water_mark=write_ids.high_water_mark,
        open=write_ids.open | {write_id},
        aborted=write_ids.aborted - {write_id},
    )


def shows_all_of(now: ValidWriteIdList, seen: ValidWriteIdList) -> bool:
    """Return whether the list ``now`` shows all write ids that ``seen`` shows.

    >>> seen = ValidWriteIdList(table="t", high_water_mark=3, open=frozenset({2}))
    >>> shows_all_of(ValidWriteIdList(table="t", high_water_mark=4), seen)
    True
    >>> shows_all_of(seen, ValidWriteIdList(table="t", high_water_mark=2))
    False
    """
    hidden = now.open | now.aborted
    if any(map(seen.is_valid, hidden)):
        return False
    beyond = range(now.high_water_mark + 1, seen.high_water_mark + 1)
    return not any(map(seen.is_valid, beyond))


def highest_valid(write_ids: ValidWriteIdList) -> int:
    """Return the highest write id that a list shows; 0 if it shows none."""
    write_id = write_ids.high_water_mark
    while write_id > 0 and not write_ids.is_valid(write_id):
        write_id -= 1
    return max(write_id, 0)
