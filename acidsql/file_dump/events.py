"""Rows and delete events of an ACID file, with their row ids."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any

from acidsql.file_dump.finding import FoundFile
from acidsql.format.bucket_codec import decode_bucket, decode_statement
from acidsql.storage.pyorc_files import open_by_pyorc
from acidsql.storage.readable_files import ReadableFiles

# Numbers of the operations, from Hive's ``OrcRecordUpdater``.
_OPERATIONS = {0: "insert", 1: "update", 2: "delete"}
_INSTANT = "TIMESTAMP_INSTANT"  # name of the type kind in pyorc


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Event of an ACID file, or a row of a file that has no row ids.

    Attributes:
        operation: ``insert``, ``update`` (ACID v1) or ``delete``.
        write_id: write id that wrote the row; None in a file without row ids.
        bucket: bucket id in the bucket property.
        statement: statement id in the bucket property.
        row_id: number of the row; in a file without row ids, its position in the file.
        current_write_id: write id that wrote the event.
        row: values of the row as JSON; None for a delete event. Instants are in UTC and end with Z.
    """

    operation: str
    write_id: int | None
    bucket: int | None
    statement: int | None
    row_id: int
    current_write_id: int | None
    row: str | None


def read_events(files: ReadableFiles, file: FoundFile, limit: int | None) -> Iterator[Event]:
    """Read the events of a file, in order.

    Args:
        files: the file system.
        file: the file.
        limit: largest number of events to read; None for all.

    Raises:
        AcidAnalysisError: PYORC_MISSING.
        FormatError: FAILED_READ_FILE; INVALID_BUCKET_PROPERTY.
    """
    with open_by_pyorc(files, file.path, file.size) as reader:
        is_acid = [name.lower() for name in reader.schema.fields][:1] == ["operation"]
        has_instants = _has_instants(reader.schema)
        for position, given in enumerate(islice(reader, limit)):
            values = _with_zones(given, reader.schema) if has_instants else given
            yield _event(values) if is_acid else _raw(values, position)


def _has_instants(declared: Any) -> bool:
    return declared.kind.name == _INSTANT or any(map(_has_instants, _inner_types(declared)))


def _inner_types(declared: Any) -> Sequence[Any]:
    """Return the types of a struct's fields, a map's keys and values, or a list's elements."""
    if declared.kind.name == "STRUCT":
        return list(declared.fields.values())
    if declared.kind.name == "MAP":
        return [declared.key, declared.value]
    return [declared.type] if declared.kind.name == "LIST" else []


def _with_zones(value: Any, declared: Any) -> Any:
    """Append Z to the instants in a value, because pyorc returns them in UTC without a zone."""
    if declared.kind.name == _INSTANT and isinstance(value, str) and value[:1].isdigit():
        return f"{value}Z"  # a text of another form has a year outside of Python's range
    inner = _inner_types(declared)
    if value is None or not inner:
        return value
    if declared.kind.name == "STRUCT":
        pairs = zip(value.items(), inner, strict=True)
        return {name: _with_zones(item, known) for (name, item), known in pairs}
    if declared.kind.name == "MAP":
        key, item = inner
        return {_with_zones(k, key): _with_zones(v, item) for k, v in value.items()}
    return [_with_zones(item, inner[0]) for item in value]


def _event(values: dict[str, Any]) -> Event:
    # Query-based compaction writes the names in lower case.
    operation, write_id, bucket, row_id, current, row = values.values()
    return Event(
        operation=_OPERATIONS.get(operation, str(operation)),
        write_id=write_id,
        bucket=decode_bucket(bucket),
        statement=decode_statement(bucket),
        row_id=row_id,
        current_write_id=current,
        row=None if row is None else _json(row),
    )


def _raw(values: dict[str, Any], position: int) -> Event:
    return Event(
        operation="insert",
        write_id=None,
        bucket=None,
        statement=None,
        row_id=position,
        current_write_id=None,
        row=_json(values),
    )


def _json(row: dict[str, Any]) -> str:
    return json.dumps(_plain(row), ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Convert a value to types that JSON has.

    Bytes become hexadecimal digits. Decimals, NaN and infinities become texts. A map becomes pairs
    if its keys are not texts.
    """
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: _plain(inner) for key, inner in value.items()}
        return [[_plain(key), _plain(inner)] for key, inner in value.items()]
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
