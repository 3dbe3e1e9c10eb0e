"""Transactions of several statements (``START TRANSACTION`` … ``COMMIT``).

All statements see the transactions that had committed when it began, and what earlier ones of its
own statements wrote. Each statement publishes its directories, which nobody else sees, under the
transaction's write id and statement ids of its own. One that fails takes back its own directories.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from acidsql.deferred_signals import DeferredSignals, Interruptible
from acidsql.errors import AcidSqlError, TransactionStateError
from acidsql.format.names import STAGING_PREFIX
from acidsql.format.valid_lists import ValidTxnList
from acidsql.metastore.changes import CatalogChange, RecordCounts
from acidsql.metastore.comparison import Compared
from acidsql.metastore.history import RecordedStatement, WriteCounts
from acidsql.metastore.model import LockRequest, LockType, Table
from acidsql.session.acid_session import AcidSession
from acidsql.session.leases import Lease
from acidsql.session.metrics import Phase, current, phase
from acidsql.session.owner_thread import Owner
from acidsql.session.settings import Isolation
from acidsql.storage.filesystem import child
from acidsql.storage.listings import Listings
from acidsql.transactions import current as open_transactions
from acidsql.transactions.begin import (
    OpenedTransaction,
    allocate,
    checked_isolation,
    tell_operations,
    without_operations,
)
from acidsql.transactions.comparison import Watch, comparison, deleted_rows
from acidsql.transactions.held_locks import HeldLocks
from acidsql.transactions.merged_changes import merged
from acidsql.transactions.recorded import recorded, with_files
from acidsql.transactions.transaction import Status, Transaction, lost_to
from acidsql.transactions.write_intent import WriteIntent
from acidsql.transactions.written import NOTHING_WRITTEN, Written, changes_whole_table, written_by

if TYPE_CHECKING:
    from acidsql.transactions.write_transaction import WriteTransaction

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class StatementPart(Transaction):
    """Part of a transaction that one of its statements is; its commit keeps what it did.

    Attributes:
        changes: of the catalog, which the commit of the whole makes.
    """

    changes: list[CatalogChange] = field(default_factory=list)

    def commit(
        self,
        changes: Sequence[CatalogChange] = (),
        compare: Callable[[], Compared] | None = None,  # noqa: ARG002 - the commit compares all
        contended: Sequence[str] = (),  # noqa: ARG002 - and lets others go first
    ) -> None:
        """Keep what the statement did until the transaction commits."""
        self.changes += changes
        self.status = Status.COMMITTED


@dataclass(slots=True, kw_only=True, eq=False)
class ExplicitTransaction:
    """Transaction of several statements; made by ``start.start``.

    Attributes:
        session: the session.
        opened: transaction of the metastore; in a read-only one that of the lease.
        lease: keeps what the transaction reads, and the DataFrames that were made in it.
        txns: transactions that all of its statements see.
        read_only: whether it may not write.
        owner: thread or connection whose statements belong to it.
        writes: what the statements that succeeded did to their tables, in their order.
        written: what they wrote, by the full name of a table.
        changes: of the catalog by these statements.
        statements: statements that wrote to a table, by its full name.
        tables: tables of which it has a write id, by their full names.
        locks: those that it holds.
        whole_tables: requests of statements that changed no rows and yet conflict with changes
            anywhere in the table: a MERGE that only inserted.
        completed: directories of tables whose directories were replaced before the commit.
        has_ended: whether it was committed or rolled back.
        watches: what its queries have read and may not have changed at the commit.
        abort: error with which an abort of the transaction was noticed; None as long as it goes on.
    """

    session: AcidSession
    opened: Transaction
    lease: Lease
    txns: ValidTxnList
    read_only: bool
    owner: Owner
    writes: list[WriteTransaction] = field(default_factory=list)
    written: dict[str, Written] = field(default_factory=dict)
    changes: list[CatalogChange] = field(default_factory=list)
    statements: dict[str, list[RecordedStatement]] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    abort: TransactionStateError | None = None
    locks: HeldLocks = field(default_factory=HeldLocks)
    whole_tables: set[LockRequest] = field(default_factory=set)
    completed: dict[str, set[str]] = field(default_factory=dict)
    has_ended: bool = False
    watches: list[Watch] = field(default_factory=list)
    _number: int = 0
    _mutex: threading.RLock = field(default_factory=threading.RLock)

    @property
    def txn_id(self) -> int:
        """Transaction id."""
        return self.opened.txn_id

    @property
    def is_open(self) -> bool:
        """Whether it goes on, as far as this client knows."""
        return self.opened.status is Status.OPEN

    def uncommitted(self) -> frozenset[str]:
        """Return the full names of the tables in which it has put directories."""
        return frozenset(name for name, own in self.written.items() if own.directories)

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
    def statement(self, intents: Sequence[WriteIntent]) -> Iterator[OpenedTransaction]:
        """Run a statement that writes in the block, which commits its part or is taken back.

        It cannot begin anew after it has waited for a lock, as a statement by itself does: a change
        that it has waited for is a conflict when the transaction commits.

        Raises:
            TransactionStateError: NOT_ALLOWED_IN_TRANSACTION, READ_ONLY_TRANSACTION, TXN_ABORTED.
            LockTimeoutError: LOCK_TIMEOUT.
            WriteConflictError: CONCURRENT_WRITE, another writer is in the way.
        """
        isolation = checked_isolation(self.session)
        self._check_allowed(intents)
        with self._mutex, DeferredSignals(), ExitStack() as at_end:
            self.require_open()
            current().txn_id = self.txn_id
            part = StatementPart(session=self.session, txn_id=self.txn_id, at_end=at_end)
            intents = [replace(i, statement=recorded(self.session, i.statement)) for i in intents]
            try:
                with Interruptible():
                    with phase(Phase.BEGIN):
                        begun = self._begin(part, intents, isolation)
                    yield begun
            except BaseException as error:
                lost = lost_to(part, error)
                self._take_back(part, intents, lost or error)
                if lost is not None:
                    raise lost from error
                raise
            if part.status is Status.COMMITTED:
                self._keep(part, begun, intents)
            else:
                self._take_back(part, intents)

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

    def _begin(
        self, part: StatementPart, intents: Sequence[WriteIntent], isolation: Isolation
    ) -> OpenedTransaction:
        self._number += 1
        # Locks come before the write id of a table: a base by somebody who had the table meanwhile
        # must not be above it.
        first = [i.request() for i in intents if i.table.full_name not in self.tables]
        self.locks.acquire(part, without_operations(part, first))
        write_ids = allocate(part, intents)
        for intent in intents:
            self._know(intent.table)
        tell_operations(part, first)
        self.locks.held.update(first)
        self.locks.acquire(part, [intent.request() for intent in intents])
        return OpenedTransaction(
            transaction=part,
            txns=self.txns,
            write_ids=write_ids,
            seen={},
            isolation=isolation,
            number=self._number,
            earlier=dict(self.written),
        )

    def _know(self, table: Table) -> None:
        """Have the staging of the table's statements deleted when the transaction ends."""
        if table.full_name not in self.tables:
            self.tables[table.full_name] = table
            staging = child(table.location, f"{STAGING_PREFIX}{self.txn_id}")
            self.opened.at_end.callback(_delete_quietly, self.session, staging)

    def _keep(
        self, part: StatementPart, begun: OpenedTransaction, intents: Sequence[WriteIntent]
    ) -> None:
        """Make what a statement did part of the transaction."""
        self.changes += part.changes
        for write, intent in zip(begun.writes, intents, strict=True):
            self.writes.append(write)
            self.opened.reverts.append(write.undo)
            name = write.table.full_name
            self.written[name] = self.written.get(name, NOTHING_WRITTEN) + written_by(write)
            self.statements.setdefault(name, []).append(intent.statement)
            if changes_whole_table(write):
                self.whole_tables.add(intent.request())

    def _take_back(
        self,
        part: StatementPart,
        intents: Sequence[WriteIntent],
        error: BaseException | None = None,
    ) -> None:
        """Take back what a statement did, and nothing else.

        If that fails, or the transaction was aborted meanwhile, it ends: what is left of the
        statement must not be committed.
        """
        try:
            while part.reverts:
                part.reverts.pop()()
            if isinstance(error, TransactionStateError):
                self.session.metastore.require_open(self.txn_id)
            for intent in intents:
                if intent.names_partitions_late and intent.table.full_name in self.tables:
                    self.session.metastore.add_dynamic_partitions(
                        self.txn_id, intent.table.database, intent.table.name, [], intent.operation
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
        self.opened.roll_back(error)
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
        with self._mutex, DeferredSignals():
            current().txn_id = self.txn_id
            try:
                with Interruptible(), phase(Phase.COMMIT):
                    self.require_open()
                    prepare(self)
                    if self.read_only:
                        self.opened.status = Status.COMMITTED
                    else:
                        self._enter_whole_tables()
                        changes, compare = self._changes(), self._comparison()
                        self.opened.commit(changes, compare, sorted(self.tables))
            except BaseException as error:
                lost = lost_to(self.opened, error)
                self._roll_back(error)
                if lost is not None:
                    raise lost from error
                raise
            finally:
                self._end()

    def _enter_whole_tables(self) -> None:
        """Enter again into the write set what later statements, which named their partitions, have
        removed from it.
        """
        if self.whole_tables:
            self.session.metastore.lock(self.txn_id, tuple(self.whole_tables))

    def put(self, table: Table, path: str) -> None:
        """Note that a directory is about to be put into a table before the commit."""
        self.opened.reverts.append(partial(self.session.files.delete, path))
        self._completed(table).add(path)

    def removed(self, table: Table, path: str) -> None:
        """Note that a directory was removed again from a table before the commit."""
        self._completed(table).discard(path)

    def _completed(self, table: Table) -> set[str]:
        return self.completed.setdefault(table.full_name, self._placed(table))

    def _placed(self, table: Table) -> set[str]:
        return set(self.written.get(table.full_name, NOTHING_WRITTEN).directories)

    def _changes(self) -> list[CatalogChange]:
        """Return the changes of the catalog that the commit makes."""
        changes = list(self.changes)
        if self.session.metastore.capabilities.keeps_history:
            counted = {c.table.full_name for c in changes if isinstance(c, RecordCounts)}
            failed = [table for name, table in self.tables.items() if name not in counted]
            changes += [RecordCounts(table=table, counts=WriteCounts()) for table in failed]
        return [self._measured(change) for change in merged(changes, self.statements)]

    def _comparison(self) -> Callable[[], Compared] | None:
        """Return what compares the rows that all statements have changed; see ``comparison``."""
        deleted = []
        for name, table in self.tables.items():
            own = [write for write in self.writes if write.table.full_name == name]
            touched = {values: p for write in own for values, p in write.touched.items()}
            placed = self.completed.get(name, self._placed(table))
            deleted.append(deleted_rows(table, touched, placed))
        watches = [*self.watches, *(watch for write in self.writes for watch in write.watches)]
        return comparison(self.session, self.txn_id, deleted, watches)

    def _measured(self, change: CatalogChange) -> CatalogChange:
        """Count the files of a table anew whose directories were replaced."""
        if not isinstance(change, RecordCounts):
            return change
        paths = self.completed.get(change.table.full_name)
        if paths is None:
            return change
        counts = with_files(self.session.files, change.counts, sorted(paths))
        return replace(change, counts=counts)

    def rollback(self) -> None:
        """Undo all that the statements did, and end the transaction."""
        with self._mutex, DeferredSignals():
            current().txn_id = self.txn_id
            self._roll_back(None)
            self._end()

    def _roll_back(self, error: BaseException | None) -> None:
        if self.read_only:
            self.opened.status = Status.ROLLED_BACK
        elif self.opened.status is not Status.ROLLED_BACK:
            self.opened.roll_back(error)

    def _end(self) -> None:
        self.has_ended = True
        open_transactions.leave(self)
        if not self.read_only:
            self.session.heartbeater.remove(self.txn_id)
        self.opened.at_end.close()
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
