"""SHOW COMPACTIONS, SHOW TRANSACTIONS and SHOW LOCKS."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from pyspark.sql import DataFrame

from acidsql.commands import result
from acidsql.commands.partitions import matching
from acidsql.format.identifiers import lowered
from acidsql.metastore.model import Compaction, LockInfo
from acidsql.planning.name_resolution import find_acid_table, qualified
from acidsql.session.acid_session import AcidSession
from acidsql.syntax import show_statements as ast
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
    ("poolname", "STRING"),
)


def show_compactions(session: AcidSession, statement: ast.ShowCompactions) -> DataFrame:
    """Run SHOW COMPACTIONS: list the queue and its history, newest first without ORDER BY."""
    entries = [
        c
        for c in _selected(session, statement, session.metastore.compactions())
        if statement.compaction_id in (None, c.compaction_id)
        and statement.pool in (None, c.pool)
        and _is_word(statement.type, c.type)
        and _is_word(statement.status, c.state)
    ]
    shown = compaction_rows(session, entries)
    if statement.order_by is not None:
        order = statement.text[statement.order_by.start : statement.order_by.end]
        shown = session.spark.sql(f"SELECT * FROM {{shown}} ORDER BY {order}", shown=shown)
    return shown if statement.limit is None else shown.limit(statement.limit)


def _is_word(wanted: str | None, word: str) -> bool:
    return wanted is None or wanted.lower() == word


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
            c.pool,
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
    """Run SHOW TRANSACTIONS: list open transactions, and aborted ones that await cleaning."""
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
    locks = _selected(session, statement, session.metastore.locks())
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


def _selected(
    session: AcidSession,
    statement: ast.ShowCompactions | ast.ShowLocks,
    entries: Iterable[_Entry],
) -> list[_Entry]:
    """Return the entries of the database, table or partitions that a statement names."""
    selected = list(entries)
    if statement.database is not None:
        selected = [e for e in selected if e.database == lowered(statement.database[-1])]
    if statement.name is not None:
        name = qualified(session, statement.name)
        names = _partition_names(session, statement.name, statement.partition)
        selected = [
            e
            for e in selected
            if (e.database, e.table) == name and (names is None or e.partition in names)
        ]
    return selected


def _partition_names(
    session: AcidSession, name: Name, spec: PartitionSpec | None
) -> set[str] | None:
    """Return the names of the partitions that a specification matches; None for the whole table."""
    table = find_acid_table(session, name)
    if spec is None or table is None:
        return None
    return {table.partition_name(p.values) for p in matching(session, table, spec)}
