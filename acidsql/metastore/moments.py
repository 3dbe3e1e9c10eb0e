"""Moments that tables are read as of, and the versions of tables that they find.

Version n of a table is what was committed when its write id n committed. Write ids are no commit
order: 7 may commit before 6, and then version 7 has no row of 6.
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
    """Moment at which a write id of a table committed; 0 is before its first write."""

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
    """Moment by the clock: microseconds since 1970 in UTC."""

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


# Moment that bounds changes, and when something may have been committed.
Bound = WriteIdMoment | TransactionMoment | TimeMoment


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRange:
    """Changes of a table that a statement reads, instead of its rows.

    Attributes:
        first: moment whose commits are the first ones, or the write ids whose changes were read
            before; None for the rows that are there at the end, each as an insert.
        last: moment whose commits are the last ones; None for now.
        includes_first: whether what was committed at ``first`` itself is among the changes.
        includes_last: the same of ``last``.
        keys: columns by which rows are recognised, in lower case; () for row ids.
        net: whether what was inserted and deleted again is left out.
    """

    first: Bound | ValidWriteIdList | None
    last: Moment | None = None
    includes_first: bool = True
    includes_last: bool = True
    keys: tuple[str, ...] = ()
    net: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableVersion:
    """Version of a table that a moment has found.

    Attributes:
        write_id: number of the version; 0 if nothing was written before the moment.
        committed: seconds since 1970 at which it committed; None if it is unknown.
        write_ids: write ids whose rows and delete events the version has. Those that committed
            later are among the open ones.
        columns: that the table had in its files then; None if they are those of now, or
            unknown.
    """

    write_id: int
    committed: float | None
    write_ids: ValidWriteIdList
    columns: tuple[Column, ...] | None = None

    @property
    def complete_up_to(self) -> int:
        """Highest write id up to which the version has all that was ever committed.

        A base with a higher write id has rows that the version must not have.
        """
        lowest = self.write_ids.min_open
        return self.write_ids.high_water_mark if lowest is None else lowest - 1


def moment_of_text(text: str) -> WriteIdMoment | TransactionMoment | None:
    """Parse what follows VERSION AS OF: a write id, or ``txn`` and a transaction id.

    Returns:
        None if it is neither.

    >>> moment_of_text("7"), moment_of_text("txn 17"), moment_of_text("main")
    (WriteIdMoment(write_id=7), TransactionMoment(txn_id=17), None)
    """
    found = _NUMBER.fullmatch(text)
    if found is not None:
        return WriteIdMoment(write_id=int(found[1]))
    found = _TRANSACTION.fullmatch(text)
    return None if found is None else TransactionMoment(txn_id=int(found[1]))


def microseconds(seconds: float) -> int:
    """Return a time in microseconds, rounded as ``MICROSECONDS_SQL`` does.

    Times are kept more exactly than they are shown. What is shown must be what is compared.

    >>> microseconds(1.0000004), microseconds(1.0000005)
    (1000000, 1000001)
    """
    return math.floor(seconds * _MICROSECONDS + 0.5)


# The same of the column ``ended``.
MICROSECONDS_SQL = f"CAST(ended * {_MICROSECONDS} + 0.5 AS INTEGER)"
