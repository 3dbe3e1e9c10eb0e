"""Problems of ORC files, found only from their tails."""

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
# What ORC converts into any other primitive type, as Hive and Spark do after ALTER TABLE.
_BYTES = frozenset({"binary", "string", "varchar", "char"})
_KINDS_OF_TYPES: Mapping[str, str] = {"array": "list", "map": "map", "struct": "struct"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AcidFile:
    """Bucket file of a directory that is read.

    Attributes:
        path: qualified.
        directory: that it lies in.
        bucket_id: in its name.
        tail: of the file.
    """

    path: str
    directory: AcidDirectory
    bucket_id: int
    tail: OrcTail

    @property
    def is_delete(self) -> bool:
        """Whether it should hold delete events."""
        return self.directory.kind is DirectoryKind.DELETE_DELTA

    @property
    def highest_write_id(self) -> int:
        """Highest write id that its events may have; 0 for a base of only original files."""
        return max(self.directory.max_write_id, 0)

    @property
    def lowest_write_id(self) -> int:
        """Lowest write id that the transactions of its events may have."""
        is_base = self.directory.kind is DirectoryKind.BASE
        return 0 if is_base else self.directory.min_write_id

    def problem(self, name: str, detail: str, row_id: RowId | None = None) -> Problem:
        """Return a problem of this file."""
        return Problem(
            name=name, path=self.path, detail=detail, bucket=self.bucket_id, row_id=row_id
        )


def stripe_problems(path: str, tail: OrcTail) -> Iterator[Problem]:
    """Find stripes that lie elsewhere than the tail says, because bytes before it are missing."""
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
    """Find what is wrong with the events and the metadata of an ACID file."""
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
    """Find events of a wrong write id or bucket, from the statistics of the columns."""
    high = file.highest_write_id
    ranges = {
        ORIGINAL_WRITE_ID: 0 if file.is_delete else file.lowest_write_id,
        CURRENT_WRITE_ID: file.lowest_write_id,
    }
    for column, low in ranges.items():
        found = file.tail.file_int_stats(column)
        if found is not None and not low <= found.minimum <= found.maximum <= high:
            of = "its rows" if column == ORIGINAL_WRITE_ID else "its transactions"
            detail = f"{_between(f'write ids of {of}', found)}, expected {low} to {high}"
            yield file.problem("WRITE_ID_OUT_OF_RANGE", detail)
            break
    bucket = file.tail.file_int_stats(BUCKET)
    if bucket is not None:
        yield from _bucket_problems(file, bucket)


def _between(what: str, found: IntStats) -> str:
    if found.minimum == found.maximum:
        return f"{what}: {found.minimum}"
    return f"{what}: {found.minimum} to {found.maximum}"


def _bucket_problems(file: AcidFile, found: IntStats) -> Iterator[Problem]:
    for value in dict.fromkeys((found.minimum, found.maximum)):
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
    """Find a key index that is missing, or that cannot be right by the statistics of the stripes.

    Hive's compactions by queries, whose directories have a transaction id, write none.
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
    for number, (key, *found) in enumerate(zip(keys, *columns, strict=True)):
        if not is_possible_last_key(key, found):
            detail = f"{key} cannot be the last key of stripe {number}"
            yield file.problem("INVALID_KEY_INDEX", detail, key)
            return


def is_possible_last_key(key: RowId, stripe: Sequence[IntStats | None]) -> bool:
    """Return whether a row id can be the last one of a sorted stripe.

    Args:
        key: the row id.
        stripe: statistics of the parts of the row ids in the stripe.

    >>> is_possible_last_key(RowId(1, 5, 9), [IntStats(1, 1, 10), IntStats(5, 5, 10), None])
    True
    >>> is_possible_last_key(RowId(1, 5, 9), [IntStats(1, 2, 10), IntStats(5, 5, 10), None])
    False
    """
    is_single = True  # whether all rows share the parts before this one
    for part, found in zip(key, stripe, strict=True):
        if found is None:
            return True
        if not found.minimum <= part <= found.maximum or (is_single and part != found.maximum):
            return False
        is_single = is_single and found.minimum == found.maximum
    return True


def _stats_problems(file: AcidFile) -> Iterator[Problem]:
    value = file.tail.metadata.get(STATS)
    if value is None:
        if file.tail.rows and not file.directory.visibility_txn_id:
            yield file.problem("NO_ACID_STATS", f"the file has no {STATS}")
        return
    try:
        found = parse_stats(value)
    except FormatError as error:
        yield file.problem("INVALID_ACID_STATS", error.message)
        return
    expected = (0, 0, file.tail.rows) if file.is_delete else (file.tail.rows, 0, 0)
    if tuple(found) != expected:
        counts = ",".join(map(str, expected))
        detail = f"{STATS} is {_shown(value)}, the file has {counts}"
        yield file.problem("INVALID_ACID_STATS", detail)


def is_convertible(orc_kind: str, column_type: str) -> bool:
    """Return whether a column of a file can be read as a column of the table.

    A column's type may have been changed since: ORC converts most primitive types into each other,
    and none into a nested one.

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
    """Find columns of a file that cannot be read as those of the table, by position.

    Args:
        path: of the file.
        tail: of the file.
        columns: name and type of the table's columns.
        struct: column id of the struct that has them in the file.
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
    """Find a compression that is not that of the table, or that other readers do not know.

    Args:
        path: of the file.
        tail: of the file.
        codec: of the table, in lower case; None if it names none.
        readers_know_zstd: whether everything that reads the table decompresses zstd.
    """
    if tail.compression == "zstd" and not readers_know_zstd:
        yield Problem(name="UNSUPPORTED_CODEC", path=path, detail="it is compressed with zstd")
    elif codec is not None and tail.rows and tail.compression != codec:
        detail = f"it is compressed with {tail.compression}, the table's codec is {codec}"
        yield Problem(name="OTHER_CODEC", path=path, detail=detail)
