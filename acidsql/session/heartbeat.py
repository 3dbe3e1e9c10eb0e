"""Heartbeats of open transactions, which one thread per session sends.

The thread also retries aborts that have failed.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from acidsql.errors import AcidSqlError, TransactionStateError
from acidsql.limits import limits
from acidsql.metastore.protocol import Metastore
from acidsql.session.owner_thread import Owner

logger = logging.getLogger(__name__)


class Heartbeater:
    """Thread that sends heartbeats for a changing set of transactions, twice per time-out.

    It starts with the first transaction. It is a daemon, so it never keeps a process alive.

    Args:
        metastore: metastore of the transactions.
        interval: seconds between heartbeats; by default half of the metastore's time-out.

    Attributes:
        look: function that the thread calls regularly, also between heartbeats.
    """

    def __init__(self, metastore: Metastore, *, interval: float | None = None) -> None:
        self.look: Callable[[], object] = lambda: None
        self._metastore = metastore
        self._interval = metastore.txn_timeout / 2 if interval is None else interval
        self._lock = threading.Lock()
        self._alive: set[int] = set()
        self._lost: set[int] = set()
        self._owners: dict[int, Owner] = {}
        self._unaborted: set[int] = set()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, txn_id: int, owner: Owner | None = None) -> None:
        """Start to send heartbeats for a transaction.

        Args:
            txn_id: the transaction.
            owner: the only owner that can end the transaction. When the owner is no longer alive,
                the heartbeats stop.
        """
        with self._lock:
            self._alive.add(txn_id)
            self._owners.pop(txn_id, None)
            if owner is not None:
                self._owners[txn_id] = owner
            if self._thread is None:
                self._stopped.clear()
                thread = threading.Thread(target=self._run, name="acidsql-heartbeat", daemon=True)
                # Start it first: an interrupt in between must not store a thread that never runs.
                thread.start()
                self._thread = thread

    def remove(self, txn_id: int) -> None:
        """Stop the heartbeats of a transaction that has ended; ignore unknown ids."""
        with self._lock:
            self._alive.discard(txn_id)
            self._owners.pop(txn_id, None)
            self._lost.discard(txn_id)

    @property
    def is_needed(self) -> bool:
        """Whether the thread sends heartbeats for a transaction."""
        with self._lock:
            return bool(self._alive)

    def abort_later(self, txn_id: int) -> None:
        """Retry an abort that has failed, for example because of a full disk, until it succeeds.

        Otherwise the locks of the transaction would stay until the time-out.
        """
        with self._lock:
            self._unaborted.add(txn_id)

    def abort_failed(self) -> None:
        """Retry the aborts that have failed."""
        with self._lock:
            txn_ids = sorted(self._unaborted)
        for txn_id in txn_ids:
            try:
                self._metastore.abort_txn(txn_id)
            except TransactionStateError as error:
                logger.info("txn %s has ended meanwhile: %s", txn_id, error)
            except (AcidSqlError, OSError) as error:
                logger.info("txn %s still cannot be aborted: %s", txn_id, error)
                return
            else:
                logger.warning("txn %s is aborted now, which had failed", txn_id)
            with self._lock:
                self._unaborted.discard(txn_id)

    def lost(self) -> frozenset[int]:
        """Return the transactions that were aborted in spite of their heartbeats."""
        with self._lock:
            return frozenset(self._lost)

    def stop(self) -> None:
        """End the thread; ``add`` starts it again."""
        with self._lock:
            thread, self._thread = self._thread, None
        self._stopped.set()
        if thread is not None:
            thread.join()

    def beat(self) -> bool:
        """Send one heartbeat for every transaction; return False if this failed."""
        with self._lock:
            ended_threads = {t for t, owner in self._owners.items() if not owner.is_alive()}
            txn_ids = sorted(self._alive - ended_threads)
        if not txn_ids:
            return True
        try:
            ended = self._metastore.heartbeat(txn_ids)
        # Catch every error: if the thread ended, all transactions would time out.
        except Exception:
            logger.exception("transactions %s: heartbeat failed, will be sent again", txn_ids)
            return False
        with self._lock:
            # Transactions that were removed in the meantime have ended normally.
            lost = self._alive.intersection(ended)
            self._alive -= lost
            self._lost |= lost
        if lost:
            logger.error("transactions %s: were aborted while in use", sorted(lost))
        return True

    def _run(self) -> None:
        due = time.monotonic() + self._interval
        while not self._stopped.wait(min(limits().lease_look_seconds, due - time.monotonic())):
            if time.monotonic() >= due:
                part = 1.0 if self.beat() else limits().heartbeat_retry_part
                due = time.monotonic() + self._interval * part
            try:
                self.abort_failed()
                self.look()
            # As in ``beat``.
            except Exception:
                logger.exception("a look at the transactions of a session failed")
