"""Tuning constants: the sizes and numbers at which acidsql changes the way that it works.

No result depends on them. They are in one place so that they can be read together, and so that a
test can set one of them to have the other way taken.
"""

from __future__ import annotations

from dataclasses import dataclass

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Tuning constants.

    Attributes:
        single_pass_bytes: up to this size a table without partitions is scanned without planning
            over placeholders first: reading it takes less time than that.
        pruning_table_bytes: a larger table is not read when a statement is planned, to prune the
            partitions of another one.
        pruning_partitions: a table of fewer partitions is not pruned by the values of another one.
        pruning_values: up to this number of values prune partitions one by one, more by a range.
        merge_key_values: up to this number of key values of a MERGE's source go to ORC as a list,
            more as a range.
        merge_shuffle_bytes: the source of a MERGE into a smaller target is not computed first: a
            job of its own takes longer than to read and shuffle the target.
        driver_events: up to this number of delete events are sorted and written by the driver,
            which holds about 30 bytes of each; more by a Spark job.
        driver_rows: up to this number of events with all their columns are written by the driver.
        driver_read_bytes: the driver writes nothing of a statement that reads more: it would have
            so many tasks that they could send only few events each.
        driver_join_bytes: the same of a statement that joins or has subqueries: if it has too many
            events for the driver, they are computed again by the write job.
        one_task_bytes: rows of a plan that reads no more are written by one task: a shuffle would
            cost more than it saves.
        copied_once_bytes: inserted rows up to this size are copied twice rather than planned twice.
        bitmap_events: up to this number of delete events become a delete bitmap, and are counted by
            the driver; more are joined.
        bitmap_words: largest number of words in a delete bitmap; each takes 16 bytes, which are
            sent to the tasks.
        dense_bitmap_words: up to this number of words of 8 bytes are allocated for the whole range
            of row ids, empty words included; words that are farther apart are sorted.
        broadcast_numbers: delete events whose keys have up to this number of values are broadcast
            to be joined; each takes about 40 bytes.
        events_per_word: delete events are joined as words of 64 neighbouring row ids if there are
            this many times fewer words than events.
        packed_bits: largest number of bits of a packed row id.
        counted_files: a count reads the tails of at most this number of files.
        split_bytes: original files are split at multiples of this, so that the position of a row
            follows from its split.
        fair_share_bytes: the splits of a scan are made smaller if its largest task shrinks by more
            than this; each additional task costs about 10 ms.
        compaction_events: up to this number of delete events are applied by the driver when stripes
            are copied; more are left to Spark.
        rewritten_bytes: on a cluster, the driver rewrites no more than this of a table.
        small_stripe_rows: a stripe with fewer rows, and fewer bytes, is small.
        small_stripe_bytes: see ``small_stripe_rows``.
        small_stripes: this number of small stripes in a row are rewritten as one.
        least_chunk_bytes: smallest number of bytes of stripes that one thread rewrites: smaller
            files would have small stripes.
        most_chunk_bytes: largest number of bytes of stripes that one thread rewrites.
        thread_memory_bytes: memory of the JVM for each thread that rewrites stripes.
        file_threads: number of files read or written at a time: appending to one takes up to half a
            second on HDFS, reading its tail some milliseconds.
    """

    single_pass_bytes: int = 4 * _MIB
    pruning_table_bytes: int = 32 * _MIB
    pruning_partitions: int = 8
    pruning_values: int = 10_000
    merge_key_values: int = 1_000
    merge_shuffle_bytes: int = 16 * _MIB
    driver_events: int = 5_000_000
    driver_rows: int = 200
    driver_read_bytes: int = 1024 * _MIB
    driver_join_bytes: int = _MIB
    one_task_bytes: int = 4 * _MIB
    copied_once_bytes: int = 16 * _MIB
    bitmap_events: int = 5_000_000
    bitmap_words: int = 1_000_000
    dense_bitmap_words: int = 8_000_000
    broadcast_numbers: int = 4_000_000
    events_per_word: int = 4
    packed_bits: int = 62
    counted_files: int = 1_000
    split_bytes: int = 128 * _MIB
    fair_share_bytes: int = 16 * _MIB
    compaction_events: int = 5_000_000
    rewritten_bytes: int = 4096 * _MIB
    small_stripe_rows: int = 10_000
    small_stripe_bytes: int = _MIB
    small_stripes: int = 20
    least_chunk_bytes: int = 16 * _MIB
    most_chunk_bytes: int = 128 * _MIB
    thread_memory_bytes: int = 512 * _MIB
    file_threads: int = 8


_LIMITS = Limits()


def limits() -> Limits:
    """Return the tuning constants."""
    return _LIMITS
