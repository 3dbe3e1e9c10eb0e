"""DESCRIBE HISTORY: the write ids of a table and its compactions."""

from __future__ import annotations

from pyspark.sql import DataFrame

from acidsql.commands import result
from acidsql.metastore.history import COMPACT, HistoryEntry
from acidsql.metastore.model import Table
from acidsql.scan.file_history import history_of_files
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.show_statements import DescribeHistory

_COLUMNS = (
    ("writeId", "BIGINT"),
    ("timestamp", "TIMESTAMP"),
    ("userName", "STRING"),
    ("host", "STRING"),
    ("operation", "STRING"),
    ("statement", "STRING"),
    ("state", "STRING"),
    ("numInsertedRows", "BIGINT"),
    ("numUpdatedRows", "BIGINT"),
    ("numDeletedRows", "BIGINT"),
    ("numFiles", "BIGINT"),
    ("numBytes", "BIGINT"),
    ("transactionId", "BIGINT"),
    ("startedAt", "TIMESTAMP"),
    ("partition", "STRING"),
    ("firstWriteId", "BIGINT"),
)


def describe_history(session: AcidSession, table: Table, statement: DescribeHistory) -> DataFrame:
    """Run DESCRIBE HISTORY: list write ids and compactions, newest first."""
    entries = history(session, table, statement.most)
    return result.table(session.spark, _COLUMNS, [_row(entry) for entry in entries])


def history(session: AcidSession, table: Table, most: int | None) -> tuple[HistoryEntry, ...]:
    """Return the newest entries of a table's history.

    If the metastore has no entry for a write id, its entry is derived from the table's files.
    """
    known = session.metastore.history(table.database, table.name, most)
    left = None if most is None else most - len(known)
    oldest = min((e.write_id for e in known if e.operation != COMPACT), default=None)
    if left == 0 or oldest == 1:
        return known
    return (*known, *history_of_files(session, table, below=oldest, most=left))


def _row(entry: HistoryEntry) -> tuple[object, ...]:
    statement, counts = entry.statement, entry.counts
    if entry.operation == COMPACT and statement is not None:
        statement = f"COMPACT '{statement}'"
    return (
        entry.write_id,
        entry.ended,
        entry.user,
        entry.host,
        entry.operation,
        statement,
        entry.state.value,
        counts.inserted,
        counts.updated,
        counts.deleted,
        counts.files,
        counts.size,
        entry.txn_id,
        entry.started,
        entry.partition,
        entry.first_write_id,
    )
