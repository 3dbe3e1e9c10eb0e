"""Finalising: staged bucket files become finished directories.

Staged files with rows are complete, and only get their final names, directory by directory. Delete
events are few and narrow. They are read back, sorted by row id, and written by bucket
(``finalize_deletes``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from pyspark.sql.types import StructType

from acidsql.errors import FormatError
from acidsql.format.names import VERSION_CONTENT, VERSION_FILE, bucket_file_name
from acidsql.metastore.model import Table
from acidsql.storage.delete_places import DeletePlaces
from acidsql.storage.filesystem import FileSystem, child
from acidsql.storage.object_store import WholeFile
from acidsql.storage.parallel import in_parallel
from acidsql.storage.staging_place import StagedFile, StagingPlace


class DuplicateKeys(Enum):
    """Meaning of two delete events of one statement with the same row id."""

    NEVER = "the statement sees each row once"
    AN_ERROR = "MERGE's cardinality violation"
    AS_ONE = "one event"


@dataclass(frozen=True, slots=True, kw_only=True)
class Staging:
    """Staging directory of a statement, with the data that finalising needs.

    Attributes:
        files: file system of the table.
        place: place where the statement has staged.
        table: the table.
        row: the table's columns, for the schema of delete files.
        write_id: write id of the transaction.
        duplicate_keys: meaning of repeated row ids.
        places: partitions of staged delete events; None if the table has no partitions, or no
            delete events are staged.
        first_statement_id: number of statement ids that the transaction has used before.
    """

    files: FileSystem
    place: StagingPlace
    table: Table
    row: StructType
    write_id: int
    duplicate_keys: DuplicateKeys = DuplicateKeys.NEVER
    places: DeletePlaces | None = None
    first_statement_id: int = 0


class UnwrittenFile(NamedTuple):
    """File on an object store that is written at its final place.

    Attributes:
        name: name in the file's directory.
        start: staged file that is the beginning of the file, or None.
        rest: bytes after the beginning.
    """

    name: str
    start: WholeFile | None
    rest: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedDirectory:
    """Finished directory, which only needs to be moved to its place.

    Attributes:
        path: path in staging; on an object store it need not exist.
        values: values of the partition.
        deletes: whether the directory contains delete events.
        statement_id: statement id within the statement.
        events: number of rows or delete events.
        files: number of files, without the version file.
        size: size of these files in bytes.
        unwritten: files on an object store that are not written yet.
    """

    path: str
    values: tuple[str, ...]
    deletes: bool
    statement_id: int
    events: int
    files: int
    size: int
    unwritten: tuple[UnwrittenFile, ...] = ()


def finished_directories(
    staging: Staging, files: Sequence[StagedFile], name: str
) -> list[FinishedDirectory]:
    """Put staged files into finished directories, one for each target and partition.

    Args:
        staging: staging directory of the files.
        files: files of any targets and partitions.
        name: prefix of the names of the directories.

    Raises:
        FormatError: UNEXPECTED_STAGED_FILE, a bucket has two files.
    """
    by_place: dict[tuple[str, tuple[str, ...]], list[StagedFile]] = defaultdict(list)
    for file in files:
        by_place[file.target, file.values].append(file)
    groups = [by_place[place] for place in sorted(by_place)]
    paths = [child(staging.place.path, f"{name}_{i}") for i in range(len(groups))]
    placed = list(zip(paths, groups, strict=True))
    unwritten = put_bucket_files(staging.files, placed)
    return [
        FinishedDirectory(
            path=path,
            values=group[0].values,
            deletes=not group[0].target.startswith("i"),
            statement_id=int(group[0].target[1:]),
            events=sum(file.rows + file.deletes for file in group),
            files=len(group),
            size=sum(file.size for file in group),
            unwritten=tuple(rest),
        )
        for (path, group), rest in zip(placed, unwritten, strict=True)
    ]


def put_bucket_files(
    files: FileSystem, placed: Sequence[tuple[str, Sequence[StagedFile]]]
) -> list[list[UnwrittenFile]]:
    """Give staged files their names in directories; on an object store, do not write them yet.

    Args:
        files: the file system.
        placed: directories of one file system, with the files of each directory.

    Returns:
        The files that must still be written, for each directory.

    Raises:
        FormatError: UNEXPECTED_STAGED_FILE, a bucket has two files.
    """
    for path, staged in placed:
        if len({file.bucket for file in staged}) < len(staged):
            raise FormatError(
                "UNEXPECTED_STAGED_FILE",
                f"two files of one bucket were staged for {path}: "
                "report this with the Spark version and the session's configuration",
            )
    if placed and files.is_object_store(placed[0][0]):
        return [[_unwritten(file) for file in staged] for _, staged in placed]
    in_parallel(files.make_directory, [path for path, staged in placed if staged])

    def put(target: tuple[str, StagedFile]) -> None:
        path, file = target
        if file.path is None:
            files.write(path, file.content)
        else:
            files.rename(file.path, path)

    named = [
        (child(d, bucket_file_name(file.bucket)), file) for d, staged in placed for file in staged
    ]
    in_parallel(put, named)
    return [[] for _ in placed]


def _unwritten(file: StagedFile) -> UnwrittenFile:
    start = None if file.path is None else WholeFile(file.path, file.size)
    return UnwrittenFile(bucket_file_name(file.bucket), start, file.content)


def with_versions(
    files: FileSystem, directories: Sequence[FinishedDirectory]
) -> list[FinishedDirectory]:
    """Add Hive's version file to finished directories."""
    version = UnwrittenFile(VERSION_FILE, None, VERSION_CONTENT)
    staged = [child(d.path, VERSION_FILE) for d in directories if not d.unwritten]
    in_parallel(lambda path: files.write(path, VERSION_CONTENT), staged)
    return [
        replace(d, unwritten=(*d.unwritten, version)) if d.unwritten else d for d in directories
    ]


def write_at_place(files: FileSystem, target: str, unwritten: Sequence[UnwrittenFile]) -> None:
    """Write files into a directory of an object store that has no other writer."""
    write_files(files, [f._replace(name=child(target, f.name)) for f in unwritten])


def write_files(files: FileSystem, unwritten: Sequence[UnwrittenFile]) -> None:
    """Write files on an object store in parallel.

    Args:
        files: the file system.
        unwritten: files; each name is a whole path.
    """

    def write(file: UnwrittenFile) -> None:
        if file.start is None:
            files.put(file.name, file.rest)
        else:
            files.complete(file.start, file.rest, file.name)

    in_parallel(write, unwritten)
