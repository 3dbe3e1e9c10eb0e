"""ALTER TABLE … COMPACT."""

from __future__ import annotations

from pyspark.sql import DataFrame

from acidsql.commands.partitions import required
from acidsql.commands.show import compaction_rows, partition_label
from acidsql.compaction import cleaner, worker
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.protocol import CompactionState, CompactionType, Table
from acidsql.session import AcidSession
from acidsql.syntax.statements import Compact


def compact(session: AcidSession, table: Table, statement: Compact) -> DataFrame:
    """Compact a table, or the partitions named, in this Spark session, and clean up after it.

    Returns:
        The queue entries, as SHOW COMPACTIONS lists them.
    """
    for clause in statement.unsupported:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.COMPACT", f"{clause} is not supported in COMPACT: leave it out"
        )
    known = [t.value for t in CompactionType]
    if statement.compaction_type not in known:
        raise AcidAnalysisError(
            "INVALID_COMPACTION_TYPE",
            f"there is no compaction of type {statement.compaction_type!r}: use "
            f"{' or '.join(known)}",
        )
    names: list[str | None] = [None]
    if table.partition_columns:
        found = required(session, table, statement.partition)
        names = [partition_label(table, p) for p in found]
    elif statement.partition is not None:
        raise AcidAnalysisError(
            "INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY",
            f"{table.full_name} has no partitions: leave PARTITION out",
        )
    kind = CompactionType(statement.compaction_type)
    ids = [_compact_one(session, table, name, kind) for name in names]
    cleaner.clean(session)
    entries = {c.compaction_id: c for c in session.metastore.compactions()}
    return compaction_rows(session, [entries[i] for i in ids if i in entries])


def _compact_one(
    session: AcidSession, table: Table, partition: str | None, kind: CompactionType
) -> int:
    metastore = session.metastore
    entry = metastore.request_compaction(table.database, table.name, partition, kind)
    if entry.state is CompactionState.REFUSED:
        return entry.compaction_id
    taken = metastore.next_compaction(worker.worker_name(session), entry.compaction_id)
    if taken is not None:
        worker.compact(session, taken)
    return entry.compaction_id
