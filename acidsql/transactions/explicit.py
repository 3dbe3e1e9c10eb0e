"""Transactions of several statements (``START TRANSACTION`` … ``COMMIT``).

All statements see the transactions that had committed when it began, and what earlier ones of its
own statements wrote. Each statement publishes its directories, which no other transaction sees,
under the transaction's write id and statement ids of its own. One that fails is rolled back to the
savepoint before it.
"""

from __future__ import annotations

import logging
import threading
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
    """Transaction of several statements in the hands of its thread; made by ``start.start``.

    Attributes:
        transaction: what it writes, and how it ends; in a read-only one its id is the lease's.
        lease: keeps what the transaction reads, and the DataFrames that were made in it.
        read_only: whether it may not write.
        owner: thread or connection whose statements belong to it.
        has_ended: whether it was committed or rolled back.
        abort: error with which an abort of the transaction was noticed; None as long as it goes on.
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
        """Transactions that all of its statements see."""
        assert self.transaction.txns is not None  # see ``start.start``
        return self.transaction.txns

    @property
    def is_open(self) -> bool:
        """Whether it goes on, as known to this client."""
        return self.transaction.status is Status.OPEN

    def uncommitted(self) -> frozenset[str]:
        """Return the full names of the tables where it has put directories."""
        written = self.transaction.written
        return frozenset(name for name, own in written.items() if own.directories)

    @contextmanager
    def query(self) -> Iterator[Listings]:
        """Build the plan of a query in the block; scans belong to the transaction's lease.

        Raises:
            TransactionStateError: TXN_ABORTED.
        """
        with self._mutex:
            self.require_open()
            current().txn_id = self.txn_id
            with self.session.leases.resumed(self.lease):
                yield Listings(self.session.files, self.lease.txn_id)

    @contextmanager
    def statement(self, intents: Sequence[WriteIntent]) -> Iterator[Transaction]:
        """Run a statement that writes in the block, which commits its part or is rolled back.

        Raises:
            TransactionStateError: NOT_ALLOWED_IN_TRANSACTION, READ_ONLY_TRANSACTION, TXN_ABORTED.
        """
        self._check_allowed(intents)
        own = self.transaction
        with self._mutex, DeferredSignals():
            self.require_open()
            current().txn_id = self.txn_id
            own.statements += 1
            before = own.savepoint()
            try:
                with Interruptible():
                    yield own
            except BaseException as error:
                lost = lost_to(own, error)
                self._roll_back_to(before, intents, lost or error)
                if lost is not None:
                    raise lost from error
                raise
            if len(own.writes) == before.writes:
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
            # Beside the base of an overwrite, rows of the same write id would count as obsolete.
            if intent.overwrite or intent.lock is LockType.EXCLUSIVE:
                words = intent.statement.operation
                open_transactions.refuse_in_transaction(self.session, words)

    def _roll_back_to(
        self,
        savepoint: Savepoint,
        intents: Sequence[WriteIntent],
        error: BaseException | None = None,
    ) -> None:
        """Undo what a statement did, and nothing else.

        If that fails, or the transaction was aborted meanwhile, it ends: what is left of the
        statement must not be committed.
        """
        metastore, own = self.session.metastore, self.transaction
        try:
            own.undo_since(savepoint)
            if isinstance(error, TransactionStateError):
                metastore.require_open(self.txn_id)
            for intent in intents:
                table = intent.table
                if intent.names_partitions_late and table.full_name in own.tables:
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
        """Check that the transaction goes on.

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
        """Abort the transaction; its thread has yet to end it by ROLLBACK."""
        self.abort = error
        self.transaction.roll_back(error)
        self.session.heartbeater.remove(self.txn_id)

    def commit(self, prepare: Callable[[ExplicitTransaction], None]) -> None:
        """Commit all that the statements did, or roll it back.

        Args:
            prepare: completes the directories first; its changes are rolled back too.

        Raises:
            WriteConflictError: CONCURRENT_WRITE.
            TransactionStateError: TXN_ABORTED.
            MetastoreError: COMMIT_OUTCOME_UNKNOWN.
        """
        own = self.transaction
        with self._mutex, DeferredSignals():
            current().txn_id = self.txn_id
            try:
                with Interruptible(), phase(Phase.COMMIT):
                    self.require_open()
                    prepare(self)
                    if self.read_only:
                        own.status = Status.COMMITTED
                    else:
                        commit_writes(own)
            except BaseException as error:
                lost = lost_to(own, error)
                self._roll_back(error)
                if lost is not None:
                    raise lost from error
                raise
            finally:
                self._end()

    def rollback(self) -> None:
        """Undo all that the statements did, and end the transaction."""
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
        # DataFrames that were made in the transaction may read on, whatever becomes of its thread.
        self.session.heartbeater.add(self.lease.txn_id)
        self.session.leases.end_statement(self.lease, kept=bool(self.lease.indexes))
        self.session.has_written |= not self.read_only


def _delete_quietly(session: AcidSession, path: str) -> None:
    """Delete a directory; what became of the transaction is known by now, and an error would hide
    it.
    """
    try:
        session.files.delete(path)
    except (AcidSqlError, OSError):
        logger.exception("staging %s could not be deleted", path)
