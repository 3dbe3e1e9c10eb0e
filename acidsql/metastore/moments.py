"""Moments for time travel, and the versions of tables at these moments.

Version n of a table contains everything that was committed when its write id n committed. The order
of write ids is not the order of commits: 7 may commit before 6, and then version 7 contains no rows
of 6.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from acidsql.format.valid_lists import ValidWriteIdList

if TYPE_CHECKING:
    from acidsql.metastore.model import Column

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECONDS = 1_000_000
_NUMBER = re.compile(r"\s*([+-]?[0-9]{1,18})\s*")
_TRANSACTION = re.compile(r"\s*txn\s+([+-]?[0-9]{1,18})\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteIdMoment:
    """Moment at which a write id of a table committed; 0 is the moment before its first write."""

    write_id: int

    def __str__(self) -> str:
        return f"version {self.write_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeWriteMoment:
    """Moment just before a write id of a table committed, which is 1 or more."""

    write_id: int

    def __str__(self) -> str:
        return f"version before write id {self.write_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionMoment:
    """Moment at which a transaction committed, the same for all tables."""

    txn_id: int

    def __str__(self) -> str:
        return f"transaction {self.txn_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeTransactionMoment:
    """Moment just before a transaction committed, the same for all tables."""

    txn_id: int

    def __str__(self) -> str:
        return f"version before transaction {self.txn_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeMoment:
    """Moment on the clock: microseconds since 1970 in UTC."""

    microseconds: int

    @property
    def seconds(self) -> float:
        """Seconds since 1970."""
        return self.microseconds / _MICROSECONDS

    def __str__(self) -> str:
        try:
            return f"timestamp {_EPOCH + timedelta(microseconds=self.microseconds)}"
        except OverflowError:  # Spark's timestamps go beyond the year 9999
            return f"timestamp {self.seconds:.6f} s after 1970"


@dataclass(frozen=True, slots=True, kw_only=True)
class TagMoment:
    """Moment that a tag of a table names."""

    name: str

    def __str__(self) -> str:
        return f"tag {self.name!r}"


Moment = (
    WriteIdMoment
    | BeforeWriteMoment
    | TransactionMoment
    | BeforeTransactionMoment
    | TimeMoment
    | TagMoment
)


# Moment that can bound a range of changes: something may have been committed at it.
Bound = WriteIdMoment | TransactionMoment | TimeMoment


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRange:
    """Changes of a table that a statement reads, instead of its rows.

    Attributes:
        first: moment of the first commits, or the write ids whose changes were read before; None
            for the rows of the last version, each as an insert.
        last: moment of the last commits; None for now.
        includes_first: whether the changes include the commits at ``first`` itself.
        includes_last: whether they include the commits at ``last`` itself.
        keys: columns that identify a row, in lower case; () for row ids.
        net: whether rows that were inserted and deleted again are left out.
    """

    first: Bound | ValidWriteIdList | None
    last: Moment | None = None
    includes_first: bool = True
    includes_last: bool = True
    keys: tuple[str, ...] = ()
    net: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableVersion:
    """Version of a table at a moment.

    Attributes:
        write_id: number of the version; 0 if nothing was written before the moment.
        committed: time of its commit in seconds since 1970; None if it is unknown.
        write_ids: write ids whose rows and delete events the version contains. It lists later
            commits as open.
        columns: columns that the table had in its files then; None if they are the current ones, or
            unknown.
    """

    write_id: int
    committed: float | None
    write_ids: ValidWriteIdList
    columns: tuple[Column, ...] | None = None

    @property
    def complete_up_to(self) -> int:
        """Highest write id up to which the version contains everything that was ever committed.

        A base with a higher write id has rows that are not in the version.
        """
        lowest = self.write_ids.min_open
        return self.write_ids.high_water_mark if lowest is None else lowest - 1


def moment_of_text(text: str) -> WriteIdMoment | TransactionMoment | None:
    """Parse the text after VERSION AS OF: a write id, or ``txn`` and a transaction id.

    Returns:
        None if the text is neither.

    >>> moment_of_text("7"), moment_of_text("txn 17"), moment_of_text("main")
    (WriteIdMoment(write_id=7), TransactionMoment(txn_id=17), None)
    """
    match = _NUMBER.fullmatch(text)
    if match is not None:
        return WriteIdMoment(write_id=int(match[1]))
    match = _TRANSACTION.fullmatch(text)
    return None if match is None else TransactionMoment(txn_id=int(match[1]))


def microseconds(seconds: float) -> int:
    """Return a time in microseconds, rounded as ``MICROSECONDS_SQL`` does.

    Times are stored more exactly than they are shown. Comparisons must use the time as shown.

    >>> microseconds(1.0000004), microseconds(1.0000005)
    (1000000, 1000001)
    """
    return math.floor(seconds * _MICROSECONDS + 0.5)


# SQL for the same rounding of the column ``ended``.
MICROSECONDS_SQL = f"CAST(ended * {_MICROSECONDS} + 0.5 AS INTEGER)"
