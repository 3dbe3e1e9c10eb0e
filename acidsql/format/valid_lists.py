"""Valid lists: the transactions and the write ids that a snapshot sees.

Semantics and text forms are the same as in Hive's ``ValidReadTxnList``, ``ValidReaderWriteIdList``
and ``ValidCompactorWriteIdList``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from itertools import chain

from acidsql.errors import FormatError
from acidsql.format.names import LONG_MAX

_LISTED = r"(?:[0-9]+(?:-[0-9]+)?(?:,|(?=:|\Z)))*"
_IDS = re.compile(
    rf"(?P<mark>[0-9]+):(?P<min_open>[0-9]+):(?P<open>{_LISTED}):(?P<aborted>{_LISTED})"
)
# Limit for parsed texts: a range of a few characters can contain more ids than fit into memory.
_MOST_IDS = 1_000_000
_DIGITS = 4000


class RangeValidity(Enum):
    """Share of the ids in a range that have a property: none, some or all."""

    NONE = "none"
    SOME = "some"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class _ValidIds:
    """High-water mark with the open and aborted ids at or below it."""

    high_water_mark: int
    open: frozenset[int] = frozenset()
    aborted: frozenset[int] = frozenset()

    def is_valid(self, number: int) -> bool:
        """Return whether this id is visible; 0, the id of original files, always is."""
        return (
            number <= self.high_water_mark
            and number not in self.open
            and number not in self.aborted
        )

    def is_aborted(self, number: int) -> bool:
        """Return whether the id is known to be aborted; no id above the high-water mark is."""
        return number <= self.high_water_mark and number in self.aborted

    @property
    def min_open(self) -> int | None:
        """Lowest open id at or below the high-water mark, or ``None``."""
        return min(self.open, default=None)

    def _to_string(self) -> str:
        min_open = LONG_MAX if self.min_open is None else self.min_open
        return f"{self.high_water_mark}:{min_open}:{_join(self.open)}:{_join(self.aborted)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidTxnList(_ValidIds):
    """Transactions that a snapshot sees.

    Attributes:
        high_water_mark: highest transaction id that existed.
        open: open ids up to the high-water mark.
        aborted: aborted ids up to the high-water mark.
    """

    def up_to(self, txn_id: int) -> ValidTxnList:
        """Return the list of transactions up to ``txn_id``."""
        return ValidTxnList(
            high_water_mark=min(self.high_water_mark, txn_id),
            open=frozenset(number for number in self.open if number <= txn_id),
            aborted=frozenset(number for number in self.aborted if number <= txn_id),
        )

    def to_string(self) -> str:
        """Return Hive's text, ``hwm:minOpen:open,…:aborted,…``.

        Every id is written out, because Hive 3.1 cannot read ranges. Hive 4 shortens five and more
        consecutive ids to ``26-31``, and reads both forms.
        """
        return self._to_string()

    @classmethod
    def from_string(cls, text: str) -> ValidTxnList:
        """Parse Hive's text.

        Raises:
            FormatError: the text is not of that form (INVALID_SNAPSHOT_TEXT).
        """
        high_water_mark, opened, aborted = _parse(text, text)
        return cls(high_water_mark=high_water_mark, open=opened, aborted=aborted)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidWriteIdList(_ValidIds):
    """Write ids of one table that a snapshot sees.

    Attributes:
        table: ``db.table`` in lower case.
        high_water_mark: highest write id of the snapshot; 0 shows original files only.
        open: write ids of open transactions up to the high-water mark.
        aborted: write ids of aborted transactions up to the high-water mark.
    """

    table: str

    def range_validity(self, minimum: int, maximum: int) -> RangeValidity:
        """Return how many of the write ids from ``minimum`` up to ``maximum`` are valid."""
        highest = min(maximum, self.high_water_mark)
        below = max(highest - minimum + 1, 0)
        exceptions = _count(self.open, minimum, highest) + _count(self.aborted, minimum, highest)
        return _share(below - exceptions, maximum - minimum + 1)

    def range_aborted(self, minimum: int, maximum: int) -> RangeValidity:
        """Return how many of the write ids from ``minimum`` up to ``maximum`` are aborted."""
        highest = min(maximum, self.high_water_mark)
        return _share(_count(self.aborted, minimum, highest), maximum - minimum + 1)

    def to_string(self) -> str:
        """Return Hive's text, ``table:hwm:minOpen:open,…:aborted,…``.

        >>> ValidWriteIdList(table="default.t", high_water_mark=1).to_string()
        'default.t:1:9223372036854775807::'
        """
        return f"{self.table}:{self._to_string()}"

    @classmethod
    def from_string(cls, text: str) -> ValidWriteIdList:
        """Parse Hive's text.

        Raises:
            FormatError: the text is not of that form (INVALID_SNAPSHOT_TEXT).
        """
        table, _, ids = text.partition(":")
        high_water_mark, opened, aborted = _parse(ids, text)
        return cls(table=table, high_water_mark=high_water_mark, open=opened, aborted=aborted)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactorWriteIdList(ValidWriteIdList):
    """Write ids that a compactor sees, without aborted ones.

    No write id up to the high-water mark is open.

    A directory is valid only if all of its write ids are at or below the mark, because a part of a
    streaming delta must never be compacted.
    """

    def range_validity(self, minimum: int, maximum: int) -> RangeValidity:  # noqa: ARG002
        """Return ALL if the range ends at or below the high-water mark, otherwise NONE."""
        return RangeValidity.ALL if maximum <= self.high_water_mark else RangeValidity.NONE


def compactor_write_ids(write_ids: ValidWriteIdList) -> CompactorWriteIdList:
    """Return the write ids that a compaction can process.

    Hive: ``TxnUtils.createValidCompactWriteIdList``. The high-water mark is lowered below the
    lowest open write id, so that all remaining exceptions are aborted.
    """
    high_water_mark = write_ids.high_water_mark
    if write_ids.min_open is not None:
        high_water_mark = min(high_water_mark, write_ids.min_open - 1)
    return CompactorWriteIdList(
        table=write_ids.table,
        high_water_mark=high_water_mark,
        aborted=frozenset(number for number in write_ids.aborted if number <= high_water_mark),
    )


def _count(ids: frozenset[int], minimum: int, maximum: int) -> int:
    # Most directories have one write id, and most lists are long: iterate over the shorter one.
    if maximum - minimum < len(ids):
        return sum(number in ids for number in range(minimum, maximum + 1))
    return sum(minimum <= number <= maximum for number in ids)


def _share(count: int, total: int) -> RangeValidity:
    if count == 0:
        return RangeValidity.NONE
    return RangeValidity.ALL if count == total else RangeValidity.SOME


def _join(ids: Iterable[int]) -> str:
    return ",".join(map(str, sorted(ids)))


def _parse(ids: str, text: str) -> tuple[int, frozenset[int], frozenset[int]]:
    match = _IDS.fullmatch(ids)
    if match is None:
        raise _not_a_list(text)
    high_water_mark, min_open = _number(match["mark"]), _number(match["min_open"])
    opened, aborted = _parse_ids(match["open"], text), _parse_ids(match["aborted"], text)
    # A compactor's text contains the lowest open id, which is above its mark, but lists no open
    # ids.
    if min_open != min(opened, default=max(min_open, high_water_mark + 1)):
        raise _not_a_list(text)
    return high_water_mark, opened, aborted


def _parse_ids(listed: str, text: str) -> frozenset[int]:
    bounds = [
        (_number(first), _number(last or first))
        for first, _, last in (part.partition("-") for part in listed.split(",") if part)
    ]
    if sum(max(last - first + 1, 0) for first, last in bounds) > _MOST_IDS:
        raise _not_a_list(text)
    return frozenset(chain.from_iterable(range(first, last + 1) for first, last in bounds))


def _number(digits: str) -> int:
    """Parse a 64-bit number of Hive; larger numbers are reduced to the largest one."""
    return min(int(digits[:_DIGITS]), LONG_MAX)


def _not_a_list(text: str) -> FormatError:
    return FormatError(
        "INVALID_SNAPSHOT_TEXT",
        f"{text[:200]!r} is not a list of valid ids: expected "
        "'[table:]highWaterMark:minOpen:open,...:aborted,...'",
    )
