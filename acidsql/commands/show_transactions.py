"""SHOW COMPACTIONS, SHOW TRANSACTIONS and SHOW LOCKS."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from pyspark.sql import DataFrame

from acidsql.commands import result
from acidsql.commands.partitions import matching
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.model import Compaction, LockInfo
from acidsql.planning.name_resolution import find_acid_table, qualified
from acidsql.session.acid_session import AcidSession
from acidsql.syntax import statements as ast
from acidsql.syntax.nodes import Name, PartitionSpec

_Entry = TypeVar("_Entry", Compaction, LockInfo)

_COMPACTION_COLUMNS = (
    ("compactionid", "BIGINT"),
    ("dbname", "STRING"),
    ("tabname", "STRING"),
    ("partname", "STRING"),
    ("type", "STRING"),
    ("state", "STRING"),
    ("workerid", "STRING"),
    ("enqueuetime", "TIMESTAMP"),
    ("starttime", "TIMESTAMP"),
    ("endtime", "TIMESTAMP"),
    ("txnid", "BIGINT"),
    ("highestwriteid", "BIGINT"),
    ("errormessage", "STRING"),
)


def show_compactions(session: AcidSession, statement: ast.ShowCompactions) -> DataFrame:
    """Run SHOW COMPACTIONS: list the queue and its history, newest first."""
    for clause in statement.unsupported:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.SHOW_COMPACTIONS",
            f"{clause} is not supported in SHOW COMPACTIONS: filter the DataFrame that it returns",
        )
    return compaction_rows(session, _meant(session, statement, session.metastore.compactions()))


def compaction_rows(session: AcidSession, entries: Sequence[Compaction]) -> DataFrame:
    """Return queue entries as SHOW COMPACTIONS lists them."""
    rows = [
        (
            c.compaction_id,
            c.database,
            c.table,
            c.partition,
            c.type.value,
            c.state.value,
            c.worker,
            _time(c.enqueued),
            _time(c.started),
            _time(c.ended),
            c.txn_id,
            c.highest_write_id,
            c.error,
        )
        for c in entries
    ]
    frame = result.table(
        session.spark,
        [(n, "BIGINT" if t == "TIMESTAMP" else t) for n, t in _COMPACTION_COLUMNS],
        rows,
    )
    times = {n for n, t in _COMPACTION_COLUMNS if t == "TIMESTAMP"}
    return frame.selectExpr(
        *[f"timestamp_seconds({n}) AS {n}" if n in times else n for n, _ in _COMPACTION_COLUMNS]
    )


def _time(seconds: int | None) -> int | None:
    return int(seconds) if seconds else None


def show_transactions(session: AcidSession) -> DataFrame:
    """Run SHOW TRANSACTIONS: list open transactions, and aborted ones that are not cleaned yet."""
    rows = [
        (
            t.txn_id,
            t.state.value,
            t.type.value,
            int(t.started),
            int(t.last_heartbeat),
            t.user,
            t.host,
        )
        for t in session.metastore.open_txns()
    ]
    columns = [
        ("txnid", "BIGINT"),
        ("state", "STRING"),
        ("type", "STRING"),
        ("started", "BIGINT"),
        ("lastheartbeat", "BIGINT"),
        ("user", "STRING"),
        ("host", "STRING"),
    ]
    return result.table(session.spark, columns, rows)


def show_locks(session: AcidSession, statement: ast.ShowLocks) -> DataFrame:
    """Run SHOW LOCKS."""
    locks = _meant(session, statement, session.metastore.locks())
    rows = [
        (
            lock.lock_id,
            lock.database,
            lock.table,
            lock.partition,
            lock.state.value,
            lock.type.value,
            lock.txn_id,
            lock.user,
            lock.host,
        )
        for lock in locks
    ]
    columns = [
        ("lockid", "BIGINT"),
        ("database", "STRING"),
        ("table", "STRING"),
        ("partition", "STRING"),
        ("lock_state", "STRING"),
        ("lock_type", "STRING"),
        ("transaction_id", "BIGINT"),
        ("user", "STRING"),
        ("hostname", "STRING"),
    ]
    return result.table(session.spark, columns, rows)


def _meant(
    session: AcidSession, statement: ast.ShowCompactions | ast.ShowLocks, entries: Iterable[_Entry]
) -> list[_Entry]:
    """Return the entries of the database, table or partitions that a statement names."""
    meant = list(entries)
    if statement.database is not None:
        meant = [e for e in meant if e.database == statement.database[-1].lower()]
    if statement.name is not None:
        name = qualified(session, statement.name)
        names = _partition_names(session, statement.name, statement.partition)
        meant = [
            e
            for e in meant
            if (e.database, e.table) == name and (names is None or e.partition in names)
        ]
    return meant


def _partition_names(
    session: AcidSession, name: Name, spec: PartitionSpec | None
) -> set[str] | None:
    """Return the names of the partitions that a specification matches; None for the whole table."""
    table = find_acid_table(session, name)
    if spec is None or table is None:
        return None
    return {table.partition_name(p.values) for p in matching(session, table, spec)}
