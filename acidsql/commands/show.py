"""SHOW and DESCRIBE."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from typing import TypeVar

from pyspark.sql import DataFrame

from acidsql import bridge
from acidsql.commands import result
from acidsql.commands.partitions import matching, the_one
from acidsql.errors import AcidAnalysisError
from acidsql.format.partitions import partition_name
from acidsql.metastore.protocol import (
    Column,
    Compaction,
    LockInfo,
    Partition,
    Table,
    TableType,
)
from acidsql.resolution import CATALOG, find, find_acid_table, latest_snapshot, qualified
from acidsql.schema import literal, quote
from acidsql.session import AcidSession, mirror_database
from acidsql.syntax import statements as ast
from acidsql.syntax.pieces import Name, PartitionSpec

_Row = tuple[str, str, str | None]
_Entry = TypeVar("_Entry", Compaction, LockInfo)
# What DESCRIBE EXTENDED of a column tells of it; none is kept.
_STATISTICS = (
    "min", "max", "num_nulls", "distinct_count", "avg_col_len", "max_col_len", "histogram",
)  # fmt: skip


def show_tables(session: AcidSession, statement: ast.ShowTables) -> DataFrame | None:
    """SHOW TABLES: Spark's and the metastore's."""
    parts = statement.database or (session.spark.catalog.currentDatabase(),)
    name = qualified(session, (*parts, "t"))
    if name is None or not session.has_database(name[0]):
        return None
    mirror_database(session, name[0])
    others = [tuple(row) for row in session.spark.sql(statement.text).collect()]
    pattern = _pattern(statement.pattern)
    own = [(name[0], t, False) for t in session.metastore.tables(name[0]) if pattern.fullmatch(t)]
    rows = sorted({*others, *own}, key=lambda row: (row[2], row[1]))
    columns = [("namespace", "STRING"), ("tableName", "STRING"), ("isTemporary", "BOOLEAN")]
    return result.table(session.spark, columns, rows)


def show_databases(session: AcidSession, statement: ast.ShowDatabases) -> DataFrame | None:
    """SHOW DATABASES: those of Spark's that a server does not tell, and the server's. An embedded
    metastore's are known to Spark.
    """
    if not session.metastore.served or session.spark.catalog.currentCatalog() != CATALOG:
        return None
    pattern = _pattern(statement.pattern)
    others = {row[0] for row in session.spark.sql(statement.text).collect()}
    own = {name for name in session.metastore.databases() if pattern.fullmatch(name)}
    rows = [(name,) for name in sorted(others | own)]
    return result.table(session.spark, [("namespace", "STRING")], rows)


def _pattern(text: str | None) -> re.Pattern[str]:
    """Spark's pattern: a regular expression in which ``*`` is ``.*``, any case.

    Alternatives that are no regular expressions match nothing.
    """
    valid = []
    for alternative in (text or "*").strip().split("|"):
        with suppress(re.error):
            valid.append(re.compile(alternative.replace("*", ".*")).pattern)
    return re.compile("|".join(f"(?:{a})" for a in valid) or "(?!)", re.IGNORECASE)


def show_partitions(session: AcidSession, statement: ast.ShowPartitions) -> DataFrame | None:
    """SHOW PARTITIONS: the names, as of directories."""
    table = find(session, statement.name)
    if table is None:
        return None
    if not table.partition_columns:
        raise AcidAnalysisError(
            "INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY",
            f"{table.full_name} has no partitions: it was created without PARTITIONED BY",
        )
    names = [partition_label(table, p) for p in matching(session, table, statement.partition)]
    return result.table(session.spark, [("partition", "STRING")], [(n,) for n in names])


def partition_label(table: Table, partition: Partition) -> str:
    """A partition's name, ``p=1/q=2``."""
    return partition_name([c.name for c in table.partition_columns], partition.values)


def show_columns(session: AcidSession, statement: ast.ShowColumns) -> DataFrame | None:
    """SHOW COLUMNS."""
    table = find(session, (*(statement.database or ()), *statement.name))
    if table is None:
        return None
    rows = [(name,) for name, _, _ in _described(session, table)]
    return result.table(session.spark, [("col_name", "STRING")], rows)


def show_tbl_properties(session: AcidSession, statement: ast.ShowTblProperties) -> DataFrame | None:
    """SHOW TBLPROPERTIES."""
    table = find(session, statement.name)
    if table is None:
        return None
    rows: Sequence[tuple[str, str]] = sorted(table.properties.items())
    if statement.key is not None:
        missing = f"Table {CATALOG}.{table.full_name} does not have property: {statement.key}"
        rows = [(statement.key, table.properties.get(statement.key, missing))]
    return result.table(session.spark, [("key", "STRING"), ("value", "STRING")], rows)


def show_create_table(session: AcidSession, statement: ast.ShowCreateTable) -> DataFrame | None:
    """SHOW CREATE TABLE: a statement that acidsql takes."""
    table = find(session, statement.name)
    if table is None:
        return None
    text = _create_view_text(table) if table.table_type is TableType.VIEW else _create_text(table)
    return result.table(session.spark, [("createtab_stmt", "STRING")], [(text,)])


def _create_view_text(view: Table) -> str:
    columns = f" ({', '.join(quote(c.name) for c in view.columns)})" if view.columns else ""
    return f"CREATE VIEW {quote(view.database)}.{quote(view.name)}{columns} AS {view.view_text}"


def _create_text(table: Table) -> str:
    properties = {k: v for k, v in table.properties.items() if k != "comment"}
    lines = [
        f"CREATE TABLE {quote(table.database)}.{quote(table.name)} (",
        ",\n".join(f"  {_definition(c)}" for c in table.columns) + ")",
    ]
    if table.partition_columns:
        columns = ", ".join(_definition(c) for c in table.partition_columns)
        lines.append(f"PARTITIONED BY ({columns})")
    if table.num_buckets:
        columns = ", ".join(map(quote, table.bucket_columns))
        lines.append(f"CLUSTERED BY ({columns}) INTO {table.num_buckets} BUCKETS")
    lines.append(f"STORED AS {table.file_format.value.upper()}")
    lines.append(f"LOCATION {literal(table.location)}")
    if "comment" in table.properties:
        lines.append(f"COMMENT {literal(table.properties['comment'])}")
    pairs = [f"{literal(k)} = {literal(v)}" for k, v in sorted(properties.items())]
    lines.append(f"TBLPROPERTIES ({', '.join(pairs)})")
    return "\n".join(lines)


def _definition(column: Column) -> str:
    words = [quote(column.name), column.type]
    if not column.nullable:
        words.append("NOT NULL")
    if column.default is not None:
        words.append(f"DEFAULT {column.default}")
    if column.comment is not None:
        words.append(f"COMMENT {literal(column.comment)}")
    return " ".join(words)


def describe(session: AcidSession, statement: ast.Describe) -> DataFrame | None:
    """DESCRIBE, with Spark's columns and headings."""
    table = find(session, statement.name)
    if table is None:
        return None
    if statement.as_json:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.DESCRIBE_AS_JSON",
            "DESCRIBE … AS JSON is not supported for transactional tables: use DESCRIBE EXTENDED",
        )
    if statement.column is not None:
        return _describe_column(session, table, statement.column, statement.mode)
    partition = None
    if statement.partition is not None:
        partition = the_one(session, table, statement.partition)
    rows = _described(session, table)
    types = {name: data_type for name, data_type, _ in rows}
    if table.partition_columns:
        by = rows[len(table.columns) :]
        rows = [*rows, _heading("# Partition Information"), ("# col_name", "data_type", "comment")]
        rows += by
    if statement.mode != "plain":
        rows += _details(table) if partition is None else _partition_details(table, partition)
    defaults = [(c.name, types[c.name], c.default) for c in _all_columns(table) if c.default]
    if defaults:
        rows += [_heading(""), _heading("# Column Default Values"), *defaults]
    columns = [("col_name", "STRING"), ("data_type", "STRING"), ("comment", "STRING")]
    return result.table(session.spark, columns, rows)


def _described(session: AcidSession, table: Table) -> list[_Row]:
    """Name, type and comment of each column; a view has those of its query."""
    if table.table_type is TableType.VIEW:
        frame = bridge.frame_of(session.spark, latest_snapshot(session).relation(table))
        fields = frame.schema.fields
        return [(f.name, f.dataType.simpleString(), f.metadata.get("comment")) for f in fields]
    return [
        (c.name, bridge.parse_type(session.spark, c.type).simpleString(), c.comment)
        for c in _all_columns(table)
    ]


def _heading(text: str) -> _Row:
    return text, "", ""


def _describe_column(session: AcidSession, table: Table, wanted: str, mode: str) -> DataFrame:
    for name, data_type, comment in _described(session, table):
        if name.lower() == wanted.lower():
            rows = [("col_name", wanted), ("data_type", data_type), ("comment", comment or "NULL")]
            if mode != "plain":
                rows += [(statistic, "NULL") for statistic in _STATISTICS]
                rows += [
                    ("default", c.default)
                    for c in _all_columns(table)
                    if c.name == name and c.default is not None
                ]
            columns = [("info_name", "STRING"), ("info_value", "STRING")]
            return result.table(session.spark, columns, rows)
    raise AcidAnalysisError(
        "COLUMN_NOT_FOUND",
        f"{table.full_name} has no column {wanted}: see DESCRIBE {table.full_name}",
    )


def _details(table: Table) -> list[_Row]:
    created = datetime.fromtimestamp(table.created, tz=timezone.utc)
    required = [c.name for c in _all_columns(table) if not c.nullable]
    properties = ", ".join(f"{k}={v}" for k, v in sorted(table.properties.items()))
    rows: list[_Row] = [
        _heading(""),
        _heading("# Detailed Table Information"),
        ("Catalog", "spark_catalog", ""),
        ("Database", table.database, ""),
        ("Table", table.name, ""),
        ("Owner", table.owner, ""),
        ("Created Time", created.strftime("%Y-%m-%d %H:%M:%S UTC"), ""),
        ("Type", table.table_type.value, ""),
        ("Provider", f"acidsql ({_kind(table)})", ""),
        ("Location", table.location, ""),
        ("Table Properties", f"[{properties}]", ""),
    ]
    if table.num_buckets:
        rows.append(("Num Buckets", str(table.num_buckets), ""))
        rows.append(("Bucket Columns", f"[{', '.join(map(quote, table.bucket_columns))}]", ""))
    if table.view_text is not None:
        rows.append(("View Text", table.view_text, ""))
    if required:
        rows.append(("Not Null", ", ".join(required), ""))
    return rows


def _kind(table: Table) -> str:
    guarantee = "insert-only" if table.insert_only else "full ACID"
    return f"{table.file_format.name}, {guarantee}"


def _partition_details(table: Table, partition: Partition) -> list[_Row]:
    values = partition_label(table, partition).replace("/", ", ")
    return [
        _heading(""),
        _heading("# Detailed Partition Information"),
        ("Database", table.database, ""),
        ("Table", table.name, ""),
        ("Partition Values", f"[{values}]", ""),
        ("Location", partition.location, ""),
    ]


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
    """SHOW COMPACTIONS: the queue and its history, newest first."""
    for clause in statement.unsupported:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.SHOW_COMPACTIONS",
            f"{clause} is not supported in SHOW COMPACTIONS: filter the DataFrame that it returns",
        )
    return compaction_rows(session, _meant(session, statement, session.metastore.compactions()))


def compaction_rows(session: AcidSession, entries: Sequence[Compaction]) -> DataFrame:
    """Queue entries as SHOW COMPACTIONS lists them."""
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
    """SHOW TRANSACTIONS: those open, and those aborted that nobody cleaned after."""
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
    """SHOW LOCKS."""
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
    """The entries of the database, or of the table and partitions, that a statement names."""
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
    """The names of the partitions that a specification means; None for the whole table."""
    table = find_acid_table(session, name)
    if spec is None or table is None:
        return None
    return {partition_label(table, p) for p in matching(session, table, spec)}


def _all_columns(table: Table) -> tuple[Column, ...]:
    return (*table.columns, *table.partition_columns)
