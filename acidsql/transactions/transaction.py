"""Transactions of the metastore, from their beginning to commit or rollback.

Statements, compactions and exclusive locks all use the context manager ``transaction``, which keeps
a transaction alive in a block.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from acidsql.deferred_signals import DeferredSignals, Interruptible
from acidsql.errors import (
    AcidSqlError,
    MetastoreError,
    TransactionStateError,
    WriteConflictError,
    WriteJobError,
)
from acidsql.format.valid_lists import ValidTxnList
from acidsql.injection_points import Point, reach
from acidsql.metastore.catalog_changes import CatalogChange
from acidsql.metastore.comparison import Compared
from acidsql.metastore.failures import REQUEST_NOT_SENT
from acidsql.metastore.model import (
    LockRequest,
    LockType,
    Operation,
    Table,
    TxnType,
)
from acidsql.session.acid_session import AcidSession
from acidsql.session.metrics import Phase, current, phase
from acidsql.transactions.comparison import ConflictCheck
from acidsql.transactions.current import refuse_in_transaction
from acidsql.transactions.locking import check_wait, wait_for_locks, withdraw
from acidsql.transactions.turns import others_first
from acidsql.transactions.written import NOTHING_WRITTEN, Written, written_by

if TYPE_CHECKING:
    from acidsql.transactions.write_transaction import TableWrite

logger = logging.getLogger(__name__)


class Status(Enum):
    """State of a transaction.

    OPEN → COMMITTING → COMMITTED or IN_DOUBT; from OPEN or COMMITTING → ABORTED → ROLLED_BACK.
    """

    OPEN = "open"
    # The commit was requested, and there is no answer yet.
    COMMITTING = "committing"
    COMMITTED = "committed"
    # It may have committed, so its changes remain; they are invisible if it has not.
    IN_DOUBT = "in doubt"
    # It has not committed and never will; all or some of its changes still exist.
    ABORTED = "aborted"
    # It has not committed and never will, and its changes are undone.
    ROLLED_BACK = "rolled back"


@dataclass(frozen=True, slots=True, kw_only=True)
class Savepoint:
    """Point of a transaction where a failed statement is rolled back to.

    Attributes:
        reverts: number of functions that undo earlier changes.
        writes: number of writes that were kept earlier.
        written: directories and partitions of these writes.
    """

    reverts: int = 0
    writes: int = 0
    written: Mapping[str, Written] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Transaction:
    """Open transaction of the metastore, with its writes and its state.

    ``transaction`` creates it, or ``start.start`` for several statements.

    Attributes:
        session: the session.
        txn_id: transaction id.
        at_end: callbacks that run after the transaction has committed or was rolled back.
        aborts_in_doubt: whether to abort even if the commit was requested and not answered. The
            transaction of a statement is then left to the user (SHOW TRANSACTIONS).
        txns: transactions that all statements see. None in a transaction of one statement, which
            takes its snapshot when it has its locks, and commits the transaction.
        status: state of the transaction.
        reverts: functions that undo the changes; they are called last to first.
        locks: requests that were granted.
        tables: tables where the transaction has a write id, by their full names.
        statements: number of statements that have begun to write.
        writes: writes of the successful statements to their tables, in the order of the statements.
        written: directories and partitions of these writes, by the full name of a table.
        conflict_checks: checks of data that queries have read and that must not have changed at the
            commit.
    """

    session: AcidSession
    txn_id: int
    at_end: ExitStack
    aborts_in_doubt: bool = False
    txns: ValidTxnList | None = None
    status: Status = Status.OPEN
    reverts: list[Callable[[], object]] = field(default_factory=list)
    locks: set[LockRequest] = field(default_factory=set)
    tables: dict[str, Table] = field(default_factory=dict)
    statements: int = 0
    writes: list[TableWrite] = field(default_factory=list)
    written: Mapping[str, Written] = field(default_factory=dict)
    conflict_checks: list[ConflictCheck] = field(default_factory=list)

    @property
    def autocommit(self) -> bool:
        """Whether the transaction has one statement, which commits it."""
        return self.txns is None

    def wait_for_locks(self, requests: Sequence[LockRequest], timeout: float | None = None) -> bool:
        """Acquire locks, as ``locking.wait_for_locks`` does.

        A transaction of several statements does not wait for a transaction that would make its
        commit a conflict or that waits for it (``locking.check_wait``). It withdraws requests that
        were not granted.

        Args:
            requests: all locks of the statement.
            timeout: seconds; by default ``spark.acidsql.lock.timeout``.
        """
        metastore = self.session.metastore
        timeout = self.session.settings.lock_timeout if timeout is None else timeout
        reach(Point.BEFORE_LOCKS, self)
        with phase(Phase.LOCK_WAIT):
            if self.autocommit:
                return wait_for_locks(metastore, self.txn_id, requests, timeout)
            try:
                return wait_for_locks(
                    metastore,
                    self.txn_id,
                    requests,
                    timeout,
                    check=lambda blockers: check_wait(self.txn_id, self.locks, blockers),
                )
            except BaseException:
                withdraw(metastore, self.txn_id)
                raise

    def savepoint(self) -> Savepoint:
        """Return the point where a statement that begins now is rolled back to if it fails."""
        return Savepoint(reverts=len(self.reverts), writes=len(self.writes), written=self.written)

    def undo_since(self, savepoint: Savepoint) -> None:
        """Undo the changes after a savepoint."""
        del self.writes[savepoint.writes :]
        self.written = savepoint.written
        while len(self.reverts) > savepoint.reverts:
            self.reverts.pop()()

    def keep(self, writes: Sequence[TableWrite]) -> None:
        """Keep a statement's writes to its tables for the commit and for later statements."""
        self.writes += writes
        written = dict(self.written)
        for write in writes:
            name = write.table.full_name
            written[name] = written.get(name, NOTHING_WRITTEN) + written_by(write)
        self.written = written

    def commit(
        self,
        changes: Sequence[CatalogChange] = (),
        compare: Callable[[], Compared] | None = None,
        contended: Sequence[str] = (),
    ) -> None:
        """Commit the transaction, with changes of the catalog.

        Args:
            changes: changes of the catalog.
            compare: compares the changed rows with the rows that other transactions have changed
                and committed since, and raises CONCURRENT_WRITE if there are common rows. It is
                called again until no other transaction has committed since the last call. Without
                it, the metastore compares partitions.
            contended: full names of the tables with changed rows. Statements that have their turn
                on one of these tables commit first.

        Raises:
            WriteConflictError: CONCURRENT_WRITE; the transaction is aborted.
            TransactionStateError: TXN_ABORTED, the transaction was aborted earlier.
            MetastoreError: with METASTORE_AUTHENTICATION the transaction is still open; otherwise
                it is unknown whether it has committed.
        """
        reach(Point.BEFORE_COMMIT, self)
        if changes:
            self.session.metastore.prepare_commit(self.txn_id, changes)
        with others_first(self.session, contended):
            self._commit(compare)

    def _commit(self, compare: Callable[[], Compared] | None) -> None:
        while self.status is Status.OPEN:
            compared = None if compare is None else compare()
            self.status = Status.COMMITTING
            try:
                done = self.session.metastore.commit_txn(self.txn_id, compared)
                if done:
                    reach(Point.COMMITTED, self)
            except (WriteConflictError, TransactionStateError):
                self.status = Status.ABORTED
                raise
            except MetastoreError as error:
                if error.condition == REQUEST_NOT_SENT:
                    self.status = Status.OPEN
                raise
            self.status = Status.COMMITTED if done else Status.OPEN

    def roll_back(self, error: BaseException | None = None) -> None:
        """Abort, and undo the changes, unless the transaction has or may have committed.

        Errors of the rollback are only logged, because the user must see the first error.

        Args:
            error: the first error.
        """
        if self.status is Status.COMMITTED:
            return
        was_requested = self.status is Status.COMMITTING
        unanswered = (
            was_requested and isinstance(error, MetastoreError) and not self.aborts_in_doubt
        )
        # The abort raises if the transaction is committed after all.
        if unanswered or (not self._abort() and was_requested):
            self.status = Status.IN_DOUBT
            logger.error("txn %s: fate unknown after %s; what it wrote stays", self.txn_id, error)
            return
        self.status = Status.ABORTED
        try:
            self.undo_since(Savepoint())
        except (AcidSqlError, OSError):
            logger.exception("txn %s: could not undo its changes", self.txn_id)
            return
        self.status = Status.ROLLED_BACK

    def _abort(self) -> bool:
        """Abort in the metastore; return False if that failed."""
        if self.status is Status.ABORTED:
            return True
        try:
            self.session.metastore.abort_txn(self.txn_id)
        except TransactionStateError:
            logger.exception("txn %s: abort failed, since it has ended", self.txn_id)
            return False
        except (AcidSqlError, OSError):
            logger.exception("txn %s: abort failed, and is tried again later", self.txn_id)
            self.session.heartbeater.abort_later(self.txn_id)
            return False
        return True


@contextmanager
def transaction(
    session: AcidSession, txn_type: TxnType = TxnType.DEFAULT, *, aborts_in_doubt: bool = False
) -> Iterator[Transaction]:
    """Open a transaction and keep it alive in the block, which must call ``commit``.

    The transaction is rolled back if the block raises or ends without a commit. A signal interrupts
    only the block. A signal that arrives while the transaction is opened or rolled back waits.

    Raises:
        TransactionStateError: NOT_ALLOWED_IN_TRANSACTION, the thread has begun a transaction of
            several statements, which allows no other changes.
    """
    if txn_type is not TxnType.READ_ONLY:
        refuse_in_transaction(session, current().operation)
    with DeferredSignals(), ExitStack() as at_end:
        with phase(Phase.BEGIN):
            txn_id = session.metastore.open_txn(session.user, session.host, txn_type)
        current().txn_id = txn_id
        opened = Transaction(
            session=session, txn_id=txn_id, at_end=at_end, aborts_in_doubt=aborts_in_doubt
        )
        try:
            session.heartbeater.add(txn_id)
            with Interruptible():
                yield opened
        except BaseException as error:
            lost = lost_to(opened, error)
            opened.roll_back(error)
            if lost is not None:
                raise lost from error
            raise
        else:
            opened.roll_back()
        finally:
            session.heartbeater.remove(txn_id)
            session.has_written |= txn_type is TxnType.DEFAULT


def lost_to(opened: Transaction, error: BaseException) -> TransactionStateError | None:
    """Return the error of an aborted transaction, if the abort explains another error.

    After an abort, a cleaner can remove the files that the transaction reads and its staging. It
    can also remove files that a statement reads under a lease, which is a transaction too.
    """
    if not isinstance(error, WriteJobError | OSError) or opened.status is not Status.OPEN:
        return None
    for txn_id in (opened.txn_id, *opened.session.leases.txn_ids):
        try:
            opened.session.metastore.require_open(txn_id)
        except TransactionStateError as abort:
            return abort
        except MetastoreError:
            logger.warning("txn %s: the metastore does not report its state", txn_id)
    return None


@contextmanager
def exclusive_lock(session: AcidSession, table: Table) -> Iterator[None]:
    """Hold an EXCLUSIVE lock on a table in the block; the lock waits for all other locks."""
    with transaction(session, aborts_in_doubt=True) as opened:
        opened.wait_for_locks([exclusive_request(table)])
        yield
        opened.commit()


def locked_definition(session: AcidSession, table: Table) -> Table:
    """Return the definition of a table under a lock.

    The table was looked up before the lock, and may have been replaced since.

    Raises:
        AcidLookupError: TABLE_OR_VIEW_NOT_FOUND.
    """
    if not session.metastore.capabilities.replaces_tables:
        return table
    return session.metastore.table(table.database, table.name)


def exclusive_request(table: Table) -> LockRequest:
    """Return the request for an EXCLUSIVE lock on a table."""
    return LockRequest(
        database=table.database,
        table=table.name,
        partition=None,
        type=LockType.EXCLUSIVE,
        operation=Operation.SELECT,
    )
