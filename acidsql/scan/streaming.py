"""Files that a streaming client is still writing.

The client writes the length of the complete part into a side file (``OrcAcidUtils.getSideFile``).
The bytes after this part may be an incomplete stripe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from acidsql.errors import FormatError
from acidsql.format.names import SIDE_FILE_SUFFIX, AcidDirectory, DirectoryKind
from acidsql.scan.directories import DataDirectory, bucket_files
from acidsql.scan.snapshot import TableSnapshot
from acidsql.storage.directory import Listing, child
from acidsql.storage.readable_files import ReadableFiles

if TYPE_CHECKING:
    from acidsql.session.acid_session import AcidSession

_LONG = 8


def bound_to_complete(
    session: AcidSession, snapshot: TableSnapshot, directories: Sequence[DataDirectory]
) -> bool:
    """Limit open files in the listings of a snapshot to their complete part.

    Returns:
        Whether there are open files.

    Raises:
        FormatError: a side file has no length, or a length beyond the end of its file
            (OPEN_STREAMING_FILE).
    """
    has_open_files = False
    for data in directories:
        if may_be_written(data.directory):
            lengths = complete_lengths(session.files, snapshot.listings.get(data.path))
            if lengths:
                snapshot.listings.bound(data.path, lengths)
                has_open_files = True
    return has_open_files


def may_be_written(directory: AcidDirectory) -> bool:
    """Return whether a streaming client may have a file open in a directory.

    Streaming clients write deltas of several write ids. Compactors also write such deltas, but with
    a transaction id in the name (``ParsedDeltaLight.mayContainSideFile``).
    """
    return (
        directory.kind is DirectoryKind.DELTA
        and directory.min_write_id != directory.max_write_id
        and not directory.visibility_txn_id
    )


def last_length(note: bytes) -> int | None:
    """Return the length in a side file: its last whole 64-bit integer, or None.

    >>> last_length(bytes(8) + (3).to_bytes(8, "big") + b"half")
    3
    """
    end = len(note) - len(note) % _LONG
    return int.from_bytes(note[end - _LONG : end], "big", signed=True) if end else None


def complete_lengths(files: ReadableFiles, listing: Listing) -> Mapping[str, int]:
    """Return the length in bytes of the complete part of each file in a directory.

    A file that a client has open is not complete, even if its size equals the length in its side
    file, because it can grow before it is read.

    Returns:
        {} if all files are complete.
    """
    lengths: dict[str, int] = {}
    is_open = False
    for name in bucket_files(listing):
        lengths[name] = listing.files[name].size
        if name + SIDE_FILE_SUFFIX in listing.names:
            lengths[name] = _noted(files, child(listing.path, name))
            is_open = True
    return lengths if is_open else {}


def _noted(files: ReadableFiles, path: str) -> int:
    try:
        note = files.read(path + SIDE_FILE_SUFFIX)
    except OSError:
        if files.exists(path + SIDE_FILE_SUFFIX):
            raise
        return files.size(path)  # the client has closed the file since the listing
    length = last_length(note)
    if length is None or length < 0:
        raise _unreadable(path, "its length is not noted yet")
    _check_length(files, path, length)
    return length


def _check_length(files: ReadableFiles, path: str, length: int) -> None:
    """Check that a file has a number of bytes by reading the last byte.

    The size that a file system reports for an open file may be out of date.
    """
    cause = None
    try:
        is_there = not length or bool(files.read(path, length - 1, 1))
    except OSError as error:
        is_there, cause = False, error
    if not is_there:
        raise _unreadable(path, f"{length} bytes of it should be there") from cause


def _unreadable(path: str, reason: str) -> FormatError:
    return FormatError(
        "OPEN_STREAMING_FILE",
        f"{path} is still written by a streaming client, and {reason}: read the table when the "
        "client has closed the file, or remove the note beside it if the client is gone",
    )
