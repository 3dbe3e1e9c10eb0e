"""Problems with the names of directories and files, which listings show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from acidsql.checking.problems import Problem
from acidsql.format.bucket_codec import MAX_BUCKET_ID, MAX_STATEMENT_ID
from acidsql.format.names import (
    METADATA_FILE,
    SIDE_FILE_SUFFIX,
    STAGING_PREFIX,
    VERSION_FILE,
    AcidDirectory,
    DirectoryKind,
    is_hidden,
    is_original_file,
    parse_bucket_file,
    parse_directory,
)
from acidsql.format.selection import ACID_PREFIXES, AcidState
from acidsql.storage.directory import Listing, child

# Hive writes a bucket id with at least this many digits.
_BUCKET_DIGITS = 5


def strays(names: Iterable[str]) -> list[str]:
    """Return the names that start like an ACID directory but are not valid.

    >>> strays(["delta_1_1", "delta_x", "base_7", "part"])
    ['delta_x']
    """
    return [n for n in names if n.startswith(ACID_PREFIXES) and parse_directory(n) is None]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownIds:
    """Ids that the metastore has issued.

    Attributes:
        write_id: highest write id of the table.
        txn_id: highest transaction id.
        given: write ids above ``write_id`` that the metastore has issued since then.
        open_txns: open transactions.
    """

    write_id: int
    txn_id: int
    given: frozenset[int] = field(default_factory=frozenset)
    open_txns: frozenset[int] = field(default_factory=frozenset)


def directory_problems(
    location: str, names: Sequence[str], known: KnownIds, *, insert_only: bool
) -> Iterator[Problem]:
    """Find problems with the single names of the directories of a partition.

    Args:
        location: location of the partition, or of a table without partitions.
        names: names in that directory.
        known: ids that the metastore had issued after the listing.
        insert_only: whether the table is insert-only.
    """
    for name in strays(names):
        yield Problem(
            name="INVALID_DIRECTORY_NAME",
            path=child(location, name),
            detail=f"{name} starts like a base or delta and is none: no statement reads the table",
        )
    for directory in filter(None, map(parse_directory, names)):
        path = child(location, directory.name)
        yield from _id_problems(path, directory, known)
        if insert_only and directory.kind is DirectoryKind.DELETE_DELTA:
            yield Problem(
                name="UNEXPECTED_DELETE_DELTA",
                path=path,
                detail="an insert-only table has a delete delta",
            )


def _id_problems(path: str, directory: AcidDirectory, known: KnownIds) -> Iterator[Problem]:
    statement = directory.statement_id
    if statement is not None and statement > MAX_STATEMENT_ID:
        detail = f"statement id {statement} is above {MAX_STATEMENT_ID}, the highest possible one"
        yield Problem(name="INVALID_STATEMENT_ID", path=path, detail=detail)
    elif statement is not None and directory.min_write_id != directory.max_write_id:
        detail = f"a delta of several write ids has statement id {statement}"
        yield Problem(name="INVALID_STATEMENT_ID", path=path, detail=detail)
    if directory.max_write_id > known.write_id and directory.max_write_id not in known.given:
        yield Problem(
            name="WRITE_ID_ABOVE_METASTORE",
            path=path,
            detail=f"write id {directory.max_write_id} is above {known.write_id}, the highest one "
            "that the metastore gave",
        )
    if directory.visibility_txn_id > known.txn_id:
        yield Problem(
            name="TRANSACTION_ID_ABOVE_METASTORE",
            path=path,
            detail=f"transaction id {directory.visibility_txn_id} is above {known.txn_id}, the "
            "highest one that the metastore gave",
        )


def staging_problems(location: str, names: Iterable[str], known: KnownIds) -> Iterator[Problem]:
    """Find the staging directories of transactions that are not open.

    Args:
        location: location of the table.
        names: names in that directory, listed before the open transactions were queried.
        known: ids of the metastore.
    """
    for name in names:
        number = name.removeprefix(STAGING_PREFIX)
        if not name.startswith(STAGING_PREFIX) or not number.isdigit():
            continue
        if int(number) not in known.open_txns:
            yield Problem(
                name="DEAD_STAGING_DIRECTORY",
                path=child(location, name),
                detail=f"transaction {int(number)} has ended and left what it staged",
            )


def state_problems(location: str, names: Sequence[str], state: AcidState) -> Iterator[Problem]:
    """Find directories of a partition that contradict each other.

    Args:
        location: location of the partition.
        names: names in that directory.
        state: directories that a snapshot reads.
    """
    for name in state.aborted:
        yield Problem(
            name="ABORTED_DIRECTORY",
            path=child(location, name),
            detail="only aborted transactions wrote it",
        )
    yield from _same_twice(location, state.directories)
    yield from _compacted_twice(location, state, names)
    yield from _overlapping(location, state.deltas)


def _same_twice(location: str, selected: Sequence[AcidDirectory]) -> Iterator[Problem]:
    """Find two names of one directory, such as ``delta_1_1`` and ``delta_0000001_0000001``."""
    named: dict[tuple[object, ...], str] = {}
    for directory in selected:
        key = (*_range(directory), directory.visibility_txn_id)
        first = named.setdefault(key, directory.name)
        if first != directory.name:
            yield Problem(
                name="DUPLICATE_DIRECTORY",
                path=child(location, directory.name),
                detail=f"it has the same write ids as {first}, and both are read",
            )


def _range(directory: AcidDirectory) -> tuple[object, ...]:
    return (
        directory.kind,
        directory.min_write_id,
        directory.max_write_id,
        directory.statement_id,
    )


def _compacted_twice(location: str, state: AcidState, names: Sequence[str]) -> Iterator[Problem]:
    """Find compactions of the same range that are both visible."""
    read = {_range(d): d for d in state.deltas if d.visibility_txn_id}
    hidden = set(state.obsolete)
    for older in filter(None, map(parse_directory, names)):
        newer = read.get(_range(older))
        if newer and older.name in hidden and older.visibility_txn_id:
            yield Problem(
                name="DUPLICATE_COMPACTION",
                path=child(location, older.name),
                detail=f"{newer.name} is a compaction of the same write ids",
            )


def _overlapping(location: str, deltas: Sequence[AcidDirectory]) -> Iterator[Problem]:
    """Find deltas of one kind with partly overlapping ranges of write ids."""
    for kind in (DirectoryKind.DELTA, DirectoryKind.DELETE_DELTA):
        in_order = sorted(
            (d for d in deltas if d.kind is kind), key=lambda d: (d.min_write_id, d.max_write_id)
        )
        for one, other in pairwise(in_order):
            if one.min_write_id < other.min_write_id <= one.max_write_id < other.max_write_id:
                yield Problem(
                    name="OVERLAPPING_WRITE_IDS",
                    path=child(location, other.name),
                    detail=f"some of its write ids are those of {one.name}, and both are read",
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRules:
    """Rules of a table for the files in its directories.

    Attributes:
        buckets: number of buckets of the table; 0 if it is not bucketed.
        insert_only: whether the table is insert-only.
    """

    buckets: int = 0
    insert_only: bool = False


def file_problems(
    directory: AcidDirectory, listing: Listing, rules: FileRules, *, is_raw: bool
) -> Iterator[Problem]:
    """Find problems with the names of the files in a selected ACID directory.

    Args:
        directory: the parsed name of the directory.
        listing: listing of the directory.
        rules: rules of the table.
        is_raw: whether the files have no row ids, like files of LOAD DATA.
    """
    if rules.insert_only:
        return
    if is_raw:
        yield from _raw_problems(listing)
        return
    ids: Mapping[int, list[str]] = defaultdict(list)
    for name in listing.names:
        parsed = parse_bucket_file(name) if name in listing.files else None
        if parsed is not None:
            ids[parsed.bucket_id].append(name)
            yield from bucket_problems(listing.path, name, parsed.bucket_id, rules.buckets)
            yield from _empty_problems(directory, listing, name, parsed.bucket_id)
        elif is_side_file(listing, name):
            if not may_have_side_files(directory):
                detail = "it notes a length, which has no meaning in this directory"
                yield Problem(name="STRAY_SIDE_FILE", path=child(listing.path, name), detail=detail)
        elif not is_hidden(name):
            yield Problem(
                name="FOREIGN_FILE",
                path=child(listing.path, name),
                detail="it is not named like a bucket file, and is not read",
            )
    for bucket_id, names in ids.items():
        if len(names) > 1:
            yield Problem(
                name="DUPLICATE_BUCKET_FILE",
                path=child(listing.path, names[1]),
                detail=f"{' and '.join(names)} are files of one bucket",
                bucket=bucket_id,
            )
    if ids and VERSION_FILE not in listing.names and not directory.visibility_txn_id:
        detail = f"the directory has no {VERSION_FILE}"
        yield Problem(name="NO_VERSION_FILE", path=listing.path, detail=detail)


def is_side_file(listing: Listing, name: str) -> bool:
    """Return whether a file contains the length of the complete part of a bucket file."""
    stem = name.removesuffix(SIDE_FILE_SUFFIX)
    return stem != name and name in listing.files and parse_bucket_file(stem) is not None


def may_have_side_files(directory: AcidDirectory) -> bool:
    """Return whether a streaming client may have an open file in a directory.

    Hive: ``ParsedDeltaLight.mayContainSideFile``.
    """
    several = directory.min_write_id != directory.max_write_id
    return several and directory.kind is DirectoryKind.DELTA and not directory.visibility_txn_id


def _raw_problems(listing: Listing) -> Iterator[Problem]:
    for name in listing.names:
        if not is_hidden(name) and not is_original_file(name):
            yield _not_original(child(listing.path, name))


def _not_original(path: str) -> Problem:
    return Problem(
        name="INVALID_ORIGINAL_FILE_NAME",
        path=path,
        detail="it has no row ids, and its name does not say its bucket",
    )


def bucket_problems(place: str, name: str, bucket_id: int, buckets: int) -> Iterator[Problem]:
    """Find problems with the bucket id in the name of a bucket file or an original file.

    Args:
        place: path of the directory of the file.
        name: name of the file.
        bucket_id: bucket id in the name.
        buckets: number of buckets of the table, or 0.
    """
    path = child(place, name)
    if bucket_id > MAX_BUCKET_ID:
        detail = f"bucket id {bucket_id} is above {MAX_BUCKET_ID}, the highest possible one"
        yield Problem(name="BUCKET_OUT_OF_RANGE", path=path, detail=detail, bucket=bucket_id)
    elif buckets and bucket_id >= buckets:
        detail = f"bucket id {bucket_id} in a table of {buckets} buckets"
        yield Problem(name="TOO_MANY_BUCKETS", path=path, detail=detail, bucket=bucket_id)
    digits = name.removeprefix("bucket_").partition("_")[0]
    if name.startswith("bucket_") and len(digits) < _BUCKET_DIGITS:
        detail = f"Hive names it bucket_{bucket_id:05d}"
        yield Problem(name="INVALID_BUCKET_FILE_NAME", path=path, detail=detail, bucket=bucket_id)


def _empty_problems(
    directory: AcidDirectory, listing: Listing, name: str, bucket_id: int
) -> Iterator[Problem]:
    """Find empty files of writers that never write empty files (``check_is_complete``)."""
    if listing.files[name].size:
        return
    several = directory.min_write_id != directory.max_write_id or directory.visibility_txn_id
    is_delete = directory.kind is DirectoryKind.DELETE_DELTA
    if is_delete or (not several and VERSION_FILE in listing.names):
        yield Problem(
            name="EMPTY_FILE",
            path=child(listing.path, name),
            detail="it has no bytes: what was in it is lost",
            bucket=bucket_id,
        )


def original_problems(location: str, paths: Sequence[str], rules: FileRules) -> Iterator[Problem]:
    """Find problems with the names of selected files without row ids.

    Args:
        location: location of the partition.
        paths: paths of the files, relative to the location.
        rules: rules of the table.
    """
    for path in paths:
        above, _, name = child(location, path).rpartition("/")
        if rules.insert_only:
            yield Problem(
                name="UNSUPPORTED_ORIGINAL_FILES",
                path=child(location, path),
                detail="an insert-only table has a file outside its base and delta directories",
            )
        elif not is_original_file(name):
            yield _not_original(child(location, path))
        else:
            yield from bucket_problems(above, name, int(name.split("_")[0]), rules.buckets)


def forgotten_problems(
    listing: Listing, state: AcidState, *, insert_only: bool
) -> Iterator[Problem]:
    """Find files next to a base without a name of a file from before the conversion to ACID.

    If the partition has a base, no reader reads these files. Otherwise ``original_problems``
    reports them.
    """
    if state.base is None:
        return
    for name in state.obsolete:
        is_file = name in listing.files
        if is_file and not parse_directory(name) and (insert_only or not is_original_file(name)):
            yield Problem(
                name="FOREIGN_FILE",
                path=child(listing.path, name),
                detail="it lies beside base and delta directories, and is not read",
            )


def has_metadata(listing: Listing, directory: AcidDirectory) -> bool:
    """Return whether a directory is a base with a ``_metadata_acid`` that describes it."""
    is_base = directory.kind is DirectoryKind.BASE
    return is_base and not directory.visibility_txn_id and METADATA_FILE in listing.names
