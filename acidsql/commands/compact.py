"""ALTER TABLE … COMPACT, OPTIMIZE, VACUUM and ABORT COMPACTIONS."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_fixed

from acidsql.commands import result
from acidsql.commands.partitions import named_partitions, satisfying
from acidsql.commands.show_transactions import compaction_rows
from acidsql.compaction import cleaner, worker
from acidsql.compaction.initiator import compactable, zorder_of
from acidsql.compaction.zordering import ordered_columns
from acidsql.deferred_signals import DeferredSignals
from acidsql.errors import (
    AcidAnalysisError,
    AcidLookupError,
    ConcurrencyError,
    TransactionStateError,
)
from acidsql.format.bucket_codec import MAX_BUCKET_ID
from acidsql.format.zorder import order_text
from acidsql.limits import limits
from acidsql.metastore.model import (
    NO_OPTIONS,
    CompactionOptions,
    CompactionState,
    CompactionType,
    Partition,
    Table,
)
from acidsql.session.acid_session import AcidSession
from acidsql.storage.listings import Listings
from acidsql.syntax.maintenance_statements import AbortCompactions, Compact, Optimize, Vacuum
from acidsql.syntax.nodes import Span

_KINDS = (CompactionType.MINOR, CompactionType.MAJOR, CompactionType.REBALANCE)
_SECONDS_PER_HOUR = 3600


def compact(session: AcidSession, table: Table, statement: Compact) -> DataFrame:
    """Run COMPACT: compact a table or the named partitions in this Spark session, and clean up.

    Without PARTITION, the partitions of a partitioned table that need it are compacted. With POOL,
    the statement only requests compactions, and the workers of the pool run them.

    Returns:
        The queue entries, as SHOW COMPACTIONS lists them.
    """
    _check(statement)
    kind = CompactionType(statement.compaction_type)
    names: list[str | None] = [None]
    named = named_partitions(session, table, statement.partition)
    if named is not None:
        names = [table.partition_name(p.values) for p in named]
    elif table.partition_columns:
        places = session.metastore.partitions(table.database, table.name)
        names = list(_that_need_it(session, table, places, kind))
    options = CompactionOptions(
        pool=statement.pool,
        order_by=_text(statement.order_by, statement),
        buckets=statement.clustered_into,
    )
    if statement.pool is not None:
        requested = session.metastore.request_compaction
        ids = [
            requested(table.database, table.name, name, kind, options=options).compaction_id
            for name in names
        ]
        return _entries(session, ids)
    return _compact_all(session, table, names, kind, wait=statement.wait, options=options)


def optimize(session: AcidSession, table: Table, statement: Optimize) -> DataFrame:
    """Run OPTIMIZE: compact the partitions that need it; with ZORDER BY, rebalance all of them.

    The compactions are major. If a table property contains the columns of a Z-order, the partitions
    that need a compaction are clustered by these columns.

    Returns:
        The queue entries, as SHOW COMPACTIONS lists them.

    Raises:
        AcidAnalysisError: INVALID_SORT_ORDER; INVALID_PARTITION_OPERATION.
    """
    columns = ordered_columns(session, table, statement.zorder_by)
    kind, options = CompactionType.MAJOR, NO_OPTIONS
    if columns or (columns := zorder_of(session, table)):
        _check_can_move(table)
        kind = CompactionType.REBALANCE
        options = CompactionOptions(order_by=order_text(columns))
    names: list[str | None] = [None]
    if table.partition_columns:
        places: Sequence[Partition] = session.metastore.partitions(table.database, table.name)
        if statement.condition is not None:
            span = statement.condition
            places = satisfying(session, table, places, statement.text[span.start : span.end])
        names = [table.partition_name(place.values) for place in places]
        if not statement.zorder_by:
            names = list(_that_need_it(session, table, places, CompactionType.MAJOR))
    elif statement.condition is not None:
        raise AcidAnalysisError(
            "INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY",
            f"{table.full_name} has no partitions: leave WHERE out",
        )
    elif options is not NO_OPTIONS and not statement.zorder_by:
        place = Partition(values=(), location=table.location)
        if not list(_that_need_it(session, table, [place], CompactionType.MAJOR)):
            kind, options = CompactionType.MAJOR, NO_OPTIONS
    return _compact_all(session, table, names, kind, wait=True, options=options)


def _check_can_move(table: Table) -> None:
    """Check that rows of a table can be moved to other files.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.ZORDER_BY.
    """
    reason = None
    if table.num_buckets:
        reason = "is bucketed: a row is in the file of its bucket"
    elif table.insert_only:
        reason = "is insert-only: its files are not sorted"
    if reason is not None:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.ZORDER_BY",
            f"ZORDER BY is not supported, because {table.full_name} {reason}; leave it out",
        )


def vacuum(session: AcidSession, table: Table, statement: Vacuum) -> DataFrame:
    """Run VACUUM: remove the directories of a table that no reader needs.

    Returns:
        The paths of these directories.
    """
    hours = statement.retain_hours
    removed = cleaner.vacuum(
        session,
        table,
        None if hours is None else hours * _SECONDS_PER_HOUR,
        dry_run=statement.dry_run,
    )
    return result.table(session.spark, [("path", "STRING")], [(path,) for path in removed])


def abort_compactions(session: AcidSession, statement: AbortCompactions) -> DataFrame:
    """Run ABORT COMPACTIONS: abort entries of the queue that no worker has begun.

    Returns:
        A row for each id with its status, and the reason if the entry was not aborted.
    """
    rows: list[tuple[int, str, str | None]] = []
    for compaction_id in statement.ids:
        try:
            state = session.metastore.abort_compaction(compaction_id).state
        except AcidLookupError:
            rows.append((compaction_id, "not found", "the queue has no such compaction"))
            continue
        if state is CompactionState.ABORTED:
            rows.append((compaction_id, "aborted", None))
        else:
            rows.append((compaction_id, "not eligible", f"it is {state.value}"))
    columns = [("compactionid", "BIGINT"), ("status", "STRING"), ("message", "STRING")]
    return result.table(session.spark, columns, rows)


def _text(span: Span | None, statement: Compact) -> str | None:
    return None if span is None else statement.text[span.start : span.end]


def _check(statement: Compact) -> None:
    """Check the clauses of a COMPACT.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.COMPACT, INVALID_COMPACTION_TYPE.
    """
    clauses = list(statement.unsupported)
    if statement.compaction_type != CompactionType.REBALANCE:
        clauses += ["ORDER BY"] if statement.order_by is not None else []
        clauses += ["CLUSTERED INTO"] if statement.clustered_into is not None else []
    for clause in clauses:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.COMPACT",
            f"{clause} is not supported in COMPACT {statement.compaction_type!r}: leave it out",
        )
    files = statement.clustered_into
    if files is not None and not 0 < files <= MAX_BUCKET_ID + 1:
        raise AcidAnalysisError(
            "INVALID_BUCKET_COUNT",
            f"CLUSTERED INTO {files} BUCKETS: give a number from 1 to {MAX_BUCKET_ID + 1}",
        )
    known = [t.value for t in _KINDS]
    if statement.compaction_type not in known:
        raise AcidAnalysisError(
            "INVALID_COMPACTION_TYPE",
            f"there is no compaction of type {statement.compaction_type!r}: use "
            f"{' or '.join(known)}",
        )


def _that_need_it(
    session: AcidSession, table: Table, places: Sequence[Partition], kind: CompactionType
) -> list[str | None]:
    """Return the names of the partitions with directories to merge or to remove."""
    listings = Listings(session.files, None)
    return [
        table.partition_name(place.values)
        for place, state in compactable(session, table, places, listings)
        if worker.is_enough(state, kind) or state.obsolete or state.aborted
    ]


def _compact_all(
    session: AcidSession,
    table: Table,
    names: Sequence[str | None],
    kind: CompactionType,
    *,
    wait: bool,
    options: CompactionOptions = NO_OPTIONS,
) -> DataFrame:
    ids = [_compact_one(session, table, name, kind, wait=wait, options=options) for name in names]
    if not session.metastore.cleans_compactions:
        cleaner.clean(session)
    return _entries(session, ids)


def _entries(session: AcidSession, ids: Sequence[int]) -> DataFrame:
    entries = {c.compaction_id: c for c in session.metastore.compactions()}
    return compaction_rows(session, [entries[i] for i in ids if i in entries])


def _compact_one(
    session: AcidSession,
    table: Table,
    partition: str | None,
    kind: CompactionType,
    *,
    wait: bool,
    options: CompactionOptions,
    is_again: bool = False,
) -> int:
    """Request a compaction and run it; return the id of its entry.

    If another process has the entry, or the metastore runs compactions itself, wait for the
    compaction if ``wait`` is true.
    """
    metastore = session.metastore
    name = worker.worker_name(session)
    # A signal must not leave an entry without a worker, which would block the next request.
    with DeferredSignals():
        entry = metastore.request_compaction(
            table.database, table.name, partition, kind, name, options
        )
        # If the request was refused because of an entry that no worker has taken, take this entry,
        # because the process that requested it may have ended.
        taken = metastore.next_compaction(name, entry.compaction_id)
        if taken is not None:
            try:
                worker.compact(session, taken)
            except TransactionStateError as error:
                # The entry returned to the queue because the clock jumped or this process slept.
                if error.condition != "COMPACTION_STATE_CHANGED" or is_again:
                    raise
                return _compact_one(
                    session, table, partition, kind, wait=wait, options=options, is_again=True
                )
    if taken is not None and taken.type is not kind and kind is not CompactionType.MINOR:
        return _compact_one(session, table, partition, kind, wait=wait, options=options)
    if taken is None and wait and entry.state is not CompactionState.REFUSED:
        _wait_for(session, entry.compaction_id)
    return entry.compaction_id


def _wait_for(session: AcidSession, compaction_id: int) -> None:
    """Wait until another process has finished a compaction.

    Raises:
        ConcurrencyError: COMPACTION_TIMEOUT.
    """
    timeout = session.settings.lock_timeout
    polling = Retrying(
        retry=retry_if_result(lambda done: not done),
        stop=stop_after_delay(timeout),
        wait=wait_fixed(limits().compaction_poll_seconds),
    )
    try:
        polling(_is_done, session, compaction_id)
    except RetryError as error:
        raise ConcurrencyError(
            "COMPACTION_TIMEOUT",
            f"compaction {compaction_id} was not done within {timeout:g} s: it stays in the queue, "
            "see SHOW COMPACTIONS; a metastore of Hive 3.1 needs Hive's own workers for it",
        ) from error


def _is_done(session: AcidSession, compaction_id: int) -> bool:
    entries = {c.compaction_id: c.state for c in session.metastore.compactions()}
    return entries.get(compaction_id) not in (CompactionState.INITIATED, CompactionState.WORKING)
