"""Health of a table or partition: the state of its directories, and advice on maintenance.

The advice uses only names, sizes and row counts, with the thresholds of Hive's compactor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from acidsql.errors import AcidAnalysisError
from acidsql.format.showing import changed_fields, html_table, short
from acidsql.format.thresholds import Thresholds, of_table

# There is no advice on fewer small files, because each INSERT leaves one.
_SMALL_FILES = 10
# Share of deleted rows from which on a compaction is advised: every query reads and drops them.
_DELETED_SHARE = 0.1
_LONG_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTransaction:
    """Transaction that is open.

    Attributes:
        started: time at which it was opened, in seconds since 1970.
    """

    txn_id: int
    user: str
    host: str
    started: int


@dataclass(repr=False, frozen=True, slots=True, kw_only=True)
class Health:
    """State of a partition, or of a table without partitions.

    >>> from acidsql import Health
    >>> Health(base="base_0000007", stored_rows=200, delete_events=50).deleted_share
    0.25

    Attributes:
        partition: name of the partition (``p=1/q=2``), or None.
        base: name of the base; None if there is no base.
        base_bytes: size of the base's files.
        deltas: number of directories with rows after the base.
        delete_deltas: number of directories with delete events.
        delta_bytes: size of the files in ``deltas`` and ``delete_deltas``.
        originals: number of files without row ids from before the table was transactional.
        stored_rows: number of rows in all files, including deleted rows; None if the files do not
            contain this number.
        delete_events: number of deleted rows that are still stored.
        files: number of files that a query reads.
        small_files: number of files with rows that are smaller than 16 MB.
        size: size in bytes of all files that a query reads.
        obsolete: number of directories that only older snapshots read.
        aborted: number of directories of aborted transactions.
        open_write_ids: number of write ids of the table whose transactions are open.
        oldest: the oldest open transaction of the metastore.
        pending: number of compactions that wait for a worker or are running.
        uncleaned: number of finished compactions whose old directories still exist.
        held_back: number of uncleaned compactions that wait for the oldest transaction.
        failure: error of the newest compaction, if it failed.
        point_read_shares: for each clustering column (``ZORDER_PROPERTY``) the share of row groups
            that a condition on one value reads, estimated from their statistics.
        advice: recommended actions, in one sentence each; empty if no action is needed.
    """

    partition: str | None = None
    base: str | None = None
    base_bytes: int = 0
    deltas: int = 0
    delete_deltas: int = 0
    delta_bytes: int = 0
    originals: int = 0
    stored_rows: int | None = 0
    delete_events: int = 0
    files: int = 0
    small_files: int = 0
    size: int = 0
    obsolete: int = 0
    aborted: int = 0
    open_write_ids: int = 0
    oldest: OpenTransaction | None = None
    pending: int = 0
    uncleaned: int = 0
    held_back: int = 0
    failure: str | None = None
    point_read_shares: tuple[tuple[str, float], ...] = ()
    advice: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return short(self)

    def _repr_html_(self) -> str:
        return html_table(changed_fields(self))

    @property
    def deleted_share(self) -> float | None:
        """Share of the stored rows that are deleted; None if the number of rows is unknown."""
        if self.stored_rows is None:
            return None
        return min(1.0, self.delete_events / self.stored_rows) if self.stored_rows else 0.0


def thresholds(properties: Mapping[str, str]) -> Thresholds:
    """Return the thresholds of a table; properties that are not numbers are ignored.

    >>> thresholds({"compactorthreshold.hive.compactor.delta.num.threshold": "4"}).delta_num
    4
    """
    current = Thresholds()
    for name, value in properties.items():
        with suppress(AcidAnalysisError):
            current = of_table(current, {name: value})
    return current


def advice(
    health: Health,
    limits: Thresholds,
    target: str,
    now: float,
    *,
    minor: bool = True,
    server_cleans: bool = False,
) -> tuple[str, ...]:
    """Return advice on a table or partition, in one sentence each, the most urgent first.

    Args:
        health: state of the table or partition; its ``advice`` is ignored.
        limits: thresholds of the table.
        target: name for ``ALTER TABLE``, for example ``db.t PARTITION (p='1')``.
        now: current time in seconds since 1970.
        minor: whether the table can have minor compactions.
        server_cleans: whether a server runs a cleaner.
    """
    return tuple(
        sentence
        for sentences in (
            _failure(health, target),
            _merging(health, limits, target, can_be_minor=minor),
            _cleaning(health, now, server_cleans=server_cleans),
            _writing(health, now),
        )
        for sentence in sentences
    )


def _failure(health: Health, target: str) -> Iterator[str]:
    if health.failure is not None:
        error = health.failure.strip().rstrip(".")
        yield (
            f"The last compaction failed ({error}): remove the cause, then run ALTER TABLE "
            f"{target} COMPACT again."
        )


def _merging(
    health: Health, limits: Thresholds, target: str, *, can_be_minor: bool
) -> Iterator[str]:
    """Yield reasons for a compaction; a pending compaction makes them unnecessary."""
    if health.pending:
        are = "is" if health.pending == 1 else "are"
        yield f"{_count(health.pending, 'compaction')} {are} on the way: see SHOW COMPACTIONS."
        return
    major, minor = (f"run ALTER TABLE {target} COMPACT '{kind}'." for kind in ("major", "minor"))
    deleted = health.deleted_share or 0.0
    number = health.deltas + health.delete_deltas
    if deleted >= _DELETED_SHARE:
        yield f"{deleted:.0%} of the stored rows are deleted and still read: {major}"
    elif health.base and health.delta_bytes > limits.delta_pct * health.base_bytes:
        share = f"{health.delta_bytes / health.base_bytes:.0%}" if health.base_bytes else "more"
        yield f"The deltas have {share} of the bytes of the base: {major}"
    elif number >= limits.delta_num:
        kind = minor if health.base and can_be_minor else major
        yield f"{number} deltas are read one by one: {kind}"
    elif health.small_files > _SMALL_FILES and number:
        yield f"{health.small_files} files are small: {major}"
    elif health.originals and number:
        files = _count(health.originals, "file")
        yield f"{files} without row ids from before the table was transactional: {major}"


def _cleaning(health: Health, now: float, *, server_cleans: bool) -> Iterator[str]:
    if health.held_back and health.oldest is not None:
        yield (
            f"{_whose(health.oldest, now)} holds back the cleaning after "
            f"{_count(health.held_back, 'compaction')}: end it, or ABORT TRANSACTIONS "
            f"{health.oldest.txn_id}."
        )
    elif health.uncleaned:
        old = _count(health.obsolete, "old directory", "old directories")
        who = (
            "the cleaner of the Hive Metastore does it; see its log if it does not"
            if server_cleans
            else "run acidsql.run_cleaner(spark)"
        )
        yield f"{old} can be removed: {who}."
    elif health.aborted:
        yield (
            f"{_count(health.aborted, 'directory', 'directories')} of aborted transactions: the "
            "next compaction removes them."
        )


def _writing(health: Health, now: float) -> Iterator[str]:
    oldest = health.oldest
    if health.held_back or oldest is None or not health.open_write_ids:
        return
    if now - oldest.started > _LONG_SECONDS:
        yield (
            f"{_whose(oldest, now)} is open while {_count(health.open_write_ids, 'write')} to the "
            "table have not ended, and no compaction goes beyond them: end it, or ABORT "
            f"TRANSACTIONS {oldest.txn_id}."
        )


def _whose(oldest: OpenTransaction, now: float) -> str:
    since = datetime.fromtimestamp(oldest.started, tz=UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    minutes = max(0, int(now - oldest.started) // 60)
    return (
        f"Transaction {oldest.txn_id} of {oldest.user} on {oldest.host}, open since {since} "
        f"({minutes} min),"
    )


def _count(number: int, one: str, several: str | None = None) -> str:
    return f"{number} {one if number == 1 else several or one + 's'}"
