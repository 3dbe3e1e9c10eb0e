"""Writes of a statement to its tables, which are committed or undone together."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from acidsql.deferred_signals import DeferredSignals
from acidsql.errors import AcidSqlError
from acidsql.format.bucket_codec import MAX_STATEMENT_ID
from acidsql.format.names import base_name, delete_delta_name, delta_name
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.injection_points import Point, reach
from acidsql.metastore import failures
from acidsql.metastore.catalog_changes import AlterTable, CatalogChange, ReplaceTable
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
from acidsql.storage.publication import Publication, sync_all
from acidsql.storage.staging import Target
from acidsql.storage.staging_place import StagingPlace, delete_staging, staging_place
from acidsql.storage.sync import make_directory
from acidsql.transactions.begin import Begun, begin, checked_isolation
from acidsql.transactions.commit import commit_writes
from acidsql.transactions.comparison import ConflictCheck
from acidsql.transactions.recorded import recorded
from acidsql.transactions.transaction import Transaction
from acidsql.transactions.write_id_check import check_write_id_is_new
from acidsql.transactions.write_intent import WriteIntent
from acidsql.transactions.written import NOTHING_WRITTEN, Written, recorded_writes
from acidsql.transactions.written_partitions import WrittenPartitions

logger = logging.getLogger(__name__)

Change = tuple[Operation, Sequence[tuple[str, ...]]]
"""Operation, with the values of the partitions that it changed."""


@dataclass(slots=True, kw_only=True)
class TableWrite:
    """Write of a statement to one table.

    Attributes:
        transaction: the whole transaction.
        at_end: callbacks that run after the statement has ended, also after a failure.
        intent: operation on the table.
        table: definition of the table when the lock was granted.
        write_id: write id of this transaction in the table.
        txns: transactions that the statement sees.
        listings: directories that the statement has listed.
        staging: place where the statement stages; deleted when the statement ends.
        publication: publication of the statement's directories.
        places: partitions that the statement writes to.
        isolation: isolation of the statement.
        seen: write ids of the table that the statement sees; None if they were not fetched.
        changes: changes of the catalog that the commit makes.
        counts: changed rows, which the statement reports before the commit, and files of published
            directories.
        conflict_checks: checks of data that must not have changed at the commit.
        before: definition of the table before the commit, if the statement writes rows and its
            commit changes the columns; otherwise None.
    """

    transaction: Transaction
    at_end: ExitStack
    intent: WriteIntent
    table: Table
    write_id: int
    txns: ValidTxnList
    listings: Listings
    staging: StagingPlace
    publication: Publication
    places: WrittenPartitions
    isolation: Isolation = Isolation.SNAPSHOT
    seen: ValidWriteIdList | None = None
    changes: list[CatalogChange] = field(default_factory=list)
    counts: WriteCounts = field(default_factory=WriteCounts)
    conflict_checks: list[ConflictCheck] = field(default_factory=list)
    before: Table | None = None

    @property
    def session(self) -> AcidSession:
        """Session of the statement."""
        return self.transaction.session

    @property
    def txn_id(self) -> int:
        """Transaction id."""
        return self.transaction.txn_id

    def replace_table(self, table: Table) -> None:
        """Create the directory of a new definition of the table, and write to it from now on.

        The commit replaces the present definition by the new one.

        Args:
            table: the new definition, without partitions; its directory does not exist yet.
        """
        session = self.session
        owner = session.metastore.table_owner(table.database, table.name)
        assert owner is not None  # a metastore that replaces tables assigns ids to them
        session.metastore.delete_if_aborted(self.txn_id, table.location)
        make_directory(session.files, table.location)
        check_owner(session, table)
        change = ReplaceTable(before=self.table, after=table, table_id=owner.table_id)
        self.changes.append(change)
        self.table = table
        self.staging = staging_place(session.files, table.location, self.txn_id)
        self.publication = Publication(root=table.location)
        self.places = replace(self.places, table=table, publication=self.publication)

    def target(self, statement_id: int) -> Target:
        """Return the destination of the rows with one of the statement's statement ids.

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
        """Convert a statement id within the statement to the id within the transaction.

        Raises:
            FormatError: TOO_MANY_STATEMENTS (Hive: ``AcidUtils.MAX_STATEMENTS_PER_TXN``; the bucket
                property of a row has 12 bits for it).
        """
        number = self._written.statement_ids + within
        if number > MAX_STATEMENT_ID:
            raise failures.too_many_statements(self.txn_id, self.table, MAX_STATEMENT_ID + 1)
        return number

    def publish(self, finished: Sequence[FinishedDirectory]) -> None:
        """Move finished directories to their places; no reader sees them before the commit.

        Raises:
            FormatError: WRITE_ID_IN_USE, TOO_MANY_STATEMENTS.
        """
        operation = self.intent.operation
        ids = [self.statement_id(directory.statement_id) for directory in finished]
        deleted = {d.values for d in finished if d.deletes}
        others = {d.values for d in finished} - deleted
        self.places.announce(operation, deleted)
        self.places.announce(operation if self.intent.overwrite else Operation.INSERT, others)
        self.listings.fetch_names([self.places.location(d.values) for d in finished])
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
            values: values of the partition.
            name: name of the directory.
            file: name of the file.
            content: content of the file.
        """
        with self.placing(values, name) as directory:
            self.session.files.put(child(directory, file), content)

    @contextmanager
    def placing(self, values: tuple[str, ...], name: str) -> Iterator[str]:
        """Yield a directory for the files of the block, which becomes a partition's new directory.

        See ``place``.

        Args:
            values: values of the partition.
            name: name of the directory in the partition.
        """
        if self.staging.local is not None:
            yield self._begin_place(values, name)
        else:
            path = child(self.staging.path, f"placed_{len(self.publication.placed)}")
            yield path
            self.place(path, values, name)

    def place(self, path: str, values: tuple[str, ...], name: str) -> None:
        """Move a finished directory into a partition.

        Args:
            path: path of the directory in staging.
            values: values of the partition.
            name: name of the directory in the partition.

        Raises:
            AcidAnalysisError: TABLE_OF_ANOTHER_METASTORE.
            FormatError: WRITE_ID_IN_USE.
            TransactionStateError: TXN_ABORTED, another client aborted the transaction, or it timed
                out.
        """
        target = self._checked_place(values, name)
        reach(Point.BEFORE_PUBLISHING, self)
        try:
            self.publication.move(self.session.files, path, target)
        except FileNotFoundError:
            # If the transaction was aborted in the meantime, a cleaner removes its staging.
            self.session.metastore.require_open(self.txn_id)
            raise

    def _begin_place(self, values: tuple[str, ...], name: str) -> str:
        """Note a directory that is about to be written into a partition; return its path.

        Raises:
            AcidAnalysisError: see ``place``.
            FormatError: see ``place``.
            TransactionStateError: see ``place``.
        """
        target = self._checked_place(values, name)
        self.publication.put(target)
        return target

    def _checked_place(self, values: tuple[str, ...], name: str) -> str:
        """Check that a new directory can be put into a partition, and return its path."""
        if values not in self.places.touched:
            self.places.announce(self.intent.operation, [values])
        location = self.places.location(values)
        check_partition(self.session, self.table, location)
        check_write_id_is_new(
            self.session.metastore,
            self.table,
            location,
            self.listings.get(location).names,
            self.write_id,
            self._written.directories,
        )
        if not self.publication.placed:
            # An aborted transaction may already be cleaned. Files that are moved now would never be
            # removed.
            self.session.metastore.require_open(self.txn_id)
        return child(location, name)

    def partitions(self) -> tuple[Partition, ...]:
        """Return the current partitions of the table."""
        return self.session.metastore.partitions(self.table.database, self.table.name)

    def commit(self, changed: Sequence[Change], counts: WriteCounts | None = None) -> None:
        """Commit a transaction that changes only this table; see ``commit_all``.

        Args:
            changed: operations with the partitions that they changed.
            counts: numbers of rows; None adds no rows.
        """
        if counts is not None:
            self.count(counts)
        commit_all([(self, changed)])

    def record(self, changed: Sequence[Change]) -> None:
        """Report the operations in each partition to the metastore, and note the catalog changes.

        The commit makes these changes of the catalog.
        """
        if self.intent.operation is Operation.SELECT:
            return
        for operation, places in changed:
            self.places.announce(operation, places)
        if self.places.touched:
            touched = self.places.touched.values()
            self.changes += recorded_writes(self.table, touched, before=self.before)
        self.places.replace_placeholder()

    def change_columns(self, table: Table) -> None:
        """Give the table other columns at the commit, and write rows with these columns.

        The statement must hold an exclusive lock.
        """
        if table == self.table:
            return
        self.before = self.table
        metastore = self.session.metastore
        after = metastore.with_recorded_columns(self.table, table, self.write_id)
        self.changes.append(AlterTable(before=self.table, after=after))
        self.table = table
        self.places.table = table

    def undo(self) -> None:
        """Delete the placed directories, which no reader has seen, and the new partitions.

        If the transaction timed out and its table was dropped, the drop has deleted them.
        """
        if not self.publication.placed and not self.places.added:
            return
        written = replace(self.table, location=self.publication.root)
        with self.session.metastore.held_location(written, self.txn_id) as known:
            if known is not None:
                self.publication.undo(self.session.files)
                self.places.undo(known)


def commit_all(changes: Sequence[tuple[TableWrite, Sequence[Change]]]) -> None:
    """Commit a statement with its changes in all of its tables.

    In a transaction of several statements, the changes are kept for its commit. Partitions and the
    commit are reported to the metastore after all files are on the disk.

    Raises:
        FormatError: SYNC_FAILED.
        WriteConflictError: see ``commit_writes``.
    """
    writes = [write for write, _ in changes]
    transaction = writes[0].transaction
    with phase(Phase.COMMIT):
        for write, changed in changes:
            current().note_written(len(write.publication.placed), write.counts)
            write.record(changed)
        sync_all(transaction.session.files, [write.publication for write in writes])
        transaction.keep(writes)
        if transaction.autocommit:
            commit_writes(transaction)


@contextmanager
def write_transaction(session: AcidSession, intent: WriteIntent) -> Iterator[TableWrite]:
    """Begin a statement on one table, with its lock and write id; undo it if the block raises.

    The block must call ``commit``. If the commit fails, the files are removed too, unless the
    outcome of the commit is unknown.
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
        opened: a transaction that is already open, on tables that no other transaction knows.

    Raises:
        AcidAnalysisError: INVALID_CONF_VALUE, NOT_ALLOWED_AS_OF.
        LockTimeoutError: see ``begin``.
        TransactionStateError: see ``begin``.
        WriteConflictError: see ``begin``.
    """
    refuse_in_block(session, intents[0].statement.operation if intents else "")
    requested = checked_isolation(session)
    intents = [replace(i, statement=recorded(session, i.statement)) for i in intents]
    with DeferredSignals(), ExitStack() as at_end, begin(session, intents, opened) as begun:
        listings = Listings(session.files, begun.transaction.txn_id)
        writes = tuple(_open(intent, begun, listings, requested, at_end) for intent in intents)
        yield writes


def _open(
    intent: WriteIntent, begun: Begun, listings: Listings, requested: Isolation, at_end: ExitStack
) -> TableWrite:
    transaction = begun.transaction
    session = transaction.session
    # The table may have been altered since the statement looked it up.
    table = session.metastore.table(intent.table.database, intent.table.name)
    staging = staging_place(session.files, table.location, transaction.txn_id)
    publication = Publication(root=table.location)
    earlier = transaction.written.get(table.full_name, NOTHING_WRITTEN)
    write = TableWrite(
        transaction=transaction,
        at_end=at_end,
        intent=intent,
        table=table,
        write_id=begun.write_ids[table.full_name],
        txns=begun.txns,
        listings=listings,
        staging=staging if transaction.autocommit else staging.below(str(transaction.statements)),
        publication=publication,
        places=WrittenPartitions(
            writer=session,
            txn_id=transaction.txn_id,
            table=table,
            intent=intent,
            publication=publication,
            earlier=earlier.partitions,
        ),
        isolation=requested,
        seen=begun.seen.get(table.full_name),
    )
    at_end.callback(_delete_staging, write)
    current().note_write_id(intent.words, table.full_name, write.write_id)
    transaction.reverts.append(write.undo)
    return write


def _delete_staging(write: TableWrite) -> None:
    """Delete the staging directory, and only log errors.

    The outcome of the statement is known at this point, and an exception would hide it. A later
    compaction deletes the directory.
    """
    try:
        delete_staging(write.session.files, write.staging)
    except (AcidSqlError, OSError):
        logger.exception("staging %s could not be deleted", write.staging.path)
