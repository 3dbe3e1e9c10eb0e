"""``acidsql ingest``: write rows from standard input to a table, without Spark.

Exit codes: 0 all records became rows of the table; 1 an error ended the transfer (earlier commits
remain); 2 wrong usage; 3 records were left out; 130 cancelled with Ctrl-C.
"""

from __future__ import annotations

import csv
import itertools
import re
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import pyarrow as pa
from tqdm import tqdm

from acidsql.errors import AcidAnalysisError
from acidsql.repl.printer import counted
from acidsql.streaming import (
    DelimitedWriter,
    JsonWriter,
    RegexWriter,
    Rejection,
    RowWriter,
    StreamingConnection,
)
from acidsql.streaming.writers import RecordWriter

if TYPE_CHECKING:
    import _csv

_REJECTED = 3


class Piece(NamedTuple):
    """Record or Arrow batch, with its number of records, and the first line of a record."""

    record: Any
    records: int
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFormat:
    """Form of the input.

    Attributes:
        format: one of ``ingest_command.FORMATS``.
        delimiter: delimiter of the fields of ``csv``.
        null: text of a ``csv`` field that is NULL.
        header: whether the first line of ``csv`` contains the column names.
        pattern: regular expression of ``regex``.
    """

    format: str
    delimiter: str = ","
    null: str = "\\N"
    header: bool = False
    pattern: re.Pattern[str] | None = None

    def open(self, stream: BinaryIO) -> tuple[RecordWriter, Iterator[Piece]]:
        """Return a writer for the records, and the records."""
        if self.format == "arrow":
            return RowWriter(), _batches(stream)
        if self.format == "csv":
            texts = (line.decode() for line in stream)
            rows = _rows(csv.reader(texts, delimiter=self.delimiter, strict=True))
            columns = tuple(next(rows, Piece((), 0)).record) if self.header else None
            writer = DelimitedWriter(delimiter=self.delimiter, null=self.null, columns=columns)
            return writer, (piece for piece in rows if piece.record)
        lines = (
            Piece(line.decode(), 1, number) for number, line in enumerate(stream, 1) if line.strip()
        )
        if self.pattern is not None:
            return RegexWriter(pattern=self.pattern), lines
        return JsonWriter(), lines


def _rows(reader: _csv.Reader) -> Iterator[Piece]:
    line = 1
    for row in reader:
        yield Piece(row, 1, line)
        line = reader.line_num + 1


def _batches(stream: BinaryIO) -> Iterator[Piece]:
    with pa.ipc.open_stream(stream) as reader:
        for batch in reader:
            yield Piece(batch, len(batch))


class Ingest:
    """Transfer of records into a table, which commits after a number of records or seconds.

    Args:
        connection: connection to the table.
        rows: number of records in a transaction.
        seconds: age at which a transaction is committed, even if it has fewer records.
        keeps_offset: whether each commit also stores the number of records read.
    """

    def __init__(
        self, connection: StreamingConnection, *, rows: int, seconds: float, keeps_offset: bool
    ) -> None:
        self._connection = connection
        self._rows = rows
        self._seconds = seconds
        self._keeps_offset = keeps_offset
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._failure: BaseException | None = None
        self._begun = 0.0
        self._in_transaction = 0
        # Line of each record in the transaction, and the number of the first record.
        self._lines: list[int | None] = []
        self._first = 1
        self.read = connection.offset or 0 if keeps_offset else 0
        self.committed = 0
        self.rejected = 0

    def run(self, pieces: Iterator[Piece], *, progress: bool) -> None:
        """Write all records, and commit them.

        Args:
            pieces: records that are not committed yet.
            progress: whether to show a progress bar.
        """
        clock = threading.Thread(target=self._commit_in_time, name="acidsql-ingest", daemon=True)
        clock.start()
        bar = tqdm(unit=" records", unit_scale=True, disable=not progress, initial=self.read)
        try:
            for piece in pieces:
                with self._lock:
                    self._raise_failure()
                    self._write(piece)
                bar.update(piece.records)
            with self._lock:
                self._raise_failure()
                self._commit()
        finally:
            self._done.set()
            clock.join()
            bar.close()

    def _write(self, piece: Piece) -> None:
        if not self._connection.in_transaction:
            self._connection.begin()
            self._begun = time.monotonic()
        self._lines.append(piece.line)
        self._connection.write(piece.record)
        self.read += piece.records
        self._in_transaction += piece.records
        if self._in_transaction >= self._rows:
            self._commit()

    def _commit(self) -> None:
        if not self._connection.in_transaction:
            return
        result = self._connection.commit(offset=self.read if self._keeps_offset else None)
        self.committed += result.rows
        self.rejected += result.rejected
        self._in_transaction = 0
        self._first += len(self._lines)
        self._lines.clear()

    def place(self, position: int) -> str:
        """Return the prefix of a message with the input line of a record in the transaction.

        Args:
            position: 1-based number of the record in its connection.
        """
        number = position - self._first
        line = self._lines[number] if 0 <= number < len(self._lines) else None
        return "" if line is None else f"line {line}: "

    def _commit_in_time(self) -> None:
        """Commit a transaction that has waited too long for more records."""
        while not self._done.wait(self._seconds / 2):
            with self._lock:
                if time.monotonic() - self._begun < self._seconds or self._failure is not None:
                    continue
                try:
                    self._commit()
                # An error must not end this thread silently, so the writing thread raises it.
                except Exception as error:  # noqa: BLE001
                    self._failure = error

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure


def skip(pieces: Iterator[Piece], count: int) -> Iterator[Piece]:
    """Skip the first records, which are already committed; slice a batch if necessary."""
    for piece in pieces:
        if piece.records <= count:
            count -= piece.records
        elif count:
            return itertools.chain([Piece(piece.record[count:], piece.records - count)], pieces)
        else:
            return itertools.chain([piece], pieces)
    return iter(())


def report_rejected(ingest: Ingest | None, rejection: Rejection) -> None:
    """Report to standard error which record is left out, and why."""
    place = "" if ingest is None else ingest.place(rejection.position)
    sys.stderr.write(f"left out: {place}{rejection}\n")


def message(ingest: Ingest | None, error: Exception) -> str:
    """Return the message of an error; for an invalid record, with its input line."""
    if ingest is None or not isinstance(error, AcidAnalysisError):
        return str(error)
    position = (error.getMessageParameters() or {}).get("position")
    is_record = error.condition == "INVALID_RECORD" and position is not None
    return (ingest.place(int(position)) if is_record and position else "") + str(error)


def report(ingest: Ingest, table: str) -> str:
    """Return a report of a transfer, in one line."""
    left_out = f", {counted(ingest.rejected, 'record')} left out" if ingest.rejected else ""
    return f"{counted(ingest.committed, 'row')} committed to {table}{left_out}"


def exit_code(ingest: Ingest) -> int:
    """Return the exit code of a completed transfer."""
    return _REJECTED if ingest.rejected else 0
