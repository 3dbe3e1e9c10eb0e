"""Tuning constants: the sizes and numbers at which acidsql changes its method, and times.

No result depends on them. They are in one place so that they can be read together, and so that a
test can change one to run the other method.
"""

from __future__ import annotations

from dataclasses import dataclass

_MIB = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class PlanningLimits:
    """Limits of planning: reading and listing before a statement runs.

    Attributes:
        pruning_table_bytes: planning does not read a table larger than this to prune the partitions
            of another table.
        pruning_partitions: a table with fewer partitions is not pruned by the values of another
            table.
        pruning_values: up to this number of values prune partitions one by one; more values prune
            by a range.
        merge_key_values: up to this number of key values of a MERGE's source are passed to ORC as a
            list; more are passed as a range.
        merge_shuffle_bytes: if the target of a MERGE is smaller than this, its source is not
            computed first: a separate job takes longer than reading and shuffling the target.
        counted_files: a count reads the tails of at most this number of files.
        sampled_tails: number of directories of a scan from which the first file is read, to
            estimate the number of rows of the scan from its bytes.
        fair_share_bytes: the splits of a scan are made smaller if its largest task shrinks by more
            than this; each additional task costs about 10 ms.
    """

    pruning_table_bytes: int = 32 * _MIB
    pruning_partitions: int = 8
    pruning_values: int = 10_000
    merge_key_values: int = 1_000
    merge_shuffle_bytes: int = 16 * _MIB
    counted_files: int = 1_000
    sampled_tails: int = 64
    fair_share_bytes: int = 16 * _MIB


@dataclass(frozen=True, kw_only=True)
class WritingLimits:
    """Limits of statements that write: which work the driver does, and which Spark's tasks do.

    Attributes:
        driver_events: the driver sorts and writes up to this number of delete events, with about 30
            bytes of memory each; a Spark job writes more events.
        driver_rows: the driver writes up to this number of events with all their columns.
        driver_rows_partitions: if a statement reads more partitions than this, ``driver_rows``
            grows in proportion: a job would read all partitions again, and create files in most of
            them.
        most_driver_rows: the driver never writes more events than this.
        driver_read_bytes: the driver writes nothing if the statement reads more than this: it would
            have so many tasks that each could send only a few events.
        driver_scan_bytes: the same limit for a statement without a condition by which its scan can
            skip rows, because it probably changes many rows.
        driver_join_bytes: the limit for a statement with joins or subqueries: if the driver
            gets too many events, the write job has to compute them again.
        one_task_bytes: if a plan reads no more than this, one task writes its rows: a shuffle would
            cost more than it saves.
        copied_once_bytes: inserted rows up to this size are copied twice rather than planned twice.
        counted_events: the driver counts up to this number of delete events.
        result_bytes: one job sends no more than this to the driver, and no more than half of
            ``spark.driver.maxResultSize``.
    """

    driver_events: int = 5_000_000
    driver_rows: int = 200
    driver_rows_partitions: int = 80
    most_driver_rows: int = 4096
    driver_read_bytes: int = 1024 * _MIB
    driver_scan_bytes: int = 32 * _MIB
    driver_join_bytes: int = _MIB
    one_task_bytes: int = 4 * _MIB
    copied_once_bytes: int = 16 * _MIB
    counted_events: int = 5_000_000
    result_bytes: int = 512 * _MIB


@dataclass(frozen=True, kw_only=True)
class ConflictLimits:
    """Limits of the comparison of rows of concurrent statements, and of waits between them.

    Attributes:
        compared_events: if two transactions changed the same partition, up to this number of their
            delete events are compared row by row before the later one commits, with about 60 bytes
            each; with more events, the transactions conflict.
        watched_events: if other transactions deleted up to this number of rows, acidsql checks
            whether a SERIALIZABLE statement read them; with more rows, the transactions conflict.
        first_retry_seconds: longest pause before the first retry of a statement that lost a
            conflict; it doubles with each further retry.
        longest_retry_seconds: longest of these pauses.
        turn_seconds: longest wait of a commit for the statement of the process that has the turn.
        turn_poll_seconds: time between two checks whether the wait for a turn was given up.
        first_lock_poll_seconds: time until a lock is requested again; it doubles each time.
        longest_lock_poll_seconds: longest time between two lock requests.
    """

    compared_events: int = 5_000_000
    watched_events: int = 100_000
    first_retry_seconds: float = 0.1
    longest_retry_seconds: float = 5.0
    turn_seconds: float = 10.0
    turn_poll_seconds: float = 0.2
    first_lock_poll_seconds: float = 0.01
    longest_lock_poll_seconds: float = 1.0


@dataclass(frozen=True, kw_only=True)
class FileLimits:
    """Limits of reading, copying and rewriting files.

    Attributes:
        broadcast_numbers: delete events with keys of up to this number of values are broadcast for
            the join; each value takes about 40 bytes.
        file_threads: number of files read or written in parallel: on HDFS, appending to a file
            takes up to half a second, and reading its tail takes some milliseconds.
        rewritten_bytes: on a cluster, the driver rewrites no more than this of a table.
        small_stripe_rows: a stripe with fewer rows and fewer bytes is small.
        small_stripe_bytes: see ``small_stripe_rows``.
        small_stripes: this number of consecutive small stripes are rewritten as one stripe.
        least_chunk_bytes: smallest number of bytes of stripes that one thread rewrites: smaller
            files would have small stripes.
        most_chunk_bytes: largest number of bytes of stripes that one thread rewrites.
        thread_memory_bytes: memory of the JVM for each thread that rewrites stripes.
        rewrite_batch_rows: largest number of rows that are copied between stripes in one batch.
        rewrite_batch_bytes: approximate size of a batch; each thread has some batches.
        copy_buffer_bytes: bytes of a file that are read at a time to copy it or count its lines.
        tail_bytes: bytes at the end of an ORC file that are read first; most tails are smaller.
        arrow_stripes: number of stripes that the Arrow reader reads at a time, each with all its
            rows.
        task_stripe_bytes: a task of ``format("acidsql")`` reads no more bytes of stripes than this.
        cached_tails: number of ORC tails that a process caches, some kilobytes each.
        cached_event_bytes: size of the delete events that a process caches.
    """

    broadcast_numbers: int = 4_000_000
    file_threads: int = 8
    rewritten_bytes: int = 4096 * _MIB
    small_stripe_rows: int = 10_000
    small_stripe_bytes: int = _MIB
    small_stripes: int = 20
    least_chunk_bytes: int = 16 * _MIB
    most_chunk_bytes: int = 128 * _MIB
    thread_memory_bytes: int = 512 * _MIB
    rewrite_batch_rows: int = 8192
    rewrite_batch_bytes: int = 64 * _MIB
    copy_buffer_bytes: int = 4 * _MIB
    tail_bytes: int = 16 * 1024
    arrow_stripes: int = 4
    task_stripe_bytes: int = 32 * _MIB
    cached_tails: int = 16_384
    cached_event_bytes: int = 160 * _MIB


@dataclass(frozen=True, kw_only=True)
class MaintenanceLimits:
    """Limits of compactions, checks and the background thread.

    Attributes:
        compaction_events: the driver applies up to this number of delete events when it copies
            stripes; Spark applies more events.
        checked_events: up to this number of events, CHECK TABLE … FULL reads the row ids on the
            driver, with about 50 bytes each; above it, it uses Spark.
        compaction_poll_seconds: time between two checks whether others have finished a compaction.
        least_delta_bytes: the background thread does not merge smaller deltas into a new base, even
            if the base is small too, unless there are many deltas.
        compactor_rest_part: the background thread rests for this part of the time for which it
            worked.
        cleaner_pause_seconds: time after which the background thread retries the cleaning of
            directories that it had to leave.
        compactor_end_seconds: longest wait for the background compaction at the end of a session.
        compactor_interrupt_seconds: longest wait for the compaction after it was interrupted.
        small_file_bytes: a file below this size is small: ``hive.merge.smallfiles.avgsize``.
    """

    compaction_events: int = 5_000_000
    checked_events: int = 2_000_000
    compaction_poll_seconds: float = 1.0
    least_delta_bytes: int = _MIB
    compactor_rest_part: float = 2.0
    cleaner_pause_seconds: float = 300.0
    compactor_end_seconds: float = 10.0
    compactor_interrupt_seconds: float = 2.0
    small_file_bytes: int = 16_000_000


@dataclass(frozen=True, kw_only=True)
class MetastoreLimits:
    """Limits of the metastores' clients.

    Attributes:
        cached_tables: number of table definitions of a Hive Metastore that a session caches.
        constraint_seconds: time for which the constraints of a table are cached. A Hive Metastore
            stores them separately, and a statement needs them both before and after it locks.
        remembered_transactions: number of ended transactions that a client of a Hive Metastore can
            distinguish from transactions that were never opened.
        remembered_compactions: number of compactions that a client of a Hive Metastore has taken
            and can still report on.
        tables_per_call: number of table definitions fetched from a Hive Metastore in one call.
        partitions_per_call: number of partitions sent to or fetched from a Hive Metastore in one
            call.
        skipped_write_ids: number of write ids that are allocated but never used if a Hive Metastore
            cannot skip write ids: each takes a transaction.
        seeding_seconds: longest wait until skipped transaction ids no longer count as open; Hive 4
            counts them as open until ``hive.txn.opentxn.timeout`` has passed.
        seeding_poll_seconds: time between two checks of skipped transaction ids.
        connect_seconds: longest wait for a connection to a Hive Metastore.
        connection_attempts: number of attempts of a call to a Hive Metastore.
        alter_attempts: number of attempts to record a write, or to reserve row numbers, in a table
            of a Hive Metastore that others alter at the same time.
        longest_alter_pause_seconds: longest pause before such an attempt; pauses are random.
        attempt_pause_seconds: time until all servers are tried again.
        idle_connections: number of unused connections that are kept open.
        sqlite_busy_seconds: longest wait for the write lock of the embedded metastore's file; other
            processes hold it for milliseconds.
        heartbeat_retry_part: a failed heartbeat is sent again after this fraction of the interval:
            the whole interval would be too long.
        heartbeat_timeout_part: a heartbeat fails if a Hive Metastore does not answer it within this
            fraction of the transaction time-out.
        statement_characters: number of characters of a statement that the history of a table
            stores.
    """

    cached_tables: int = 1_000
    constraint_seconds: float = 2.0
    remembered_transactions: int = 10_000
    remembered_compactions: int = 1_000
    tables_per_call: int = 300
    partitions_per_call: int = 500
    skipped_write_ids: int = 1_000
    seeding_seconds: float = 30.0
    seeding_poll_seconds: float = 0.2
    connect_seconds: float = 10.0
    connection_attempts: int = 3
    alter_attempts: int = 20
    longest_alter_pause_seconds: float = 0.1
    attempt_pause_seconds: float = 1.0
    idle_connections: int = 4
    sqlite_busy_seconds: float = 60.0
    heartbeat_retry_part: float = 0.1
    heartbeat_timeout_part: float = 0.1
    statement_characters: int = 4_000


@dataclass(frozen=True, kw_only=True)
class LeaseLimits:
    """Limits of leases: how acidsql detects unreachable DataFrames.

    Attributes:
        collection_pauses: seconds to wait before each garbage collection for unreachable plans:
            Spark's threads hold a plan for a short time after it has returned its result.
        lease_collection_seconds: if a lease is older than this and a cleaner may wait for it,
            acidsql requests a garbage collection of the JVM, at most once in this time.
        collection_part: fraction of the time that these collections may take; with a large heap,
            they run less often.
        lease_look_seconds: time until a session checks again for such leases.
    """

    collection_pauses: tuple[float, ...] = (0.0, 0.1, 0.3)
    lease_collection_seconds: float = 60.0
    collection_part: float = 0.02
    lease_look_seconds: float = 15.0


@dataclass(frozen=True, kw_only=True)
class StreamingLimits:
    """Limits of streams and streaming clients.

    Attributes:
        kept_batches: number of the latest batches of a stream that are recorded; older records are
            deleted.
        streaming_records: number of records that a streaming client converts at a time.
        streaming_buffer_bytes: size of the Arrow rows that a streaming client holds in memory for a
            transaction; it writes further rows to its files, where no reader sees them yet.
    """

    kept_batches: int = 100
    streaming_records: int = 10_000
    streaming_buffer_bytes: int = 64 * _MIB


@dataclass(frozen=True, kw_only=True)
class DisplayLimits:
    """Limits of the output of the shell, EXPLAIN and errors.

    Attributes:
        explained_directories: EXPLAIN lists no more directories of a table than this.
        explained_characters: EXPLAIN shows no more characters of a condition than this.
        named_rows: an error names no more rows by their row ids than this.
        shell_poll_seconds: time between two checks of a running statement by the shell.
        progress_delay_seconds: a statement that takes longer than this has a progress bar.
        cancelled_tasks_seconds: longest time that the shell waits for the tasks of a statement that
            was cancelled.
    """

    explained_directories: int = 50
    explained_characters: int = 500
    named_rows: int = 10
    shell_poll_seconds: float = 0.1
    progress_delay_seconds: float = 0.5
    cancelled_tasks_seconds: float = 5.0


@dataclass(frozen=True, kw_only=True)
class Limits(
    PlanningLimits,
    WritingLimits,
    ConflictLimits,
    FileLimits,
    MaintenanceLimits,
    MetastoreLimits,
    LeaseLimits,
    StreamingLimits,
    DisplayLimits,
):
    """All tuning constants."""


_LIMITS = Limits()


def limits() -> Limits:
    """Return the tuning constants."""
    return _LIMITS
