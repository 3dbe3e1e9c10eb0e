"""Finalising: staged part files become finished directories, one file per bucket, with metadata.

Part files of rows are complete except for their footer and their name. Delete events are few and
narrow: they are read back, sorted by row id and rewritten (``finalize_deletes``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

from pyspark.sql.types import StructType

from acidsql.errors import FormatError
from acidsql.format.bucket_codec import encode
from acidsql.format.names import VERSION_CONTENT, VERSION_FILE, bucket_file_name
from acidsql.format.partitions import unescape
from acidsql.metastore.model import Table
from acidsql.storage.delete_places import DeletePlaces
from acidsql.storage.filesystem import FileSystem, child
from acidsql.storage.object_store import WholeFile
from acidsql.storage.parallel import in_parallel
from acidsql.storage.staging import (
    BUCKET_COLUMN,
    PART,
    TARGET,
)
from acidsql.storage.staging_place import StagingPlace, files_of_jobs
from acidsql.storage.tails import BUCKET, AcidTail, Stamped, acid_tail


class DuplicateKeys(Enum):
    """Meaning of two delete events of one statement with the same row id."""

    NEVER = "the statement sees each row once"
    AN_ERROR = "MERGE's cardinality violation"
    AS_ONE = "one event"


@dataclass(frozen=True, slots=True, kw_only=True)
class Staging:
    """Staging directory of a statement, and what finalising it needs.

    Attributes:
        place: where the statement staged.
        row: the table's columns, for the schema of delete files.
        places: partitions of staged delete events; None if the table has no partitions, or none
            are staged.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedDirectory:
    """Staged directory: the name of its target, the values of its partition, its files.

    The files of a bucketed table lie in one directory per bucket below it. Only rows have a
    directory for each partition (``staging``).

    Attributes:
        sizes: in bytes, by the names of the files, as far as they are known.
    """

    target: str
    values: tuple[str, ...]
    path: str
    files: tuple[str, ...]
    sizes: Mapping[str, int] = field(default_factory=dict)


class UnwrittenFile(NamedTuple):
    """File that is written at its final place, on an object store.

    Attributes:
        name: in its directory.
        start: a staged file that it begins with, or nothing.
        rest: what follows.
    """

    name: str
    start: WholeFile | None
    rest: bytes = b""


class FinishedFile(NamedTuple):
    """Finished file, or on an object store one that only has to be written.

    Attributes:
        stamped: its rows and size.
        unwritten: what is to be written; None if it is in staging.
    """

    stamped: Stamped
    unwritten: UnwrittenFile | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedDirectory:
    """Finished directory, which needs only to be put in its place.

    Attributes:
        path: in staging; it need not exist on an object store.
        unwritten: on an object store its files, which are not written yet.
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
    unwritten: tuple[UnwrittenFile, ...] = ()


def staged_directories(files: FileSystem, staging: StagingPlace) -> list[StagedDirectory]:
    """Find the directories that were staged."""
    found = _listed(files, staging.of_driver)
    if staging.local is not None:
        found += directories_of(staging.path, {f.path: f.size for f in files_of_jobs(staging)})
    return found


def directories_of(staging: str, sizes: Mapping[str, int]) -> list[StagedDirectory]:
    """Group staged files by their directories.

    Args:
        staging: the staging directory.
        sizes: sizes of the files by their paths, somewhere below it.
    """
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for path, size in sorted(sizes.items()):
        above, _, name = path.rpartition("/")
        parent, _, last = above.rpartition("/")
        if last.startswith(f"{BUCKET_COLUMN}="):
            found[parent][f"{last}/{name}"] = size
        else:
            found[above][name] = size
    directories = []
    for path, own in found.items():
        target, *values = (
            part.partition("=")[2] for part in path.removeprefix(f"{staging}/").split("/")
        )
        directories.append(
            StagedDirectory(
                target=target,
                values=tuple(unescape(value) for value in values),
                path=path,
                files=tuple(own),
                sizes=own,
            )
        )
    return directories


def _listed(files: FileSystem, staging: str) -> list[StagedDirectory]:
    """Find staged directories by listing them."""
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
    finished = in_parallel(lambda file: _finish_rows(staging, *file), files)
    own: dict[str, list[Stamped]] = defaultdict(list)
    unwritten: dict[str, list[UnwrittenFile]] = defaultdict(list)
    for (directory, _), file in zip(files, finished, strict=True):
        if file is not None:
            own[directory.path].append(file.stamped)
            unwritten[directory.path] += [file.unwritten] if file.unwritten else []
    return [
        FinishedDirectory(
            path=d.path,
            values=d.values,
            deletes=False,
            statement_id=int(d.target[1:]),
            events=sum(file.rows for file in own[d.path]),
            files=len(own[d.path]),
            size=sum(file.size for file in own[d.path]),
            unwritten=tuple(unwritten[d.path]),
        )
        for d in directories
        if own[d.path]
    ]


def _finish_rows(staging: Staging, directory: StagedDirectory, name: str) -> FinishedFile | None:
    """Name a part file after its bucket and add its metadata; on an object store, tell what is to
    be written.

    Returns:
        None if the file has no rows; then it is deleted.
    """
    files = staging.files
    path = child(directory.path, name)
    bucket, _, part = name.rpartition("/")
    bucket_id = int(bucket.partition("=")[2] or part.split("-")[1])
    statement_id = staging.first_statement_id + int(directory.target[1:])
    bucket_property = encode(bucket_id, statement_id)
    size = directory.sizes.get(name)
    tail = acid_tail(files, path, size, row=staging.row.names, deletes=False, one_writer=True)
    if tail.old.rows == 0:
        files.delete(path)
        return None
    written = tail.old.file_int_stats(BUCKET)
    if written is None or (written.minimum, written.maximum) != (bucket_property,) * 2:
        raise FormatError(
            "UNEXPECTED_STAGED_FILE",
            f"{path} holds bucket properties {written}, expected {bucket_property}: "
            "report this with the Spark version and the session's configuration",
        )
    final = bucket_file_name(bucket_id)
    if staging.place.local is not None:
        return FinishedFile(tail.stamped, completed(path, tail, final))
    files.append(path, tail.content)
    files.rename(path, child(directory.path, final))
    if bucket:
        files.delete(child(directory.path, bucket))
    return FinishedFile(tail.stamped)


def completed(path: str, tail: AcidTail, name: str) -> UnwrittenFile:
    """Return the file that a staged file becomes with its tail."""
    return UnwrittenFile(name, WholeFile(path, tail.old.file_length), tail.content)


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
    """Write files into a directory of an object store that nobody else writes to."""
    write_files(files, [f._replace(name=child(target, f.name)) for f in unwritten])


def write_files(files: FileSystem, unwritten: Sequence[UnwrittenFile]) -> None:
    """Write files on an object store, many at a time.

    Args:
        unwritten: with their paths as their names.
    """

    def write(file: UnwrittenFile) -> None:
        if file.start is None:
            files.put(file.name, file.rest)
        else:
            files.complete(file.start, file.rest, file.name)

    in_parallel(write, unwritten)


def finish_bucket_parts(
    files: FileSystem, staging: StagingPlace, path: str, *, row: Sequence[str], deletes: bool
) -> list[FinishedFile]:
    """Add metadata to the part files of a directory that was written by bucket, and give them their
    names; on an object store, tell what is to be written.

    Args:
        path: the directory in staging.
        row: see ``acid_tail``.
        deletes: see ``acid_tail``.

    Raises:
        FormatError: UNEXPECTED_STAGED_FILE, a bucket has not exactly one file.
    """

    def finish(part: tuple[int, str]) -> FinishedFile:
        bucket_id, source = part
        name = bucket_file_name(bucket_id)
        tail = acid_tail(files, source, row=row, deletes=deletes, one_writer=False)
        if staging.local is not None:
            return FinishedFile(tail.stamped, completed(source, tail, name))
        files.append(source, tail.content)
        files.rename(source, child(path, name))
        files.delete(child(path, f"{BUCKET_COLUMN}={bucket_id}"))
        return FinishedFile(tail.stamped)

    return in_parallel(finish, _bucket_parts(files, staging, path))


def _bucket_parts(files: FileSystem, staging: StagingPlace, path: str) -> list[tuple[int, str]]:
    """Return bucket id and path of each part file in a directory that was written by bucket."""
    found = []
    for bucket, parts in sorted(_by_bucket(files, staging, path).items()):
        if len(parts) != 1:
            raise FormatError(
                "UNEXPECTED_STAGED_FILE",
                f"{child(path, bucket)} holds {parts}, expected one file: "
                "report this with the Spark version and the session's configuration",
            )
        found.append((int(bucket.partition("=")[2]), child(path, bucket, parts[0])))
    return found


def _by_bucket(files: FileSystem, staging: StagingPlace, path: str) -> dict[str, list[str]]:
    """Return the names of part files by the name of their bucket's directory."""
    if staging.local is None:
        buckets = [n for n in files.names(path) if n.startswith(f"{BUCKET_COLUMN}=")]
        return {n: list(_parts(files.names(child(path, n)))) for n in buckets}
    found: dict[str, list[str]] = defaultdict(list)
    for file in files_of_jobs(staging):
        above, _, name = file.path.rpartition("/")
        if above.rpartition("/")[0] == path:
            found[above.rpartition("/")[2]].append(name)
    return found
