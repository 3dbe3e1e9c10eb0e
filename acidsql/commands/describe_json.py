"""DESCRIBE EXTENDED … AS JSON, with the keys that Spark uses for its own tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    CharType,
    DataType,
    DecimalType,
    MapType,
    StringType,
    StructType,
    TimestampType,
    VarcharType,
)

from acidsql import bridge
from acidsql.commands import result
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.model import Column, Partition, Table, TableType
from acidsql.session.acid_session import AcidSession

Described = Sequence[tuple[str, str, str | None]]
"""Name, type and comment of each column."""


def describe_as_json(
    session: AcidSession, table: Table, columns: Described, partition: Partition | None, mode: str
) -> DataFrame:
    """Run DESCRIBE … AS JSON of a table, a view or a partition.

    Args:
        session: the session.
        table: the table.
        columns: the columns that DESCRIBE lists.
        partition: the partition to describe, None for the whole table.
        mode: ``extended``, ``formatted`` or ``plain``.

    Raises:
        AcidAnalysisError: DESCRIBE_JSON_NOT_EXTENDED, neither EXTENDED nor FORMATTED is given.
    """
    if mode == "plain":
        raise AcidAnalysisError(
            "DESCRIBE_JSON_NOT_EXTENDED",
            f"DESCRIBE {table.full_name} AS JSON needs a word more: write DESCRIBE EXTENDED "
            f"{table.full_name} AS JSON",
        )
    text = json.dumps(dict(_entries(session, table, columns, partition)), ensure_ascii=False)
    return result.table(session.spark, [("json_metadata", "STRING")], [(text,)])


def _entries(
    session: AcidSession, table: Table, columns: Described, partition: Partition | None
) -> Iterator[tuple[str, Any]]:
    known = {c.name: c for c in (*table.columns, *table.partition_columns)}
    names = [c.name for c in table.partition_columns]
    created = datetime.fromtimestamp(table.created, tz=UTC)
    yield "table_name", table.name
    yield "catalog_name", "spark_catalog"
    yield "namespace", [table.database]
    yield "schema_name", table.database
    is_view = table.table_type is TableType.VIEW
    yield "columns", [_column(session, one, None if is_view else known[one[0]]) for one in columns]
    if partition is not None:
        yield "partition_values", dict(zip(names, partition.values, strict=True))
    if not is_view:
        yield "location", table.location if partition is None else partition.location
    yield "created_time", created.strftime("%Y-%m-%dT%H:%M:%SZ")
    yield "last_access", "UNKNOWN"
    yield "created_by", "acidsql"
    yield "owner", table.owner
    yield "type", "VIEW" if is_view else "MANAGED"
    if is_view:
        yield "view_text", table.view_text
        yield "view_original_text", table.view_text
        return
    yield "provider", "acidsql"
    if table.num_buckets:
        yield "num_buckets", table.num_buckets
        yield "bucket_columns", list(table.bucket_columns)
        yield "sort_columns", []
    if "comment" in table.properties:
        yield "comment", table.properties["comment"]
    yield "table_properties", dict(sorted(table.properties.items()))
    if table.constraints and partition is None:
        yield (
            "constraints",
            [{"name": c.name, "definition": c.definition} for c in table.constraints],
        )
    if names:
        yield "partition_provider", "Catalog"
        yield "partition_columns", names


def _column(
    session: AcidSession, one: tuple[str, str, str | None], declared: Column | None
) -> dict[str, Any]:
    name, text, comment = one
    kind = bridge.parse_type(session.spark, text if declared is None else declared.type)
    entry = {
        "name": name,
        "type": type_as_json(kind),
        "nullable": declared is None or declared.nullable,
    }
    if comment is not None:
        entry["comment"] = comment
    if declared is not None and declared.default is not None:
        entry["default"] = declared.default
    if declared is not None and declared.generated is not None:
        entry["generated"] = declared.generated
    if declared is not None and declared.identity is not None:
        entry["identity"] = declared.identity
    return entry


def type_as_json(kind: DataType) -> dict[str, Any]:
    """Return a type as Spark's DESCRIBE … AS JSON writes it."""
    match kind:
        case ArrayType():
            return {
                "name": "array",
                "element_type": type_as_json(kind.elementType),
                "element_nullable": kind.containsNull,
            }
        case MapType():
            return {
                "name": "map",
                "key_type": type_as_json(kind.keyType),
                "value_type": type_as_json(kind.valueType),
                "value_nullable": kind.valueContainsNull,
            }
        case StructType():
            fields = [
                {"name": f.name, "type": type_as_json(f.dataType), "nullable": f.nullable}
                for f in kind.fields
            ]
            return {"name": "struct", "fields": fields}
        case DecimalType():
            return {"name": "decimal", "precision": kind.precision, "scale": kind.scale}
        case CharType() | VarcharType():
            return {"name": kind.typeName(), "length": kind.length}
        case StringType():
            return {"name": "string", "collation": "UTF8_BINARY"}
        case TimestampType():
            return {"name": "timestamp_ltz"}
    return {"name": kind.simpleString()}
