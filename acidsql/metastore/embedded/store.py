"""``EmbeddedMetastore``: the metastore in one SQLite file, composed of the other modules.

Each method runs one SQLite transaction that calls functions of ``catalog``, ``transactions``,
``commit_abort``, ``write_ids``, ``write_set``, ``locks`` and ``compactions``.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from acidsql.format.identifiers import lowered
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore import failures
from acidsql.metastore.catalog_changes import (
    CatalogChange,
    Move,
    file_operations,
    moving,
    new_places,
)
from acidsql.metastore.comparison import Compared, ConcurrentWrite
from acidsql.metastore.embedded import (
    catalog,
    commit_abort,
    history,
    locks,
    offsets,
    tags,
    transactions,
    versions,
    write_ids,
    write_set,
)
from acidsql.metastore.embedded import partitions as embedded_partitions
from acidsql.metastore.embedded.catalog_store import CatalogStore
from acidsql.metastore.embedded.database import Database
from acidsql.metastore.embedded.journal import Journal
from acidsql.metastore.embedded.queue_store import QueueStore
from acidsql.metastore.embedded.reaper import Reaper
from acidsql.metastore.file_moves import Files
from acidsql.metastore.history import HistoryEntry, RecordedStatement
from acidsql.metastore.model import (
    Capabilities,
    Compaction,
    LockInfo,
    LockRequest,
    LockState,
    Operation,
    Partition,
    Table,
    TxnInfo,
    TxnState,
    TxnType,
)
from acidsql.metastore.moments import Moment, TableVersion
from acidsql.metastore.tags import Tag

# No unquoted identifier begins like this, and SHOW TABLES skips these tables.
_STAGED_PREFIX = "_acidsql_created_by_"

_CAPABILITIES = Capabilities(
    is_id_authority=False,
    chooses_locations=False,
    has_other_clients=False,
    learns_writes_from_locks=False,
    converts_spark_tables=True,
    keeps_history=True,
    readers_know_zstd=True,
    queues_cleanups=True,
    keeps_initial_values=True,
    compares_rows=True,
    replaces_tables=True,
)


class EmbeddedMetastore(CatalogStore, QueueStore):
    """Metastore for the processes of one machine, in one SQLite file.

    Args:
        path: the SQLite file, on a local disk; created with the database ``default`` if missing.
        txn_timeout: seconds without a heartbeat after which a transaction is aborted.
        synchronous: whether a method returns only when its change is durable.
        clock: returns seconds since 1970; all processes that share the file must use the same
            clock.
        history_entries: number of a table's newest write ids whose history is retained.
        files: file systems of the tables, which catalog changes need to move and delete files;
            without them, only changes without file operations are possible.

    Raises:
        MetastoreError: METASTORE_UNAVAILABLE, METASTORE_VERSION or METASTORE_BUSY, here and in
            every method.
    """

    def __init__(
        self,
        path: str,
        *,
        txn_timeout: float = 300.0,
        synchronous: bool = True,
        history_entries: int = 10_000,
        clock: Callable[[], float] = time.time,
        files: Files | None = None,
    ) -> None:
        database = Database(path, synchronous=synchronous)
        CatalogStore.__init__(self, database, Journal(database, files))
        QueueStore.__init__(self, database, Reaper(database, txn_timeout, clock), clock)
        self._prepared: dict[int, tuple[CatalogChange, ...]] = {}
        self._history_entries = history_entries

    def __repr__(self) -> str:
        return f"EmbeddedMetastore({self.database.path!r})"

    def create_table(
        self,
        table: Table,
        partitions: Iterable[Partition] = (),
        highest_write_id: int = 0,
        highest_txn_id: int = 0,
    ) -> None:
        self._journal.check_free([table.location])
        with self.database.write() as connection:
            self._create(connection, table, partitions, highest_write_id, highest_txn_id)

    def stage_table(self, txn_id: int, table: Table, highest_write_id: int = 0) -> Table:
        """See ``Metastore``; no client finds the table under its name before ``ShowTable``."""
        self._journal.check_free([table.location])
        staged = replace(table, name=f"{_STAGED_PREFIX}{txn_id}")
        location = Move(source=table.location, keeps_directory=self._journal.exists(table.location))
        undo = moving(txn_id, table.location.rpartition("/")[0], [location])

        def create(connection: sqlite3.Connection) -> None:
            if catalog.find_table(connection, table.database, table.name) is not None:
                raise failures.table_exists(table.database, table.name)
            catalog.create_table(connection, staged, created_by_txn=txn_id)
            write_ids.seed(connection, staged.database, staged.name, highest_write_id + 1)

        # In one step, because undoing must never delete the directory of a table that came first.
        self._journal.enter([undo], TxnState.ABORTED, create)
        return staged

    def delete_if_aborted(self, txn_id: int, location: str) -> None:
        self._journal.check_free([location])
        undo = moving(txn_id, location.rpartition("/")[0], [Move(source=location)])
        self._journal.enter([undo], TxnState.ABORTED)

    def drop_table(self, database: str, name: str) -> None:
        """See ``Metastore``; abort the open transactions that use the table.

        They have a write id of the table, or wait for a lock on it.
        """
        with self.database.write() as connection:
            table_id = catalog.table_id(connection, database, name)
            commit_abort.abort_users_of_dropped(connection, table_id, self._clock())
            catalog.drop_table(connection, database, name)

    def open_txn(self, user: str, host: str, txn_type: TxnType = TxnType.DEFAULT) -> int:
        return self._reaper.begin(
            lambda connection, now, client: transactions.open_txn(
                connection, user, host, txn_type, now, client
            )
        )

    def open_batch(self, user: str, host: str, count: int) -> tuple[int, ...]:
        return self._reaper.begin(
            lambda connection, now, client: tuple(
                transactions.open_txn(connection, user, host, TxnType.DEFAULT, now, client)
                for _ in range(count)
            )
        )

    def prepare_commit(self, txn_id: int, changes: Sequence[CatalogChange]) -> None:
        self._journal.check_free(new_places(changes))
        operations = file_operations(txn_id, changes, self._journal.exists)
        self._journal.enter(operations, TxnState.COMMITTED)
        self._prepared[txn_id] = tuple(changes)

    def concurrent_writes(self, txn_id: int) -> tuple[ConcurrentWrite, ...]:
        with self.database.read() as connection:
            return write_set.concurrent_writes(connection, txn_id)

    def commit_txn(self, txn_id: int, compared: Compared | None = None) -> bool:
        changes = self._prepared.get(txn_id, ())
        with self.database.write() as connection:
            if compared is not None and not write_set.is_complete(connection, txn_id, compared):
                return False
            conflict = commit_abort.commit(connection, txn_id, changes, self._clock(), compared)
        self._prepared.pop(txn_id, None)
        if conflict is not None:
            raise conflict
        if file_operations(txn_id, changes):
            self._journal.finish_quietly(f"transaction {txn_id} has committed")
        return True

    def ready_to_clean(self) -> tuple[Compaction, ...]:
        # A replaced directory waits for its readers in the journal, not in the queue.
        self._journal.finish_quietly("a cleaner runs")
        return super().ready_to_clean()

    @property
    def waiting_may_conflict(self) -> bool:
        return False

    def abort_txn(self, txn_id: int) -> None:
        with self.database.write() as connection:
            commit_abort.abort(connection, txn_id, self._clock())
        self._prepared.pop(txn_id, None)
        self._journal.finish_quietly(f"transaction {txn_id} was aborted")

    def abort_txns(self, txn_ids: Sequence[int]) -> None:
        """See ``Metastore``; abort no transaction if one is committed or unknown."""
        with self.database.write() as connection:
            commit_abort.kill(connection, txn_ids, self._clock())

    def require_open(self, txn_id: int) -> None:
        with self.database.read() as connection:
            transactions.require_open(connection, txn_id)

    @contextmanager
    def held_location(
        self, table: Table, txn_id: int
    ) -> Iterator[frozenset[tuple[str, ...]] | None]:
        with self.database.write() as connection:
            yield catalog.partitions_at(connection, table.location, txn_id)

    def heartbeat(self, txn_ids: Sequence[int]) -> tuple[int, ...]:
        with self.database.write() as connection:
            return transactions.heartbeat(connection, txn_ids, self._clock())

    def valid_txns(self, txn_id: int | None = None) -> ValidTxnList:
        with self.database.read() as connection:
            return transactions.valid_txns(connection, txn_id)

    def open_txns(self) -> tuple[TxnInfo, ...]:
        with self.database.read() as connection:
            return transactions.open_txns(connection)

    def reap(self) -> tuple[int, ...]:
        return self._reaper.reap()

    @property
    def txn_timeout(self) -> float:
        return self._reaper.timeout

    @property
    def capabilities(self) -> Capabilities:
        return _CAPABILITIES

    def seed_txn_id(self, next_txn_id: int) -> int:
        with self.database.write() as connection:
            return transactions.seed_txn_id(connection, next_txn_id)

    def allocate_write_id(
        self, txn_id: int, database: str, table: str, statement: RecordedStatement | None = None
    ) -> int:
        with self.database.write() as connection:
            write_id = write_ids.allocate(connection, txn_id, database, table)
            if statement is not None:
                kept = self._history_entries
                history.enter(connection, txn_id, database, table, statement, kept)
            return write_id

    def allocate_write_ids(
        self,
        txn_ids: Sequence[int],
        database: str,
        table: str,
        statement: RecordedStatement | None = None,
    ) -> tuple[int, ...]:
        with self.database.write() as connection:
            allocated = tuple(
                write_ids.allocate(connection, txn_id, database, table) for txn_id in txn_ids
            )
            if statement is not None:
                for txn_id in txn_ids:
                    history.enter(
                        connection, txn_id, database, table, statement, self._history_entries
                    )
            return allocated

    def stream_offset(self, database: str, table: str, stream: str) -> int | None:
        with self.database.read() as connection:
            return offsets.find(connection, catalog.table_id(connection, database, table), stream)

    def stream_lock(self, database: str, table: str, stream: str) -> None:
        """See ``Metastore``; the commit compares the offset."""

    def history(self, database: str, table: str, limit: int | None) -> tuple[HistoryEntry, ...]:
        with self.database.read() as connection:
            return history.entries(connection, database, table, limit, self._history_entries)

    def valid_write_ids(self, database: str, table: str, txns: ValidTxnList) -> ValidWriteIdList:
        with self.database.read() as connection:
            return write_ids.valid_write_ids(connection, database, table, txns)

    def find_version(self, database: str, table: str, moment: Moment) -> TableVersion:
        with self.database.read() as connection:
            return versions.find(connection, database, table, moment, self._clock())

    def with_recorded_columns(self, before: Table, after: Table, write_id: int) -> Table:
        """See ``Metastore``; the commit itself records the columns."""
        del before, write_id
        return after

    def hold_history(
        self, txn_id: int, database: str, table: str, version: TableVersion
    ) -> Mapping[str | None, int] | None:
        with self.database.write() as connection:
            return versions.hold(connection, txn_id, database, table, version, self._clock())

    def start_removal(
        self,
        database: str,
        table: str,
        partition: str | None,
        write_id: int,
        tags: Collection[int] = (),
    ) -> bool:
        with self.database.write() as connection:
            return versions.start_removal(
                connection, database, table, partition, write_id, tags, self._clock()
            )

    def create_tag(
        self, database: str, table: str, name: str, moment: Moment | None, retain: float | None
    ) -> Tag:
        now = self._clock()
        expires = None if retain is None else now + retain
        with self.database.write() as connection:
            return versions.create_tag(connection, database, table, name, moment, now, expires)

    def drop_tag(self, database: str, table: str, name: str) -> None:
        with self.database.write() as connection:
            table_id = catalog.table_id(connection, database, table)
            tags.drop(connection, table_id, f"{lowered(database)}.{lowered(table)}", name)

    def tags(self, database: str, table: str) -> tuple[Tag, ...]:
        with self.database.read() as connection:
            return tags.of_table(connection, catalog.table_id(connection, database, table))

    def oldest_version(self, database: str, table: str, write_id: int) -> int | None:
        with self.database.read() as connection:
            return versions.oldest_complete(connection, database, table, write_id)

    def hold_back_cleaner(
        self, txn_id: int, database: str, table: str, txns: ValidTxnList
    ) -> ValidTxnList:
        """See ``Metastore``; the cleaner waits for open transactions."""
        del txn_id, database, table
        return txns

    def seed_write_id(self, database: str, table: str, next_write_id: int) -> None:
        with self.database.write() as connection:
            write_ids.seed(connection, database, table, next_write_id)

    def write_ids_of(self, txn_id: int) -> dict[str, int]:
        """Return the write ids of a transaction, by the full names of their tables."""
        with self.database.read() as connection:
            return write_ids.of_transaction(connection, txn_id)

    def write_ids_after(self, database: str, table: str, write_id: int) -> frozenset[int]:
        with self.database.read() as connection:
            return write_ids.given_after(connection, database, table, write_id)

    def next_write_id(self, database: str, table: str) -> int:
        with self.database.read() as connection:
            return write_ids.next_write_id(connection, database, table)

    def lock(self, txn_id: int, requests: Sequence[LockRequest]) -> LockState:
        self._reaper.reap_expired()
        with self.database.write() as connection:
            return locks.request(connection, txn_id, requests, self._clock())

    def check_lock(self, txn_id: int) -> LockState:
        self._reaper.reap_expired()
        with self.database.write() as connection:
            return locks.check(connection, txn_id, self._clock())

    def withdraw_locks(self, txn_id: int) -> None:
        with self.database.write() as connection:
            locks.withdraw(connection, txn_id)

    def blockers(self, txn_id: int) -> tuple[LockInfo, ...]:
        with self.database.read() as connection:
            return locks.blockers(connection, txn_id)

    def locks(self) -> tuple[LockInfo, ...]:
        with self.database.read() as connection:
            return locks.locks(connection)

    def add_dynamic_partitions(
        self,
        txn_id: int,
        database: str,
        table: str,
        partitions: Sequence[str],
        operation: Operation,
    ) -> None:
        with self.database.write() as connection:
            transactions.require_open(connection, txn_id)
            table_id = catalog.table_id(connection, database, table)
            write_set.replace_placeholder(connection, txn_id, table_id, partitions, operation)

    def close(self) -> None:
        self._reaper.close()
        self.database.close()

    def _create(
        self,
        connection: sqlite3.Connection,
        table: Table,
        partitions: Iterable[Partition],
        highest_write_id: int,
        highest_txn_id: int,
    ) -> None:
        catalog.create_table(connection, table)
        embedded_partitions.add(connection, table.database, table.name, partitions)
        write_ids.seed(connection, table.database, table.name, highest_write_id + 1)
        transactions.seed_txn_id(connection, highest_txn_id + 1)
