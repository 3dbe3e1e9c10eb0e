"""Transactions of several statements (``START TRANSACTION`` … ``COMMIT``).

All statements see the transactions that had committed when this transaction began, and the writes
of its earlier statements. Each statement publishes its directories under the transaction's write id
and its own statement ids. No other transaction sees them. A statement that fails is rolled back to
the savepoint before it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from acidsql.deferred_signals import DeferredSignals, Interruptible
from acidsql.errors import AcidSqlError, TransactionStateError
from acidsql.format.names import STAGING_PREFIX
from acidsql.format.valid_lists import ValidTxnList
from acidsql.metastore.model import LockType
from acidsql.session.acid_session import AcidSession
from acidsql.session.leases import Lease
from acidsql.session.metrics import Phase, current, phase
from acidsql.session.owner_thread import Owner
from acidsql.storage.filesystem import child
from acidsql.storage.listings import Listings
from acidsql.transactions import current as open_transactions
from acidsql.transactions.commit import commit_writes
from acidsql.transactions.transaction import Savepoint, Status, Transaction, lost_to
from acidsql.transactions.write_intent import WriteIntent

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True, eq=False)
class ExplicitTransaction:
    """Transaction of several statements that a thread owns; created by ``start.start``.

    Attributes:
        transaction: writes of the transaction, and its state. A read-only transaction has the id of
            the lease.
        lease: protects the files that the transaction and the DataFrames created in it read.
        read_only: whether the transaction must not write.
        owner: thread or connection that issues the statements of the transaction.
        has_ended: whether the transaction was committed or rolled back.
        abort: error that reported an abort of the transaction; None while it is open.
    """

    transaction: Transaction
    lease: Lease
    read_only: bool
    owner: Owner
    abort: TransactionStateError | None = None
    has_ended: bool = False
    _mutex: threading.RLock = field(default_factory=threading.RLock)

    @property
    def session(self) -> AcidSession:
        """Session of the transaction."""
        return self.transaction.session

    @property
    def txn_id(self) -> int:
        """Transaction id."""
        return self.transaction.txn_id

    @property
    def txns(self) -> ValidTxnList:
        """Transactions that all statements of this transaction see."""
        assert self.transaction.txns is not None  # see ``start.start``
        return self.transaction.txns

    @property
    def is_open(self) -> bool:
        """Whether the transaction is still open, to the knowledge of this client."""
        return self.transaction.status is Status.OPEN

    def uncommitted(self) -> frozenset[str]:
        """Return the full names of the tables where the transaction has put directories."""
        written = self.transaction.written
        return frozenset(name for name, writes in written.items() if writes.directories)

    @contextmanager
    def query(self) -> Iterator[Listings]:
        """Build the plan of a query in the block; its scans use the transaction's lease.

        Raises:
            TransactionStateError: TXN_ABORTED.
        """
        with self._mutex:
            opened_at = time.time()
            self.require_open()
            current().txn_id = self.txn_id
            with self.session.leases.resumed(self.lease):
                yield Listings(self.session.files, self.lease.txn_id, opened_at=opened_at)

    @contextmanager
    def statement(self, intents: Sequence[WriteIntent]) -> Iterator[Transaction]:
        """Run a statement that writes in the block; its writes are kept or rolled back.

        Raises:
            TransactionStateError: NOT_ALLOWED_IN_TRANSACTION, READ_ONLY_TRANSACTION, TXN_ABORTED.
        """
        self._check_allowed(intents)
        transaction = self.transaction
        with self._mutex, DeferredSignals():
            self.require_open()
            current().txn_id = self.txn_id
            transaction.statements += 1
            before = transaction.savepoint()
            try:
                with Interruptible():
                    yield transaction
            except BaseException as error:
                lost = lost_to(transaction, error)
                self._roll_back_to(before, intents, lost or error)
                if lost is not None:
                    raise lost from error
                raise
            if len(transaction.writes) == before.writes:
                self._roll_back_to(before, intents)

    def _check_allowed(self, intents: Sequence[WriteIntent]) -> None:
        for intent in intents:
            if self.read_only:
                raise TransactionStateError(
                    "READ_ONLY_TRANSACTION",
                    f"transaction {self.txn_id} is read-only, and cannot {intent.words} "
                    f"{intent.table.full_name}: ROLLBACK, and begin another one",
                    {"txnId": str(self.txn_id)},
                )
            # An overwrite leaves a base. Other rows of the same write id would count as obsolete.
            if intent.overwrite or intent.lock is LockType.EXCLUSIVE:
                words = intent.statement.operation
                open_transactions.refuse_in_transaction(self.session, words)

    def _roll_back_to(
        self,
        savepoint: Savepoint,
        intents: Sequence[WriteIntent],
        error: BaseException | None = None,
    ) -> None:
        """Undo the writes of one statement.

        If this fails, or if the transaction was aborted in the meantime, the transaction is
        aborted, because the remaining writes of the statement must not be committed.
        """
        metastore, transaction = self.session.metastore, self.transaction
        try:
            transaction.undo_since(savepoint)
            if isinstance(error, TransactionStateError):
                metastore.require_open(self.txn_id)
            for intent in intents:
                table = intent.table
                if intent.names_partitions_late and table.full_name in transaction.tables:
                    metastore.add_dynamic_partitions(
                        self.txn_id, table.database, table.name, [], intent.operation
                    )
        except TransactionStateError as ended:
            self._fail(ended)
        except (AcidSqlError, OSError) as failed:
            logger.exception("txn %s: could not take a statement back", self.txn_id)
            cause = f"what a failed statement wrote could not be taken back ({failed})"
            self._fail(
                TransactionStateError(
                    "TXN_ABORTED",
                    f"transaction {self.txn_id} was aborted: {cause}",
                    {"txnId": str(self.txn_id)},
                )
            )

    def require_open(self) -> None:
        """Check that the transaction is still open.

        Raises:
            TransactionStateError: TXN_ABORTED.
        """
        if self.abort is None:
            try:
                self.session.metastore.require_open(self.txn_id)
            except TransactionStateError as error:
                self._fail(error)
        if self.abort is not None:
            raise TransactionStateError(
                "TXN_ABORTED",
                f"{self.abort.message}; ROLLBACK ends the transaction of this thread",
                {"txnId": str(self.txn_id)},
            ) from self.abort

    def _fail(self, error: TransactionStateError) -> None:
        """Abort the transaction; its thread must still end it with ROLLBACK."""
        self.abort = error
        self.transaction.roll_back(error)
        self.session.heartbeater.remove(self.txn_id)

    def commit(self, prepare: Callable[[ExplicitTransaction], None]) -> None:
        """Commit the writes of all statements, or roll them back.

        Args:
            prepare: completes the directories before the commit; its changes are rolled back too.

        Raises:
            WriteConflictError: CONCURRENT_WRITE.
            TransactionStateError: TXN_ABORTED.
            MetastoreError: COMMIT_OUTCOME_UNKNOWN.
        """
        transaction = self.transaction
        with self._mutex, DeferredSignals():
            current().txn_id = self.txn_id
            try:
                with Interruptible(), phase(Phase.COMMIT):
                    self.require_open()
                    prepare(self)
                    if self.read_only:
                        transaction.status = Status.COMMITTED
                    else:
                        commit_writes(transaction)
            except BaseException as error:
                lost = lost_to(transaction, error)
                self._roll_back(error)
                if lost is not None:
                    raise lost from error
                raise
            finally:
                self._end()

    def rollback(self) -> None:
        """Undo the writes of all statements, and end the transaction."""
        with self._mutex, DeferredSignals():
            current().txn_id = self.txn_id
            self._roll_back(None)
            self._end()

    def _roll_back(self, error: BaseException | None) -> None:
        if self.read_only:
            self.transaction.status = Status.ROLLED_BACK
        elif self.transaction.status is not Status.ROLLED_BACK:
            self.transaction.roll_back(error)

    def _end(self) -> None:
        self.has_ended = True
        open_transactions.leave(self)
        if not self.read_only:
            self.session.heartbeater.remove(self.txn_id)
        for table in self.transaction.tables.values():
            staging = child(table.location, f"{STAGING_PREFIX}{self.txn_id}")
            _delete_quietly(self.session, staging)
        # DataFrames that were created in the transaction can still be read, even after its thread
        # has ended.
        self.session.heartbeater.add(self.lease.txn_id)
        self.session.leases.end_statement(self.lease, kept=bool(self.lease.indexes))
        self.session.has_written |= not self.read_only


def _delete_quietly(session: AcidSession, path: str) -> None:
    """Delete a directory, and only log errors.

    The outcome of the transaction is known at this point, and an exception would hide it.
    """
    try:
        session.files.delete(path)
    except (AcidSqlError, OSError):
        logger.exception("staging %s could not be deleted", path)
