"""Metrics of statements: rows, files, bytes, directories and times.

The thread that runs a statement records it. The record only contains values that the statement has
anyway, so it costs no job and no metastore call.
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

    The metrics of a query end when its DataFrame is built. Spark's own metrics cover the later runs
    of the DataFrame.

    Attributes:
        operation: the statement's first words, such as ``UPDATE``; ``QUERY`` for a query.
        tables: full names of the ACID tables that it wrote; if it wrote none, of the tables that it
            reads.
        txn_id: its transaction id; None if it needed no transaction.
        write_ids: its write id in each table that it wrote, by full name.
        rows_inserted: number of rows that it inserted.
        rows_updated: number of rows that it updated.
        rows_deleted: number of rows that it deleted.
        directories_read: number of base, delta and delete delta directories that its plan reads.
        files_read: number of files with rows that its plan reads.
        bytes_read: size of these files; Spark reads less if it prunes columns or rows.
        directories_written: number of directories that it wrote.
        files_written: number of files in these directories.
        bytes_written: size of these files.
        seconds: seconds of each phase, by name: ``parse``, ``begin`` (transaction and write id),
            ``lock_wait``, ``snapshot`` (listing of directories), ``plan``, ``execute`` (Spark's
            job), ``publish`` (finishing and moving of files), ``commit``.
        total_seconds: seconds of the whole statement.
        retries: number of automatic retries after conflicts with other transactions. The times
            cover all runs; the other metrics only cover the last run.
        error: condition of the error, or name of the exception, that ended the statement; None if
            it succeeded.

    >>> metrics = acidsql.metrics(acidsql.sql(spark, "UPDATE pet SET name = 'Max' WHERE id = 1"))
    >>> metrics.operation, metrics.rows_updated, metrics.directories_written
    ('UPDATE', 1, 2)
    >>> list(metrics.seconds)
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
        """Number of directories that the statement reads."""


@dataclass(slots=True, kw_only=True, eq=False)
class Recording:
    """Record of a running statement.

    Attributes:
        operation: see ``StatementMetrics``.
        txn_id: see ``StatementMetrics``.
        write_ids: see ``StatementMetrics``.
        tables: full names of tables that it changes without a write id.
        known_as: final full names of new tables, by their temporary full names.
        rows: numbers of rows by ``inserted``, ``updated`` and ``deleted``.
        readings: tables that it reads; the lists may still grow.
        directories_written: see ``StatementMetrics``.
        files_written: see ``StatementMetrics``.
        bytes_written: see ``StatementMetrics``.
        retries: see ``StatementMetrics``.
        result: DataFrame that it returns.
        frames: names of the DataFrames in its text, by the names of their views in Spark.
        origin: larger unit that it belongs to, such as a batch of a stream; empty without one.
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
        """Begin a phase; the clock of the enclosing phase stops."""
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
        """Reset the record, because the statement was rolled back and runs again."""
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
            operation: name of the operation, for a statement that is not SQL.
            table: full name of the table.
            write_id: write id of the statement in the table.
        """
        self.operation = self.operation or operation
        self.write_ids[self.name_of(table)] = write_id

    def name_of(self, table: str) -> str:
        """Return the name of a table that users know, given its full name."""
        return self.known_as.get(table, table)

    def note_written(self, directories: int, counts: WriteCounts) -> None:
        """Note the files that the statement wrote to a table.

        Args:
            directories: number of directories.
            counts: counts of the files in these directories.
        """
        self.directories_written += directories
        self.files_written += counts.files or 0
        self.bytes_written += counts.size or 0

    def written_text(self, text: str) -> str:
        """Return the text of the statement as the user wrote it, after its origin.

        >>> recording = Recording(frames={"_pyspark_1f": "rows"}, origin="batch 3 of stream pets")
        >>> recording.written_text("INSERT INTO pet SELECT * FROM _pyspark_1f")
        '/* batch 3 of stream pets */ INSERT INTO pet SELECT * FROM {rows}'
        """
        for view, name in self.frames.items():
            text = text.replace(view, f"{{{name}}}")
        return f"/* {self.origin} */ {text}" if self.origin else text

    def metrics(self, error: BaseException | None) -> StatementMetrics:
        """Return the current metrics.

        Args:
            error: error of the statement, None if it succeeded.
        """
        read = [reading for group in self.readings for reading in group]
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
        """Whether the statement used ACID tables."""
        return self.txn_id is not None or any(self.readings)


def _name_of(error: BaseException) -> str:
    condition = error.getCondition() if isinstance(error, AcidSqlError) else None
    return condition or type(error).__name__


_current: ContextVar[Recording | None] = ContextVar("acidsql_recording", default=None)
_of_frames: WeakKeyDictionary[DataFrame, StatementMetrics] = WeakKeyDictionary()


def current() -> Recording:
    """Return the record of this thread's statement, or without one a record that is discarded."""
    return _current.get() or Recording()


def metrics_of(frame: DataFrame) -> StatementMetrics | None:
    """Return the metrics of the statement that returned a DataFrame, or None."""
    return _of_frames.get(frame)


@contextmanager
def recorded() -> Iterator[Recording]:
    """Record the statement of a block; a nested block uses the record of the outer block."""
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
    metrics = recording.metrics(error)
    if recording.result is not None:
        _of_frames[recording.result] = metrics
    if logger.isEnabledFor(logging.INFO):
        logger.info(_sentence(metrics), extra=metrics.as_dict())


def _sentence(metrics: StatementMetrics) -> str:
    """Return metrics as one line."""
    rows = "".join(
        f"{number} rows {word}, "
        for word, number in (
            ("inserted", metrics.rows_inserted),
            ("updated", metrics.rows_updated),
            ("deleted", metrics.rows_deleted),
        )
        if number
    )
    end = f", failed: {metrics.error}" if metrics.error else ""
    txn = f", txn {metrics.txn_id}" if metrics.txn_id is not None else ""
    again = f", retries: {metrics.retries}" if metrics.retries else ""
    return (
        f"{metrics.operation} {', '.join(metrics.tables)}: {rows}{metrics.bytes_read} bytes in "
        f"{metrics.files_read} files read, {metrics.bytes_written} written, "
        f"{metrics.total_seconds:.3f} s{txn}{again}{end}"
    )


@contextmanager
def phase(name: Phase) -> Iterator[None]:
    """Add the time of the block to a phase of the statement that this thread runs."""
    recording = _current.get()
    if recording is None:
        yield
        return
    recording.enter(name)
    try:
        yield
    finally:
        recording.leave()
