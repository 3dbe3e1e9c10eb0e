"""A transaction of the metastore: opened, kept alive, and committed or rolled back when its block
ends. Statements, compactions and locks on whole tables all go through ``transaction``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import Enum

from acidsql.errors import AcidSqlError, MetastoreError, TransactionStateError, WriteConflictError
from acidsql.metastore.model import LockRequest, LockType, Operation, Table, TxnType
from acidsql.session.acid_session import AcidSession
from acidsql.transaction.locking import wait_for_locks

logger = logging.getLogger(__name__)


class Status(Enum):
    """How far a transaction has come.

    OPEN → COMMITTING → COMMITTED or IN_DOUBT; from OPEN or COMMITTING → ABORTED → ROLLED_BACK.
    """

    OPEN = "open"
    # The metastore was asked to commit, and has not answered.
    COMMITTING = "committing"
    COMMITTED = "committed"
    # It may have committed, so what it did stays: nobody sees it unless it did.
    IN_DOUBT = "in doubt"
    # It did not commit and never will; what it did is still there, or some of it.
    ABORTED = "aborted"
    # What it did is taken back.
    ROLLED_BACK = "rolled back"


@dataclass(slots=True, kw_only=True)
class Transaction:
    """A transaction of the metastore, made by ``transaction``.

    Attributes:
        aborts_in_doubt: abort it also if the commit was not answered. A statement is not: its
            user, who may know more by then, decides (SHOW TRANSACTIONS).
        at_end: what is done when the transaction has ended, whichever way.
        reverts: what takes back, in the opposite order, what was done.
    """

    session: AcidSession
    txn_id: int
    at_end: ExitStack
    aborts_in_doubt: bool = False
    status: Status = Status.OPEN
    reverts: list[Callable[[], object]] = field(default_factory=list)

    def wait_for_locks(self, requests: Sequence[LockRequest], timeout: float | None = None) -> bool:
        """Get the locks of the transaction, as ``locking.wait_for_locks``.

        Args:
            timeout: seconds; by default ``spark.acidsql.lock.timeout``.
        """
        timeout = self.session.settings.lock_timeout if timeout is None else timeout
        return wait_for_locks(self.session.metastore, self.txn_id, requests, timeout)

    def commit(self) -> None:
        """Commit.

        Raises:
            WriteConflictError: CONCURRENT_WRITE; the transaction is aborted.
            TransactionStateError: TXN_ABORTED, it was aborted before.
            MetastoreError: it is not known whether the transaction has committed.
        """
        self.status = Status.COMMITTING
        try:
            self.session.metastore.commit_txn(self.txn_id)
        except (WriteConflictError, TransactionStateError):
            self.status = Status.ABORTED
            raise
        self.status = Status.COMMITTED

    def roll_back(self, error: BaseException | None = None) -> None:
        """Abort, and take back what was done, unless it has committed or may have.

        An error of that is logged: the first one is what the user needs.

        Args:
            error: the reason.
        """
        if self.status is Status.COMMITTED:
            return
        asked = self.status is Status.COMMITTING
        unanswered = asked and isinstance(error, MetastoreError) and not self.aborts_in_doubt
        # An abort fails if the commit was made after all.
        if unanswered or (not self._abort() and asked):
            self.status = Status.IN_DOUBT
            logger.error("txn %s: fate unknown after %s; what it wrote stays", self.txn_id, error)
            return
        self.status = Status.ABORTED
        try:
            while self.reverts:
                self.reverts.pop()()
        except (AcidSqlError, OSError):
            logger.exception("txn %s: could not take back what it had done", self.txn_id)
            return
        self.status = Status.ROLLED_BACK

    def _abort(self) -> bool:
        """Have the metastore abort it; False if that failed."""
        if self.status is Status.ABORTED:
            return True
        try:
            self.session.metastore.abort_txn(self.txn_id)
        except (AcidSqlError, OSError):
            logger.exception("txn %s: abort failed; if open, it ends by its time-out", self.txn_id)
            return False
        return True


@contextmanager
def transaction(
    session: AcidSession, txn_type: TxnType = TxnType.DEFAULT, *, aborts_in_doubt: bool = False
) -> Iterator[Transaction]:
    """Open a transaction and keep it alive for a block, which must call ``commit``.

    It is rolled back if the block raises, or ends without having asked for the commit.
    """
    with ExitStack() as at_end:
        txn_id = session.metastore.open_txn(session.user, session.host, txn_type)
        opened = Transaction(
            session=session, txn_id=txn_id, at_end=at_end, aborts_in_doubt=aborts_in_doubt
        )
        session.heartbeater.add(txn_id)
        try:
            yield opened
        except BaseException as error:
            opened.roll_back(error)
            raise
        else:
            opened.roll_back()
        finally:
            session.heartbeater.remove(txn_id)


@contextmanager
def exclusive_lock(session: AcidSession, table: Table) -> Iterator[None]:
    """Wait until nobody else writes a table, and keep others away during a block."""
    request = LockRequest(
        database=table.database,
        table=table.name,
        partition=None,
        type=LockType.EXCLUSIVE,
        operation=Operation.SELECT,
    )
    with transaction(session, aborts_in_doubt=True) as opened:
        opened.wait_for_locks([request])
        yield
        opened.commit()
