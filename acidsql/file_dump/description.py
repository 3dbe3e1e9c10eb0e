"""Description of an ORC file of a table: its tail, its stripes and its statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from acidsql.errors import FormatError
from acidsql.file_dump.finding import FoundFile
from acidsql.format.acid_metadata import (
    KEY_INDEX,
    STATS,
    AcidStats,
    parse_key_index,
    parse_stats,
)
from acidsql.storage.pyorc_files import open_by_pyorc
from acidsql.storage.readable_files import ReadableFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class StripeDescription:
    """Stripe of a file.

    Attributes:
        rows: number of rows.
        offset: offset of the first byte.
        size: size in bytes.
        last_key: write id, bucket property and row id of its last event, from the key index; None
            without a key index.
        bloom_filters: names of the columns that have Bloom filters.
    """

    rows: int
    offset: int
    size: int
    last_key: tuple[int, int, int] | None
    bloom_filters: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStatistics:
    """Statistics of a column over a file or a stripe.

    Attributes:
        column: name of the column, such as ``row.address.city``. The elements of an array are
            ``[]``, those of a map ``key`` and ``value``.
        type: type of the column in the file.
        stripe: 0-based number of the stripe; None for the whole file.
        values: number of values that are not null.
        has_null: whether there are nulls.
        minimum: lowest value; None if the file does not store it.
        maximum: highest value; None if the file does not store it.
        sum: sum of numbers; total length of texts and bytes; number of true booleans.
    """

    column: str
    type: str
    stripe: int | None
    values: int
    has_null: bool
    minimum: object
    maximum: object
    sum: object


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDescription:
    """ORC file.

    Attributes:
        file: path of the file, and the information from its path.
        rows: number of rows or delete events.
        types: type of the file, in ORC's spelling.
        compression: name of the codec, in lower case.
        writer: program that wrote the file, with its version.
        row_group: number of rows in a row group, the unit of a stripe's index; 0 without an index.
        stripes: the stripes.
        columns: statistics of each column for the file, then for each stripe if there are several.
        metadata: user metadata.
        events: numbers of events from ``hive.acid.stats``; None without this item.
    """

    file: FoundFile
    rows: int
    types: str
    compression: str
    writer: str
    row_group: int
    stripes: tuple[StripeDescription, ...]
    columns: tuple[ColumnStatistics, ...]
    metadata: Mapping[str, bytes]
    events: AcidStats | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableFile:
    """File that pyorc, or the parser of its metadata, cannot read.

    Attributes:
        file: path of the file, and the information from its path.
        error: error with the path and the reason.
    """

    file: FoundFile
    error: FormatError


def describe_file(files: ReadableFiles, file: FoundFile) -> FileDescription:
    """Read the tail of a file and the footers of its stripes, but no rows.

    Raises:
        AcidAnalysisError: PYORC_MISSING.
        FormatError: FAILED_READ_FILE; INVALID_KEY_INDEX or INVALID_ACID_STATS, the metadata is
            damaged.
    """
    with open_by_pyorc(files, file.path, file.size) as reader:
        metadata = dict(reader.user_metadata)
        keys = _parsed(file, parse_key_index, metadata.get(KEY_INDEX)) or ()
        columns = dict(_columns(reader.schema, ""))
        stripes = list(reader.iter_stripes())
        statistics = [_statistics(reader, None, i, *named) for i, named in columns.items()]
        if len(stripes) > 1:
            for number, stripe in enumerate(stripes):
                statistics += [_statistics(stripe, number, i, *n) for i, n in columns.items()]
        return FileDescription(
            file=file,
            rows=len(reader),
            types=str(reader.schema),
            compression=reader.compression.name.lower(),
            writer=reader.software_version,
            row_group=reader.row_index_stride,
            stripes=tuple(
                StripeDescription(
                    rows=len(stripe),
                    offset=stripe.bytes_offset,
                    size=stripe.bytes_length,
                    last_key=keys[number] if number < len(keys) else None,
                    bloom_filters=tuple(columns[i][0] for i in sorted(stripe.bloom_filter_columns)),
                )
                for number, stripe in enumerate(stripes)
            ),
            columns=tuple(statistics),
            metadata=metadata,
            events=_parsed(file, parse_stats, metadata.get(STATS)),
        )


def describe_or_explain(files: ReadableFiles, file: FoundFile) -> FileDescription | UnreadableFile:
    """Return the description of a file, or the error if it cannot be read."""
    try:
        return describe_file(files, file)
    except FormatError as error:
        return UnreadableFile(file=file, error=error)


def _parsed(file: FoundFile, parse: Any, value: bytes | None) -> Any:
    """Parse an item of the metadata; add the file's path to the message of an error."""
    try:
        return None if value is None else parse(value)
    except FormatError as error:
        raise FormatError(error.condition, f"{file.path}: {error.message}") from error


def _columns(node: Any, name: str) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield the column id, name and type of a column and its nested columns, except the root."""
    if name:
        yield node.column_id, (name, str(node))
    inner = f"{name}." if name else ""
    for field, kind in getattr(node, "fields", {}).items():
        yield from _columns(kind, f"{inner}{field}")
    if node.name == "map":
        yield from _columns(node.key, f"{inner}key")
        yield from _columns(node.value, f"{inner}value")
    elif node.name in ("array", "list"):
        yield from _columns(node.type, f"{name}[]")
    for number, kind in enumerate(getattr(node, "cont_types", ())):
        yield from _columns(kind, f"{inner}{number}")


def _statistics(
    part: Any, stripe: int | None, column: int, name: str, kind: str
) -> ColumnStatistics:
    known = part[column].statistics
    return ColumnStatistics(
        column=name,
        type=kind,
        stripe=stripe,
        values=known["number_of_values"],
        has_null=known["has_null"],
        minimum=known.get("minimum", known.get("lower_bound")),
        maximum=known.get("maximum", known.get("upper_bound")),
        sum=known.get("sum", known.get("total_length", known.get("true_count"))),
    )
