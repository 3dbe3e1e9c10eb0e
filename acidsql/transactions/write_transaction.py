"""Writes of a statement: what it does to each of its tables, committed or undone."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from acidsql.deferred_signals import DeferredSignals
from acidsql.errors import AcidSqlError
from acidsql.format.bucket_codec import MAX_STATEMENT_ID
from acidsql.format.names import base_name, delete_delta_name, delta_name
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore import failures
from acidsql.metastore.changes import AlterTable, CatalogChange, ReplaceTable
from acidsql.metastore.history import WriteCounts
from acidsql.metastore.model import Operation, Partition, Table
from acidsql.session.acid_session import AcidSession
from acidsql.session.as_of_block import refuse_in_block
from acidsql.session.metrics import Phase, current, phase
from acidsql.session.settings import Isolation
from acidsql.session.table_owner import check_owner, check_partition
from acidsql.storage.filesystem import child
from acidsql.storage.finalize import FinishedDirectory, UnwrittenFile, write_files
from acidsql.storage.listings import Listings
from acidsql.storage.staging import Target
from acidsql.storage.staging_place import StagingPlace, delete_staging, staging_place
from acidsql.storage.sync import Unsynced, make_directory, sync_all
from acidsql.transactions.begin import Begun, begin, checked_isolation
from acidsql.transactions.commit import commit_writes
from acidsql.transactions.comparison import Watch
from acidsql.transactions.partition_directory import add_beforehand, make_partition, take_back
from acidsql.transactions.recorded import recorded
from acidsql.transactions.transaction import Transaction
from acidsql.transactions.write_id_check import check_write_id_is_new
from acidsql.transactions.write_intent import WriteIntent
from acidsql.transactions.written import NOTHING_WRITTEN, Written, recorded_writes

logger = logging.getLogger(__name__)

# Per operation, the operations that make recording it for a partition unnecessary if they were
# recorded: of two transactions that update or delete there one fails, of two that insert none.
_AS_STRONG = {
    Operation.SELECT: frozenset(Operation),
    Operation.INSERT: frozenset({Operation.INSERT, Operation.UPDATE, Operation.DELETE}),
    Operation.UPDATE: frozenset({Operation.UPDATE, Operation.DELETE}),
    Operation.DELETE: frozenset({Operation.UPDATE, Operation.DELETE}),
}

Change = tuple[Operation, Sequence[tuple[str, ...]]]
"""Operation, with the values of the partitions that it changed."""


@dataclass(slots=True, kw_only=True)
class TableWrite:
    """Write of a statement to one table.

    Attributes:
        transaction: the whole transaction.
        at_end: callbacks for when the statement has ended, whichever way.
        intent: operation on the table.
        table: its definition when the lock was granted.
        write_id: of this transaction in the table.
        txns: transactions that the statement sees.
        listings: of the statement.
        staging: where it stages; deleted when the statement ends.
        unsynced: what the commit has to sync.
        isolation: of the statement.
        seen: write ids of the table that the statement sees; None if they were not fetched.
        placed: directories that were moved to their places.
        changes: changes of the catalog that its commit makes.
        added: partitions whose directories it made.
        touched: partitions that were written to, by values.
        named: operations and partitions that were reported to the metastore.
        counts: rows that it changed, which its statement reports before the commit; files of
            directories that were published.
        watches: what may not have changed at the commit.
        before: definition of the table before its commit, if that changes the columns of a table
            that it writes rows into; else None.
    """

    transaction: Transaction
    at_end: ExitStack
    intent: WriteIntent
    table: Table
    write_id: int
    txns: ValidTxnList
    listings: Listings
    staging: StagingPlace
    unsynced: Unsynced
    isolation: Isolation = Isolation.SNAPSHOT
    seen: ValidWriteIdList | None = None
    placed: list[str] = field(default_factory=list)
    changes: list[CatalogChange] = field(default_factory=list)
    added: list[Partition] = field(default_factory=list)
    touched: dict[tuple[str, ...], Partition] = field(default_factory=dict)
    named: set[tuple[Operation, tuple[str, ...]]] = field(default_factory=set)
    counts: WriteCounts = field(default_factory=WriteCounts)
    watches: list[Watch] = field(default_factory=list)
    before: Table | None = None
    _known: dict[tuple[str, ...], Partition] = field(default_factory=dict)

    @property
    def session(self) -> AcidSession:
        """Session of the statement."""
        return self.transaction.session

    @property
    def txn_id(self) -> int:
        """Transaction id."""
        return self.transaction.txn_id

    def replace_table(self, table: Table) -> None:
        """Write to another definition of the table from now on, which the commit puts in the place
        of the present one; its directory is made.

        Args:
            table: the definition, without partitions; its directory does not exist yet.
        """
        session = self.session
        owner = session.metastore.table_owner(table.database, table.name)
        assert owner is not None  # a metastore that replaces tables has ids for them
        session.metastore.delete_if_aborted(self.txn_id, table.location)
        make_directory(session.files, table.location)
        check_owner(session, table)
        change = ReplaceTable(before=self.table, after=table, table_id=owner.table_id)
        self.changes.append(change)
        self.table = table
        self.staging = staging_place(session.files, table.location, self.txn_id)
        self.unsynced = Unsynced(root=table.location)

    def target(self, statement_id: int) -> Target:
        """Return the destination of the rows of one statement id of the statement.

        Raises:
            FormatError: TOO_MANY_STATEMENTS.
        """
        self.statement_id(statement_id)
        first = self._written.statement_ids
        return Target(deletes=False, statement_id=statement_id, first=first)

    @property
    def _written(self) -> Written:
        """Writes of the earlier statements of the transaction to the table."""
        return self.transaction.written.get(self.table.full_name, NOTHING_WRITTEN)

    def statement_id(self, within: int) -> int:
        """Return the statement id in the transaction of a statement id within the statement.

        Raises:
            FormatError: TOO_MANY_STATEMENTS (Hive: ``AcidUtils.MAX_STATEMENTS_PER_TXN``; the bucket
                property of a row has 12 bits for it).
        """
        found = self._written.statement_ids + within
        if found > MAX_STATEMENT_ID:
            raise failures.too_many_statements(self.txn_id, self.table, MAX_STATEMENT_ID + 1)
        return found

    def publish(self, finished: Sequence[FinishedDirectory]) -> None:
        """Move finished directories to their places, where no reader sees them before the commit.

        Raises:
            FormatError: WRITE_ID_IN_USE, TOO_MANY_STATEMENTS.
        """
        operation = self.intent.operation
        ids = [self.statement_id(directory.statement_id) for directory in finished]
        deleted = {d.values for d in finished if d.deletes}
        others = {d.values for d in finished} - deleted
        self.announce(operation, deleted)
        self.announce(operation if self.intent.overwrite else Operation.INSERT, others)
        self.listings.fetch_names([self._known[d.values].location for d in finished])
        unwritten: list[UnwrittenFile] = []
        for directory, statement_id in zip(finished, ids, strict=True):
            if self.intent.overwrite:
                name = base_name(self.write_id)
            else:
                name = (delete_delta_name if directory.deletes else delta_name)(
                    self.write_id, self.write_id, statement_id
                )
            if directory.unwritten:
                target = self._begin_place(directory.values, name)
                unwritten += [f._replace(name=child(target, f.name)) for f in directory.unwritten]
            else:
                self.place(directory.path, directory.values, name)
        write_files(self.session.files, unwritten)
        written = WriteCounts(
            files=sum(d.files for d in finished), size=sum(d.size for d in finished)
        )
        self.count(written)

    def count(self, counts: WriteCounts) -> None:
        """Add to the counts of rows, files and bytes."""
        self.counts += counts

    def place_file(self, values: tuple[str, ...], name: str, file: str, content: bytes) -> None:
        """Put a new directory with one small file into a partition; see ``place``.

        Args:
            values: of the partition.
            name: of the directory.
            file: name of the file.
            content: of the file.
        """
        with self.placing(values, name) as directory:
            self.session.files.put(child(directory, file), content)

    @contextmanager
    def placing(self, values: tuple[str, ...], name: str) -> Iterator[str]:
        """Yield the directory where the block writes what is to become a new directory of a
        partition; see ``place``.

        Args:
            values: of the partition.
            name: of the directory in the partition.
        """
        if self.staging.local is not None:
            yield self._begin_place(values, name)
        else:
            path = child(self.staging.path, f"placed_{len(self.placed)}")
            yield path
            self.place(path, values, name)

    def place(self, path: str, values: tuple[str, ...], name: str) -> None:
        """Move a finished directory into a partition.

        Args:
            path: of the directory, in staging.
            values: of the partition.
            name: of the directory in the partition.

        Raises:
            AcidAnalysisError: TABLE_OF_ANOTHER_METASTORE.
            FormatError: WRITE_ID_IN_USE.
            TransactionStateError: TXN_ABORTED, somebody aborted the transaction, or it timed out.
        """
        target = self._begin_place(values, name)
        try:
            self.session.files.rename(path, target)
        except FileNotFoundError:
            # Of a transaction that was aborted meanwhile, a cleaner removes the staging.
            self.session.metastore.require_open(self.txn_id)
            raise

    def _begin_place(self, values: tuple[str, ...], name: str) -> str:
        """Check that a directory may be put into a partition; return its path.

        Raises:
            AcidAnalysisError: see ``place``.
            FormatError: see ``place``.
            TransactionStateError: see ``place``.
        """
        if values not in self.touched:
            self.announce(self.intent.operation, [values])
        partition = self._known[values]
        check_partition(self.session, self.table, partition.location)
        names = self.listings.get(partition.location).names
        check_write_id_is_new(
            self.session.metastore,
            self.table,
            partition.location,
            names,
            self.write_id,
            self._written.directories,
        )
        if not self.placed:
            # An aborted one may be cleaned already; what is moved now would never be removed.
            self.session.metastore.require_open(self.txn_id)
        target = child(partition.location, name)
        self.placed.append(target)
        self.unsynced.add(target)
        return target

    def announce(self, operation: Operation, places: Iterable[tuple[str, ...]]) -> None:
        """Report to the metastore which partitions are about to be written to.

        A Hive Metastore has to know it beforehand. If this client is killed, the cleaner looks for
        leftovers only in partitions that the transaction was recorded for. If none was recorded,
        the metastore forgets the aborted transaction, and its files would become visible.
        """
        fresh = sorted(
            v for v in places if not self.named & {(o, v) for o in _AS_STRONG[operation]}
        )
        self._find(fresh)
        missing = [values for values in fresh if values not in self._known]
        for values in missing:
            self._known[values] = make_partition(self.session, self.table, values, self.unsynced)
            self.added.append(self._known[values])
        made = [self._known[values] for values in missing]
        add_beforehand(self.session, self.table, made, self.unsynced)
        self.touched.update({v: self._known[v] for v in fresh})
        if fresh and self.intent.names_partitions_late:
            self._name_partitions(operation, fresh)
        self.named.update((operation, v) for v in fresh)

    def _name_partitions(self, operation: Operation, places: Sequence[tuple[str, ...]]) -> None:
        names = [self.table.partition_name(values) for values in places]
        self.session.metastore.add_dynamic_partitions(
            self.txn_id, self.table.database, self.table.name, names, operation
        )

    def partitions(self) -> tuple[Partition, ...]:
        """Return the table's partitions as they are now."""
        return self.session.metastore.partitions(self.table.database, self.table.name)

    def _find(self, places: Sequence[tuple[str, ...]]) -> None:
        """Look partitions up in the metastore, and remember those that exist."""
        table = self.table
        if not table.partition_columns:
            self._known[()] = Partition(values=(), location=table.location)
            return
        self._known.update(self._written.partitions)
        wanted = [values for values in places if values not in self._known]
        if self.intent.replaces_table:
            return  # those of the metastore are the old definition's
        if wanted:
            found = self.session.metastore.partitions(table.database, table.name, wanted)
            self._known.update({p.values: p for p in found})

    def commit(self, changed: Sequence[Change], counts: WriteCounts | None = None) -> None:
        """Commit a transaction that changes only this table, as ``commit_all`` does.

        Args:
            changed: operations with the partitions that they changed.
            counts: numbers of rows; by default none were changed.
        """
        if counts is not None:
            self.count(counts)
        commit_all([(self, changed)])

    def record(self, changed: Sequence[Change]) -> None:
        """Report the operations in each partition to the metastore, and note the changes that the
        commit makes in the catalog.
        """
        if self.intent.operation is Operation.SELECT:
            return
        for operation, places in changed:
            self.announce(operation, places)
        if self.touched:
            self.changes += recorded_writes(self.table, self.touched.values(), before=self.before)
        if self._leaves_placeholder():
            self._name_partitions(self.intent.operation, [])

    def _leaves_placeholder(self) -> bool:
        """Return whether the write set still has a change of the whole table that was not made."""
        if not self.intent.names_partitions_late:
            return False
        if not self.session.metastore.capabilities.compares_rows:
            return not self.touched
        return self.intent.operation not in {operation for operation, _ in self.named}

    def change_columns(self, table: Table) -> None:
        """Give the table other columns by the commit; rows are written into these.

        Its lock is exclusive.
        """
        if table == self.table:
            return
        self.before = self.table
        metastore = self.session.metastore
        after = metastore.with_recorded_columns(self.table, table, self.write_id)
        self.changes.append(AlterTable(before=self.table, after=after))
        self.table = table

    def undo(self) -> None:
        """Delete what was placed, which no reader saw, and partitions that were made for it."""
        for path in self.placed:
            self.session.files.delete(path)
        take_back(self.session, self.table, self.added)


def commit_all(changes: Sequence[tuple[TableWrite, Sequence[Change]]]) -> None:
    """Commit a statement with its changes in each of its tables; in a transaction of several
    statements, keep them for its commit.

    The metastore hears of partitions and of the commit when all files are on the disk.

    Raises:
        FormatError: SYNC_FAILED.
        WriteConflictError: see ``commit_writes``.
    """
    writes = [write for write, _ in changes]
    transaction = writes[0].transaction
    with phase(Phase.COMMIT):
        for write, changed in changes:
            current().note_written(len(write.placed), write.counts)
            write.record(changed)
        sync_all(transaction.session.files, [write.unsynced for write in writes])
        transaction.keep(writes)
        if transaction.autocommit:
            commit_writes(transaction)


@contextmanager
def write_transaction(session: AcidSession, intent: WriteIntent) -> Iterator[TableWrite]:
    """Begin a statement on one table, with its lock and write id; undo it if the block raises.

    The block must call ``commit``. If the commit fails, the files are removed too, unless the
    metastore could not say whether it committed.
    """
    with write_transactions(session, [intent]) as (write,):
        yield write


@contextmanager
def write_transactions(
    session: AcidSession, intents: Sequence[WriteIntent], opened: Transaction | None = None
) -> Iterator[tuple[TableWrite, ...]]:
    """Begin a statement on several tables, which commits as a whole (``commit_all``) or is undone.

    Args:
        session: the session.
        intents: operation on each table.
        opened: a transaction that is open already, on tables that no other one knows.

    Raises:
        AcidAnalysisError: INVALID_CONF_VALUE, NOT_ALLOWED_AS_OF.
        LockTimeoutError: see ``begin``.
        TransactionStateError: see ``begin``.
        WriteConflictError: see ``begin``.
    """
    refuse_in_block(session, intents[0].statement.operation if intents else "")
    asked = checked_isolation(session)
    intents = [replace(i, statement=recorded(session, i.statement)) for i in intents]
    with DeferredSignals(), ExitStack() as at_end, begin(session, intents, opened) as begun:
        listings = Listings(session.files, begun.transaction.txn_id)
        writes = tuple(_open(intent, begun, listings, asked, at_end) for intent in intents)
        yield writes


def _open(
    intent: WriteIntent, begun: Begun, listings: Listings, asked: Isolation, at_end: ExitStack
) -> TableWrite:
    transaction = begun.transaction
    session = transaction.session
    # Read again: it may have been altered since the statement looked it up.
    table = session.metastore.table(intent.table.database, intent.table.name)
    staging = staging_place(session.files, table.location, transaction.txn_id)
    write = TableWrite(
        transaction=transaction,
        at_end=at_end,
        intent=intent,
        table=table,
        write_id=begun.write_ids[table.full_name],
        txns=begun.txns,
        listings=listings,
        staging=staging if transaction.autocommit else staging.below(str(transaction.statements)),
        unsynced=Unsynced(root=table.location),
        isolation=asked,
        seen=begun.seen.get(table.full_name),
    )
    at_end.callback(_delete_staging, write)
    current().note_write_id(intent.words, table.full_name, write.write_id)
    transaction.reverts.append(write.undo)
    return write


def _delete_staging(write: TableWrite) -> None:
    """Delete the staging directory.

    What became of the statement is known by now, and an error here would hide it: it is logged, and
    a later compaction deletes the directory.
    """
    try:
        delete_staging(write.session.files, write.staging)
    except (AcidSqlError, OSError):
        logger.exception("staging %s could not be deleted", write.staging.path)
