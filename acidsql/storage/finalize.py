"""Finalising: staged part files become finished directories, one file per bucket, with metadata.

Part files of rows are complete except for their footer and their name. Delete events are few and
narrow: they are read back, sorted by row id and rewritten (``finalize_deletes``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from pyspark.sql.types import StructType

from acidsql.errors import FormatError
from acidsql.format.bucket_codec import encode
from acidsql.format.names import VERSION_CONTENT, VERSION_FILE, bucket_file_name
from acidsql.format.partitions import unescape
from acidsql.metastore.model import Table
from acidsql.storage.filesystem import FileSystem, child
from acidsql.storage.parallel import in_parallel
from acidsql.storage.staging import BUCKET_COLUMN, PART, TARGET
from acidsql.storage.tails import BUCKET, Stamped, read_tail, stamp


class DuplicateKeys(Enum):
    """Meaning of two delete events of one statement with the same row id."""

    NEVER = "the statement sees each row once"
    AN_ERROR = "MERGE's cardinality violation"
    AS_ONE = "one event"


@dataclass(frozen=True, slots=True, kw_only=True)
class Staging:
    """Staging directory of a statement, and what finalising it needs.

    Attributes:
        path: the staging directory.
        row: the table's columns, for the schema of delete files.
        first_statement_id: number of statement ids that the transaction has used before.
    """

    files: FileSystem
    path: str
    table: Table
    row: StructType
    write_id: int
    duplicate_keys: DuplicateKeys = DuplicateKeys.NEVER
    first_statement_id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedDirectory:
    """Staged directory: the name of its target, the values of its partition, its files.

    The files of a bucketed table lie in one directory per bucket below it.
    """

    target: str
    values: tuple[str, ...]
    path: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedDirectory:
    """Finished directory in staging, which needs only to be moved to its place.

    Attributes:
        events: number of its rows, or of its delete events.
        files: number of its files; the version file does not count.
        size: of these files, in bytes.
    """

    path: str
    values: tuple[str, ...]
    deletes: bool
    statement_id: int
    events: int
    files: int
    size: int


def staged_directories(files: FileSystem, staging: str) -> list[StagedDirectory]:
    """Find the directories that the write job left in staging."""
    found: list[StagedDirectory] = []

    def walk(path: str, target: str, values: tuple[str, ...]) -> None:
        names = files.names(path)
        parts = _parts(names)
        for bucket in (n for n in names if n.startswith(f"{BUCKET_COLUMN}=")):
            inside = _parts(files.names(child(path, bucket)))
            parts += tuple(f"{bucket}/{name}" for name in inside)
        if parts:
            found.append(StagedDirectory(target=target, values=values, path=path, files=parts))
        for name in names:
            if name.startswith(f"{TARGET}="):
                walk(child(path, name), name[len(TARGET) + 1 :], ())
            elif name.startswith(PART):
                walk(child(path, name), target, (*values, unescape(name.partition("=")[2])))

    walk(staging, "", ())
    return found


def _parts(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the files that Spark's tasks wrote."""
    return tuple(name for name in names if name.startswith("part-"))


def finalize_rows(
    staging: Staging, directories: Sequence[StagedDirectory]
) -> list[FinishedDirectory]:
    """Finalise the staged directories of rows.

    Raises:
        FormatError: UNEXPECTED_STAGED_FILE, Spark left something else than one file per writer.
    """
    files = [(d, name) for d in directories for name in d.files]
    stamped = in_parallel(lambda file: _finish_rows(staging, *file), files)
    own: dict[str, list[Stamped]] = defaultdict(list)
    for (directory, _), file in zip(files, stamped, strict=True):
        if file is not None:
            own[directory.path].append(file)
    return [
        FinishedDirectory(
            path=d.path,
            values=d.values,
            deletes=False,
            statement_id=int(d.target[1:]),
            events=sum(file.rows for file in own[d.path]),
            files=len(own[d.path]),
            size=sum(file.size for file in own[d.path]),
        )
        for d in directories
        if own[d.path]
    ]


def _finish_rows(staging: Staging, directory: StagedDirectory, name: str) -> Stamped | None:
    """Name a part file after its bucket and add its metadata; one without rows is deleted, and
    None returned.
    """
    files = staging.files
    path = child(directory.path, name)
    bucket, _, part = name.rpartition("/")
    bucket_id = int(bucket.partition("=")[2] or part.split("-")[1])
    statement_id = staging.first_statement_id + int(directory.target[1:])
    bucket_property = encode(bucket_id, statement_id)
    tail = read_tail(files, path)
    if tail.rows == 0:
        files.delete(path)
        return None
    written = tail.file_int_stats(BUCKET)
    if written is None or (written.minimum, written.maximum) != (bucket_property,) * 2:
        raise FormatError(
            "UNEXPECTED_STAGED_FILE",
            f"{path} holds bucket properties {written}, expected {bucket_property}: "
            "report this with the Spark version and the session's configuration",
        )
    stamped = stamp(files, path, row=staging.row.names, deletes=False, one_writer=True)
    files.rename(path, child(directory.path, bucket_file_name(bucket_id)))
    if bucket:
        files.delete(child(directory.path, bucket))
    return stamped


def write_versions(files: FileSystem, directories: Sequence[FinishedDirectory]) -> None:
    """Write Hive's version file into finished directories."""
    for directory in directories:
        files.write(child(directory.path, VERSION_FILE), VERSION_CONTENT)


def bucket_parts(files: FileSystem, path: str) -> list[tuple[int, str]]:
    """Return bucket id and path of each part file in a directory that was written by bucket.

    Raises:
        FormatError: UNEXPECTED_STAGED_FILE, a bucket has not exactly one file.
    """
    found = []
    for name in files.names(path):
        if not name.startswith(f"{BUCKET_COLUMN}="):
            continue
        place = child(path, name)
        parts = [n for n in files.names(place) if n.startswith("part-")]
        if len(parts) != 1:
            raise FormatError(
                "UNEXPECTED_STAGED_FILE",
                f"{place} holds {parts}, expected one file: "
                "report this with the Spark version and the session's configuration",
            )
        found.append((int(name.partition("=")[2]), child(place, parts[0])))
    return found


def name_bucket_parts(
    files: FileSystem, path: str, *, row: Sequence[str], deletes: bool
) -> list[Stamped]:
    """Stamp and name the part files of a directory that was written by bucket.

    Args:
        row: see ``tails.stamp``.
        deletes: see ``tails.stamp``.
    """

    def finish(part: tuple[int, str]) -> Stamped:
        bucket_id, source = part
        stamped = stamp(files, source, row=row, deletes=deletes, one_writer=False)
        files.rename(source, child(path, bucket_file_name(bucket_id)))
        files.delete(child(path, f"{BUCKET_COLUMN}={bucket_id}"))
        return stamped

    return in_parallel(finish, bucket_parts(files, path))
