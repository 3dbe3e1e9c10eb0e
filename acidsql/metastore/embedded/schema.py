"""Tables of the embedded metastore's SQLite file, and the migrations of older files.

The file contains the number of its schema version (``PRAGMA user_version``). ``MIGRATIONS[n - 1]``
converts version n - 1 into version n. A change of the schema appends a migration, and never edits a
released one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from acidsql.errors import MetastoreError

# "ACID" in ASCII, which distinguishes the file from other SQLite files (PRAGMA application_id).
APPLICATION_ID = 0x41434944

# SQLite supports STRICT from 3.37 on. Older libraries create the same tables without type checks.
_STRICT = "STRICT" if sqlite3.sqlite_version_info >= (3, 37) else ""
_STRICT_WITHOUT_ROWID = ", ".join(filter(None, (_STRICT, "WITHOUT ROWID")))

_VERSION_1 = (
    f"""
    CREATE TABLE databases (
        name TEXT PRIMARY KEY,
        location TEXT NOT NULL,
        comment TEXT
    ) {_STRICT}
    """,
    "INSERT INTO databases (name, location) VALUES ('default', '')",
    # AUTOINCREMENT, because a table that is dropped and created again must not inherit anything.
    f"""
    CREATE TABLE tables (
        table_id INTEGER PRIMARY KEY AUTOINCREMENT,
        database_name TEXT NOT NULL REFERENCES databases (name),
        table_name TEXT NOT NULL,
        table_type TEXT NOT NULL,
        columns TEXT NOT NULL,            -- JSON array of objects
        partition_columns TEXT NOT NULL,  -- JSON array of objects
        properties TEXT NOT NULL,         -- JSON object
        location TEXT NOT NULL,
        view_text TEXT,
        owner TEXT NOT NULL,
        created INTEGER NOT NULL,
        next_write_id INTEGER NOT NULL DEFAULT 1,
        -- write ids up to this one that have no row in write_ids count as committed: ids that were
        -- read from directories, or forgotten by version 2. Their outcome is unknown
        settled_write_id INTEGER NOT NULL DEFAULT 0,
        UNIQUE (database_name, table_name)
    ) {_STRICT}
    """,
    f"""
    CREATE TABLE partitions (
        table_id INTEGER NOT NULL REFERENCES tables (table_id) ON DELETE CASCADE,
        partition_values TEXT NOT NULL,   -- JSON array of text
        location TEXT NOT NULL,
        PRIMARY KEY (table_id, partition_values)
    ) {_STRICT_WITHOUT_ROWID}
    """,
    # A transaction without a row here, whose id is not above the highest one, was committed and
    # pruned, unless forgotten_aborts contains it.
    f"""
    CREATE TABLE txns (
        txn_id INTEGER PRIMARY KEY AUTOINCREMENT,
        state TEXT NOT NULL,
        type TEXT NOT NULL,
        user TEXT NOT NULL,
        host TEXT NOT NULL,
        started REAL NOT NULL,
        last_heartbeat REAL NOT NULL,
        ended REAL,
        commit_id INTEGER,                -- the highest txn_id when this one committed
        abort_cause TEXT
    ) {_STRICT}
    """,
    "CREATE INDEX txns_by_state ON txns (state)",
    f"CREATE TABLE forgotten_aborts (txn_id INTEGER PRIMARY KEY) {_STRICT}",
    # Rows of committed transactions stay, because the valid write ids of old snapshots need them.
    f"""
    CREATE TABLE write_ids (
        table_id INTEGER NOT NULL REFERENCES tables (table_id) ON DELETE CASCADE,
        write_id INTEGER NOT NULL,
        txn_id INTEGER NOT NULL,
        PRIMARY KEY (table_id, write_id)
    ) {_STRICT_WITHOUT_ROWID}
    """,
    "CREATE UNIQUE INDEX write_ids_by_txn ON write_ids (txn_id, table_id)",
    f"""
    CREATE TABLE write_set (
        txn_id INTEGER NOT NULL REFERENCES txns (txn_id) ON DELETE CASCADE,
        table_id INTEGER NOT NULL REFERENCES tables (table_id) ON DELETE CASCADE,
        partition_name TEXT,              -- NULL: the whole table
        operation TEXT NOT NULL,
        placeholder INTEGER NOT NULL      -- 1: partitions of a dynamic write, not known yet
    ) {_STRICT}
    """,
    "CREATE INDEX write_set_by_txn ON write_set (txn_id)",
    "CREATE INDEX write_set_by_table ON write_set (table_id)",
    f"""
    CREATE TABLE locks (
        lock_id INTEGER PRIMARY KEY AUTOINCREMENT,
        txn_id INTEGER NOT NULL REFERENCES txns (txn_id) ON DELETE CASCADE,
        table_id INTEGER NOT NULL REFERENCES tables (table_id) ON DELETE CASCADE,
        partition_name TEXT,              -- NULL: the whole table
        type TEXT NOT NULL,
        state TEXT NOT NULL,
        acquired REAL
    ) {_STRICT}
    """,
    "CREATE INDEX locks_by_txn ON locks (txn_id)",
    "CREATE INDEX locks_by_table ON locks (table_id)",
    f"""
    CREATE TABLE compactions (
        compaction_id INTEGER PRIMARY KEY AUTOINCREMENT,
        table_id INTEGER NOT NULL REFERENCES tables (table_id) ON DELETE CASCADE,
        partition_name TEXT,
        type TEXT NOT NULL,
        state TEXT NOT NULL,
        worker TEXT,
        enqueued REAL NOT NULL,
        started REAL,
        ended REAL,
        txn_id INTEGER,
        next_txn_id INTEGER,
        highest_write_id INTEGER,
        error TEXT
    ) {_STRICT}
    """,
    "CREATE INDEX compactions_by_table ON compactions (table_id)",
    "CREATE INDEX compactions_by_state ON compactions (state)",
)

# Buckets, file formats of insert-only tables, and partitions with different columns.
_VERSION_2 = (
    "ALTER TABLE tables ADD COLUMN bucket_columns TEXT NOT NULL DEFAULT '[]'",  # JSON array
    "ALTER TABLE tables ADD COLUMN num_buckets INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE tables ADD COLUMN file_format TEXT NOT NULL DEFAULT 'orc'",
    "ALTER TABLE tables ADD COLUMN serde_properties TEXT NOT NULL DEFAULT '{}'",  # JSON object
    "ALTER TABLE partitions ADD COLUMN columns TEXT",  # JSON array of objects, or NULL
)

# The history of write ids. Number and time are NULL for commits from before this version. Version 2
# deleted the rows of aborted write ids after cleaning, so their outcome is unknown.
_VERSION_3 = (
    "ALTER TABLE write_ids ADD COLUMN outcome TEXT",  # 'committed', 'aborted'; NULL: still open
    # Position among the commits of all tables, starting at 1. All tables of a transaction share it.
    "ALTER TABLE write_ids ADD COLUMN commit_number INTEGER",
    # Time of the commit or abort. The clock can be set back, but commit_number only increases.
    "ALTER TABLE write_ids ADD COLUMN ended REAL",
    # 1: aborted, and no directory still has the write id, so it need not be listed as invalid.
    "ALTER TABLE write_ids ADD COLUMN cleaned INTEGER NOT NULL DEFAULT 0",
    f"CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) {_STRICT}",
    "INSERT INTO counters VALUES ('commit_number', 0)",
    """
    UPDATE write_ids SET outcome = (SELECT nullif(state, 'open') FROM txns
                                    WHERE txns.txn_id = write_ids.txn_id)
    """,
    # The transactions of aborted write ids are never pruned.
    """
    UPDATE write_ids SET outcome = 'committed'
    WHERE NOT EXISTS (SELECT 1 FROM txns WHERE txns.txn_id = write_ids.txn_id)
    """,
    # File operations that depend on the outcome of a transaction, and tables that other
    # transactions cannot see before the commit.
    f"""
    CREATE TABLE file_operations (
        operation_id INTEGER PRIMARY KEY AUTOINCREMENT,
        txn_id INTEGER NOT NULL,
        outcome TEXT NOT NULL,            -- done if the transaction ends in this state
        operation TEXT NOT NULL           -- JSON object
    ) {_STRICT}
    """,
    "ALTER TABLE tables ADD COLUMN created_by_txn INTEGER",  # NULL once it has committed
)

# The name in ``client_lock`` of the client that opened a transaction or took a compaction, and the
# id of this metastore, which the directories of its tables contain (``table_owner``).
_VERSION_4 = (
    "ALTER TABLE txns ADD COLUMN client TEXT",
    "ALTER TABLE compactions ADD COLUMN client TEXT",
    f"CREATE TABLE identity (metastore_id TEXT NOT NULL) {_STRICT}",
    "INSERT INTO identity VALUES (lower(hex(randomblob(16))))",
)

_VERSION_5 = (
    # Partitions and unpartitioned tables with writes since the initiator's last look (Hive's
    # COMPLETED_TXN_COMPONENTS).
    f"""
    CREATE TABLE compaction_candidates (
        table_id INTEGER NOT NULL REFERENCES tables (table_id) ON DELETE CASCADE,
        partition_name TEXT NOT NULL,     -- '': the whole table
        writes INTEGER NOT NULL,          -- since the last look
        look_after INTEGER NOT NULL,      -- number of writes after which the next look is due
        since REAL NOT NULL,              -- time of the first of these writes
        PRIMARY KEY (table_id, partition_name)
    ) {_STRICT_WITHOUT_ROWID}
    """,
    "ALTER TABLE databases ADD COLUMN properties TEXT NOT NULL DEFAULT '{}'",  # JSON object
    "DROP INDEX compactions_by_table",
    "CREATE INDEX compactions_by_table ON compactions (table_id, partition_name)",
    "CREATE INDEX candidates_written ON compaction_candidates (since) WHERE writes > 0",
    """
    CREATE INDEX aborted_write_ids ON write_ids (table_id) WHERE outcome = 'aborted' AND cleaned = 0
    """,
    "ALTER TABLE compactions ADD COLUMN size INTEGER",  # estimate of the bytes that it reads
    "ALTER TABLE compactions ADD COLUMN done REAL",  # time when the result became visible
    "ALTER TABLE compactions ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE compactions ADD COLUMN pool TEXT",
    "ALTER TABLE compactions ADD COLUMN order_by TEXT",  # of a rebalance
    "ALTER TABLE compactions ADD COLUMN buckets INTEGER",  # of a rebalance
    # The history of the tables. Each write id has a row, which its allocation creates and the
    # commit completes. A compaction has a row too, with the highest write id that it merged.
    f"""
    CREATE TABLE history (
        table_id INTEGER NOT NULL REFERENCES tables (table_id) ON DELETE CASCADE,
        write_id INTEGER NOT NULL,
        txn_id INTEGER NOT NULL,
        first_write_id INTEGER NOT NULL,  -- the lowest that a compaction merged
        user TEXT NOT NULL,
        host TEXT NOT NULL,
        started REAL NOT NULL,
        ended REAL,                       -- of a compaction; of a write id see write_ids
        operation TEXT NOT NULL,
        statement TEXT,                   -- the type of a compaction
        partition_name TEXT,              -- of a compaction
        inserted INTEGER,                 -- rows; NULL: not counted, or not committed
        updated INTEGER,
        deleted INTEGER,
        files INTEGER,
        bytes INTEGER,
        PRIMARY KEY (table_id, write_id, txn_id)
    ) {_STRICT_WITHOUT_ROWID}
    """,
    # Statistics of ANALYZE TABLE. Statistics of the whole table have no partition values.
    f"""
    CREATE TABLE statistics (
        table_id INTEGER NOT NULL REFERENCES tables (table_id) ON DELETE CASCADE,
        partition_values TEXT NOT NULL,   -- JSON array of text, or ''
        size INTEGER NOT NULL,            -- bytes
        files INTEGER NOT NULL,
        rows INTEGER,
        raw_size INTEGER,                 -- bytes
        columns TEXT NOT NULL,            -- JSON array of objects
        write_id INTEGER NOT NULL,        -- of the transaction that computed them
        write_ids TEXT NOT NULL,          -- that it saw, as Hive writes valid write ids
        is_current INTEGER NOT NULL,      -- 0: rows were written since
        PRIMARY KEY (table_id, partition_values)
    ) {_STRICT_WITHOUT_ROWID}
    """,
)

_VERSION_6 = (
    # 1: delete events name the changed rows (UPDATE, DELETE, MERGE), so two changes of a partition
    # can be compared by rows. 0: all rows of the partition count as changed.
    "ALTER TABLE write_set ADD COLUMN by_rows INTEGER NOT NULL DEFAULT 0",
    # Offsets of streams: how far each stream was written to a table.
    f"""
    CREATE TABLE stream_offsets (
        table_id INTEGER NOT NULL REFERENCES tables (table_id) ON DELETE CASCADE,
        stream TEXT NOT NULL,
        position INTEGER NOT NULL,
        PRIMARY KEY (table_id, stream)
    ) {_STRICT_WITHOUT_ROWID}
    """,
)

_VERSION_7 = (
    # Old versions of tables: the changes that made them unreadable, and their readers.
    #
    # Versions with a lower commit number cannot be read, because the columns, the partitions or the
    # location of the table have changed since.
    f"""
    CREATE TABLE history_limits (
        table_id INTEGER NOT NULL REFERENCES tables (table_id) ON DELETE CASCADE,
        reason TEXT NOT NULL,             -- 'columns', 'partitions', 'location'
        commit_number INTEGER NOT NULL,
        PRIMARY KEY (table_id, reason)
    ) {_STRICT_WITHOUT_ROWID}
    """,
    """
    INSERT INTO history_limits
    SELECT table_id, CASE WHEN operation LIKE '%PARTITION' OR operation = 'REPAIR TABLE'
                          THEN 'partitions' ELSE 'columns' END, max(commit_number)
    FROM history JOIN write_ids USING (table_id, write_id)
    WHERE operation IN ('ADD COLUMNS', 'REPLACE COLUMNS', 'RENAME COLUMN', 'CHANGE COLUMN',
                        'DROP PARTITION', 'RENAME PARTITION', 'REPAIR TABLE')
      AND commit_number IS NOT NULL
    GROUP BY 1, 2
    """,
    # Write id of the highest base for which a cleaner has removed, or is removing, directories.
    f"""
    CREATE TABLE cleaned_history (
        table_id INTEGER NOT NULL REFERENCES tables (table_id) ON DELETE CASCADE,
        partition_name TEXT NOT NULL,     -- '': the whole table
        write_id INTEGER NOT NULL,
        PRIMARY KEY (table_id, partition_name)
    ) {_STRICT_WITHOUT_ROWID}
    """,
    # 0: directories may have been removed without a row in cleaned_history, by acidsql up to schema
    # version 6 or by other writers.
    "ALTER TABLE tables ADD COLUMN cleaning_is_recorded INTEGER NOT NULL DEFAULT 0",
    # Transactions that read old versions, and the write id of the highest base that they may need.
    f"""
    CREATE TABLE history_readers (
        txn_id INTEGER NOT NULL REFERENCES txns (txn_id) ON DELETE CASCADE,
        table_id INTEGER NOT NULL REFERENCES tables (table_id) ON DELETE CASCADE,
        write_id INTEGER NOT NULL,
        PRIMARY KEY (txn_id, table_id)
    ) {_STRICT_WITHOUT_ROWID}
    """,
    "CREATE INDEX history_readers_by_table ON history_readers (table_id)",
)

_VERSION_8 = (
    # Write id of the transaction that replaced the table's definition and directory (CREATE OR
    # REPLACE TABLE); 0: they were never replaced.
    "ALTER TABLE tables ADD COLUMN replaced_by INTEGER NOT NULL DEFAULT 0",
)

_VERSION_9 = (
    # Columns of the table versions with a lower commit number.
    f"""
    CREATE TABLE column_history (
        table_id INTEGER NOT NULL REFERENCES tables (table_id) ON DELETE CASCADE,
        commit_number INTEGER NOT NULL,
        columns TEXT NOT NULL,            -- JSON array of objects
        PRIMARY KEY (table_id, commit_number)
    ) {_STRICT_WITHOUT_ROWID}
    """,
)

_VERSION_10 = (
    "ALTER TABLE tables ADD COLUMN constraints TEXT NOT NULL DEFAULT '[]'",  # JSON array of objects
)

_VERSION_11 = (
    # Tags: names of table versions whose directories cleaners retain.
    f"""
    CREATE TABLE tags (
        tag_id INTEGER PRIMARY KEY AUTOINCREMENT,
        table_id INTEGER NOT NULL REFERENCES tables (table_id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        version INTEGER NOT NULL,         -- write id
        commit_number INTEGER NOT NULL,   -- of the last commit that the version has
        committed REAL,                   -- time of the version; NULL: not known
        write_ids TEXT NOT NULL,          -- of the version, as Hive writes valid write ids
        created REAL NOT NULL,
        expires REAL,                     -- NULL: never
        UNIQUE (table_id, name)
    ) {_STRICT}
    """,
)

_VERSION_12 = (
    # Ordinal of the next new row, from which identity columns compute their values.
    "ALTER TABLE tables ADD COLUMN next_ordinal INTEGER NOT NULL DEFAULT 0",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    _VERSION_1,
    _VERSION_2,
    _VERSION_3,
    _VERSION_4,
    _VERSION_5,
    _VERSION_6,
    _VERSION_7,
    _VERSION_8,
    _VERSION_9,
    _VERSION_10,
    _VERSION_11,
    _VERSION_12,
)
SCHEMA_VERSION = len(MIGRATIONS)


def prepare(connection: sqlite3.Connection, path: str) -> None:
    """Migrate the file of a connection to ``SCHEMA_VERSION``; create the tables of a new file.

    Raises:
        MetastoreError: METASTORE_VERSION, a newer acidsql wrote the file; METASTORE_UNAVAILABLE,
            the SQLite file belongs to another program.
    """
    with transaction(connection, "BEGIN"):
        version = checked_version(connection, path, may_be_empty=True)
    if version == SCHEMA_VERSION:
        return
    with transaction(connection, "BEGIN IMMEDIATE"):
        # Another process may have migrated the file while this one waited for the write lock.
        for migration in MIGRATIONS[checked_version(connection, path, may_be_empty=True) :]:
            for statement in migration:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


@contextmanager
def transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    """Run a block between ``begin`` and COMMIT; roll back if it raises.

    If an exception from outside, for example from another thread, has left a transaction open, it
    is rolled back first.
    """
    if connection.in_transaction:
        connection.rollback()
    try:
        connection.execute(begin)
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.rollback()


def checked_version(connection: sqlite3.Connection, path: str, *, may_be_empty: bool) -> int:
    """Return the schema version of a file, 0 if it is empty.

    Raises:
        MetastoreError: METASTORE_VERSION, a newer acidsql wrote the file; METASTORE_UNAVAILABLE,
            the SQLite file belongs to another program, or is empty although it must not be.
    """
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if application != APPLICATION_ID and not (empty and may_be_empty):
        raise MetastoreError(
            "METASTORE_UNAVAILABLE",
            f"{path!r} is a SQLite file but not an acidsql metastore; "
            "set spark.acidsql.metastore to another file",
        )
    if version > SCHEMA_VERSION:
        raise MetastoreError(
            "METASTORE_VERSION",
            f"the metastore file {path!r} has schema version {version}, and this acidsql knows "
            f"versions up to {SCHEMA_VERSION}; upgrade acidsql",
        )
    return version
