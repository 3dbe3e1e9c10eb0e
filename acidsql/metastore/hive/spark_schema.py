"""Table properties with the column names as the user wrote them, and with types that Hive lacks.

Hive stores the names of columns in lower case. Spark stores its schema, with the original names, in
additional properties (``HiveExternalCatalog``: ``spark.sql.sources.schema``, in parts if it is
long). Hive retains properties that it does not know. acidsql uses the same properties for three
reasons:

* Spark shows the same names for acidsql's tables.
* Other programs that read these properties show them too.
* If a table of Spark becomes transactional, its names are known.

If Hive changes the columns, the properties do not change. Spark then ignores all of them
(``restoreHiveSerdeTable``). acidsql looks up each column by its name in lower case. A column that
is missing in the properties has Hive's name. A TIMESTAMP of Hive is a TIMESTAMP_NTZ if the
properties contain that type. A table without the properties has only names in lower case, and no
TIMESTAMP_NTZ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from acidsql.format.identifiers import lowered
from acidsql.format.timestamp_types import (
    LOCAL_TIME,
    TIMESTAMP,
    timestamps_in,
    with_timestamps,
)
from acidsql.metastore.hive.column_types import hive_type
from acidsql.metastore.model import Column, Table

_PREFIX = "spark.sql.sources.schema"
# Maximum length of a property's value, because the server's database may have a limit
# (spark.sql.sources.schemaStringLengthThreshold).
_LONGEST = 4000
# Names of types in Spark's JSON that differ from their names in SQL.
_JSON_NAMES = {"bigint": "long", "int": "integer", "smallint": "short", "tinyint": "byte"}
# Key in a field's metadata for the declared type of char and varchar, which Spark treats as string.
_DECLARED = "__CHAR_VARCHAR_TYPE_STRING"


def is_schema_property(key: str) -> bool:
    """Return whether a property contains a part of Spark's schema."""
    return key == _PREFIX or key.startswith(f"{_PREFIX}.")


def schema_properties(table: Table) -> dict[str, str]:
    """Return the properties with the names and types of a table's columns.

    The result is empty if Hive's names and types are the same.
    """
    columns = (*table.columns, *table.partition_columns)
    has_local_times = any(LOCAL_TIME in timestamps_in(c.type) for c in columns)
    if not has_local_times and all(c.name == c.stored_name for c in columns):
        return {}
    # The text is ASCII, because Hive's database may store properties in another encoding.
    text = json.dumps({"type": "struct", "fields": [_field(c) for c in columns]})
    properties = {
        **_in_parts(text),
        **_listed("PartCols", "partCol", [c.name for c in table.partition_columns]),
        **_listed("BucketCols", "bucketCol", table.bucket_columns),
    }
    if table.num_buckets:
        properties[f"{_PREFIX}.numBuckets"] = str(table.num_buckets)
    return properties


@dataclass(frozen=True, slots=True)
class WrittenColumn:
    """Column as the properties of a table describe it.

    Attributes:
        name: name as the user wrote it.
        timestamps: for each timestamp in its type, in order, whether it is a local time.
    """

    name: str
    timestamps: tuple[bool, ...]


def written_columns(properties: Mapping[str, str]) -> dict[str, WrittenColumn]:
    """Return the columns that the properties of a table describe, by their names in lower case.

    The result is empty if the text is not a schema of Spark.
    """
    text = properties.get(_PREFIX)
    if text is None:
        number = properties.get(f"{_PREFIX}.numParts", "")
        parts = range(int(number) if number.isdecimal() else 0)
        text = "".join(properties.get(f"{_PREFIX}.part.{i}", "") for i in parts)
    return {lowered(column.name): column for column in _columns_in(text)}


def as_written(columns: Iterable[Column], written: Mapping[str, WrittenColumn]) -> Iterator[Column]:
    """Yield columns of Hive with the names and types in ``written``; others do not change."""
    for column in columns:
        written_column = written.get(column.stored_name)
        yield (
            column
            if written_column is None
            else replace(
                column,
                name=written_column.name,
                type=_with_local_times(column.type, written_column.timestamps),
            )
        )


def _with_local_times(text: str, local: Sequence[bool]) -> str:
    """Return a type of Hive with its TIMESTAMP_NTZ, unless Hive has changed the type.

    >>> _with_local_times("struct<timestamp:timestamp,b:timestamp>", [False, True])
    'struct<timestamp:timestamp,b:timestamp_ntz>'
    """
    words = timestamps_in(text)
    if not any(local) or len(words) != len(local):
        return text
    pairs = zip(words, local, strict=True)
    return with_timestamps(
        text, [LOCAL_TIME if is_local and word == TIMESTAMP else word for word, is_local in pairs]
    )


def _columns_in(text: str) -> Iterator[WrittenColumn]:
    try:
        schema = json.loads(text)
    except ValueError:
        return
    fields = schema.get("fields") if isinstance(schema, dict) else None
    for field in fields if isinstance(fields, list) else []:
        if isinstance(field, dict) and isinstance(field.get("name"), str):
            yield WrittenColumn(field["name"], tuple(_timestamps_in(field.get("type"))))


def _timestamps_in(kind: Any) -> Iterator[bool]:
    """Yield for each timestamp in a type of Spark's JSON whether it is a local time."""
    if isinstance(kind, str):
        if kind in (TIMESTAMP, LOCAL_TIME):
            yield kind == LOCAL_TIME
    elif isinstance(kind, dict):
        fields = kind.get("fields")
        nested = fields if isinstance(fields, list) else []
        types = [field.get("type") for field in nested if isinstance(field, dict)]
        for inner in (*map(kind.get, ("elementType", "keyType", "valueType")), *types):
            yield from _timestamps_in(inner)


def _in_parts(text: str) -> dict[str, str]:
    """Split a long text into several properties (splitLargeTableProp of Spark's CatalogTable)."""
    if len(text) <= _LONGEST:
        return {_PREFIX: text}
    parts = [text[i : i + _LONGEST] for i in range(0, len(text), _LONGEST)]
    named = {f"{_PREFIX}.part.{i}": part for i, part in enumerate(parts)}
    return {f"{_PREFIX}.numParts": str(len(parts)), **named}


def _listed(number: str, singular: str, names: Sequence[str]) -> dict[str, str]:
    listed = {f"{_PREFIX}.{singular}.{i}": name for i, name in enumerate(names)}
    return {f"{_PREFIX}.num{number}": str(len(names)), **listed} if names else {}


def _field(column: Column) -> dict[str, Any]:
    words = (LOCAL_TIME if w == LOCAL_TIME else TIMESTAMP for w in timestamps_in(column.type))
    declared = with_timestamps(hive_type(column.type), words)  # an instant is Spark's TIMESTAMP
    metadata = {} if column.comment is None else {"comment": column.comment}
    if re.search(r"\b(var)?char\(", declared):
        metadata[_DECLARED] = declared
    kind = _json_type(declared)
    return {"name": column.name, "type": kind, "nullable": column.nullable, "metadata": metadata}


def _json_type(text: str) -> str | dict[str, Any]:
    """Return a type of Hive in the form of Spark's JSON.

    >>> _json_type("array<struct<a:int,b c:decimal(5,2)>>")["elementType"]["fields"][0]["type"]
    'integer'
    """
    kind, _, inside = text.partition("<")
    parts = list(_parts(inside.removesuffix(">")))
    if kind == "array":
        return {"type": kind, "elementType": _json_type(parts[0]), "containsNull": True}
    if kind == "map":
        key, value = map(_json_type, parts)
        return {"type": kind, "keyType": key, "valueType": value, "valueContainsNull": True}
    if kind == "struct":
        pairs = [part.partition(":") for part in parts]
        fields = [
            {"name": name, "type": _json_type(field_type), "nullable": True, "metadata": {}}
            for name, _, field_type in pairs
        ]
        return {"type": kind, "fields": fields}
    if re.match(r"(var)?char\(", text):
        return "string"
    return _JSON_NAMES.get(text, text)


def _parts(text: str) -> Iterator[str]:
    """Split a text at the commas outside of brackets.

    >>> list(_parts("a:decimal(5,2),b:map<int,string>"))
    ['a:decimal(5,2)', 'b:map<int,string>']
    """
    depth = start = 0
    for i, character in enumerate(text):
        depth += (character in "<(") - (character in ">)")
        if character == "," and not depth:
            yield text[start:i]
            start = i + 1
    yield text[start:]
