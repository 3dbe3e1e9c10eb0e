"""``HiveMetastore``: the Hive Metastore, composed of the other modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_random

from acidsql.errors import TransactionStateError, WriteConflictError
from acidsql.format.identifiers import lowered
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.limits import limits
from acidsql.metastore import failures
from acidsql.metastore.catalog_changes import (
    CatalogChange,
    RecordOffset,
    RecordStatistics,
    RecordWrites,
    RenameTable,
    tables_of,
)
from acidsql.metastore.comparison import Compared
from acidsql.metastore.file_moves import Files
from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.hive import (
    alterations,
    analyzed,
    catalog,
    cleaning,
    column_history,
    locks,
    offsets,
    ordinals,
    seeding,
    statistics,
    transactions,
    versions,
)
from acidsql.metastore.hive import partitions as hive_partitions
from acidsql.metastore.hive.catalog_changes import UncommittedChanges, make, needs_lock
from acidsql.metastore.hive.catalog_store import CatalogStore
from acidsql.metastore.hive.client_transactions import OwnTxn, OwnTxns, TableKey
from acidsql.metastore.hive.connection import Connections
from acidsql.metastore.hive.server import Server
from acidsql.metastore.hive.tables import ServerTables
from acidsql.metastore.hive.without_history import WithoutHistory
from acidsql.metastore.model import (
    RESERVED_WRITE_IDS,
    Capabilities,
    LockInfo,
    LockRequest,
    LockState,
    Operation,
    Partition,
    PlainTable,
    Table,
    TableType,
    TxnInfo,
    TxnState,
    TxnType,
)
from acidsql.metastore.moments import Moment, TableVersion
from acidsql.metastore.table_statistics import Statistics

_CAPABILITIES = Capabilities(
    is_id_authority=True,
    chooses_locations=True,
    has_other_clients=True,
    learns_writes_from_locks=True,
    converts_spark_tables=False,
    keeps_history=False,
    readers_know_zstd=False,
    queues_cleanups=False,
    keeps_initial_values=False,
    compares_rows=False,
    replaces_tables=False,
)


# Repeats a change of a table if another client has altered the table at the same time.
_again_if_altered = retry(
    retry=retry_if_exception_type(WriteConflictError),
    stop=stop_after_attempt(limits().alter_attempts),
    wait=wait_random(max=limits().longest_alter_pause_seconds),
    reraise=True,
)


class HiveMetastore(CatalogStore, WithoutHistory):
    """Metastore kept by a Hive Metastore server: 3.1, 4.0 or 4.1.

    It shows only transactional tables and views. Any thread may call it.

    Args:
        connections: connections to the servers.
        user: user name of the caller, who owns new objects and written files.
        files: file systems of the sources of LOAD DATA, which a commit deletes.

    Raises:
        MetastoreError: METASTORE_UNAVAILABLE, METASTORE_TIMEOUT, METASTORE_AUTHENTICATION,
            METASTORE_VERSION or METASTORE_ERROR, by every method.
    """

    def __init__(self, connections: Connections, *, user: str, files: Files | None = None) -> None:
        server = Server(connections, user=user)
        super().__init__(server, ServerTables(server))
        self._own = OwnTxns()
        self._uncommitted = UncommittedChanges(files)

    def __repr__(self) -> str:
        return f"HiveMetastore({self.server.connections!r})"

    # -- catalog, with write ids ----------------------------------------------------------------
    def create_table(
        self,
        table: Table,
        partitions: Iterable[Partition] = (),
        highest_write_id: int = 0,
        highest_txn_id: int = 0,
    ) -> None:
        """See ``Metastore``; the server creates the directory if it does not exist."""
        catalog.create_table(self.server, table)
        if added := tuple(partitions):
            self.add_partitions(table.database, table.name, added)
        if highest_write_id:
            self.seed_write_id(table.database, table.name, highest_write_id + 1)
        if highest_txn_id:
            self.seed_txn_id(highest_txn_id + 1)

    def stage_table(self, txn_id: int, table: Table, highest_write_id: int = 0) -> Table:
        """See ``Metastore``; the table has its final name immediately."""
        catalog.create_table(self.server, table)
        # In Hive 4, write ids continue after those of a dropped table of the same name.
        write_id = max(self.next_write_id(table.database, table.name), highest_write_id + 1)
        self._uncommitted.staged(txn_id, table, write_id)
        if highest_write_id:
            self.seed_write_id(table.database, table.name, write_id)
        return table

    def convert_table(self, plain: PlainTable) -> None:
        """See ``Metastore``; the server checks the names of the files too."""
        table = plain.table
        alterations.convert(self.server, table)
        self._tables.forget(table.database, table.name)
        self.seed_write_id(table.database, table.name, RESERVED_WRITE_IDS + 1)

    def statistics(
        self, table: Table, partition: tuple[str, ...] | None, columns: Sequence[str] = ()
    ) -> Statistics | None:
        server_table = self._tables.existing(table.database, table.name)
        seen = self.valid_write_ids(table.database, table.name, self.valid_txns())
        return analyzed.find(self.server, server_table, partition, columns, seen)

    # -- transactions ---------------------------------------------------------------------------
    def open_txn(self, user: str, host: str, txn_type: TxnType = TxnType.DEFAULT) -> int:
        return transactions.open_txn(self.server, self._own, user, host, txn_type)

    def open_batch(self, user: str, host: str, count: int) -> tuple[int, ...]:
        return transactions.open_batch(self.server, self._own, user, host, count)

    def prepare_commit(self, txn_id: int, changes: Sequence[CatalogChange]) -> None:
        if needs_lock(changes):
            self.check_lock(txn_id)
        for change in changes:
            self._uncommitted.made(txn_id, change)
            self._make(txn_id, change)

    def commit_txn(self, txn_id: int, compared: Compared | None = None) -> bool:
        del compared
        txn = self._own.find(txn_id)
        if txn is not None and txn.state is TxnState.OPEN:
            for table in sorted(locks.unnamed(txn)):
                self._name_partitions(txn, table)
        try:
            transactions.commit_txn(self.server, self._own, txn_id)
        except (WriteConflictError, TransactionStateError):
            self._take_back(txn_id)
            raise
        self._tables.definitions.released([txn_id])
        self._uncommitted.committed(txn_id)
        return True

    @property
    def waiting_may_conflict(self) -> bool:
        return not self.server.is_hive4

    def abort_txn(self, txn_id: int) -> None:
        self._tables.definitions.released([txn_id])
        transactions.abort_txn(self.server, self._own, txn_id)
        self._take_back(txn_id)

    def abort_txns(self, txn_ids: Sequence[int]) -> None:
        """See ``Metastore``; one call for each transaction.

        The server's ``abort_txns`` does not report which transactions were not open.
        """
        for txn_id in txn_ids:
            self.abort_txn(txn_id)

    def require_open(self, txn_id: int) -> None:
        """See ``Metastore``; counts as a heartbeat."""
        transactions.require_open(self.server, self._own, txn_id)

    @contextmanager
    def held_location(
        self,
        table: Table,
        txn_id: int,  # noqa: ARG002 - a server does not say which table has its write ids
    ) -> Iterator[frozenset[tuple[str, ...]] | None]:
        """See ``Metastore``; a table that was dropped since has another time of creation."""
        current = catalog.fetch_any(self.server, table.database, table.name)
        is_same = current is None or not table.created or current.createTime == table.created
        yield frozenset() if is_same else None

    def heartbeat(self, txn_ids: Sequence[int]) -> tuple[int, ...]:
        ended = transactions.heartbeat(self.server, txn_ids)
        self._tables.definitions.released(ended)
        return ended

    def valid_txns(self, txn_id: int | None = None) -> ValidTxnList:
        return transactions.valid_txns(self.server, txn_id)

    def open_txns(self) -> tuple[TxnInfo, ...]:
        """See ``Metastore``; the server does not report the types of transactions."""
        return transactions.open_txns(self.server)

    def reap(self) -> tuple[int, ...]:
        """See ``Metastore``; returns nothing, because the server reaps by itself."""
        return ()

    @property
    def txn_timeout(self) -> float:
        return self.server.txn_timeout

    @property
    def capabilities(self) -> Capabilities:
        return replace(_CAPABILITIES, readers_know_zstd=self.server.knows_zstd)

    def seed_txn_id(self, next_txn_id: int) -> int:
        return seeding.seed_txn_id(self.server, self._own, next_txn_id)

    # -- write ids ------------------------------------------------------------------------------
    def allocate_write_id(
        self,
        txn_id: int,
        database: str,
        table: str,
        statement: RecordedStatement | None = None,  # noqa: ARG002 - there is no history
    ) -> int:
        self._tables.remembered(database, table)
        return transactions.allocate_write_id(self.server, self._own, txn_id, database, table)

    def allocate_write_ids(
        self,
        txn_ids: Sequence[int],
        database: str,
        table: str,
        statement: RecordedStatement | None = None,  # noqa: ARG002 - there is no history
    ) -> tuple[int, ...]:
        self._tables.remembered(database, table)
        return transactions.allocate_write_ids(self.server, self._own, txn_ids, database, table)

    def stream_offset(self, database: str, table: str, stream: str) -> int | None:
        return offsets.find(self.server, self._tables.remembered(database, table), stream)

    def stream_lock(self, database: str, table: str, stream: str) -> LockRequest | None:
        return offsets.lock(database, table, stream)

    def valid_write_ids(self, database: str, table: str, txns: ValidTxnList) -> ValidWriteIdList:
        self._tables.remembered(database, table)
        return transactions.valid_write_ids(self.server, database, table, txns)

    def find_version(self, database: str, table: str, moment: Moment) -> TableVersion:
        server_table = self._tables.remembered(database, table)
        version = versions.find(self.server, lowered(database), lowered(table), moment)
        if column_history.PROPERTY not in (server_table.parameters or {}):
            return version
        columns = column_history.columns_at(self.table(database, table), version.write_id)
        return replace(version, columns=columns)

    def with_recorded_columns(self, before: Table, after: Table, write_id: int) -> Table:
        return column_history.recorded(before, after, write_id)

    def hold_back_cleaner(
        self, txn_id: int, database: str, table: str, txns: ValidTxnList
    ) -> ValidTxnList:
        self._tables.remembered(database, table)
        return cleaning.hold_back(self.server, self._own, txn_id, database, table, txns)

    def seed_write_id(self, database: str, table: str, next_write_id: int) -> None:
        self._tables.remembered(database, table)
        seeding.seed_write_id(self.server, self._own, database, table, next_write_id)

    def table_identity(self, database: str, table: str) -> str:
        """See ``Metastore``; ask the server, because another client may have replaced the table."""
        server_table = self._tables.existing(database, table)
        if server_table.id and server_table.id > 0:
            return f"hive/{server_table.id}"
        return f"{server_table.dbName}.{server_table.tableName}/{server_table.createTime}"

    def write_ids_after(self, database: str, table: str, write_id: int) -> frozenset[int]:
        """See ``Metastore``; a server allocates all ids, including those of ``seed_write_id``."""
        return frozenset(range(write_id + 1, self.next_write_id(database, table)))

    def next_write_id(self, database: str, table: str) -> int:
        self._tables.remembered(database, table)
        return transactions.next_write_id(self.server, database, table)

    # -- locks ----------------------------------------------------------------------------------
    def lock(self, txn_id: int, requests: Sequence[LockRequest]) -> LockState:
        requests = [*requests, *ordinals.turn_of_writers(self.server, self._tables, requests)]
        state = locks.lock(self.server, self._own, txn_id, requests)
        if state is LockState.ACQUIRED:
            keys = [(lowered(r.database), lowered(r.table)) for r in requests]
            self._tables.definitions.locked(txn_id, keys)
        return state

    @_again_if_altered
    def reserve_ordinals(self, database: str, table: str, count: int) -> int:
        existing = self._tables.to_alter(database, table)
        return ordinals.reserve(self.server, existing, count)

    def check_lock(self, txn_id: int) -> LockState:
        return locks.check_lock(self.server, self._own, txn_id)

    def withdraw_locks(self, txn_id: int) -> None:
        locks.withdraw(self.server, self._own, txn_id)

    def blockers(self, txn_id: int) -> tuple[LockInfo, ...]:
        return locks.blockers(self.server, txn_id)

    def locks(self) -> tuple[LockInfo, ...]:
        """See ``Metastore``; the locks of one request share an id."""
        return locks.locks(self.server)

    def add_dynamic_partitions(
        self,
        txn_id: int,
        database: str,
        table: str,
        partitions: Sequence[str],
        operation: Operation,
    ) -> None:
        key = (lowered(database), lowered(table))
        write_id = self._write_id(txn_id, key)
        locks.add_dynamic_partitions(
            self.server, self._own, txn_id, key, write_id, partitions, operation
        )

    def close(self) -> None:
        self.server.close()

    def _write_id(self, txn_id: int, table: TableKey) -> int:
        txn = self._own.find(txn_id)
        if txn is not None and table in txn.write_ids:
            return txn.write_ids[table]
        self._own.require_open(txn_id)
        return transactions.allocate_write_id(self.server, self._own, txn_id, *table)

    def _make(self, txn_id: int, change: CatalogChange) -> None:
        """Make a change of the catalog before the commit of its transaction."""
        if isinstance(change, RecordWrites):
            key = (change.table.database, change.table.name)
            self._record(key, change.mark or self._write_id(txn_id, key), change.written)
            return
        if isinstance(change, RecordStatistics):
            key = (change.table.database, change.table.name)
            self._record_statistics(key, self._write_id(txn_id, key), change.computed)
            return
        if isinstance(change, RecordOffset):
            txn = self._own.find(txn_id)
            if txn is None:
                raise failures.no_such_txn(txn_id)
            owner = self._tables.existing(change.table.database, change.table.name)
            txn.key_value = offsets.prepare(self.server, owner, change)
            return
        make(self.server, self._tables, change, **self._context(txn_id, change))
        for table in tables_of(change):
            self._tables.forget(table.database, table.name)

    def _context(self, txn_id: int, change: CatalogChange) -> dict[str, Any]:
        """Return the fields that Hive 4 needs about the transaction that renames a table."""
        txn = self._own.find(txn_id)
        if not isinstance(change, RenameTable) or txn is None or not self.server.is_hive4:
            return {}
        key = (change.table.database, change.table.name)
        if key not in txn.write_ids:  # the call undoes a change
            return {}
        seen = analyzed.with_own(self.valid_write_ids(*key, self.valid_txns()), txn.write_ids[key])
        return {"writeId": txn.write_ids[key], "validWriteIdList": seen.to_string()}

    @_again_if_altered
    def _record_statistics(
        self, key: TableKey, write_id: int, computed: Sequence[Statistics]
    ) -> None:
        now = self.valid_write_ids(*key, self.valid_txns())
        analyzed.record(self.server, self._tables.to_alter(*key), write_id, computed, now)

    @_again_if_altered
    def _record(self, key: TableKey, write_id: int, written: Sequence[Partition]) -> None:
        """Record a write; repeat it if another client alters the table at the same time."""
        server_table = self._tables.remembered(*key)
        is_counted = statistics.is_counted(server_table)
        if not server_table.partitionKeys and (self.server.is_hive4 or is_counted):
            # Fetch it again, because it is sent back as a whole and others may have altered it.
            server_table = self._tables.to_alter(*key)
        statistics.record(self.server, server_table, write_id, written)

    def _take_back(self, txn_id: int) -> None:
        self._uncommitted.take_back(self, txn_id, partial(self._make, txn_id))

    def _name_partitions(self, txn: OwnTxn, table: TableKey) -> None:
        """Name every partition of a table that a transaction changed as a whole.

        Otherwise the server would not detect a conflict with the change of a single partition.
        """
        server_table = self._tables.remembered(*table)
        if server_table.tableType != TableType.MANAGED.value or not server_table.partitionKeys:
            return
        names = [
            hive_partitions.name_of(server_table, values)
            for values in hive_partitions.values_of(self.server, server_table)
        ]
        if names:
            self.add_dynamic_partitions(txn.txn_id, *table, names, Operation.UPDATE)
