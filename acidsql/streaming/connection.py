"""Connection of a program that writes continuously to one table (``HiveStreamingConnection``)."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from acidsql.errors import (
    AcidAnalysisError,
    AcidSqlError,
    MetastoreError,
    TransactionStateError,
)
from acidsql.limits import limits
from acidsql.metastore.catalog_changes import CatalogChange, RecordOffset
from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.model import Table
from acidsql.streaming.batch import TransactionBatch
from acidsql.streaming.client import Client
from acidsql.streaming.opening import STREAMING, open_batch
from acidsql.streaming.options import Committed, Options
from acidsql.streaming.row_buffer import RowBuffer
from acidsql.streaming.writers import RecordWriter
from acidsql.transactions.locking import wait_for_locks

logger = logging.getLogger(__name__)

_ATTEMPTS = 3
_COMMIT_UNKNOWN = "COMMIT_OUTCOME_UNKNOWN"


class StreamingConnection:
    """Connection to one table; made by ``acidsql.streaming.connect``.

    Any thread may use it. Calls run one at a time, and all threads write to the same open
    transaction.
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
        self._options = options
        self._lock = threading.RLock()
        self._idle = threading.Condition(self._lock)
        self._batch: TransactionBatch | None = None
        self._in_transaction = False
        self._closed = False
        self._last_used = time.monotonic()
        self._watcher: threading.Thread | None = None
        self._offset: int | None = None
        if options.stream is not None:
            self._offset = client.metastore.stream_offset(
                table.database, table.name, options.stream
            )
        self._buffer = RowBuffer(table, partition, writer, options, self._spill)
        atexit.register(self.close)

    def __repr__(self) -> str:
        name = self._buffer.table.full_name
        return f"StreamingConnection({name!r}, agent={self._options.agent!r})"

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
        """Number of records given to the connection; the position of the next one is one more."""
        return self._buffer.position

    @property
    def table(self) -> Table:
        """Definition of the table."""
        return self._buffer.table

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._in_transaction

    def begin(self) -> int:
        """Begin the next transaction of the open batch or of a new one; return its write id.

        Raises:
            TransactionStateError: NOT_ALLOWED_IN_TRANSACTION, one is open; CONNECTION_CLOSED.
            LockTimeoutError: LOCK_TIMEOUT.
        """
        with self._using():
            if self._in_transaction:
                txn_id = self._require_transaction().current.txn_id
                raise TransactionStateError(
                    "NOT_ALLOWED_IN_TRANSACTION",
                    f"begin() is not allowed in transaction {txn_id}, which the connection has "
                    "open: commit or abort it first",
                    {"operation": "begin()", "txnId": str(txn_id)},
                )
            batch = self._begin()
            self._buffer.clear()
            self._in_transaction = True
            return batch.current.write_id

    def write(self, record: Any) -> None:
        """Write a record in the form of the connection's writer, or a table or batch of Arrow.

        The connection can convert a record later, together with others. Then a later ``write`` or
        ``commit`` raises the record's error.

        Raises:
            AcidAnalysisError: INVALID_RECORD; the transaction was aborted.
            TransactionStateError: NO_ACTIVE_TRANSACTION, CONNECTION_CLOSED.
        """
        with self._using():
            self._require_transaction()
            with self._aborting():
                self._buffer.add(record)

    def write_all(self, records: Iterable[Any]) -> None:
        """Write records, or Arrow batches, one after the other; see ``write``.

        Other threads can write while this call waits for the next records.
        """
        following = iter(records)
        while some := list(islice(following, limits().streaming_records)):
            with self._using():
                self._require_transaction()
                with self._aborting():
                    self._buffer.add_all(some)

    @property
    def offset(self) -> int | None:
        """Offset of the connection's stream that was committed last; None if there is none."""
        return self._offset

    def commit(self, *, offset: int | None = None) -> Committed:
        """Commit the transaction: its rows are on disk, and visible to all readers.

        Args:
            offset: offset of the next record of the connection's stream; it is stored atomically
                with the commit.

        Raises:
            AcidAnalysisError: INVALID_RECORD; the transaction was aborted.
                INVALID_PARAMETER_VALUE, the connection has no stream.
            TransactionStateError: TXN_ABORTED, NO_ACTIVE_TRANSACTION, CONNECTION_CLOSED;
                STREAM_OFFSET_CHANGED, another client writes the same stream.
            LockTimeoutError: LOCK_TIMEOUT, another client of the stream takes too long to commit.
            MetastoreError: COMMIT_OUTCOME_UNKNOWN, the transaction may or may not have committed.
        """
        with self._using():
            batch = self._require_transaction()
            with self._aborting():
                self._buffer.convert_pending()
                self._spill()
                batch.finish_writes()
                batch.flush()
                metastore, txn_id = self._client.metastore, batch.current.txn_id
                made = batch.changes(self._offset_changes(txn_id, offset))
                if made:
                    metastore.prepare_commit(txn_id, made)
                metastore.commit_txn(txn_id)
            batch.ended()
            self._in_transaction = False
            self._offset = self._offset if offset is None else offset
            if not batch.has_next:
                self._close_quietly()
            return Committed(batch.current.write_id, self._buffer.rows, self._buffer.rejected)

    def _offset_changes(self, txn_id: int, offset: int | None) -> list[CatalogChange]:
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
        table = self._buffer.table
        metastore = self._client.metastore
        lock = metastore.stream_lock(table.database, table.name, stream)
        if lock is not None:
            wait_for_locks(metastore, txn_id, [lock], self._options.lock_timeout)
        return [RecordOffset(table=table, stream=stream, before=before, offset=offset)]

    def abort(self) -> None:
        """Abort the transaction. No reader sees its rows.

        Raises:
            TransactionStateError: NO_ACTIVE_TRANSACTION, CONNECTION_CLOSED.
        """
        with self._using():
            self._require_transaction()
            self._abort()

    @contextmanager
    def transaction(self) -> Iterator[Self]:
        """Begin a transaction, and commit it at the end of the block unless the block did so.

        If the block raises, abort the transaction.
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
            f"{self._buffer.table.full_name} is changed by others again and again, each time a "
            "batch of transactions is opened for it: try again later",
        )

    def _open_batch(self) -> TransactionBatch:
        database, name = self._buffer.table.database, self._buffer.table.name
        latest = self._client.metastore.table(database, name)
        if latest != self._buffer.table:
            self._buffer.bind(latest)
        batch = open_batch(
            self._client,
            self._buffer.table,
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
        """Close the batch after a commit or an error, and log a failure instead of raising it."""
        try:
            self._close_batch()
        except (AcidSqlError, OSError):
            logger.exception("a batch of %s was closed badly", self._buffer.table.full_name)

    def _watch(self) -> None:
        """Close an idle batch, because its open transactions hold back cleaners."""
        with self._idle:
            while not self._closed:
                left = self._last_used + self._options.idle_timeout - time.monotonic()
                if left > 0:
                    self._idle.wait(left)
                elif self._batch is None or self._in_transaction:
                    self._idle.wait(self._options.idle_timeout)
                else:
                    self._close_quietly()

    def _spill(self) -> None:
        """Write the buffered rows to the files of the batch, where no reader sees them yet."""
        batch = self._require_transaction()
        for place, parts in self._buffer.take().items():
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
                "NO_ACTIVE_TRANSACTION",
                "the connection has no open transaction: call begin() first",
            )
        return self._batch

    @contextmanager
    def _aborting(self) -> Iterator[None]:
        """Abort the transaction if the block raises, unless the metastore may have committed it.

        After any error other than a refused record, close the batch, because the state of its files
        is uncertain.
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
        self._buffer.clear()
        if unknown:
            batch.ended()
        else:
            batch.abort()
        if ends_batch or not batch.has_next:
            self._close_quietly()
