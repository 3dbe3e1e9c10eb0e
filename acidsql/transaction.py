"""One write transaction: opened, locked, given a write id, kept alive,
published, committed or undone.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from acidsql.errors import AcidLookupError, AcidSqlError, FormatError, MetastoreError
from acidsql.format.names import STAGING_PREFIX, delete_delta_name, delta_name, parse_directory
from acidsql.format.partitions import partition_name
from acidsql.format.valid_lists import ValidTxnList
from acidsql.metastore.locking import wait_for_locks
from acidsql.metastore.protocol import LockRequest, LockType, Operation, Partition, Table, TxnType
from acidsql.session import AcidSession
from acidsql.storage.filesystem import Listings, child
from acidsql.storage.settle import Settled

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class WriteTransaction:
    """A transaction that changes one table.

    Attributes:
        txns: the transactions that the statement sees.
        write_id: of this transaction in the table.
        listings: those of the statement.
        staging: directory below the table that readers ignore; gone when the transaction ends.
    """

    session: AcidSession
    table: Table
    txn_id: int
    write_id: int
    txns: ValidTxnList
    listings: Listings
    staging: str
    published: list[str] = field(default_factory=list)
    added: list[Partition] = field(default_factory=list)
    touched: dict[tuple[str, ...], Partition] = field(default_factory=dict)

    def publish(self, settled: Sequence[Settled]) -> None:
        """Move finished directories to their places. Nobody sees them before the commit."""
        known = self._known_partitions()
        for directory in settled:
            location = known.get(directory.values) or self._new_partition(directory.values, known)
            name = (delete_delta_name if directory.deletes else delta_name)(
                self.write_id, self.write_id, directory.statement_id
            )
            target = child(location, name)
            self._check_write_id_is_new(location)
            self.touched[directory.values] = Partition(values=directory.values, location=location)
            self.published.append(target)
            self.session.files.rename(directory.path, target)

    def _known_partitions(self) -> dict[tuple[str, ...], str]:
        if not self.table.partition_columns:
            return {(): self.table.location}
        partitions = self.session.metastore.partitions(self.table.database, self.table.name)
        return {p.values: p.location for p in partitions}

    def _new_partition(self, values: tuple[str, ...], known: dict[tuple[str, ...], str]) -> str:
        partition = Partition(
            values=values, location=child(self.table.location, self._name(values))
        )
        self.session.files.make_directory(partition.location)
        self.added.append(partition)
        known[values] = partition.location
        return partition.location

    def _name(self, values: tuple[str, ...]) -> str:
        return partition_name([c.name for c in self.table.partition_columns], values)

    def _check_write_id_is_new(self, location: str) -> None:
        """Refuse to write beside directories of this or a later write id that this transaction did
        not make.
        """
        for name in self.listings.get(location).names:
            directory = parse_directory(name)
            if directory and directory.min_write_id <= self.write_id <= directory.max_write_id:
                self.session.metastore.seed_write_id(
                    self.table.database, self.table.name, directory.max_write_id + 1
                )
                raise FormatError(
                    "WRITE_ID_IN_USE",
                    f"{child(location, name)} has write id {self.write_id}, which the metastore "
                    "gave to this transaction: its file is older than the table. Run the "
                    "statement again",
                )

    def commit(self, changed: Sequence[tuple[Operation, Sequence[tuple[str, ...]]]]) -> None:
        """Commit.

        Args:
            changed: the partitions changed, by values, for each kind of operation.

        Raises:
            WriteConflictError: another transaction changed the same rows'
                partition and committed first.
        """
        metastore, table = self.session.metastore, self.table
        if table.partition_columns:
            # Those that were known too: a transaction that added one may have taken it back since.
            metastore.add_partitions(table.database, table.name, self.touched.values())
            for operation, values in changed:
                names = [self._name(v) for v in values]
                metastore.add_dynamic_partitions(
                    self.txn_id, table.database, table.name, names, operation
                )
        metastore.commit_txn(self.txn_id)

    def undo(self) -> None:
        """Abort, and remove what was written: its write id is aborted, so nobody ever saw it."""
        self.session.metastore.abort_txn(self.txn_id)
        for path in self.published:
            self.session.files.delete(path)
        if self.added:
            self._forget_added()

    def _forget_added(self) -> None:
        """Take back the partitions that only this transaction needed.

        Another one may be publishing into them: it adds its partitions after that. So they are
        dropped first, and those that have something in them by then are added again.
        """
        metastore, table = self.session.metastore, self.table
        for partition in self.added:
            with suppress(
                AcidLookupError
            ):  # it failed before they were added, or another dropped it
                metastore.drop_partitions(table.database, table.name, [partition.values])
        used = [p for p in self.added if not self._delete_empty(p.location)]
        metastore.add_partitions(table.database, table.name, used)

    def _delete_empty(self, location: str) -> bool:
        """Delete an empty partition directory, and those above that are empty then."""
        gone = self.session.files.delete_if_empty(location)
        above = location.rpartition("/")[0]
        if gone and len(above) > len(self.table.location):
            self._delete_empty(above)
        return gone


@contextmanager
def write_transaction(
    session: AcidSession,
    table: Table,
    operation: Operation,
    lock_type: LockType = LockType.SHARED_WRITE,
) -> Iterator[WriteTransaction]:
    """Open a transaction on a table with its lock and write id; undone if the block raises.

    The block must call ``commit``. A failed commit raises, and its files go too, unless the
    metastore could not say whether it committed.
    """
    metastore = session.metastore
    txn_id = metastore.open_txn(session.user, session.host, TxnType.DEFAULT)
    session.heartbeater.add(txn_id)
    transaction: WriteTransaction | None = None
    staging = child(table.location, f"{STAGING_PREFIX}{txn_id}")
    try:
        request = LockRequest(
            database=table.database,
            table=table.name,
            partition=None,
            type=LockType.SHARED_READ if operation is Operation.INSERT else lock_type,
            operation=operation,
            dynamic_partitions=bool(table.partition_columns),
        )
        wait_for_locks(metastore, txn_id, [request], session.settings.lock_timeout)
        transaction = WriteTransaction(
            session=session,
            table=table,
            txn_id=txn_id,
            write_id=metastore.allocate_write_id(txn_id, table.database, table.name),
            txns=metastore.valid_txns(txn_id),
            listings=Listings(session.files),
            staging=staging,
        )
        yield transaction
    except BaseException as error:
        _undo(session, txn_id, transaction, error)
        raise
    finally:
        session.heartbeater.remove(txn_id)
        session.files.delete(staging)


def _undo(
    session: AcidSession, txn_id: int, transaction: WriteTransaction | None, error: BaseException
) -> None:
    """Abort after an error; an error of the abort itself is logged, the first one is
    what the user needs.
    """
    if isinstance(error, MetastoreError):
        # The commit may have been made: files whose fate is unknown stay, invisible unless it was.
        logger.error("txn %s: fate unknown after %s; its directories stay", txn_id, error)
        return
    try:
        if transaction is None:
            session.metastore.abort_txn(txn_id)
        else:
            transaction.undo()
    except (AcidSqlError, OSError):
        logger.exception("txn %s: abort failed; it ends by its time-out", txn_id)
