"""Original files: ORC files without row ids.

They were written before a table became transactional, or by LOAD DATA. Hive identifies their rows
by position (``AcidUtils``, ``OrcRawRecordMerger``). The write id is 0, or the write id of the
directory that LOAD DATA created. The bucket id is the number at the start of the file's name. The
row id counts the rows of all files with that bucket id, in the order of their paths.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from acidsql.errors import FormatError
from acidsql.format.bucket_codec import encode
from acidsql.format.names import is_hidden, is_original_file
from acidsql.format.orc_tail import OrcTail
from acidsql.scan.directories import DataDirectory, visible_columns
from acidsql.scan.snapshot import TableSnapshot
from acidsql.storage.directory import Listing, child
from acidsql.storage.parallel import in_parallel
from acidsql.storage.tails import TailSource


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalFile:
    """Original file with the parts of its rows' ids.

    Attributes:
        listing: listing of the file's directory.
        name: name of the file in that directory.
        write_id: write id of all rows in the file.
        bucket: bucket property of all rows in the file.
        ordinal: index of the partition in the snapshot.
        columns: names of the table's columns in the file, by position.
        first_row: row id of the first row.
    """

    listing: Listing
    name: str
    write_id: int
    bucket: int
    ordinal: int
    columns: tuple[str, ...]
    first_row: int


def original_files(
    session: TailSource,
    snapshot: TableSnapshot,
    raw: Sequence[DataDirectory],
    *,
    originals: bool,
) -> list[OriginalFile]:
    """Return the original files that a snapshot reads; files without rows are left out.

    Args:
        raw: directories that LOAD DATA created.
        originals: whether to include files from before the table became transactional.

    Raises:
        FormatError: a file's name does not begin with its bucket id (INVALID_ORIGINAL_FILE_NAME).
    """
    files: list[OriginalFile] = []
    for ordinal, partition in enumerate(snapshot.partitions if originals else ()):
        places = [_place(snapshot, partition.location, path) for path in partition.state.originals]
        files += _identified(session, snapshot, places, (0, 0), ordinal)
    for data in raw:
        listing = snapshot.listings.get(data.path)
        places = [(listing, name) for name in listing.names if not is_hidden(name)]
        key = data.directory.max_write_id, data.directory.statement_id or 0
        files += _identified(session, snapshot, sorted(places, key=_name), key, data.ordinal)
    return files


def _name(place: tuple[Listing, str]) -> str:
    return place[1]


def _place(snapshot: TableSnapshot, location: str, path: str) -> tuple[Listing, str]:
    above, _, name = path.rpartition("/")
    return snapshot.listings.get(child(location, above) if above else location), name


def _identified(
    session: TailSource,
    snapshot: TableSnapshot,
    places: Sequence[tuple[Listing, str]],
    key: tuple[int, int],
    ordinal: int,
) -> Iterator[OriginalFile]:
    """Yield the original files of one directory, given in the order of their paths.

    Args:
        places: listing and name of each file.
        key: write id and statement id.

    Raises:
        FormatError: INVALID_ORIGINAL_FILE_NAME.
    """
    write_id, statement_id = key
    for listing, name in places:
        if not is_original_file(name):
            raise FormatError(
                "INVALID_ORIGINAL_FILE_NAME",
                f"{child(listing.path, name)} has no row ids, and its name does not say its "
                "bucket: rename it as Hive names files (000000_0, 000000_0_copy_1), or move it "
                "out of the table",
            )

    def tail(place: tuple[Listing, str]) -> OrcTail | None:
        listing, name = place
        version = listing.files[name]
        return session.tails.tail(child(listing.path, name), version) if version.size else None

    rows: dict[int, int] = defaultdict(int)
    for (listing, name), known in zip(places, in_parallel(tail, places), strict=True):
        if known is None or not known.rows:
            continue
        bucket_id = int(name.split("_")[0])
        first = rows[bucket_id]
        rows[bucket_id] += known.rows
        names = tuple(field for field, _ in known.struct_fields())
        yield OriginalFile(
            listing=listing,
            name=name,
            write_id=write_id,
            bucket=encode(bucket_id, statement_id),
            ordinal=ordinal,
            columns=names[: visible_columns(snapshot, ordinal)],
            first_row=first,
        )
