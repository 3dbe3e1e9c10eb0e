"""Start of transactions of several statements, and rollback of abandoned ones."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from functools import partial

from acidsql.deferred_signals import DeferredSignals
from acidsql.metastore.model import TxnType
from acidsql.session.acid_session import AcidSession
from acidsql.session.metrics import Phase, current, phase
from acidsql.session.owner_thread import owner_thread
from acidsql.transactions import current as open_transactions
from acidsql.transactions.explicit import ExplicitTransaction
from acidsql.transactions.transaction import Transaction

logger = logging.getLogger(__name__)


def start(session: AcidSession, *, read_only: bool) -> ExplicitTransaction:
    """Begin a transaction; the statements of this thread belong to it until it ends.

    Raises:
        TransactionStateError: NOT_ALLOWED_IN_TRANSACTION, the thread has already begun one.
    """
    open_transactions.refuse_in_transaction(session, "START TRANSACTION")
    metastore, leases = session.metastore, session.leases
    leases.prune()
    with DeferredSignals(), ExitStack() as undo, phase(Phase.BEGIN):
        # The lease is opened first, as the older transaction. Cleaners wait for it while a
        # DataFrame reads.
        lease_id = metastore.open_txn(session.user, session.host, TxnType.READ_ONLY)
        lease = leases.begin(lease_id, of_statement=False)
        undo.callback(leases.end_statement, lease, kept=False)
        session.heartbeater.add(lease_id, owner_thread())
        txn_id = lease_id
        if not read_only:
            txn_id = metastore.open_txn(session.user, session.host, TxnType.DEFAULT)
        opened = Transaction(session=session, txn_id=txn_id, at_end=ExitStack())
        if not read_only:
            undo.callback(opened.roll_back)
            session.heartbeater.add(txn_id, owner_thread())
            undo.callback(session.heartbeater.remove, txn_id)
        current().txn_id = txn_id
        opened.txns = metastore.valid_txns(txn_id)
        started = ExplicitTransaction(
            transaction=opened, lease=lease, read_only=read_only, owner=owner_thread()
        )
        if open_transactions.enter(started):
            session.at_close.callback(_roll_back_all, session)
            session.end_transactions = partial(_roll_back_all, session)
        undo.pop_all()
    return started


def roll_back_abandoned(session: AcidSession) -> None:
    """Roll back the transactions of owners that have ended."""
    for transaction in open_transactions.transactions_of(session):
        if not transaction.owner.is_alive():
            logger.warning(
                "txn %s: its thread or connection has ended; rolled back", transaction.txn_id
            )
            transaction.rollback()


def _roll_back_all(session: AcidSession) -> None:
    for transaction in open_transactions.transactions_of(session):
        transaction.rollback()
