"""Row counts from the tails of files, without a scan.

``count(*)`` requires the number of rows, ``max(p)`` only the partitions that have rows. All rows of
a file count unless they were deleted. A delete event removes one row if a file contains a row with
its key, which statistics can prove (``dense_rows``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Sequence

import pyarrow as pa

from acidsql.format.orc_tail import OrcTail
from acidsql.format.selection import needs_row_filter
from acidsql.limits import limits
from acidsql.scan.deletes import ORDINAL, Deletes, valid_keys
from acidsql.scan.dense_rows import Dense, are_of, dense_parts
from acidsql.scan.directories import DataDirectory, file_tails, is_acid_file
from acidsql.scan.inserts import Inserts
from acidsql.scan.snapshot import TableSnapshot
from acidsql.session.acid_session import AcidSession
from acidsql.storage.delete_files import distinct
from acidsql.storage.filesystem import Listing, child
from acidsql.storage.parallel import in_parallel
from acidsql.storage.tails import OPERATION


def count_rows(
    session: AcidSession,
    snapshot: TableSnapshot,
    directories: Sequence[DataDirectory],
    deletes: Deletes,
) -> int | None:
    """Count the rows in some directories that are not deleted.

    Args:
        directories: all directories of the snapshot that contain rows.
        deletes: all delete events of the snapshot.

    Returns:
        The number of rows; None if the tails do not suffice.
    """
    files = sum(len(snapshot.listings.get(d.path).names) for d in directories)
    if files > limits().counted_files or deletes.events > limits().counted_events:
        return None
    if any(needs_row_filter(d.directory, snapshot.write_ids) for d in directories):
        return None

    def look(data: DataDirectory) -> list[tuple[int, OrcTail]]:
        listing = snapshot.listings.get(data.path)
        return [(data.ordinal, tail) for _, tail in file_tails(session, listing)]

    tails = [pair for each in in_parallel(look, directories, mostly_cached=True) for pair in each]
    if not all(_has_only_rows(tail) for _, tail in tails):
        return None
    rows = sum(tail.rows for _, tail in tails)
    if not deletes.files:
        return rows
    dense = [part for ordinal, tail in tails for part in dense_parts(ordinal, tail)]
    keys = valid_keys(session, snapshot, deletes)
    if not len(keys):
        return rows
    if not are_of(_ranges(keys), dense):
        return None
    return rows - len(distinct(keys, ORDINAL))


def has_rows_of_deletes(
    session: AcidSession,
    snapshot: TableSnapshot,
    inserts: Inserts,
    changed: TableSnapshot,
    deletes: Deletes,
) -> bool:
    """Return whether tails prove that files contain the rows of all given delete events.

    Args:
        session: the session.
        snapshot: snapshot that sees the rows.
        inserts: places that can contain the rows.
        changed: snapshot of the same partitions that sees the events.
        deletes: files with these events.
    """
    files = sum(len(snapshot.listings.get(d.path).names) for d in inserts.directories)
    if files > limits().counted_files or deletes.events > limits().counted_events:
        return False

    def look(data: DataDirectory) -> list[Dense]:
        if needs_row_filter(data.directory, snapshot.write_ids):
            return []
        tails = (tail for _, tail in file_tails(session, snapshot.listings.get(data.path)))
        only_rows = filter(_has_only_rows, tails)
        return [part for tail in only_rows for part in dense_parts(data.ordinal, tail)]

    dense = [
        part for each in in_parallel(look, inserts.directories, mostly_cached=True) for part in each
    ]
    return are_of(_ranges(valid_keys(session, changed, deletes)), dense)


def rows_in_files(session: AcidSession, snapshot: TableSnapshot, inserts: Inserts) -> int | None:
    """Return the number of rows in some places, including deleted rows.

    Returns:
        None if there are too many files to open.
    """
    listings = [snapshot.listings.get(d.path) for d in inserts.directories]
    if sum(len(listing.names) for listing in listings) > limits().counted_files:
        return None

    def look(listing: Listing) -> int:
        return sum(tail.rows for _, tail in file_tails(session, listing))

    originals = (
        session.tails.tail(child(f.listing.path, f.name), f.listing.files[f.name]).rows
        for f in inserts.originals
    )
    return sum(in_parallel(look, listings, mostly_cached=True)) + sum(originals)


def find_occupied(
    session: AcidSession,
    snapshot: TableSnapshot,
    directories: Sequence[DataDirectory],
    deletes: Deletes,
    others: Container[int],
) -> dict[int, bool]:
    """Find which partitions have rows.

    Args:
        directories: all directories of the snapshot that contain rows with row ids.
        deletes: all delete events of the snapshot.
        others: ordinals of the partitions that contain rows without row ids.

    Returns:
        Whether a partition has a row, by the partition's ordinal. A partition is left out if its
        tails do not show this.
    """
    events: Counter[int] = Counter()
    for file in deletes.files:
        events[file.ordinal] += file.events
    by_partition: dict[int, list[DataDirectory]] = defaultdict(list)
    for data in directories:
        by_partition[data.ordinal].append(data)

    def look(ordinal: int) -> bool | None:
        rows, is_known = 0, ordinal not in others
        for data in by_partition[ordinal]:
            if needs_row_filter(data.directory, snapshot.write_ids):
                is_known = False
                continue
            for _, tail in file_tails(session, snapshot.listings.get(data.path)):
                if not _has_only_rows(tail):
                    return None
                rows += tail.rows
                # Each event deletes at most one row.
                if rows > events[ordinal]:
                    return True
        return False if is_known and not rows else None

    ordinals = range(len(snapshot.partitions))
    results = zip(ordinals, in_parallel(look, ordinals), strict=True)
    return {ordinal: has_rows for ordinal, has_rows in results if has_rows is not None}


def _ranges(keys: pa.Table) -> list[Dense]:
    """Return the range of row ids in some keys, for each partition, write id and bucket."""
    place = [ORDINAL, "write_id", "bucket"]
    grouped = keys.group_by(place).aggregate([("row_id", "min"), ("row_id", "max")])
    columns = [grouped[name].to_pylist() for name in (*place, "row_id_min", "row_id_max")]
    return [Dense((o, w, b), least, most) for o, w, b, least, most in zip(*columns, strict=True)]


def _has_only_rows(tail: OrcTail) -> bool:
    """Return whether a file is an ACID file without the update and delete events of ACID v1."""
    operations = tail.file_int_stats(OPERATION)
    is_read = is_acid_file(tail)
    return is_read and (not tail.rows or (operations is not None and operations.maximum == 0))
