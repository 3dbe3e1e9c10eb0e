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
        offset: of its first byte.
        size: in bytes.
        last_key: write id, bucket property and row id of its last event, as the key index has
            them; None without a key index.
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
        column: its name, ``row.address.city``; elements of arrays are ``[]``, of maps ``key`` and
            ``value``.
        type: its type in the file.
        stripe: number of the stripe, from 0 on; None over the whole file.
        values: number of those that are not null.
        has_null: whether there are nulls.
        minimum: lowest value; None if it is not kept.
        maximum: highest value; None if it is not kept.
        sum: of numbers; of texts and bytes their length.
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
        found: its path, and what the path says about it.
        rows: number of its rows or delete events.
        types: its type, as ORC writes it.
        compression: name of the codec, in lower case.
        writer: program that wrote it, with its version.
        row_group: rows of a row group, which the index of a stripe has statistics of; 0 without.
        stripes: the stripes.
        columns: statistics of each column over the file, then over each stripe if there are
            several.
        metadata: user metadata.
        events: numbers of events by ``hive.acid.stats``; None without it.
    """

    found: FoundFile
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
        found: its path, and what the path says about it.
        error: with the path and the reason.
    """

    found: FoundFile
    error: FormatError


def describe_file(files: ReadableFiles, found: FoundFile) -> FileDescription:
    """Read the tail of a file and the footers of its stripes, but no rows.

    Raises:
        AcidAnalysisError: PYORC_MISSING.
        FormatError: FAILED_READ_FILE; INVALID_KEY_INDEX, INVALID_ACID_STATS: its metadata are
            damaged.
    """
    with open_by_pyorc(files, found.path, found.size) as reader:
        metadata = dict(reader.user_metadata)
        keys = _parsed(found, parse_key_index, metadata.get(KEY_INDEX)) or ()
        columns = dict(_columns(reader.schema, ""))
        stripes = list(reader.iter_stripes())
        statistics = [_statistics(reader, None, i, *named) for i, named in columns.items()]
        if len(stripes) > 1:
            for number, stripe in enumerate(stripes):
                statistics += [_statistics(stripe, number, i, *n) for i, n in columns.items()]
        return FileDescription(
            found=found,
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
            events=_parsed(found, parse_stats, metadata.get(STATS)),
        )


def describe_or_tell(files: ReadableFiles, found: FoundFile) -> FileDescription | UnreadableFile:
    """Return the description of a file, or why there is none."""
    try:
        return describe_file(files, found)
    except FormatError as error:
        return UnreadableFile(found=found, error=error)


def _parsed(found: FoundFile, parse: Any, value: bytes | None) -> Any:
    """Parse an item of the metadata; the message of an error gets the file's path."""
    try:
        return None if value is None else parse(value)
    except FormatError as error:
        raise FormatError(error.condition, f"{found.path}: {error.message}") from error


def _columns(node: Any, name: str) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield the column id, the name and the type of a column and of those in it, but not of the
    root.
    """
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
