"""Snapshots of statements: of the latest transactions, or with a lease on the files."""

from __future__ import annotations

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
    """Take the snapshot of a statement whose plan is not kept, so that it needs no lease."""
    txns = session.metastore.valid_txns()
    return recorded_reads(
        StatementSnapshot(session=session, txns=txns, listings=Listings(session.files, None))
    )


def recorded_reads(snapshot: StatementSnapshot) -> StatementSnapshot:
    """Have the metrics of the statement that runs show what is read from a snapshot; return it."""
    current_recording().readings.append(snapshot.scans)
    return snapshot


@contextmanager
def leased_snapshot(session: AcidSession, *, kept: bool = True) -> Iterator[StatementSnapshot]:
    """Take the snapshot of a query, with a lease on the files.

    The files stay for as long as a DataFrame that was made in the block can be reached.

    Args:
        kept: False if nothing that was made in the block is run after it; the lease ends with it.
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
                added={name: own.partitions for name, own in written},
                uncommitted=several.uncommitted(),
            )
            yield recorded_reads(snapshot)
        return
    session.leases.prune()
    # A transaction without its lease would never end.
    with DeferredSignals():
        with phase(Phase.BEGIN):
            txn_id = session.metastore.open_txn(session.user, session.host, TxnType.READ_ONLY)
        current_recording().txn_id = txn_id
        listings = Listings(session.files, txn_id)
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
