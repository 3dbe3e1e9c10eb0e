"""Problems that a check of a table can find, with their severities and remedies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Severity(StrEnum):
    """Severity of a problem, in descending order.

    ERROR: rows are wrong, missing or unreadable in acidsql or in Hive. WARNING: acidsql reads all
    rows correctly, but another engine, another release or a later statement may not. INFO: leftover
    files only cost space or time.
    """

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class RowId(NamedTuple):
    """Row id, compared in the sort order of ACID files."""

    write_id: int
    bucket: int
    row_id: int

    def __str__(self) -> str:
        """Return the row id as Hive prints ``ROW__ID``."""
        return f'{{"writeid":{self.write_id},"bucketid":{self.bucket},"rowid":{self.row_id}}}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Kind of a problem.

    Attributes:
        severity: severity of the problem.
        remedy: a sentence with the remedy.
        repair: action of ``CHECK TABLE … REPAIR``; None if it does not repair the problem.
    """

    severity: Severity
    remedy: str
    repair: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Problem that a check found.

    Attributes:
        name: key of ``KINDS``.
        path: qualified path of the file or directory.
        detail: description of the problem.
        partition: name of the partition, ``p=1/q=2``; None for the table.
        bucket: bucket id in the name of the file, if any.
        row_id: row id of the first affected row, if known.
    """

    name: str
    path: str
    detail: str
    partition: str | None = None
    bucket: int | None = None
    row_id: RowId | None = None

    @property
    def kind(self) -> Kind:
        """Kind of the problem."""
        return KINDS[self.name]


def by_severity(problem: Problem) -> tuple[int, str, str, str, str]:
    """Return the sort key of a problem: by descending severity, then by place."""
    rank = list(Severity).index(problem.kind.severity)
    return rank, problem.partition or "", problem.path, problem.name, problem.detail


def _error(remedy: str, repair: str | None = None) -> Kind:
    return Kind(severity=Severity.ERROR, remedy=remedy, repair=repair)


def _warning(remedy: str, repair: str | None = None) -> Kind:
    return Kind(severity=Severity.WARNING, remedy=remedy, repair=repair)


def _info(remedy: str, repair: str | None = None) -> Kind:
    return Kind(severity=Severity.INFO, remedy=remedy, repair=repair)


_PUT_BACK = "Put the file back from a copy, or move it out of the table to go on without its rows."
_MOVE_OUT = "Move it out of the table."
_ASIDE = "move it aside"
_RESTAMP = "rewrite the metadata of the file, and move the old file aside"
_WRITE_ANEW = "Run CHECK TABLE … REPAIR, or ALTER TABLE … COMPACT 'major'."
_COPY_ROWS = (
    "Copy the rows into a new table (CREATE TABLE … AS SELECT) after looking at what is read, "
    "and find the writer of the file."
)

KINDS: Mapping[str, Kind] = {
    # -- table and partitions
    "DIRECTORY_NOT_FOUND": _error(
        "Put the directory back from a copy, or forget it with ALTER TABLE … DROP PARTITION or "
        "DROP TABLE."
    ),
    "LOST_FILES": _error(
        "Put the directory or the files back from a copy: rows are gone, or deleted ones are back."
    ),
    "UNREGISTERED_PARTITION": _warning(
        "Run CHECK TABLE … REPAIR or MSCK REPAIR TABLE to have its rows in the table, or move it "
        "out of the table.",
        "add the partition to the metastore",
    ),
    "UNEXPECTED_PARTITION_DIRECTORY": _warning(
        "Move it out of the table, or rename it to column=value."
    ),
    "SHARED_PARTITION_LOCATION": _error(
        "Drop one of the partitions from the metastore, after giving it a location of its own "
        "with ALTER TABLE … PARTITION … SET LOCATION in Hive."
    ),
    "TABLE_OF_ANOTHER_METASTORE": _error(
        "Use the metastore that the file _acidsql_owner names, or delete that file if that "
        "metastore or its table is gone."
    ),
    "INVALID_OWNER_FILE": _warning(
        "Nothing has to be done: the next statement that writes replaces the file."
    ),
    "STALE_STATISTICS": _error(
        "Run CHECK TABLE … REPAIR, or ANALYZE TABLE … COMPUTE STATISTICS in Hive.",
        "take the statistics out of the metastore",
    ),
    # -- names of directories
    "INVALID_DIRECTORY_NAME": _error(
        "Move it out of the table, or give it back the name under which it was written."
    ),
    "INVALID_STATEMENT_ID": _warning(
        "Find the writer of the directory, and run ALTER TABLE … COMPACT 'major'."
    ),
    "DUPLICATE_DIRECTORY": _error("Move one of the two directories out of the table."),
    "DUPLICATE_COMPACTION": _error(
        "Move the directory with the lower number after _v out of the table: Hive reads both."
    ),
    "OVERLAPPING_WRITE_IDS": _error(
        "Find out which of the directories was put there by hand, and move it out of the table."
    ),
    "INVALID_BASE_METADATA": _error("Put _metadata_acid of the base back from a copy."),
    "WRITE_ID_ABOVE_METASTORE": _warning(
        "Run CHECK TABLE … REPAIR or MSCK REPAIR TABLE, or move the directory out of the table.",
        "raise the next write id of the table above it",
    ),
    "TRANSACTION_ID_ABOVE_METASTORE": _warning(
        "Run CHECK TABLE … REPAIR or MSCK REPAIR TABLE, or move the directory out of the table.",
        "raise the next transaction id of the metastore above it",
    ),
    "ABORTED_DIRECTORY": _info(
        "Nothing has to be done: the cleaner removes it after the next compaction, and CHECK TABLE "
        "… REPAIR moves it aside.",
        _ASIDE,
    ),
    "DEAD_STAGING_DIRECTORY": _info(
        "Nothing has to be done: acidsql's cleaner removes it after the next compaction, and CHECK "
        "TABLE … REPAIR moves it aside.",
        _ASIDE,
    ),
    "DEAD_UPLOAD": _info(
        "Nothing has to be done: acidsql's cleaner aborts it after the next compaction, and CHECK "
        "TABLE … REPAIR at once.",
        "abort the upload",
    ),
    "UNEXPECTED_DELETE_DELTA": _error(
        "Move it out of the table: the rows of an insert-only table have no row ids, and are never "
        "deleted."
    ),
    # -- names of files
    "FOREIGN_FILE": _warning(f"{_MOVE_OUT[:-1]}: no reader takes it for a part of the table."),
    "INVALID_BUCKET_FILE_NAME": _warning(
        "Rename it to bucket_ and five digits: Hive does not find delete events in it."
    ),
    "DUPLICATE_BUCKET_FILE": _error(
        "Find out which of the two files the transaction wrote, and move the other one out of the "
        "table: Hive reads one of them only, or both."
    ),
    "BUCKET_OUT_OF_RANGE": _error(
        "Find the writer of the file, and copy its rows into a new table: no bucket property has "
        "such a bucket id."
    ),
    "TOO_MANY_BUCKETS": _error(
        "Run INSERT OVERWRITE of the table from itself, so that every row is in a bucket that the "
        "table has."
    ),
    "STRAY_SIDE_FILE": _info("Delete it: only a delta of several write ids has such files."),
    "OPEN_STREAMING_FILE": _error(
        "Read the table when the streaming client has closed the file, or remove the side file if "
        "the client is gone."
    ),
    "INVALID_ORIGINAL_FILE_NAME": _error(
        "Rename it as Hive names files (000000_0, 000000_0_copy_1), or move it out of the table."
    ),
    "UNSUPPORTED_ORIGINAL_FILES": _error(
        "Move it out of the table, and INSERT or LOAD DATA its rows."
    ),
    "NO_VERSION_FILE": _info(
        "Nothing has to be done: no reader needs the file, which its writer should have written.",
        "write the file",
    ),
    "INVALID_VERSION_FILE": _warning(
        "Find the writer of the directory; if it is of ACID version 1, run ALTER TABLE … COMPACT "
        "'major' with the Hive that wrote it."
    ),
    # -- content of files
    "EMPTY_FILE": _error(_PUT_BACK),
    "INVALID_ORC_TAIL": _error(_PUT_BACK),
    "UNSUPPORTED_ORC_VERSION": _error("Read the table with the release that wrote the file."),
    "UNSUPPORTED_ORC_COMPRESSION": _error(
        "Write the file again with another compression, by the program that wrote it."
    ),
    "DAMAGED_STRIPES": _error(_PUT_BACK),
    "FAILED_READ_FILE": _error(_PUT_BACK),
    "CHECKSUM_MISMATCH": _error(
        "Run CHECK TABLE … REPAIR if the file is as it should be, or put it back from a copy.",
        "move the checksum file aside",
    ),
    "NOT_AN_ACID_FILE": _error("Move it out of the table, and LOAD DATA it."),
    "ACID_FILE_WITHOUT_DIRECTORY": _error(
        "Move it into the base or delta directory that it was written to, or out of the table."
    ),
    "COLUMN_TYPE_MISMATCH": _error(
        "Give the column back the type that it had, or copy the rows into a new table."
    ),
    "MIXED_COLUMNS": _error(
        "Find out which of the files does not belong into the directory, and move it out of the "
        "table: a directory is read by the columns of one of its files."
    ),
    "OTHER_CODEC": _info(
        "Nothing has to be done: ALTER TABLE … COMPACT 'major' writes the rows with the codec of "
        "the table."
    ),
    "UNSUPPORTED_CODEC": _error(
        "Set orc.compress to zlib or snappy, and run ALTER TABLE … COMPACT 'major': other engines "
        "of this metastore cannot read zstd."
    ),
    # -- metadata of files
    "NO_KEY_INDEX": _warning(f"{_WRITE_ANEW[:-1]}: Hive 3.1 does not read the file.", _RESTAMP),
    "INVALID_KEY_INDEX": _error(
        f"{_WRITE_ANEW[:-1]}: Hive skips delete events by it, so that deleted rows come back.",
        _RESTAMP,
    ),
    "NO_ACID_STATS": _warning(f"{_WRITE_ANEW[:-1]}: Hive 3.1 does not read the file.", _RESTAMP),
    "INVALID_ACID_STATS": _error(
        f"{_WRITE_ANEW[:-1]}: Hive skips delete files whose counts say that they are empty.",
        _RESTAMP,
    ),
    "INVALID_ACID_VERSION": _warning(_WRITE_ANEW, _RESTAMP),
    # -- events
    "ACID_V1_EVENTS": _error(
        "Run ALTER TABLE … COMPACT 'major' with the Hive that wrote the file."
    ),
    "ROWS_AMONG_DELETE_EVENTS": _error(_COPY_ROWS),
    "WRITE_ID_OUT_OF_RANGE": _error(
        "Give the directory back the name under which it was written, or move it out of the table."
    ),
    "INVALID_BUCKET_PROPERTY": _error(_COPY_ROWS),
    "BUCKET_OF_ANOTHER_FILE": _error(
        "Give the file back the name under which it was written: Hive does not apply delete events "
        "to rows in a file of another bucket."
    ),
    "UNSORTED_ROWS": _error(
        f"{_COPY_ROWS[:-1]}: Hive merges sorted files, and shows deleted rows of others."
    ),
    "UNSORTED_DELETE_EVENTS": _error(
        "Run ALTER TABLE … COMPACT 'major' here: Hive does not apply all of the events."
    ),
    "DUPLICATE_ROW_ID": _error(
        "Move the file that was put there by hand out of the table, or copy the rows into a new "
        "table: a DELETE of one of the rows deletes all of them."
    ),
    "DUPLICATE_DELETE_EVENT": _error(
        "Run ALTER TABLE … COMPACT 'major' here: Hive's vectorised reader shows other deleted rows."
    ),
    "DELETE_EVENT_WITHOUT_ROW": _warning(
        "Look whether a file with rows is gone; if not, ALTER TABLE … COMPACT 'major' drops the "
        "event."
    ),
    "ROW_IN_WRONG_BUCKET": _error(
        "Run INSERT OVERWRITE of the table from itself: readers that look into one bucket, and "
        "joins by buckets, miss the row."
    ),
}
