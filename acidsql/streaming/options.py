"""Options of a streaming connection, and the result of its commits."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple
from zoneinfo import ZoneInfo

from acidsql.streaming.records import Rejection


class OnError(StrEnum):
    """Effect of a record that cannot be a row."""

    ABORT_TRANSACTION = "abort_transaction"
    REJECT_RECORD = "reject_record"


class Committed(NamedTuple):
    """Result of a commit.

    Attributes:
        write_id: write id of the transaction.
        rows: number of its rows.
        rejected: number of its records that were skipped.
    """

    write_id: int
    rows: int
    rejected: int


class Options(NamedTuple):
    """Options of a connection; see ``connect``."""

    agent: str
    stream: str | None
    transaction_batch_size: int
    on_error: OnError
    on_rejected: Callable[[Rejection], None] | None
    time_zone: ZoneInfo
    lock_timeout: float
    idle_timeout: float
