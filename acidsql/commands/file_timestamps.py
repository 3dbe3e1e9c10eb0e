"""Timestamps in ORC files that a table takes over: local times, or instants."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import SparkSession
from pyspark.sql.types import (
    DataType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from acidsql import bridge
from acidsql.format.orc_tail import OrcTail
from acidsql.format.timestamp_types import INSTANT, timestamps_in
from acidsql.metastore.model import Table
from acidsql.syntax.lexer import quote

FILE_INSTANT = "timestamp_instant"
"""Name of ORC's type for instants."""

_NAMES = {
    "byte": "tinyint",
    "short": "smallint",
    "long": "bigint",
    "varchar": "string",
    "char": "string",
    FILE_INSTANT: "timestamp",
}


def schema_of_file(spark: SparkSession, tail: OrcTail) -> StructType:
    """Return the columns of a file as Spark's reader shows them; Spark 3.5 has no instants."""
    schema = bridge.parse_type(spark, _type_text(tail, 0))
    assert isinstance(schema, StructType)
    return schema


def _type_text(tail: OrcTail, type_id: int) -> str:
    node = tail.types[type_id]
    children = [_type_text(tail, child) for child in node.subtypes]
    if node.kind == "struct":
        fields = zip(node.field_names, children, strict=True)
        return f"struct<{','.join(f'{quote(name)}:{text}' for name, text in fields)}>"
    if node.kind == "list":
        return f"array<{children[0]}>"
    if node.kind == "map":
        return f"map<{children[0]},{children[1]}>"
    if node.kind == "decimal":
        return f"decimal({node.precision},{node.scale})"
    return _NAMES.get(node.kind, node.kind)


def differing_timestamps(
    spark: SparkSession, table: Table, tail: OrcTail, struct: int = 0
) -> set[str]:
    """Return the types of the table's timestamps that a file stores in another form.

    A table's files contain instants for TIMESTAMP_LTZ, and local times for the other types.

    Args:
        spark: the session.
        table: the table.
        tail: tail of a file with the table's columns; the last columns can be missing.
        struct: id of the struct type in the file whose fields are the columns.

    Returns:
        Some of ``timestamp``, ``timestamp_ntz`` and ``timestamp_ltz``.
    """
    differing: set[str] = set()
    for column, (_, type_id) in zip(table.columns, tail.struct_fields(struct), strict=False):
        words = iter(timestamps_in(column.type))
        declared = bridge.parse_type(spark, column.type)
        for kind, word in _pairs(tail, type_id, declared, words):
            if (kind == FILE_INSTANT) != (word == INSTANT):
                differing.add(word)
    return differing


def _pairs(
    tail: OrcTail, type_id: int | None, declared: DataType, words: Iterator[str]
) -> Iterator[tuple[str, str]]:
    """Yield the type in the file and the type in the table of each timestamp that both contain."""
    if isinstance(declared, TimestampType | TimestampNTZType):
        word = next(words)
        if type_id is not None:
            yield tail.types[type_id].kind, word
        return
    subtypes = () if type_id is None else tail.types[type_id].subtypes
    for position, child in enumerate(bridge.inner_types(declared)):
        inside = subtypes[position] if position < len(subtypes) else None
        yield from _pairs(tail, inside, child, words)
