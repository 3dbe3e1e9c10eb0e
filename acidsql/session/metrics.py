"""Metrics of statements: rows, files, bytes, directories and times.

A statement is recorded in the thread that runs it. The record is made of what the statement knows
anyway: it costs no job and no call of the metastore.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Protocol
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame

from acidsql.errors import AcidSqlError
from acidsql.format.showing import changed_fields, html_table, short
from acidsql.metastore.history import WriteCounts

logger = logging.getLogger("acidsql.metrics")


class Phase(StrEnum):
    """Phases of a statement, in their order."""

    PARSE = "parse"
    BEGIN = "begin"
    LOCK_WAIT = "lock_wait"
    SNAPSHOT = "snapshot"
    PLAN = "plan"
    EXECUTE = "execute"
    PUBLISH = "publish"
    COMMIT = "commit"


@dataclass(repr=False, frozen=True, slots=True, kw_only=True)
class StatementMetrics:
    """Metrics of one statement.

    Those of a query end when its DataFrame is made: Spark's own metrics cover what the DataFrame
    does later.

    Attributes:
        operation: the statement's first words, as ``UPDATE``; ``QUERY`` for a query.
        tables: full names of the ACID tables that it wrote, or if there are none, that it reads.
        txn_id: its transaction id; None if it needed none.
        write_ids: its write id in each table that it wrote, by full name.
        rows_inserted: number of rows that it inserted.
        rows_updated: number of rows that it updated.
        rows_deleted: number of rows that it deleted.
        directories_read: number of base, delta and delete delta directories that its plan reads.
        files_read: number of files with rows that its plan reads.
        bytes_read: their size; Spark reads less of them if columns or rows are left out.
        directories_written: number of directories that it wrote.
        files_written: number of files in them.
        bytes_written: their size.
        seconds: time of each phase that it had, by its name: ``parse``, ``begin`` (transaction and
            write id), ``lock_wait``, ``snapshot`` (listing of directories), ``plan``, ``execute``
            (Spark's job), ``publish`` (finishing and moving of files), ``commit``.
        total_seconds: time of the whole statement.
        retries: number of times that it was run again by itself, because it had lost a conflict
            with another transaction. The other metrics are those of its last run; the times, of
            all.
        error: condition of the error, or name of the exception, with which it failed; None if it
            succeeded.

    >>> found = acidsql.metrics(acidsql.sql(spark, "UPDATE pet SET name = 'Max' WHERE id = 1"))
    >>> found.operation, found.rows_updated, found.directories_written
    ('UPDATE', 1, 2)
    >>> list(found.seconds)
    ['parse', 'begin', 'lock_wait', 'snapshot', 'plan', 'execute', 'publish', 'commit']
    """

    operation: str
    tables: Sequence[str] = ()
    txn_id: int | None = None
    write_ids: Mapping[str, int] = field(default_factory=dict)
    rows_inserted: int = 0
    rows_updated: int = 0
    rows_deleted: int = 0
    directories_read: int = 0
    files_read: int = 0
    bytes_read: int = 0
    directories_written: int = 0
    files_written: int = 0
    bytes_written: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    total_seconds: float = 0.0
    retries: int = 0
    error: str | None = None

    def __repr__(self) -> str:
        return short(self)

    def _repr_html_(self) -> str:
        return html_table(changed_fields(self))

    def as_dict(self) -> dict[str, object]:
        """Return the metrics by their names."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


class Reading(Protocol):
    """Reading of one table by a statement."""

    files: int
    bytes: int

    @property
    def table_name(self) -> str:
        """Full name of the table."""

    @property
    def directories(self) -> int:
        """Number of the directories that are read."""


@dataclass(slots=True, kw_only=True, eq=False)
class Recording:
    """Record of a statement that is running.

    Attributes:
        operation: see ``StatementMetrics``.
        txn_id: see ``StatementMetrics``.
        write_ids: see ``StatementMetrics``.
        tables: full names of tables that it changes without a write id.
        known_as: full names that new tables are going to have, by those that they have until then.
        rows: numbers of inserted, updated and deleted rows, by these words.
        readings: what it reads; the lists may still grow.
        directories_written: see ``StatementMetrics``.
        files_written: see ``StatementMetrics``.
        bytes_written: see ``StatementMetrics``.
        retries: see ``StatementMetrics``.
        result: DataFrame that it returns.
        frames: names of the DataFrames in its text, by the names that Spark gives to their views.
        origin: what it is part of, such as a batch of a stream; empty if it is by itself.
    """

    operation: str = ""
    txn_id: int | None = None
    write_ids: dict[str, int] = field(default_factory=dict)
    tables: tuple[str, ...] = ()
    known_as: dict[str, str] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    readings: list[Sequence[Reading]] = field(default_factory=list)
    directories_written: int = 0
    files_written: int = 0
    bytes_written: int = 0
    retries: int = 0
    result: DataFrame | None = None
    frames: dict[str, str] = field(default_factory=dict)
    origin: str = ""
    _began: float = field(default_factory=time.perf_counter)
    _seconds: dict[str, float] = field(default_factory=dict)
    _phases: list[Phase] = field(default_factory=list)
    _since: float = 0.0

    def enter(self, phase: Phase) -> None:
        """Begin a phase; the time of the one around it stands still."""
        self._count()
        self._phases.append(phase)

    def leave(self) -> None:
        """End the innermost phase."""
        self._count()
        self._phases.pop()

    def _count(self) -> None:
        now = time.perf_counter()
        if self._phases:
            name = self._phases[-1].value
            self._seconds[name] = self._seconds.get(name, 0.0) + now - self._since
        self._since = now

    def begin_again(self) -> None:
        """Forget what the statement did, because it was rolled back and is run again."""
        self.retries += 1
        self.txn_id = None
        self.write_ids.clear()
        self.tables = ()
        self.known_as.clear()
        self.rows.clear()
        self.readings.clear()
        self.directories_written = self.files_written = self.bytes_written = 0

    def note_write_id(self, operation: str, table: str, write_id: int) -> None:
        """Note the write id of the statement in a table.

        Args:
            operation: of a statement that is not one of SQL.
        """
        self.operation = self.operation or operation
        self.write_ids[self.name_of(table)] = write_id

    def name_of(self, table: str) -> str:
        """Return the name under which users know a table, given its full name."""
        return self.known_as.get(table, table)

    def note_written(self, directories: int, counts: WriteCounts) -> None:
        """Note what the statement wrote to a table.

        Args:
            directories: number of directories.
            counts: of the files in them.
        """
        self.directories_written += directories
        self.files_written += counts.files or 0
        self.bytes_written += counts.size or 0

    def written_text(self, text: str) -> str:
        """Return the text of the statement as its user has written it, behind its origin.

        >>> recording = Recording(frames={"_pyspark_1f": "rows"}, origin="batch 3 of stream pets")
        >>> recording.written_text("INSERT INTO pet SELECT * FROM _pyspark_1f")
        '/* batch 3 of stream pets */ INSERT INTO pet SELECT * FROM {rows}'
        """
        for view, name in self.frames.items():
            text = text.replace(view, f"{{{name}}}")
        return f"/* {self.origin} */ {text}" if self.origin else text

    def metrics(self, error: BaseException | None) -> StatementMetrics:
        """Return the metrics as they are now.

        Args:
            error: with which the statement failed.
        """
        read = [reading for own in self.readings for reading in own]
        written = self.tables or tuple(self.write_ids)
        tables = written or dict.fromkeys(reading.table_name for reading in read)
        return StatementMetrics(
            operation=self.operation,
            tables=tuple(tables),
            txn_id=self.txn_id,
            write_ids=dict(self.write_ids),
            **{f"rows_{word}": number for word, number in self.rows.items()},
            directories_read=sum(reading.directories for reading in read),
            files_read=sum(reading.files for reading in read),
            bytes_read=sum(reading.bytes for reading in read),
            directories_written=self.directories_written,
            files_written=self.files_written,
            bytes_written=self.bytes_written,
            seconds={p.value: self._seconds[p.value] for p in Phase if p.value in self._seconds},
            total_seconds=time.perf_counter() - self._began,
            retries=self.retries,
            error=None if error is None else _name_of(error),
        )

    @property
    def concerns_acid_tables(self) -> bool:
        """Whether the statement was one over ACID tables."""
        return self.txn_id is not None or any(self.readings)


def _name_of(error: BaseException) -> str:
    condition = error.getCondition() if isinstance(error, AcidSqlError) else None
    return condition or type(error).__name__


_current: ContextVar[Recording | None] = ContextVar("acidsql_recording", default=None)
_of_frames: WeakKeyDictionary[DataFrame, StatementMetrics] = WeakKeyDictionary()


def current() -> Recording:
    """Return the record of the statement that this thread runs. If there is none, return a record
    that is never read.
    """
    return _current.get() or Recording()


def metrics_of(frame: DataFrame) -> StatementMetrics | None:
    """Return the metrics of the statement that returned a DataFrame, or None."""
    return _of_frames.get(frame)


@contextmanager
def recorded() -> Iterator[Recording]:
    """Record the statement of a block; within another such block it is that one's."""
    outer = _current.get()
    if outer is not None:
        yield outer
        return
    recording = Recording()
    token = _current.set(recording)
    error: BaseException | None = None
    try:
        yield recording
    except BaseException as raised:
        error = raised
        raise
    finally:
        _current.reset(token)
        _finish(recording, error)


def _finish(recording: Recording, error: BaseException | None) -> None:
    if not recording.concerns_acid_tables:
        return
    found = recording.metrics(error)
    if recording.result is not None:
        _of_frames[recording.result] = found
    if logger.isEnabledFor(logging.INFO):
        logger.info(_sentence(found), extra=found.as_dict())


def _sentence(found: StatementMetrics) -> str:
    """Return metrics as one line."""
    rows = "".join(
        f"{number} rows {word}, "
        for word, number in (
            ("inserted", found.rows_inserted),
            ("updated", found.rows_updated),
            ("deleted", found.rows_deleted),
        )
        if number
    )
    end = f", failed: {found.error}" if found.error else ""
    txn = f", txn {found.txn_id}" if found.txn_id is not None else ""
    again = f", retries: {found.retries}" if found.retries else ""
    return (
        f"{found.operation} {', '.join(found.tables)}: {rows}{found.bytes_read} bytes in "
        f"{found.files_read} files read, {found.bytes_written} written, "
        f"{found.total_seconds:.3f} s{txn}{again}{end}"
    )


@contextmanager
def phase(name: Phase) -> Iterator[None]:
    """Count the time of the block for a phase of the statement that this thread runs."""
    recording = _current.get()
    if recording is None:
        yield
        return
    recording.enter(name)
    try:
        yield
    finally:
        recording.leave()
