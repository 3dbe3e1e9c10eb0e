r"""Results of ``acidsql files`` and ``\files``, which describe the files of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from acidsql.file_dump.description import (
    ColumnStatistics,
    FileDescription,
    StripeDescription,
    UnreadableFile,
)
from acidsql.file_dump.events import Event
from acidsql.file_dump.finding import FoundFile
from acidsql.format.bucket_codec import decode_bucket
from acidsql.format.names import LONG_MIN
from acidsql.repl.runner import Cell, Result

Described = FileDescription | UnreadableFile
Headed = tuple[str, Result]
"""Heading, which formats for programs omit, and result."""

# Largest number of characters of a value in statistics.
_LONGEST = 24
_OVERVIEW = ("kind", "write_ids", "stmt", "bucket", "stripes", "rows", "bytes")
_ALL = (
    "path", "partition", "kind", "min_write_id", "max_write_id", "statement", "visibility_txn",
    "bucket", "stripes", "rows", "inserts", "deletes", "bytes", "compression", "writer",
    "row_group", "types", "metadata",
)  # fmt: skip
_STRIPES = ("stripe", "rows", "offset", "bytes", "last_write_id", "last_bucket", "last_row_id")
_STATISTICS = ("column", "type", "stripe", "values", "nulls", "minimum", "maximum", "sum")
_EVENTS = ("operation", "write_id", "bucket", "stmt", "row_id", "current", "row")
_TEXTS = frozenset(
    {"kind", "write_ids", "path", "partition", "compression", "writer", "types", "metadata",
     "column", "type", "minimum", "maximum", "operation", "row", "nulls", "item", "value", "file"}
)  # fmt: skip


def overview(described: Sequence[Described]) -> list[Headed]:
    """Return a table of the files of each partition, which fits into 80 characters."""
    readable = [one for one in described if isinstance(one, FileDescription)]
    shown = []
    for partition, members in groupby(readable, key=lambda one: one.file.partition):
        rows = [
            (
                _kind(one.file),
                _write_ids(one.file),
                one.file.directory.statement_id if one.file.directory else None,
                one.file.name if one.file.bucket is None else one.file.bucket,
                len(one.stripes),
                one.rows,
                one.file.size,
            )
            for one in members
        ]
        shown.append((partition, _result(_OVERVIEW, rows)))
    return shown


def records(described: Sequence[Described]) -> Result:
    """Return a row for each file with all known values, for programs."""
    return _result(_ALL, [_record(one) for one in described if isinstance(one, FileDescription)])


def details(one: FileDescription) -> list[Headed]:
    """Return the properties of a file, its stripes, and the statistics of its columns."""
    stripes = [_stripe(number, stripe) for number, stripe in enumerate(one.stripes)]
    return [
        (one.file.path, _result(("item", "value"), list(_items(one)))),
        ("Stripes", _result(_STRIPES, stripes)),
        ("Columns", _result(_STATISTICS, [_column(column) for column in one.columns])),
    ]


def statistics(described: Sequence[Described]) -> Result:
    """Return a row for the statistics of each column of each file, for programs."""
    readable = [one for one in described if isinstance(one, FileDescription)]
    rows = [(one.file.path, *_column(c)) for one in readable for c in one.columns]
    return _result(("path", *_STATISTICS), rows)


def event_records(events_by_file: Iterable[tuple[FoundFile, Sequence[Event]]]) -> Result:
    """Return a row for each event of each file, for programs."""
    rows = [(one.path, *_event(event)) for one, events in events_by_file for event in events]
    return _result(("path", *_EVENTS), rows)


def events(one: FoundFile, file_events: Sequence[Event], width: int) -> Headed:
    """Return a row for each event of a file.

    Args:
        one: the file.
        file_events: events of the file.
        width: number of characters in a line; longer values are truncated.
    """
    rows = [_event(event) for event in file_events]
    texts = [["NULL" if cell is None else str(cell) for cell in row[:-1]] for row in rows]
    widest = [max(map(len, column)) for column in zip(_EVENTS[:-1], *texts, strict=True)]
    left = max(_LONGEST // 2, width - sum(widest) - 3 * len(_EVENTS) - 1)
    return one.path, _result(_EVENTS, [(*row[:-1], _cut(row[-1], left)) for row in rows])


def _event(event: Event) -> tuple[Cell, ...]:
    return (
        event.operation,
        event.write_id,
        event.bucket,
        event.statement,
        event.row_id,
        event.current_write_id,
        event.row,
    )


def _result(columns: Sequence[str], rows: Sequence[tuple[Cell, ...]]) -> Result:
    return Result(
        columns=tuple(columns),
        numeric=tuple(name not in _TEXTS for name in columns),
        rows=tuple(rows),
        truncated=False,
    )


def _kind(file: FoundFile) -> str:
    return "original" if file.directory is None else file.directory.kind.value


def _write_ids(file: FoundFile) -> str | None:
    """Return the write ids in a directory's name, without leading zeros.

    For a compacted directory, ``_v`` and the transaction id of the compaction follow.
    """
    directory = file.directory
    if directory is None:
        return None
    low, high = directory.min_write_id, directory.max_write_id
    if high == LONG_MIN:
        return "none"  # rows from before the table became transactional
    txn = f"_v{directory.visibility_txn_id}" if directory.visibility_txn_id else ""
    return f"{low}{txn}" if low == high else f"{low}-{high}{txn}"


def _record(one: FileDescription) -> tuple[Cell, ...]:
    directory = one.file.directory
    metadata = "; ".join(f"{k}={v.decode(errors='replace')}" for k, v in one.metadata.items())
    return (
        one.file.path,
        one.file.partition or None,
        _kind(one.file),
        directory.min_write_id if directory else None,
        directory.max_write_id if directory else None,
        directory.statement_id if directory else None,
        (directory.visibility_txn_id or None) if directory else None,
        one.file.bucket,
        len(one.stripes),
        one.rows,
        one.events.inserts if one.events else None,
        one.events.deletes if one.events else None,
        one.file.size,
        one.compression,
        one.writer,
        one.row_group,
        one.types,
        metadata or None,
    )


def _items(one: FileDescription) -> Iterator[tuple[Cell, ...]]:
    file = one.file
    yield "kind", _kind(file)
    if file.partition:
        yield "partition", file.partition
    if file.directory is not None:
        yield "write ids", _write_ids(file)
        yield "statement id", file.directory.statement_id
    yield "bucket", file.bucket
    yield "rows", one.rows
    yield "bytes", file.size
    yield "compression", one.compression
    yield "written by", one.writer
    yield "rows of a row group", one.row_group
    for key, value in sorted(one.metadata.items()):
        yield key, _cut(value.decode(errors="replace"), 2 * _LONGEST)


def _stripe(number: int, stripe: StripeDescription) -> tuple[Cell, ...]:
    write_id, bucket, row_id = stripe.last_key or (None, None, None)
    return (
        number,
        stripe.rows,
        stripe.offset,
        stripe.size,
        write_id,
        None if bucket is None else decode_bucket(bucket),
        row_id,
    )


def _column(column: ColumnStatistics) -> tuple[Cell, ...]:
    return (
        column.column,
        _cut(column.type, _LONGEST),
        column.stripe,
        column.values,
        column.has_null,
        _cut(column.minimum, _LONGEST),
        _cut(column.maximum, _LONGEST),
        None if column.sum is None else str(column.sum),
    )


def _cut(value: object, length: int) -> str | None:
    if value is None:
        return None
    text = str(value)
    return text if len(text) <= length else f"{text[: length - 1]}…"
