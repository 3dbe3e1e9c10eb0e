"""Batch of transactions that are opened together and write to shared directories.

The write ids of a batch have no gaps, so each partition has one directory ``delta_<min>_<max>``
with the rows of all transactions of the batch (Hive: ``TransactionBatch``). Readers see only the
rows of committed transactions.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from acidsql.errors import AcidSqlError, TransactionStateError
from acidsql.format.bucket_codec import encode
from acidsql.format.names import (
    VERSION_CONTENT,
    VERSION_FILE,
    DirectoryKind,
    bucket_file_name,
    delta_name,
    parse_directory,
)
from acidsql.format.paths import child, parent
from acidsql.metastore.catalog_changes import (
    CatalogChange,
    RecordCounts,
)
from acidsql.metastore.history import RecordedStatement, WriteCounts
from acidsql.metastore.model import Operation, Partition, Table
from acidsql.session.table_owner import check_partition
from acidsql.storage.publication import Publication, sync_all
from acidsql.streaming.bucket_file import BucketFile, insert_events
from acidsql.streaming.client import Client
from acidsql.streaming.files import no_appends
from acidsql.transactions.locking import wait_for_locks
from acidsql.transactions.partition_directory import add_beforehand, make_partition, take_back
from acidsql.transactions.write_id_check import check_write_id_is_new
from acidsql.transactions.write_intent import insert_intent
from acidsql.transactions.written import recorded_writes

logger = logging.getLogger(__name__)

_ORC_COMPRESS = "orc.compress"


class BucketDestination(NamedTuple):
    """Destination of rows: the partition's values as text, and a bucket id."""

    values: tuple[str, ...]
    bucket: int


class Member(NamedTuple):
    """Transaction of a batch, and its write id."""

    txn_id: int
    write_id: int


@dataclass(slots=True, kw_only=True)
class TransactionBatch:
    """Batch of transactions of one connection; made by ``open_batch``.

    Attributes:
        client: client of the metastore.
        table: definition of the table when the batch was opened.
        partition: values of the one partition that all rows go to. It is None if each record
            contains its partition values, or if the table is not partitioned.
        statement: entry for the history of the table.
        members: transaction ids and write ids, in the order of their use.
        used: number of transactions that were begun.
        is_broken: whether no further transaction can be begun.
        files: growing files by destination.
        publication: files and directories that a commit has to sync.
    """

    client: Client
    table: Table
    partition: tuple[str, ...] | None
    statement: RecordedStatement
    members: tuple[Member, ...]
    used: int = 0
    is_broken: bool = False
    files: dict[BucketDestination, BucketFile] = field(default_factory=dict)
    publication: Publication = field(default_factory=lambda: Publication(root=""))
    _known: dict[tuple[str, ...], Partition] = field(default_factory=dict)
    _directories: dict[tuple[str, ...], str] = field(default_factory=dict)
    _row_ids: Counter[int] = field(default_factory=Counter)
    _touched: dict[tuple[str, ...], Partition] = field(default_factory=dict)
    _grown: dict[BucketDestination, int] = field(default_factory=dict)
    # Partitions that the batch created and that have no committed rows yet.
    _made: dict[tuple[str, ...], Partition] = field(default_factory=dict)
    _next_write_id: int = 0
    _rows: int = 0

    @property
    def has_next(self) -> bool:
        """Whether the batch has another transaction to begin."""
        return not self.is_broken and self.used < len(self.members)

    @property
    def current(self) -> Member:
        """The transaction that was begun last."""
        return self.members[self.used - 1]

    @property
    def name(self) -> str:
        """Name of the batch's directories."""
        return delta_name(self.members[0].write_id, self.members[-1].write_id)

    def begin(self, lock_timeout: float) -> bool:
        """Begin the next transaction and acquire its lock.

        Returns:
            False if the caller has to close the batch and open another one: the table was changed,
            INSERT OVERWRITE or TRUNCATE replaced its rows, or transactions were aborted.

        Raises:
            LockTimeoutError: LOCK_TIMEOUT.
        """
        self.used += 1
        self._row_ids.clear()
        self._touched.clear()
        self._grown.clear()
        self._rows = 0
        intent = insert_intent(self.table, self.statement, self.partition)
        try:
            wait_for_locks(
                self.client.metastore, self.current.txn_id, [intent.request()], lock_timeout
            )
        except TransactionStateError:
            self.is_broken = True
            return False
        if self._is_outdated():
            self.is_broken = True
            return False
        return True

    def _is_outdated(self) -> bool:
        """Return whether rows with the batch's write ids could be lost or not fit the table.

        The caller holds the lock, so no other transaction can replace the rows of the table.
        """
        metastore, table = self.client.metastore, self.table
        latest = metastore.find_table(table.database, table.name)
        if latest is None or _shape(latest) != _shape(table):
            return True
        files = self.client.files
        if not all(files.is_directory(path) for path in self._directories.values()):
            return True  # a partition was dropped
        following = metastore.next_write_id(table.database, table.name)
        if following == self._next_write_id:
            return False
        self._next_write_id = following
        lowest = self.members[0].write_id
        partitions = map(parent, self._directories.values())
        return any(_has_base_above(files.names(path), lowest) for path in partitions)

    def append(self, place: BucketDestination, rows: pa.Table) -> None:
        """Append rows of the current transaction to the file of their destination.

        Args:
            rows: rows with the columns of the table that are stored in files.
        """
        directory = self._directory(place.values)
        if place not in self.files:
            path = child(directory, bucket_file_name(place.bucket))
            self.files[place] = BucketFile(
                self.client.files,
                path,
                codec=self.table.properties.get(_ORC_COMPRESS, "ZLIB").lower(),
                has_side_file=len(self.members) > 1,
            )
            self.publication.add_name(path)
        first = self._row_ids[place.bucket]
        # All partitions share one counter, so no two rows of a table have the same row id.
        self._row_ids[place.bucket] += len(rows)
        self._grown.setdefault(place, self.files[place].flushed_length)
        self._rows += len(rows)
        self.files[place].append(
            insert_events(rows, self.current.write_id, encode(place.bucket), first)
        )

    def _directory(self, values: tuple[str, ...]) -> str:
        """Return the batch's directory in a partition.

        On the first call, create the directory and report the partition to the metastore before
        any row is written.
        """
        if values in self._touched:
            return self._directories[values]
        client, table = self.client, self.table
        partition = self._partition(values)
        if len(self.members) > 1 and not client.files.appends(partition.location):
            raise no_appends(partition.location, len(self.members))
        if self.partition is None and table.partition_columns:
            client.metastore.add_dynamic_partitions(
                self.current.txn_id,
                table.database,
                table.name,
                [table.partition_name(values)],
                Operation.INSERT,
            )
        if values not in self._directories:
            check_partition(client, table, partition.location)
            self._check_write_ids(partition.location)
            # If the transaction was aborted, it may have been cleaned already. Then no cleaner
            # would remove a directory that is created now.
            client.metastore.require_open(self.current.txn_id)
            path = child(partition.location, self.name)
            client.files.write(child(path, VERSION_FILE), VERSION_CONTENT)
            self._directories[values] = path
            self.publication.add(path)
        self._touched[values] = partition
        return self._directories[values]

    def _check_write_ids(self, location: str) -> None:
        """Check that no directory of a partition has a write id of the batch.

        Raises:
            FormatError: WRITE_ID_IN_USE.
        """
        names = self.client.files.names(location)
        first, last = self.members[0].write_id, self.members[-1].write_id
        directories = filter(None, map(parse_directory, names))
        inside = {d.min_write_id for d in directories if first < d.min_write_id <= last}
        for write_id in sorted({first, *inside}):
            check_write_id_is_new(self.client.metastore, self.table, location, names, write_id)

    def _partition(self, values: tuple[str, ...]) -> Partition:
        table, metastore = self.table, self.client.metastore
        if not table.partition_columns:
            return Partition(values=(), location=table.location)
        if values in self._known:
            return self._known[values]
        partitions = metastore.partitions(table.database, table.name, [values])
        if not partitions:
            partitions = (make_partition(self.client, table, values, self.publication),)
            self._made[values] = partitions[0]
            add_beforehand(self.client, table, partitions, self.publication)
        self._known[values] = partitions[0]
        return partitions[0]

    def flush(self) -> None:
        """Add the rows of the current transaction to their files, and sync the files to disk."""
        for place in self._grown:
            self.files[place].flush()
        sync_all(self.client.files, [self.publication])

    def changes(self, extra: Sequence[CatalogChange] = ()) -> list[CatalogChange]:
        """Return the catalog changes that the commit makes."""
        table = self.table
        made: list[CatalogChange] = []
        if self.client.metastore.capabilities.keeps_history:
            size = sum(self.files[p].flushed_length - before for p, before in self._grown.items())
            counts = WriteCounts(inserted=self._rows, files=len(self._grown), size=size)
            made.append(RecordCounts(table=table, counts=counts))
        if self._touched:
            # Each commit makes statistics outdated, because others may have recomputed them.
            mark = self.members[-1].write_id
            made += recorded_writes(table, self._touched.values(), mark=mark)
        return [*made, *extra]

    def finish_writes(self) -> None:
        """Report to the metastore if the transaction wrote to no partition."""
        if not self._touched and self.partition is None and self.table.partition_columns:
            self.client.metastore.add_dynamic_partitions(
                self.current.txn_id, self.table.database, self.table.name, [], Operation.INSERT
            )

    def ended(self) -> None:
        """Record that the current transaction has committed, and its partitions with it."""
        for values in self._touched:
            self._made.pop(values, None)
        self.client.heartbeater.remove(self.current.txn_id)

    def abort(self) -> None:
        """Abort the current transaction. No reader has seen its rows."""
        for place in self._grown:
            self.files[place].discard()
        self._abort(self.current.txn_id)
        # A new partition may be gone when the next transaction begins.
        self._known.clear()

    def _abort(self, txn_id: int) -> None:
        try:
            self.client.metastore.abort_txn(txn_id)
        except TransactionStateError as error:
            logger.warning("txn %s: %s", txn_id, error.message)
        except (AcidSqlError, OSError):
            logger.exception("txn %s: abort failed; it ends by its time-out", txn_id)
        finally:
            self.client.heartbeater.remove(txn_id)

    def close(self) -> None:
        """Close the files, and abort the transactions that were not begun."""
        self.is_broken = True
        failed: OSError | None = None
        for file in self.files.values():
            try:
                file.close()
            except OSError as error:
                logger.exception("a file of %s could not be ended", self.name)
                failed = error
        for member in self.members[self.used :]:
            self._abort(member.txn_id)
        self.used = len(self.members)
        self._delete_unused()
        self._made.clear()
        if failed is not None:
            raise failed

    def _delete_unused(self) -> None:
        """Delete directories without rows, and partitions whose rows did not commit."""
        used = {place.values for place, file in self.files.items() if file.flushed_rows}
        unused = [path for values, path in self._directories.items() if values not in used]
        if not unused and not self._made:
            return
        with self.client.metastore.held_location(self.table, self.members[-1].txn_id) as known:
            if known is not None:
                for path in unused:
                    self.client.files.delete(path)
                take_back(self.client, self.table, self._made.values(), known)


def _shape(table: Table) -> Mapping[str, object]:
    """Return the parts of a table's definition that determine how rows are written."""
    layout = ("location", "columns", "partition_columns", "bucket_columns", "num_buckets")
    names = (*layout, "enforced_constraints")
    return {
        **{name: getattr(table, name) for name in names},
        _ORC_COMPRESS: table.properties.get(_ORC_COMPRESS),
    }


def _has_base_above(names: Sequence[str], write_id: int) -> bool:
    directories = filter(None, map(parse_directory, names))
    return any(d.kind is DirectoryKind.BASE and d.max_write_id >= write_id for d in directories)
