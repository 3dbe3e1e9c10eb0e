"""Search for the files of a table, a partition or a directory, which reads only their names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from acidsql.format.names import (
    SIDE_FILE_SUFFIX,
    AcidDirectory,
    is_hidden,
    is_original_file,
    parse_bucket_file,
    parse_directory,
)
from acidsql.format.paths import child, parent
from acidsql.scan.streaming import complete_lengths, may_be_written
from acidsql.storage.directory import Listing
from acidsql.storage.readable_files import ReadableFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """File of a table.

    Attributes:
        path: qualified path.
        name: name in its directory.
        size: size in bytes; of a file that is still being written, the size of the complete part.
        partition: names of the partition directories above it, ``p=1/q=a``; empty if none.
        directory: base or delta directory that contains the file; None for an original file.
        bucket: bucket id in the name; None if the name has none.
    """

    path: str
    name: str
    size: int
    partition: str
    directory: AcidDirectory | None
    bucket: int | None


def find_files(files: ReadableFiles, place: str, partition: str = "") -> list[FoundFile]:
    """Find the files of a place, including files that statements do not read, but no hidden files.

    Args:
        files: the file system.
        place: qualified path of a table, a partition, a base, a delta or one file.
        partition: name of the partition, if the place is a partition directory.

    Returns:
        The files, sorted by their paths.

    Raises:
        FileNotFoundError: the place does not exist.
        FormatError: OPEN_STREAMING_FILE.
    """
    if files.is_directory(place):
        return sorted(_below(files, place, partition), key=lambda file: file.path)
    above, _, name = place.rpartition("/")
    listing = files.list(parent(place))
    if name not in listing.files:
        raise FileNotFoundError(f"there is no file or directory {place}")
    directory = parse_directory(above.rpartition("/")[2])
    return list(_in_directory(files, listing, [name], partition, directory))


def _below(files: ReadableFiles, path: str, partition: str) -> Iterator[FoundFile]:
    directory = parse_directory(path.rpartition("/")[2])
    listing = files.list(path)
    shown = [name for name in listing.names if not is_hidden(name)]
    file_names = [name for name in shown if name in listing.files]
    yield from _in_directory(files, listing, file_names, partition, directory)
    for name in shown:
        if name not in listing.files:
            inner = "/".join(filter(None, (partition, name))) if "=" in name else partition
            yield from _below(files, child(path, name), inner)


def _in_directory(
    files: ReadableFiles,
    listing: Listing,
    names: Sequence[str],
    partition: str,
    directory: AcidDirectory | None,
) -> Iterator[FoundFile]:
    is_open = directory is not None and may_be_written(directory)
    lengths = complete_lengths(files, listing) if is_open else {}
    for name in names:
        if name.endswith(SIDE_FILE_SUFFIX):
            continue
        bucket = parse_bucket_file(name)
        original = int(name.split("_")[0]) if is_original_file(name) else None
        yield FoundFile(
            path=child(listing.path, name),
            name=name,
            size=lengths.get(name, listing.files[name].size),
            partition=partition,
            directory=directory,
            bucket=original if bucket is None else bucket.bucket_id,
        )
