"""Files that a streaming client is still writing.

The client writes the length of the complete part into a side file (``OrcAcidUtils.getSideFile``);
what follows may be half a stripe.
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
    """Have files that are still being written end where their complete part does, in the listings
    of a snapshot; return whether there are any.

    Raises:
        FormatError: a side file has no length, or one beyond the end of its file
            (OPEN_STREAMING_FILE).
    """
    found = False
    for data in directories:
        if may_be_written(data.directory):
            lengths = complete_lengths(session.files, snapshot.listings.get(data.path))
            if lengths:
                snapshot.listings.bound(data.path, lengths)
                found = True
    return found


def may_be_written(directory: AcidDirectory) -> bool:
    """Return whether a streaming client may have a file open in a directory.

    It writes deltas of several write ids. So do compactors, but theirs have a transaction id in the
    name (``ParsedDeltaLight.mayContainSideFile``).
    """
    return (
        directory.kind is DirectoryKind.DELTA
        and directory.min_write_id != directory.max_write_id
        and not directory.visibility_txn_id
    )


def last_length(note: bytes) -> int | None:
    """Return the length in bytes that a side file has: its last whole 64-bit integer, None without
    one.

    >>> last_length(bytes(8) + (3).to_bytes(8, "big") + b"half")
    3
    """
    end = len(note) - len(note) % _LONG
    return int.from_bytes(note[end - _LONG : end], "big", signed=True) if end else None


def complete_lengths(files: ReadableFiles, listing: Listing) -> Mapping[str, int]:
    """Return the complete length in bytes of each file of a directory; {} if all files are
    complete.

    A file that a client has open is not, even if its length is the one that is noted: it may grow
    before it is read.
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
        return files.size(path)  # the client has ended the file since the listing
    length = last_length(note)
    if length is None or length < 0:
        raise _unreadable(path, "its length is not noted yet")
    _check_length(files, path, length)
    return length


def _check_length(files: ReadableFiles, path: str, length: int) -> None:
    """Check that a file has a number of bytes, by the last of them: the size that a file system
    reports for an open file may be an old one.
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
