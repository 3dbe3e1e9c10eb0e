"""Delete events of a snapshot, by file, and the keys of the rows that they name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.format.valid_lists import ValidWriteIdList
from acidsql.scan.directories import DataDirectory, delete_deltas, delete_files
from acidsql.scan.snapshot import TableSnapshot
from acidsql.session.acid_session import AcidSession
from acidsql.storage.delete_files import DELETED_BY, NO_KEYS
from acidsql.storage.filesystem import FileVersion
from acidsql.storage.parallel import in_parallel
from acidsql.storage.tails import BUCKET, ORIGINAL_WRITE_ID, ROW_ID


class Range(NamedTuple):
    """Lowest and highest of some numbers."""

    least: int
    greatest: int


class Keys(NamedTuple):
    """Ranges of the parts of the row ids in a delete file, from its statistics."""

    write_ids: Range
    buckets: Range
    row_ids: Range


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteEvents:
    """Delete file with events.

    Attributes:
        path: qualified path.
        version: identifies the content of the file.
        ordinal: index of the file's partition in the snapshot.
        events: number of events.
        write_ids: range of the write ids of the rows that the events delete. It comes from
            statistics; without statistics it contains all possible write ids.
        keys: ranges of all parts of the row ids; None if the statistics lack them.
    """

    path: str
    version: FileVersion
    ordinal: int
    events: int
    write_ids: Range
    keys: Keys | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletes:
    """Delete events of a snapshot.

    Attributes:
        files: files with the events.
        deleters: write ids whose events count; None for the write ids that the snapshot sees.
        own_rows_only: whether an event counts only if the row has the event's write id.
    """

    files: tuple[DeleteEvents, ...]
    deleters: ValidWriteIdList | None = None
    own_rows_only: bool = False

    @property
    def events(self) -> int:
        """Number of events, including events of write ids that the snapshot does not see."""
        return sum(file.events for file in self.files)

    def write_ids(self) -> Mapping[int, Sequence[Range]]:
        """Return the ranges of write ids whose rows the events can delete, by partition ordinal."""
        ranges = defaultdict(list)
        for file in self.files:
            ranges[file.ordinal].append(file.write_ids)
        return ranges


NO_DELETES = Deletes(files=())


def find_deletes(
    session: AcidSession,
    snapshot: TableSnapshot,
    directories: Sequence[DataDirectory] | None = None,
) -> Deletes:
    """Read the tails of the delete files of a snapshot.

    Args:
        session: the session.
        snapshot: the snapshot.
        directories: delete deltas of the snapshot to read; None for all.

    Raises:
        FormatError: a delete file is empty (INVALID_ORC_TAIL).
    """

    def look(data: DataDirectory) -> list[DeleteEvents]:
        events = []
        for path, version, tail in delete_files(session, snapshot.listings.get(data.path)):
            columns = [tail.file_int_stats(c) for c in (ORIGINAL_WRITE_ID, BUCKET, ROW_ID)]
            ranges = [Range(c.minimum, c.maximum) for c in columns if c is not None]
            is_known = len(ranges) == len(columns)
            if tail.rows:
                events.append(
                    DeleteEvents(
                        path=path,
                        version=version,
                        ordinal=data.ordinal,
                        events=tail.rows,
                        write_ids=ranges[0] if is_known else Range(0, data.directory.max_write_id),
                        keys=Keys(*ranges) if is_known else None,
                    )
                )
        return events

    wanted = delete_deltas(snapshot) if directories is None else directories
    events_by_directory = in_parallel(look, wanted, mostly_cached=True)
    return Deletes(files=tuple(file for events in events_by_directory for file in events))


ORDINAL = "ordinal"
"""Column of ``valid_keys`` with the index of the partition."""

_NO_KEYS = NO_KEYS.append_column(ORDINAL, pa.nulls(0, pa.int64()))


def valid_keys(
    session: AcidSession,
    snapshot: TableSnapshot,
    deletes: Deletes,
) -> pa.Table:
    """Read the row ids of the delete events that a snapshot sees.

    Args:
        session: the session.
        snapshot: the snapshot.
        deletes: delete events of the snapshot.

    Returns:
        Table with the fields of ``RowId`` and ``ordinal`` (the index of the partition), int64. A
        row id can occur more than once.
    """

    def read(file: DeleteEvents) -> pa.Table:
        events = session.delete_events.events(file.path, file.version)
        write_ids = pc.unique(events[DELETED_BY]).to_pylist()
        valid = [w for w in write_ids if snapshot.write_ids.is_valid(w)]
        seen = events
        if len(valid) < len(write_ids):
            seen = events.filter(pc.is_in(events[DELETED_BY], pa.array(valid, pa.int64())))
        ordinals = pa.repeat(pa.scalar(file.ordinal, pa.int64()), seen.num_rows)
        return seen.drop_columns(DELETED_BY).append_column(ORDINAL, ordinals)

    return pa.concat_tables([_NO_KEYS, *in_parallel(read, deletes.files, mostly_cached=True)])
