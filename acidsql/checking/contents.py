"""Check of the files of a survey by their tails."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from acidsql.checking import tails as of_tails
from acidsql.checking.checksums import file_of_checksum, mismatch
from acidsql.checking.names import may_have_side_files
from acidsql.checking.problems import KINDS, Problem, RowId
from acidsql.checking.row_ids import Box, box_of, meeting
from acidsql.checking.statistics import analyzed_problems, statistics_problems
from acidsql.checking.survey import SeenDirectory, Survey
from acidsql.checking.tails import AcidFile
from acidsql.errors import FormatError
from acidsql.format.bucket_codec import MAX_BUCKET_ID, encode
from acidsql.format.names import (
    SIDE_FILE_SUFFIX,
    VERSION_CONTENT,
    VERSION_FILE,
    AcidDirectory,
    DirectoryKind,
    is_original_file,
    parse_bucket_file,
)
from acidsql.format.orc_tail import OrcTail
from acidsql.format.selection import needs_row_filter
from acidsql.metastore.model import FileFormat
from acidsql.scan.directories import bucket_files, is_acid_file
from acidsql.scan.streaming import last_length
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import Listing, child
from acidsql.storage.parallel import in_parallel


class ReadFile(NamedTuple):
    """ACID file with a valid tail, so that its rows can be read.

    Attributes:
        ordinal: index of its place in the survey.
        listing: listing of its directory.
        name: name in that directory.
        file: the file.
    """

    ordinal: int
    listing: Listing
    name: str
    file: AcidFile


class _File(NamedTuple):
    """File to check; ``bucket_id`` is the bucket id in its name."""

    ordinal: int
    listing: Listing
    name: str
    bucket_id: int
    directory: AcidDirectory | None

    @property
    def path(self) -> str:
        return child(self.listing.path, self.name)


@dataclass(slots=True, kw_only=True)
class Contents:
    """Files of a table.

    Attributes:
        files: ACID files that can be read.
        originals: number of rows in files without row ids, by the ordinal of their place, their
            write id and their bucket property; their row ids start at 0.
        incomplete: ordinals of the places with a file that cannot be read completely.
    """

    files: list[ReadFile] = field(default_factory=list)
    originals: dict[tuple[int, int, int], int] = field(default_factory=lambda: defaultdict(int))
    incomplete: set[int] = field(default_factory=set)


def look_into_files(session: AcidSession, survey: Survey, *, full: bool) -> Contents:
    """Read the tail of every file that the snapshot reads, and find problems.

    Args:
        full: whether to compare the files with their checksum files.
    """
    contents = Contents()
    _check_version_files(session, survey)
    _check_checksums(session, survey, full=full)
    if survey.table.file_format is not FileFormat.ORC:
        return contents
    wanted = [*_acid_files(session, survey, contents), *_raw_files(survey)]

    def read(file: _File) -> OrcTail | Problem:
        try:
            return session.tails.tail(file.path, file.listing.files[file.name])
        except FormatError as error:
            return Problem(
                name=error.condition if error.condition in KINDS else "INVALID_ORC_TAIL",
                path=file.path,
                detail=error.message,
                bucket=None if file.bucket_id < 0 else file.bucket_id,
            )

    for file, outcome in zip(wanted, in_parallel(read, wanted), strict=True):
        if isinstance(outcome, Problem):
            survey.add(file.ordinal, [outcome])
            contents.incomplete.add(file.ordinal)
        else:
            survey.add(file.ordinal, _file_problems(session, survey, file, outcome, contents))
    _check_columns_of_directories(survey, contents)
    _check_dense_files(survey, contents)
    _check_statistics(session, survey, contents)
    return contents


def _acid_files(session: AcidSession, survey: Survey, contents: Contents) -> Iterator[_File]:
    """Yield the bucket files of the selected directories, except files that are being written."""
    if survey.table.insert_only:
        return
    for seen in survey.directories:
        if seen.is_raw:
            continue
        for name in bucket_files(seen.listing):
            parsed = parse_bucket_file(name)
            size = seen.listing.files[name].size
            if parsed is None:
                continue
            if (
                may_have_side_files(seen.directory)
                and name + SIDE_FILE_SUFFIX in seen.listing.names
            ):
                noted = _noted(session, seen.listing, name)
                survey.add(seen.ordinal, _side_file_problems(seen.listing, name, noted))
                if noted != size:
                    contents.incomplete.add(seen.ordinal)
                    continue
            if size:
                yield _File(seen.ordinal, seen.listing, name, parsed.bucket_id, seen.directory)
            else:
                contents.incomplete.add(seen.ordinal)


def _noted(session: AcidSession, listing: Listing, name: str) -> int | None:
    path = child(listing.path, name)
    try:
        return last_length(session.files.read(path + SIDE_FILE_SUFFIX))
    except OSError:
        if session.files.exists(path + SIDE_FILE_SUFFIX):
            raise
        return session.files.size(path)  # the client has closed the file since the listing


def _side_file_problems(listing: Listing, name: str, length: int | None) -> Iterator[Problem]:
    size = listing.files[name].size
    if length is None or not 0 <= length <= size:
        yield Problem(
            name="OPEN_STREAMING_FILE",
            path=child(listing.path, name),
            detail=f"its complete length is noted as {length}, it has {size} bytes",
        )


def _raw_files(survey: Survey) -> Iterator[_File]:
    """Yield the files without row ids: of insert-only tables, of LOAD DATA, and original files."""
    for ordinal, files in enumerate(survey.originals):
        for listing, name in files:
            if is_original_file(name) and listing.files[name].size:
                yield _File(ordinal, listing, name, int(name.split("_")[0]), None)
    for seen in survey.directories:
        if seen.is_raw or survey.table.insert_only:
            for name, version in seen.listing.files.items():
                is_named = is_original_file(name) or survey.table.insert_only
                if is_named and version.size and not name.startswith(("_", ".")):
                    bucket = int(name.split("_")[0]) if is_original_file(name) else -1
                    yield _File(seen.ordinal, seen.listing, name, bucket, seen.directory)


def _file_problems(
    session: AcidSession, survey: Survey, file: _File, tail: OrcTail, contents: Contents
) -> Iterator[Problem]:
    """Find problems of a file from its tail, and add the file to ``contents``."""
    table = survey.table
    is_raw = file.directory is None or parse_bucket_file(file.name) is None
    is_delete = file.directory is not None and file.directory.kind is DirectoryKind.DELETE_DELTA
    broken = list(of_tails.stripe_problems(file.path, tail))
    yield from broken
    if broken:
        contents.incomplete.add(file.ordinal)
    struct = 0
    if not is_raw and not is_acid_file(tail):
        columns = ", ".join(name for name, _ in tail.struct_fields()) or "none"
        detail = f"it has the columns {columns}"
        yield Problem(name="NOT_AN_ACID_FILE", path=file.path, detail=detail, bucket=file.bucket_id)
        contents.incomplete.add(file.ordinal)
        return
    if is_raw and is_acid_file(tail):
        detail = "it has row ids, which are not read: it would have others"
        yield Problem(name="ACID_FILE_WITHOUT_DIRECTORY", path=file.path, detail=detail)
        return
    if is_raw:
        _note_originals(contents, file, tail)
    else:
        assert file.directory is not None  # only original files have no directory
        struct = tail.types[0].subtypes[-1]
        acid = AcidFile(
            path=file.path, directory=file.directory, bucket_id=file.bucket_id, tail=tail
        )
        yield from of_tails.file_problems(acid)
        if not broken:
            contents.files.append(ReadFile(file.ordinal, file.listing, file.name, acid))
    if not is_delete:
        columns_of_place = survey.places[file.ordinal].partition.columns or table.columns
        columns_of_table = [(column.name, column.type) for column in columns_of_place]
        yield from of_tails.column_problems(file.path, tail, columns_of_table, struct)
    # An adopted insert-only table has acidsql's default codec, not the codec of its files.
    codec = table.properties.get("orc.compress", "").lower() if not table.insert_only else ""
    knows = session.metastore.capabilities.readers_know_zstd
    yield from of_tails.codec_problems(file.path, tail, codec or None, readers_know_zstd=knows)


def _note_originals(contents: Contents, file: _File, tail: OrcTail) -> None:
    if not 0 <= file.bucket_id <= MAX_BUCKET_ID:
        return
    directory = file.directory
    write_id = directory.max_write_id if directory else 0
    statement = (directory.statement_id or 0) if directory else 0
    key = file.ordinal, write_id, encode(file.bucket_id, statement)
    contents.originals[key] += tail.rows


def _check_version_files(session: AcidSession, survey: Survey) -> None:
    seen = [s for s in survey.directories if VERSION_FILE in s.listing.files]

    def read(one: SeenDirectory) -> bytes:
        return session.files.read(child(one.listing.path, VERSION_FILE))

    for one, content in zip(seen, in_parallel(read, seen), strict=True):
        if content.strip() != VERSION_CONTENT:
            detail = f"it says {content[:20]!r} instead of {VERSION_CONTENT!r}"
            path = child(one.listing.path, VERSION_FILE)
            problem = Problem(name="INVALID_VERSION_FILE", path=path, detail=detail)
            survey.add(one.ordinal, [problem])


def _check_checksums(session: AcidSession, survey: Survey, *, full: bool) -> None:
    """Compare files on a local disk with their checksum files."""
    listings = {(s.ordinal, s.listing.path): s.listing for s in survey.directories}
    for ordinal, files in enumerate(survey.originals):
        listings |= {(ordinal, listing.path): listing for listing, _ in files}
    items = list(listings.items())

    def compare(item: tuple[tuple[int, str], Listing]) -> list[Problem]:
        return list(_checksum_problems(session, item[1], full=full))

    for ((ordinal, _), _), problems in zip(items, in_parallel(compare, items), strict=True):
        survey.add(ordinal, problems)


def _checksum_problems(session: AcidSession, listing: Listing, *, full: bool) -> Iterator[Problem]:
    local = session.files.local(listing.path)
    for name in sorted(os.listdir(local)) if local else ():  # noqa: PTH208 - names only
        of = file_of_checksum(name)
        if of is None or of not in listing.files or local is None:
            continue
        checksums = (local / name).read_bytes()
        if full:
            with (local / of).open("rb") as content:
                how = mismatch(checksums, listing.files[of].size, content)
        else:
            how = mismatch(checksums, listing.files[of].size)
        if how:
            path = child(listing.path, of)
            yield Problem(name="CHECKSUM_MISMATCH", path=path, detail=how)


def _check_columns_of_directories(survey: Survey, contents: Contents) -> None:
    """Find directories that contain files with different columns."""
    first: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {}
    for read in contents.files:
        if read.file.is_delete:
            continue
        columns = _columns(read.file.tail)
        name, expected = first.setdefault(read.listing.path, (read.name, columns))
        if columns != expected:
            shown = ", ".join(f"{column} {kind}" for column, kind in columns)
            detail = f"it has the columns {shown}, unlike {name} beside it"
            survey.add(read.ordinal, [read.file.problem("MIXED_COLUMNS", detail)])


def _columns(tail: OrcTail) -> tuple[tuple[str, str], ...]:
    fields = tail.struct_fields(tail.types[0].subtypes[-1])
    return tuple((name, tail.types[column].kind) for name, column in fields)


def boxes(files: Sequence[ReadFile], *, deletes: bool) -> list[Box]:
    """Return the row id ranges of files from their statistics; ``file`` is the index."""
    candidates = (
        box_of(read.ordinal, index, read.file.tail)
        for index, read in enumerate(files)
        if read.file.is_delete is deletes
    )
    return [box for box in candidates if box is not None]


def _check_dense_files(survey: Survey, contents: Contents) -> None:
    """Find files that share row ids, because each file has all row ids of its range."""
    dense = [box for box in boxes(contents.files, deletes=False) if box.is_dense]
    for one, other in meeting(dense):
        files = contents.files[one.file], contents.files[other.file]
        survey.add(other.ordinal, [same_row_ids(files[1], files[0], _first_common(one, other))])


def _first_common(one: Box, other: Box) -> RowId:
    row_id = max(one.row_ids[0], other.row_ids[0])
    return RowId(one.write_ids[0], one.buckets[0], row_id)


def same_row_ids(file: ReadFile, other: ReadFile, row_id: RowId) -> Problem:
    """Return the problem of two files that share a row id."""
    detail = f"{child(other.listing.path, other.name)} has the same row id"
    return file.file.problem("DUPLICATE_ROW_ID", detail, row_id)


def _check_statistics(session: AcidSession, survey: Survey, contents: Contents) -> None:
    """Compare the row counts in the metastore with the files of the whole table."""
    table = survey.table
    if table.insert_only or contents.incomplete or None in survey.states:
        return
    if table.partition_columns:
        known = session.metastore.partition_values(table.database, table.name)
        if len(survey.places) != len(known) or not known:
            return
    rows = _number_of_rows(survey, contents)
    if rows is None:
        return
    analyzed = session.metastore.statistics(table, None)
    problems = [
        *statistics_problems(table.location, table.properties, rows),
        *analyzed_problems(table.location, analyzed, survey.write_ids, rows),
    ]
    survey.problems += problems[:1]


def _number_of_rows(survey: Survey, contents: Contents) -> int | None:
    """Return the number of rows from the tails; None if the tails do not determine it."""
    seen = survey.directories
    if any(needs_row_filter(one.directory, survey.write_ids) for one in seen):
        return None
    bases = {
        one.ordinal: one.directory.max_write_id
        for one in seen
        if one.directory.kind is DirectoryKind.BASE
    }
    rows = sum(contents.originals.values())
    for read in contents.files:
        # A compacted delete delta may begin below the base, which already applied some events.
        base = bases.get(read.ordinal, 0)
        if read.file.is_delete and read.file.directory.min_write_id <= base:
            return None
        rows += -read.file.tail.rows if read.file.is_delete else read.file.tail.rows
    return rows
