"""Locks of a transaction of several statements, which it acquires statement by statement."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from acidsql.errors import AcidSqlError, WriteConflictError
from acidsql.format.identifiers import lowered
from acidsql.metastore.model import LockInfo, LockRequest, LockState, LockType
from acidsql.metastore.names import object_name
from acidsql.transactions.transaction import Transaction

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class HeldLocks:
    """Locks that a transaction holds until it ends.

    Attributes:
        held: requests that were granted.
    """

    held: set[LockRequest] = field(default_factory=set)

    def acquire(self, opened: Transaction, requests: Sequence[LockRequest]) -> None:
        """Acquire those locks of a statement that the transaction does not hold yet.

        Raises:
            LockTimeoutError: LOCK_TIMEOUT.
            WriteConflictError: CONCURRENT_WRITE, see ``check_wait``.
        """
        fresh = [request for request in requests if request not in self.held]
        if not fresh:
            return
        try:
            opened.wait_for_locks(
                fresh, check=lambda blockers: self.check_wait(opened.txn_id, blockers)
            )
        except BaseException:
            _withdraw(opened)
            raise
        self.held.update(fresh)

    def check_wait(self, txn_id: int, blockers: Sequence[LockInfo]) -> None:
        """Check that a wait for other locks can end, and can end well.

        A writer that excludes others (Hive 3.1) has changed the same table by the time it ends: the
        commit of this transaction would be a conflict. Who waits for a table on which this
        transaction has a lock waits for this transaction.

        Args:
            txn_id: the transaction.
            blockers: locks of others that are in its way.

        Raises:
            WriteConflictError: CONCURRENT_WRITE.
        """
        places = {(lowered(request.database), lowered(request.table)) for request in self.held}
        for lock in blockers:
            waits = lock.state is LockState.WAITING
            if lock.type is LockType.SHARED_WRITE:
                reason = "writes to"
            elif waits and (lowered(lock.database), lowered(lock.table)) in places:
                reason = "waits for this one on"
            else:
                continue
            where = object_name(lock.database, lock.table, lock.partition)
            raise WriteConflictError(
                "CONCURRENT_WRITE",
                f"transaction {txn_id} cannot go on, because transaction {lock.txn_id} of "
                f"{lock.user}@{lock.host} {reason} {where}: ROLLBACK, and run it again",
                {"txnId": str(txn_id), "winnerTxnId": str(lock.txn_id), "object": where},
            )


def _withdraw(opened: Transaction) -> None:
    """Withdraw the requests that wait; an error here would hide why they are not wanted any more.

    If it fails they are in the way of the transaction's next statement until it ends.
    """
    try:
        opened.session.metastore.withdraw_locks(opened.txn_id)
    except (AcidSqlError, OSError):
        logger.exception("txn %s: could not withdraw its requests for locks", opened.txn_id)
