"""Connection of a program that writes continuously to one table (``HiveStreamingConnection``)."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from itertools import islice
from types import TracebackType
from typing import Any, NamedTuple, Self
from zoneinfo import ZoneInfo

import pyarrow as pa

from acidsql.errors import (
    AcidAnalysisError,
    AcidSqlError,
    MetastoreError,
    TransactionStateError,
)
from acidsql.limits import limits
from acidsql.metastore.changes import CatalogChange, RecordOffset
from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.model import Table
from acidsql.streaming.assignment import Rules
from acidsql.streaming.batch import STREAMING, Place, TransactionBatch, open_batch
from acidsql.streaming.client import Client
from acidsql.streaming.column_types import parse_type
from acidsql.streaming.hashing import check_bucket_columns
from acidsql.streaming.records import Converter, Rejection, Target
from acidsql.streaming.routing import destinations
from acidsql.streaming.writers import RecordWriter

logger = logging.getLogger(__name__)

_ATTEMPTS = 3
_COMMIT_UNKNOWN = "COMMIT_OUTCOME_UNKNOWN"


class OnError(StrEnum):
    """Effect of a record that cannot be a row."""

    ABORT_TRANSACTION = "abort_transaction"
    REJECT_RECORD = "reject_record"


class Committed(NamedTuple):
    """Result of a commit.

    Attributes:
        write_id: of the transaction.
        rows: number of its rows.
        rejected: number of records that were left out of it.
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


class StreamingConnection:
    """Connection to one table; made by ``acidsql.streaming.connect``.

    Any thread may use it: one call at a time is carried out, and all threads write into the one
    transaction that is open.
    """

    def __init__(
        self,
        client: Client,
        table: Table,
        partition: tuple[str, ...] | None,
        writer: RecordWriter,
        options: Options,
    ) -> None:
        self._client = client
        self._partition = partition
        self._writer = writer
        self._options = options
        self._lock = threading.RLock()
        self._idle = threading.Condition(self._lock)
        self._batch: TransactionBatch | None = None
        self._in_transaction = False
        self._closed = False
        self._position = 0
        self._rows = self._rejected = 0
        self._pending: list[Any] = []
        self._buffered: dict[Place, list[pa.Table]] = {}
        self._buffered_bytes = 0
        self._last_used = time.monotonic()
        self._watcher: threading.Thread | None = None
        self._offset: int | None = None
        if options.stream is not None:
            self._offset = client.metastore.stream_offset(
                table.database, table.name, options.stream
            )
        self._bind(table)
        atexit.register(self.close)

    def __repr__(self) -> str:
        return f"StreamingConnection({self._table.full_name!r}, agent={self._options.agent!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def records(self) -> int:
        """Number of records that were given to the connection; the next one has this number plus
        one.
        """
        return self._position

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._in_transaction

    def begin(self) -> int:
        """Begin the next transaction, of the open batch or of a new one; return its write id.

        Raises:
            TransactionStateError: TRANSACTION_ALREADY_OPEN, CONNECTION_CLOSED.
            LockTimeoutError: LOCK_TIMEOUT.
        """
        with self._using():
            if self._in_transaction:
                raise TransactionStateError(
                    "TRANSACTION_ALREADY_OPEN",
                    "the connection has an open transaction: commit or abort it first",
                )
            batch = self._begin()
            self._rows = self._rejected = 0
            self._in_transaction = True
            return batch.current.write_id

    def write(self, record: Any) -> None:
        """Write a record in the form of the connection's writer, or a table or batch of Arrow.

        A record may be looked at later, with others: its error then comes with a later ``write`` or
        with ``commit``.

        Raises:
            AcidAnalysisError: INVALID_RECORD; the transaction was aborted.
            TransactionStateError: NO_OPEN_TRANSACTION, CONNECTION_CLOSED.
        """
        with self._using():
            self._require_transaction()
            with self._aborting():
                self._add(record)

    def write_all(self, records: Iterable[Any]) -> None:
        """Write records, or batches of Arrow, one after the other; see ``write``.

        Other threads can write while the next ones are awaited.
        """
        following = iter(records)
        while some := list(islice(following, limits().streaming_records)):
            with self._using():
                self._require_transaction()
                with self._aborting():
                    for record in some:
                        self._add(record)

    @property
    def offset(self) -> int | None:
        """Offset of the connection's stream as it was committed last, None if none was."""
        return self._offset

    def commit(self, *, offset: int | None = None) -> Committed:
        """Commit the transaction: its rows are on the disk, and visible to everybody.

        Args:
            offset: of the next record of the connection's stream, kept in the same step.

        Raises:
            AcidAnalysisError: INVALID_RECORD; the transaction was aborted.
                INVALID_PARAMETER_VALUE, the connection has no stream.
            TransactionStateError: TXN_ABORTED, NO_OPEN_TRANSACTION, CONNECTION_CLOSED;
                STREAM_OFFSET_CHANGED, another client writes the same stream.
            MetastoreError: COMMIT_OUTCOME_UNKNOWN; whether it committed is not known.
        """
        with self._using():
            batch = self._require_transaction()
            with self._aborting():
                self._convert_pending()
                self._spill(batch)
                batch.finish_writes()
                batch.flush()
                metastore, txn_id = self._client.metastore, batch.current.txn_id
                made = batch.changes(self._offset_changes(offset))
                if made:
                    metastore.prepare_commit(txn_id, made)
                metastore.commit_txn(txn_id)
            batch.ended()
            self._in_transaction = False
            self._offset = self._offset if offset is None else offset
            if not batch.has_next:
                self._close_quietly()
            return Committed(batch.current.write_id, self._rows, self._rejected)

    def _offset_changes(self, offset: int | None) -> list[CatalogChange]:
        if offset is None:
            return []
        stream = self._options.stream
        if stream is None:
            raise AcidAnalysisError(
                "INVALID_PARAMETER_VALUE",
                f"offset is {offset}, and the connection has no stream: give connect(stream=…)",
                {"parameter": "offset"},
            )
        before = self._offset
        return [RecordOffset(table=self._table, stream=stream, before=before, offset=offset)]

    def abort(self) -> None:
        """Abort the transaction; nobody sees its rows.

        Raises:
            TransactionStateError: NO_OPEN_TRANSACTION, CONNECTION_CLOSED.
        """
        with self._using():
            self._require_transaction()
            self._abort()

    @contextmanager
    def transaction(self) -> Iterator[Self]:
        """Begin a transaction, and commit it at the end of the block, unless the block has done so;
        abort it if that raises.
        """
        self.begin()
        try:
            yield self
        except BaseException:
            with self._lock:
                if self._in_transaction:
                    self._abort()
            raise
        with self._lock:
            if self._in_transaction:
                self.commit()

    def close(self) -> None:
        """Abort the open transaction and the unused ones of the batch, and close the metastore."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            atexit.unregister(self.close)
            try:
                if self._in_transaction:
                    self._abort()
                self._close_batch()
            finally:
                self._client.close()
                self._idle.notify_all()

    # -- batches --------------------------------------------------------------------------------
    def _begin(self) -> TransactionBatch:
        for _ in range(_ATTEMPTS):
            if self._batch is not None and not self._batch.has_next:
                self._close_batch()
            if self._batch is None:
                self._batch = self._open_batch()
            try:
                if self._batch.begin(self._options.lock_timeout):
                    return self._batch
            except BaseException:
                self._batch.abort()
                raise
            self._batch.abort()
        raise TransactionStateError(
            "TXN_ABORTED",
            f"{self._table.full_name} is changed by others again and again, each time a batch of "
            "transactions is opened for it: try again later",
        )

    def _open_batch(self) -> TransactionBatch:
        database, name = self._table.database, self._table.name
        found = self._client.metastore.table(database, name)
        if found != self._table:
            self._bind(found)
        batch = open_batch(
            self._client,
            self._table,
            self._partition,
            self._options.transaction_batch_size,
            RecordedStatement(operation=STREAMING, text=f"by {self._options.agent}"),
        )
        if self._watcher is None and self._options.idle_timeout > 0:
            self._watcher = threading.Thread(
                target=self._watch, name="acidsql-streaming-idle", daemon=True
            )
            self._watcher.start()
        return batch

    def _close_batch(self) -> None:
        batch, self._batch = self._batch, None
        if batch is not None:
            batch.close()

    def _close_quietly(self) -> None:
        """Close the batch after a commit, which stands, or after an error, which is raised."""
        try:
            self._close_batch()
        except (AcidSqlError, OSError):
            logger.exception("a batch of %s was closed badly", self._table.full_name)

    def _watch(self) -> None:
        """Close a batch that nobody has used for a while: its transactions hold back cleaners."""
        with self._idle:
            while not self._closed:
                left = self._last_used + self._options.idle_timeout - time.monotonic()
                if left > 0:
                    self._idle.wait(left)
                elif self._batch is None or self._in_transaction:
                    self._idle.wait(self._options.idle_timeout)
                else:
                    self._close_quietly()

    def _bind(self, table: Table) -> None:
        """Prepare to convert records to the columns of a table."""
        self._table = table
        self._types = [parse_type(column.type) for column in table.columns]
        check_bucket_columns(table, self._types)
        targets = [
            Target(column=column, type=declared)
            for column, declared in zip(table.columns, self._types, strict=True)
        ]
        if self._partition is None:
            targets += [Target(column=c, type=parse_type(c.type)) for c in table.partition_columns]
        self._converter = Converter(targets, self._writer, self._options.time_zone)

    def _add(self, record: Any) -> None:
        if isinstance(record, pa.Table | pa.RecordBatch):
            self._convert_pending()
            self._write_arrow(record)
            return
        self._pending.append(record)
        self._position += 1
        if len(self._pending) >= limits().streaming_records:
            self._convert_pending()

    # -- rows -----------------------------------------------------------------------------------
    def _convert_pending(self) -> None:
        records, self._pending = self._pending, []
        if records:
            first = self._position - len(records) + 1
            self._take(*self._converter.convert(records, first))

    def _write_arrow(self, rows: pa.Table | pa.RecordBatch) -> None:
        table = rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])
        first = self._position + 1
        self._position += len(table)
        step = max(1, len(table) if not table.nbytes else self._rows_per_buffer(table))
        for start in range(0, len(table), step):
            part = table.slice(start, step)
            self._take(*self._converter.convert_arrow(part, first + start))

    def _rows_per_buffer(self, table: pa.Table) -> int:
        return int(len(table) * limits().streaming_buffer_bytes / table.nbytes) + 1

    def _take(self, rows: pa.Table, rejected: Sequence[Rejection]) -> None:
        """Keep rows until the commit, or write them to files where nobody sees them yet."""
        for rejection in rejected:
            if self._options.on_error is OnError.ABORT_TRANSACTION:
                raise _invalid(rejection)
            self._rejected += 1
            logger.warning("%s: %s", self._table.full_name, rejection)
            if self._options.on_rejected is not None:
                self._options.on_rejected(rejection)
        if not len(rows):
            return
        rules = Rules(zone=self._options.time_zone)
        for place, own in destinations(rows, self._table, self._types, self._partition, rules):
            self._buffered.setdefault(place, []).append(own)
        self._rows += len(rows)
        self._buffered_bytes += rows.nbytes
        if self._buffered_bytes >= limits().streaming_buffer_bytes:
            self._spill(self._require_transaction())

    def _spill(self, batch: TransactionBatch) -> None:
        buffered, self._buffered, self._buffered_bytes = self._buffered, {}, 0
        for place, parts in buffered.items():
            batch.append(place, pa.concat_tables(parts))

    # -- states ---------------------------------------------------------------------------------
    @contextmanager
    def _using(self) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise TransactionStateError(
                    "CONNECTION_CLOSED", "the streaming connection is closed: open another one"
                )
            self._last_used = time.monotonic()
            yield
            self._last_used = time.monotonic()

    def _require_transaction(self) -> TransactionBatch:
        if not self._in_transaction or self._batch is None:
            raise TransactionStateError(
                "NO_OPEN_TRANSACTION", "the connection has no open transaction: call begin() first"
            )
        return self._batch

    @contextmanager
    def _aborting(self) -> Iterator[None]:
        """Abort the transaction if the block raises; unless the metastore may have committed it.

        After anything but a refused record the batch ends: what its files look like is not certain.
        """
        try:
            yield
        except AcidAnalysisError as error:
            self._abort(ends_batch=error.condition != "INVALID_RECORD")
            raise
        except MetastoreError as error:
            self._abort(ends_batch=True, unknown=error.condition == _COMMIT_UNKNOWN)
            raise
        except BaseException:
            self._abort(ends_batch=True)
            raise

    def _abort(self, *, ends_batch: bool = False, unknown: bool = False) -> None:
        batch = self._require_transaction()
        self._in_transaction = False
        self._pending.clear()
        self._buffered.clear()
        self._buffered_bytes = 0
        if unknown:
            batch.ended()
        else:
            batch.abort()
        if ends_batch or not batch.has_next:
            self._close_quietly()


_QUOTED = 200


def _invalid(rejection: Rejection) -> AcidAnalysisError:
    parameters = {"position": str(rejection.position), "column": rejection.column or ""}
    return AcidAnalysisError(
        "INVALID_RECORD",
        f"{rejection}: {str(rejection.record)[:_QUOTED]!r}; the transaction was aborted. Correct "
        "the record, or choose on_error='reject_record' to leave such records out",
        parameters,
    )
