"""Problems of ORC files that their tails show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from acidsql.checking.problems import Problem, RowId
from acidsql.errors import FormatError
from acidsql.format.acid_metadata import (
    KEY_INDEX,
    STATS,
    VERSION,
    parse_key_index,
    parse_stats,
)
from acidsql.format.bucket_codec import decode_bucket
from acidsql.format.names import AcidDirectory, DirectoryKind
from acidsql.format.orc_tail import IntStats, OrcTail

# ORC column ids of the ACID columns (Hive: OrcRecordUpdater).
OPERATION, ORIGINAL_WRITE_ID, BUCKET, ROW_ID, CURRENT_WRITE_ID = 1, 2, 3, 4, 5
_ROW_KEY = (ORIGINAL_WRITE_ID, BUCKET, ROW_ID)
_HEADER = len(b"ORC")
_NESTED = frozenset({"list", "map", "struct", "union"})
# ORC converts binary only to and from these types, and so do Hive and Spark after ALTER TABLE.
_BYTES = frozenset({"binary", "string", "varchar", "char"})
_KINDS_OF_TYPES: Mapping[str, str] = {"array": "list", "map": "map", "struct": "struct"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AcidFile:
    """Bucket file in a directory that the snapshot reads.

    Attributes:
        path: qualified path.
        directory: directory that contains the file.
        bucket_id: bucket id in the name of the file.
        tail: tail of the file.
    """

    path: str
    directory: AcidDirectory
    bucket_id: int
    tail: OrcTail

    @property
    def is_delete(self) -> bool:
        """Whether the file should contain delete events."""
        return self.directory.kind is DirectoryKind.DELETE_DELTA

    @property
    def highest_write_id(self) -> int:
        """Highest write id that its events can have; 0 for a base of only original files."""
        return max(self.directory.max_write_id, 0)

    @property
    def lowest_write_id(self) -> int:
        """Lowest write id that the transactions of its events can have."""
        is_base = self.directory.kind is DirectoryKind.BASE
        return 0 if is_base else self.directory.min_write_id

    def problem(self, name: str, detail: str, row_id: RowId | None = None) -> Problem:
        """Return a problem of this file."""
        return Problem(
            name=name, path=self.path, detail=detail, bucket=self.bucket_id, row_id=row_id
        )


def stripe_problems(path: str, tail: OrcTail) -> Iterator[Problem]:
    """Find stripes that are not at the offset in the tail, because earlier bytes are missing."""
    end = _HEADER
    for number, stripe in enumerate(tail.stripes):
        length = stripe.index_length + stripe.data_length + stripe.footer_length
        if stripe.offset < end or stripe.offset + length > tail.file_length:
            detail = (
                f"stripe {number} should be {length} bytes at {stripe.offset}, between {end} and "
                f"the end of the file at {tail.file_length}"
            )
            yield Problem(name="DAMAGED_STRIPES", path=path, detail=detail)
            return
        end = stripe.offset + length
    rows = sum(stripe.rows for stripe in tail.stripes)
    if rows != tail.rows:
        detail = f"its stripes have {rows} rows, the file {tail.rows}"
        yield Problem(name="DAMAGED_STRIPES", path=path, detail=detail)


def file_problems(file: AcidFile) -> Iterator[Problem]:
    """Find problems with the events and the metadata of an ACID file."""
    operations = file.tail.file_int_stats(OPERATION)
    expected = 2 if file.is_delete else 0
    if operations is not None and (operations.minimum, operations.maximum) != (expected, expected):
        name = "ROWS_AMONG_DELETE_EVENTS" if file.is_delete else "ACID_V1_EVENTS"
        yield file.problem(name, _between("operations", operations))
        return
    yield from _event_problems(file)
    yield from _key_index_problems(file)
    yield from _stats_problems(file)
    version = file.tail.metadata.get(VERSION)
    if version not in (None, b"2"):
        yield file.problem("INVALID_ACID_VERSION", f"{VERSION} is {_shown(version)}, not 2")


def _shown(value: bytes | None) -> str:
    return repr((value or b"")[:80].decode("utf-8", "replace"))


def _event_problems(file: AcidFile) -> Iterator[Problem]:
    """Find events with a wrong write id or bucket from the column statistics."""
    high = file.highest_write_id
    ranges = {
        ORIGINAL_WRITE_ID: 0 if file.is_delete else file.lowest_write_id,
        CURRENT_WRITE_ID: file.lowest_write_id,
    }
    for column, low in ranges.items():
        statistics = file.tail.file_int_stats(column)
        if statistics is not None and not low <= statistics.minimum <= statistics.maximum <= high:
            of = "its rows" if column == ORIGINAL_WRITE_ID else "its transactions"
            detail = f"{_between(f'write ids of {of}', statistics)}, expected {low} to {high}"
            yield file.problem("WRITE_ID_OUT_OF_RANGE", detail)
            break
    bucket = file.tail.file_int_stats(BUCKET)
    if bucket is not None:
        yield from _bucket_problems(file, bucket)


def _between(what: str, statistics: IntStats) -> str:
    if statistics.minimum == statistics.maximum:
        return f"{what}: {statistics.minimum}"
    return f"{what}: {statistics.minimum} to {statistics.maximum}"


def _bucket_problems(file: AcidFile, statistics: IntStats) -> Iterator[Problem]:
    for value in dict.fromkeys((statistics.minimum, statistics.maximum)):
        try:
            bucket_id = decode_bucket(value)
        except FormatError as error:
            yield file.problem("INVALID_BUCKET_PROPERTY", error.message)
            return
        if bucket_id != file.bucket_id:
            detail = f"bucket property {value} is of bucket {bucket_id}"
            yield file.problem("BUCKET_OF_ANOTHER_FILE", detail)
            return


def _key_index_problems(file: AcidFile) -> Iterator[Problem]:
    """Find a missing key index, or one that contradicts the statistics of the stripes.

    Hive's query-based compactions write no key index. Their directories have a transaction id.
    """
    value = file.tail.metadata.get(KEY_INDEX)
    if value is None:
        if file.tail.rows and not file.directory.visibility_txn_id:
            yield file.problem("NO_KEY_INDEX", f"the file has no {KEY_INDEX}")
        return
    try:
        keys = [RowId(*key) for key in parse_key_index(value)]
    except FormatError as error:
        yield file.problem("INVALID_KEY_INDEX", error.message)
        return
    stripes = len(file.tail.stripes)
    if len(keys) != stripes:
        detail = f"it has {len(keys)} keys for {stripes} stripes"
        yield file.problem("INVALID_KEY_INDEX", detail)
        return
    columns = [file.tail.stripe_int_stats(column) for column in _ROW_KEY]
    for number, (key, *statistics) in enumerate(zip(keys, *columns, strict=True)):
        if not is_possible_last_key(key, statistics):
            detail = f"{key} cannot be the last key of stripe {number}"
            yield file.problem("INVALID_KEY_INDEX", detail, key)
            return


def is_possible_last_key(key: RowId, stripe: Sequence[IntStats | None]) -> bool:
    """Return whether a row id can be the last row id of a sorted stripe.

    Args:
        key: the row id.
        stripe: statistics of the parts of the row ids in the stripe.

    >>> is_possible_last_key(RowId(1, 5, 9), [IntStats(1, 1, 10), IntStats(5, 5, 10), None])
    True
    >>> is_possible_last_key(RowId(1, 5, 9), [IntStats(1, 2, 10), IntStats(5, 5, 10), None])
    False
    """
    is_single = True  # whether all rows share the parts before this one
    for part, statistics in zip(key, stripe, strict=True):
        if statistics is None:
            return True
        if not statistics.minimum <= part <= statistics.maximum or (
            is_single and part != statistics.maximum
        ):
            return False
        is_single = is_single and statistics.minimum == statistics.maximum
    return True


def _stats_problems(file: AcidFile) -> Iterator[Problem]:
    value = file.tail.metadata.get(STATS)
    if value is None:
        if file.tail.rows and not file.directory.visibility_txn_id:
            yield file.problem("NO_ACID_STATS", f"the file has no {STATS}")
        return
    try:
        counted = parse_stats(value)
    except FormatError as error:
        yield file.problem("INVALID_ACID_STATS", error.message)
        return
    expected = (0, 0, file.tail.rows) if file.is_delete else (file.tail.rows, 0, 0)
    if tuple(counted) != expected:
        counts = ",".join(map(str, expected))
        detail = f"{STATS} is {_shown(value)}, the file has {counts}"
        yield file.problem("INVALID_ACID_STATS", detail)


def is_convertible(orc_kind: str, column_type: str) -> bool:
    """Return whether a column of a file can be read as a column of the table.

    The types may differ after ALTER TABLE. ORC converts most primitive types to each other, but
    never a primitive type to a nested type.

    Args:
        orc_kind: kind of the ORC type.
        column_type: type of the table's column, as in SQL.

    >>> is_convertible("int", "string"), is_convertible("int", "array<int>")
    (True, False)
    """
    wanted = column_type.partition("<")[0].partition("(")[0].strip().lower()
    expected = _KINDS_OF_TYPES.get(wanted)
    if expected is not None or orc_kind in _NESTED:
        return orc_kind == expected or "union" in (orc_kind, wanted[:5])
    if "binary" in (orc_kind, wanted):
        return orc_kind in _BYTES and wanted in _BYTES
    return True


def column_problems(
    path: str, tail: OrcTail, columns: Sequence[tuple[str, str]], struct: int
) -> Iterator[Problem]:
    """Find columns of a file that cannot be read as the table's columns at the same position.

    Args:
        path: path of the file.
        tail: tail of the file.
        columns: name and type of each column of the table.
        struct: id of the ORC column that contains the columns in the file.
    """
    fields = tail.struct_fields(struct)
    for (name, column_type), (field_name, column_id) in zip(columns, fields, strict=False):
        kind = tail.types[column_id].kind
        if not is_convertible(kind, column_type):
            detail = f"column {name} is {column_type}; {field_name} of the file is {kind}"
            yield Problem(name="COLUMN_TYPE_MISMATCH", path=path, detail=detail)


def codec_problems(
    path: str, tail: OrcTail, codec: str | None, *, readers_know_zstd: bool
) -> Iterator[Problem]:
    """Find a codec that differs from the table's codec, or that other readers do not support.

    Args:
        path: path of the file.
        tail: tail of the file.
        codec: codec of the table in lower case; None if the table has no codec property.
        readers_know_zstd: whether all readers of the table support zstd.
    """
    if tail.compression == "zstd" and not readers_know_zstd:
        yield Problem(name="UNSUPPORTED_CODEC", path=path, detail="it is compressed with zstd")
    elif codec is not None and tail.rows and tail.compression != codec:
        detail = f"it is compressed with {tail.compression}, the table's codec is {codec}"
        yield Problem(name="OTHER_CODEC", path=path, detail=detail)
