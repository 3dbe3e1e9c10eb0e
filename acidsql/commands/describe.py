"""DESCRIBE of tables, partitions and columns."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from pyspark.sql import DataFrame

from acidsql import bridge
from acidsql.commands import result
from acidsql.commands.describe_json import describe_as_json
from acidsql.commands.partitions import the_one
from acidsql.errors import AcidAnalysisError, quoted_name
from acidsql.format.identifiers import lowered
from acidsql.metastore.model import Column, Partition, Table, TableType
from acidsql.metastore.table_statistics import column_named
from acidsql.planning.name_resolution import find, known_to_spark
from acidsql.planning.statement_snapshots import latest_snapshot
from acidsql.schema.columns import declared_type, shown_type
from acidsql.session.acid_session import AcidSession
from acidsql.session.settings import name_key
from acidsql.syntax import show_statements
from acidsql.syntax.lexer import quote
from acidsql.syntax.nodes import Name

_Row = tuple[str, str, str | None]


def describe(session: AcidSession, statement: show_statements.Describe) -> DataFrame | None:
    """Run DESCRIBE, with Spark's columns and headings; None if the table is Spark's."""
    table = find(session, statement.name)
    if table is None:
        return None
    if statement.column is not None and statement.as_json:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.DESC_TABLE_COLUMN_JSON",
            "AS JSON describes a whole table: leave the column out",
        )
    if statement.column is not None:
        return _describe_column(session, table, statement.column, statement.mode)
    partition = None
    if statement.partition is not None:
        partition = the_one(session, table, statement.partition)
    rows = described(session, table)
    if statement.as_json:
        return describe_as_json(session, table, rows, partition, statement.mode)
    types = {name: data_type for name, data_type, _ in rows}
    if table.partition_columns:
        by = rows[len(table.columns) :]
        rows = [*rows, _heading("# Partition Information"), ("# col_name", "data_type", "comment")]
        rows += by
    if statement.mode != "plain":
        if partition is None:
            rows += [*_details(table), *_statistics(session, table)]
        else:
            rows += _partition_details(table, partition)
            rows += _statistics(session, table, partition)
    columns = _all_columns(table)
    parts = {
        "# Column Default Values": {c.name: c.default for c in columns if c.default},
        "# Generated Columns": {c.name: c.generated for c in columns if c.generated},
        "# Identity Columns": {c.name: c.identity for c in columns if c.identity},
    }
    for heading, texts in parts.items():
        if texts:
            rows += [_heading(""), _heading(heading)]
            rows += [(name, types[name], text) for name, text in texts.items()]
    if statement.mode != "plain" and partition is None and table.constraints:
        rows += [_heading(""), _heading("# Constraints")]
        rows += [(c.name, c.definition, "") for c in table.constraints]
    shown = [("col_name", "STRING"), ("data_type", "STRING"), ("comment", "STRING")]
    return result.table(session.spark, shown, rows)


def as_column(
    session: AcidSession,
    word: str,
    statement: show_statements.DescribeHistory
    | show_statements.DescribeDetail
    | show_statements.DescribeHealth,
) -> show_statements.Describe | None:
    """Return a statement as DESCRIBE of a column, if no other meaning is possible.

    ``DESCRIBE history id`` describes column ``id`` of the table ``history`` if this table exists
    and a table ``id`` does not.

    Args:
        session: the session.
        word: keyword of the statement, which can also be the name of a table.
        statement: the statement as parsed, with the keyword.
    """
    known = [name for name in (statement.name, (word,)) if _is_known(session, name)]
    if known != [(word,)] or statement.text[statement.name_span.end :].strip():
        return None
    return show_statements.Describe(
        text=statement.text,
        name=(word,),
        name_span=statement.name_span,
        column=".".join(statement.name),
    )


def _is_known(session: AcidSession, name: Name) -> bool:
    return find(session, name) is not None or known_to_spark(session, name)


def described(session: AcidSession, table: Table) -> list[_Row]:
    """Return the name, type and comment of each column; a view has the columns of its query."""
    if table.table_type is TableType.VIEW:
        frame = bridge.frame_of(session.spark, latest_snapshot(session).relation(table))
        fields = frame.schema.fields
        return [(f.name, declared_type(f), f.metadata.get("comment")) for f in fields]
    return [(c.name, shown_type(session.spark, c.type), c.comment) for c in _all_columns(table)]


def _heading(text: str) -> _Row:
    return text, "", ""


def _describe_column(session: AcidSession, table: Table, wanted: str, mode: str) -> DataFrame:
    key = name_key(session.spark)
    for name, data_type, comment in described(session, table):
        if key(name) == key(wanted):
            rows = [("col_name", wanted), ("data_type", data_type), ("comment", comment or "NULL")]
            if mode != "plain":
                rows += _column_statistics(session, table, name)
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
        {"colName": quoted_name([wanted])},
    )


def _column_statistics(session: AcidSession, table: Table, name: str) -> list[tuple[str, str]]:
    """Return the statistics of a column in the whole table, under Spark's names.

    A statistic is NULL if the metastore does not have it, or if it is out of date.
    """
    kept = None
    if table.table_type is TableType.MANAGED:
        of_table = session.metastore.statistics(table, None, [lowered(name)])
        if of_table is not None and of_table.is_current:
            kept = column_named(of_table.columns, lowered(name))
    values = {
        "min": kept and kept.minimum,
        "max": kept and kept.maximum,
        "num_nulls": kept and kept.nulls,
        "distinct_count": kept and kept.distinct,
        "avg_col_len": kept and kept.average_length and math.ceil(kept.average_length),
        "max_col_len": kept and kept.maximum_length,
        "histogram": None,
    }
    return [(key, "NULL" if value is None else str(value)) for key, value in values.items()]


def _statistics(
    session: AcidSession, table: Table, partition: Partition | None = None
) -> list[_Row]:
    """Return a row with size and number of rows, if the table or partition was analysed."""
    if table.table_type is TableType.VIEW:
        return []
    kept = session.metastore.statistics(table, partition.values if partition else None)
    if kept is None:
        return []
    text = f"{kept.size} bytes" + ("" if kept.rows is None else f", {kept.rows} rows")
    name = "Statistics" if partition is None else "Partition Statistics"
    return [(name, text if kept.is_current else f"{text} (out of date)", "")]


def _details(table: Table) -> list[_Row]:
    created = datetime.fromtimestamp(table.created, tz=UTC)
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
    if "comment" in table.properties:
        rows.append(("Comment", table.properties["comment"], ""))
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
    values = table.partition_name(partition.values).replace("/", ", ")
    return [
        _heading(""),
        _heading("# Detailed Partition Information"),
        ("Database", table.database, ""),
        ("Table", table.name, ""),
        ("Partition Values", f"[{values}]", ""),
        ("Location", partition.location, ""),
    ]


def _all_columns(table: Table) -> tuple[Column, ...]:
    return (*table.columns, *table.partition_columns)
