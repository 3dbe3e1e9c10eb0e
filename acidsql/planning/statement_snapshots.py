"""Snapshots that statements read, with or without a lease on the files."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from acidsql.deferred_signals import DeferredSignals, Interruptible
from acidsql.metastore.model import TxnType
from acidsql.planning.statement import StatementSnapshot
from acidsql.session.acid_session import AcidSession
from acidsql.session.metrics import Phase, phase
from acidsql.session.metrics import current as current_recording
from acidsql.storage.listings import Listings
from acidsql.transactions.current import current_transaction


def latest_snapshot(session: AcidSession) -> StatementSnapshot:
    """Take a snapshot of the latest transactions for a statement whose plan is not kept.

    The statement needs no lease.
    """
    txns = session.metastore.valid_txns()
    return recorded_reads(
        StatementSnapshot(session=session, txns=txns, listings=Listings(session.files, None))
    )


def recorded_reads(snapshot: StatementSnapshot) -> StatementSnapshot:
    """Add the scans of a snapshot to the metrics of the running statement; return the snapshot."""
    current_recording().readings.append(snapshot.scans)
    return snapshot


@contextmanager
def leased_snapshot(session: AcidSession, *, kept: bool = True) -> Iterator[StatementSnapshot]:
    """Take the snapshot of a query, with a lease on the files.

    The files remain while a DataFrame that was created in the block is reachable.

    Args:
        kept: False if no DataFrame of the block runs after the block; the lease ends with the
            block.
    """
    several = current_transaction(session)
    if several is not None:
        with several.query() as listings:
            written = several.transaction.written.items()
            snapshot = StatementSnapshot(
                session=session,
                txns=several.txns,
                listings=listings,
                expires=session.leases.expiry(several.lease),
                repeatable=True,
                added={name: writes.partitions for name, writes in written},
                uncommitted=several.uncommitted(),
            )
            yield recorded_reads(snapshot)
        return
    session.leases.prune()
    # If a signal arrived before the lease begins, the transaction would never end.
    with DeferredSignals():
        opened_at = time.time()
        with phase(Phase.BEGIN):
            txn_id = session.metastore.open_txn(session.user, session.host, TxnType.READ_ONLY)
        current_recording().txn_id = txn_id
        listings = Listings(session.files, txn_id, opened_at=opened_at)
        lease = session.leases.begin(txn_id)
        try:
            with Interruptible():
                snapshot = StatementSnapshot(
                    session=session,
                    txns=session.metastore.valid_txns(txn_id),
                    listings=listings,
                    expires=session.leases.expiry(lease),
                )
                yield recorded_reads(snapshot)
        finally:
            session.leases.end_statement(lease, kept=kept)
