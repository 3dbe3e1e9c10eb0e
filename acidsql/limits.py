"""Tuning constants: sizes and numbers at which acidsql changes the way that it works, and times.

No result depends on them. They are in one place so that they can be read together, and so that a
test can set one of them to have the other way taken.
"""

from __future__ import annotations

from dataclasses import dataclass

_MIB = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class PlanningLimits:
    """Limits of planning: what is read or listed before a statement runs.

    Attributes:
        pruning_table_bytes: a larger table is not read when a statement is planned, to prune the
            partitions of another one.
        pruning_partitions: a table of fewer partitions is not pruned by the values of another one.
        pruning_values: up to this number of values prune partitions one by one, more by a range.
        merge_key_values: up to this number of key values of a MERGE's source go to ORC as a list,
            more as a range.
        merge_shuffle_bytes: the source of a MERGE into a smaller target is not computed first: a
            job of its own takes longer than to read and shuffle the target.
        counted_files: a count reads the tails of at most this number of files.
        sampled_tails: number of directories of a scan whose first files are read to estimate how
            many rows its bytes have.
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
    """Limits of statements that write: what the driver does, and what Spark's tasks do.

    Attributes:
        driver_events: up to this number of delete events are sorted and written by the driver,
            which holds about 30 bytes of each; more by a Spark job.
        driver_rows: up to this number of events with all their columns are written by the driver.
        driver_rows_partitions: and up to so many for each time this number of partitions that the
            statement reads: a job would read them all again, and make files in most of them.
        most_driver_rows: the driver writes no more than this in any case.
        driver_read_bytes: the driver writes nothing of a statement that reads more: it would have
            so many tasks that they could send only few events each.
        driver_join_bytes: the same of a statement that joins or has subqueries: if it has too many
            events for the driver, they are computed again by the write job.
        one_task_bytes: rows of a plan that reads no more are written by one task: a shuffle would
            cost more than it saves.
        copied_once_bytes: inserted rows up to this size are copied twice rather than planned twice.
        counted_events: up to this number of delete events are counted by the driver.
        result_bytes: one job brings no more than this to the driver, nor more than half of
            ``spark.driver.maxResultSize``.
    """

    driver_events: int = 5_000_000
    driver_rows: int = 200
    driver_rows_partitions: int = 80
    most_driver_rows: int = 4096
    driver_read_bytes: int = 1024 * _MIB
    driver_join_bytes: int = _MIB
    one_task_bytes: int = 4 * _MIB
    copied_once_bytes: int = 16 * _MIB
    counted_events: int = 5_000_000
    result_bytes: int = 512 * _MIB


@dataclass(frozen=True, kw_only=True)
class ConflictLimits:
    """Limits of the comparison of rows of concurrent statements, and of waits between them.

    Attributes:
        compared_events: up to this number of delete events of two transactions that changed the
            same partition are compared by rows before the later one commits, about 60 bytes of
            each; with more, they conflict.
        watched_events: if others have deleted up to this number of rows, it is checked whether a
            SERIALIZABLE statement has read them; with more, they conflict.
        first_retry_seconds: longest pause before a statement that lost a conflict is run again; it
            doubles with each further retry.
        longest_retry_seconds: longest of these pauses.
        turn_seconds: longest wait of a commit for a statement of the process whose turn it is.
        turn_poll_seconds: time between two looks whether the wait for a turn was given up.
        first_lock_poll_seconds: time until a lock is requested again; it doubles each time.
        longest_lock_poll_seconds: longest time between two such requests.
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
        broadcast_numbers: delete events whose keys have up to this number of values are broadcast
            to be joined; each takes about 40 bytes.
        file_threads: number of files read or written at a time: appending to one takes up to half a
            second on HDFS, reading its tail some milliseconds.
        rewritten_bytes: on a cluster, the driver rewrites no more than this of a table.
        small_stripe_rows: a stripe with fewer rows, and fewer bytes, is small.
        small_stripe_bytes: see ``small_stripe_rows``.
        small_stripes: this number of small stripes in a row are rewritten as one.
        least_chunk_bytes: smallest number of bytes of stripes that one thread rewrites: smaller
            files would have small stripes.
        most_chunk_bytes: largest number of bytes of stripes that one thread rewrites.
        thread_memory_bytes: memory of the JVM for each thread that rewrites stripes.
        rewrite_batch_rows: largest number of rows that are taken from stripe to stripe at once.
        rewrite_batch_bytes: approximate size of these rows; each thread has some.
        copy_buffer_bytes: bytes of a file that are read at once when it is copied or counted.
        tail_bytes: bytes at the end of an ORC file that are read first: most tails are smaller.
        arrow_stripes: number of stripes that the Arrow reader reads at a time, each with all its
            rows.
        task_stripe_bytes: a task of ``format("acidsql")`` reads no more bytes of stripes than this.
        cached_tails: number of ORC tails that a process keeps, some kilobytes each.
        cached_event_bytes: size of the delete events that a process keeps.
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
        compaction_events: up to this number of delete events are applied by the driver when stripes
            are copied; more are left to Spark.
        checked_events: up to this number of events, CHECK TABLE … FULL reads the row ids on the
            driver, about 50 bytes of each; more with Spark.
        compaction_poll_seconds: time between two looks whether others have done a compaction.
        least_delta_bytes: the background thread makes no new base of smaller deltas, however small
            the base is, unless they are many.
        compactor_rest_part: the background thread rests for this part of the time for which it
            has worked.
        cleaner_pause_seconds: time after which the background thread tries again to clean what it
            had to leave.
        compactor_end_seconds: longest wait for the background compaction at the end of a session.
        compactor_interrupt_seconds: longest wait for it once it was interrupted.
        small_file_bytes: a smaller file is small: ``hive.merge.smallfiles.avgsize``.
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
        cached_tables: number of table definitions of a Hive Metastore that a session keeps.
        constraint_seconds: for this time the constraints of a table, which a Hive Metastore keeps
            apart from it, are not fetched again: a statement needs them before its lock and after.
        remembered_transactions: number of ended transactions that a client of a Hive Metastore
            distinguishes from those that were never opened.
        remembered_compactions: number of compactions that a client of a Hive Metastore has taken
            and can still report on.
        tables_per_call: number of table definitions fetched from a Hive Metastore at once.
        partitions_per_call: number of partitions sent to a Hive Metastore, or fetched, at once.
        skipped_write_ids: number of write ids that are allocated and never used, where a Hive
            Metastore cannot skip them: each takes a transaction.
        seeding_seconds: longest wait until skipped transaction ids are no longer taken for open,
            as Hive 4 does until ``hive.txn.opentxn.timeout`` has passed.
        seeding_poll_seconds: time between two looks at that.
        connect_seconds: longest wait for a connection to a Hive Metastore.
        connection_attempts: number of times that a call is tried on a Hive Metastore.
        alter_attempts: number of times that a write is recorded in a table of a Hive Metastore that
            others alter at the same time, or that numbers of rows are reserved there.
        longest_alter_pause_seconds: longest pause before one of these; pauses are random.
        attempt_pause_seconds: time until all servers are tried again.
        idle_connections: number of unused connections that are kept open.
        sqlite_busy_seconds: longest wait for the write lock of the embedded metastore's file, which
            others hold for milliseconds.
        heartbeat_retry_part: a failed heartbeat is sent again after this fraction of the interval:
            a whole one would be too late.
        heartbeat_timeout_part: a heartbeat has failed if a Hive Metastore has not answered it after
            this fraction of the transactions' time-out.
        statement_characters: number of characters of a statement that the history of a table keeps.
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
    """Limits of leases: how DataFrames that cannot be reached any more are found.

    Attributes:
        collection_pauses: seconds to wait before each garbage collection for unreachable plans:
            Spark's threads hold a plan for a moment after its result came back.
        lease_collection_seconds: if a lease is older, and a cleaner may wait for it, the JVM is had
            to collect unreachable plans, at most once in this time.
        collection_part: fraction of the time that these collections may take; where the heap is
            large, they are done less often.
        lease_look_seconds: time after which a session looks again whether that is so.
    """

    collection_pauses: tuple[float, ...] = (0.0, 0.1, 0.3)
    lease_collection_seconds: float = 60.0
    collection_part: float = 0.02
    lease_look_seconds: float = 15.0


@dataclass(frozen=True, kw_only=True)
class StreamingLimits:
    """Limits of streams and streaming clients.

    Attributes:
        kept_batches: number of batches of a stream after which those before them are forgotten.
        streaming_records: a streaming client converts this number of records at once.
        streaming_buffer_bytes: it keeps no more than this of the rows of a transaction in memory,
            in Arrow's form; more are in its files, where no reader sees them yet.
    """

    kept_batches: int = 100
    streaming_records: int = 10_000
    streaming_buffer_bytes: int = 64 * _MIB


@dataclass(frozen=True, kw_only=True)
class DisplayLimits:
    """Limits of what the shell, EXPLAIN and errors show.

    Attributes:
        explained_directories: EXPLAIN lists no more directories of a table than this.
        explained_characters: EXPLAIN shows no more characters of a condition than this.
        named_rows: an error names no more rows by their row ids than this.
        shell_poll_seconds: time between two looks of the shell at a running statement.
        progress_delay_seconds: a statement that takes longer has a progress bar.
    """

    explained_directories: int = 50
    explained_characters: int = 500
    named_rows: int = 10
    shell_poll_seconds: float = 0.1
    progress_delay_seconds: float = 0.5


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
