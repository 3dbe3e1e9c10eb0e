"""ALTER TABLE … COMPACT."""

from __future__ import annotations

from pyspark.sql import DataFrame
from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_fixed

from acidsql.commands.partitions import required
from acidsql.commands.show_transactions import compaction_rows
from acidsql.compaction import cleaner, worker
from acidsql.deferred_signals import DeferredSignals
from acidsql.errors import AcidAnalysisError, ConcurrencyError
from acidsql.limits import limits
from acidsql.metastore.model import CompactionState, CompactionType, Table
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.statements import Compact

_KINDS = (CompactionType.MINOR, CompactionType.MAJOR)


def compact(session: AcidSession, table: Table, statement: Compact) -> DataFrame:
    """Run COMPACT: compact a table or the named partitions in this Spark session, and clean up.

    Returns:
        The queue entries, as SHOW COMPACTIONS lists them.
    """
    for clause in statement.unsupported:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.COMPACT", f"{clause} is not supported in COMPACT: leave it out"
        )
    known = [t.value for t in _KINDS]
    if statement.compaction_type not in known:
        raise AcidAnalysisError(
            "INVALID_COMPACTION_TYPE",
            f"there is no compaction of type {statement.compaction_type!r}: use "
            f"{' or '.join(known)}",
        )
    names: list[str | None] = [None]
    if table.partition_columns:
        found = required(session, table, statement.partition)
        names = [table.partition_name(p.values) for p in found]
    elif statement.partition is not None:
        raise AcidAnalysisError(
            "INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY",
            f"{table.full_name} has no partitions: leave PARTITION out",
        )
    kind = CompactionType(statement.compaction_type)
    ids = [_compact_one(session, table, name, kind, wait=statement.wait) for name in names]
    cleaner.clean(session)
    entries = {c.compaction_id: c for c in session.metastore.compactions()}
    return compaction_rows(session, [entries[i] for i in ids if i in entries])


def _compact_one(
    session: AcidSession, table: Table, partition: str | None, kind: CompactionType, *, wait: bool
) -> int:
    """Request a compaction and do it; return the id of its entry.

    A metastore that does compactions itself is waited for, if ``wait`` is true.
    """
    metastore = session.metastore
    name = worker.worker_name(session)
    # An entry without its worker would be in the way of the next request.
    with DeferredSignals():
        entry = metastore.request_compaction(table.database, table.name, partition, kind, name)
        # One that was refused because of an entry that nobody works at does that: whoever
        # requested it may have ended.
        taken = metastore.next_compaction(name, entry.compaction_id)
        if taken is not None:
            worker.compact(session, taken)
    if taken is not None and taken.type is not kind and kind is CompactionType.MAJOR:
        return _compact_one(session, table, partition, kind, wait=wait)
    if taken is None and wait and entry.state is not CompactionState.REFUSED:
        _wait_for(session, entry.compaction_id)
    return entry.compaction_id


def _wait_for(session: AcidSession, compaction_id: int) -> None:
    """Wait until another process has done a compaction.

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
