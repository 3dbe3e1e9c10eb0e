"""Write ids that became visible between two valid lists of a table: those of a change feed."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.format.valid_lists import RangeValidity, ValidWriteIdList

# Sees nothing, not even the rows of original files, whose write id is 0.
NOTHING = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedWriteIds(ValidWriteIdList):
    """Write ids that one list shows and an older one does not; they are the valid ones here.

    There may be many below the high-water mark of the older list, and few of them have changed. So
    those are listed that count, and above that mark those that do not.

    Attributes:
        above: high-water mark of the older list; from here on, all that the newer list shows
            counts.
        earlier: write ids up to that mark that the newer list shows and the older one does not.
    """

    above: int
    earlier: frozenset[int]

    @classmethod
    def between(cls, seen: ValidWriteIdList, now: ValidWriteIdList) -> ChangedWriteIds:
        """Return the write ids that ``now`` shows and ``seen`` does not."""
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
        """Return how many of the write ids from ``minimum`` up to ``maximum`` have become
        visible.
        """
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
    """Return the list that sees nothing of a table, not even its original files."""
    return ValidWriteIdList(table=table, high_water_mark=NOTHING)


def without(write_ids: ValidWriteIdList, write_id: int) -> ValidWriteIdList:
    """Return a list that shows one write id less."""
    return ValidWriteIdList(
        table=write_ids.table,
        high_water_mark=write_ids.high_water_mark,
        open=write_ids.open | {write_id},
        aborted=write_ids.aborted - {write_id},
    )


def shows_all_of(now: ValidWriteIdList, seen: ValidWriteIdList) -> bool:
    """Return whether a list shows all that another one shows.

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
    found = write_ids.high_water_mark
    while found > 0 and not write_ids.is_valid(found):
        found -= 1
    return max(found, 0)
