"""Measurement of the directories, files, rows and delete events that a snapshot reads.

The tails of ORC files contain the numbers of rows, so no row is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from acidsql.format.health import Health
from acidsql.format.names import AcidDirectory, DirectoryKind, is_hidden
from acidsql.limits import limits
from acidsql.metastore.model import FileFormat
from acidsql.scan.snapshot import PartitionSnapshot, TableSnapshot
from acidsql.scan.streaming import may_be_written
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import FileVersion, child
from acidsql.storage.parallel import in_parallel


class SnapshotFile(NamedTuple):
    """File that a snapshot reads; ``directory`` is None if it is an original file."""

    path: str
    version: FileVersion
    directory: AcidDirectory | None

    @property
    def has_deletes(self) -> bool:
        """Whether the file contains delete events."""
        return self.directory is not None and self.directory.kind is DirectoryKind.DELETE_DELTA


def data_files(snapshot: TableSnapshot, partition: PartitionSnapshot) -> Iterator[SnapshotFile]:
    """Yield the files that a snapshot reads in a partition, except empty and hidden files."""
    for directory in partition.state.directories:
        listing = snapshot.listings.get(partition.path(directory))
        for name, version in listing.files.items():
            if version.size and not is_hidden(name) and not name.endswith("_flush_length"):
                yield SnapshotFile(child(listing.path, name), version, directory)
    for original in partition.state.originals:
        path = child(partition.location, original)
        place, _, name = path.rpartition("/")
        known = snapshot.listings.get(place).files.get(name)
        if known is not None and known.size:
            yield SnapshotFile(path, known, None)


def measured(session: AcidSession, snapshot: TableSnapshot) -> list[Health]:
    """Return the health of each partition, measured from its files."""
    files = [list(data_files(snapshot, partition)) for partition in snapshot.partitions]
    flat = [file for members in files for file in members]
    is_orc = snapshot.table.file_format is FileFormat.ORC
    rows = iter(in_parallel(lambda file: _rows(session, file, is_orc=is_orc), flat))
    return [
        _health(snapshot, partition, members, [next(rows) for _ in members])
        for partition, members in zip(snapshot.partitions, files, strict=True)
    ]


def _rows(session: AcidSession, file: SnapshotFile, *, is_orc: bool) -> int | None:
    """Return the number of rows or delete events in a file; None if its tail does not contain it.

    An open file of a streaming client has no tail at the end of its complete part.
    """
    if not is_orc or (file.directory is not None and may_be_written(file.directory)):
        return None
    return session.tails.tail(file.path, file.version).rows


def _health(
    snapshot: TableSnapshot,
    partition: PartitionSnapshot,
    files: list[SnapshotFile],
    rows: list[int | None],
) -> Health:
    state, table = partition.state, snapshot.table
    counted = list(zip(files, rows, strict=True))
    stored = [number for file, number in counted if not file.has_deletes]
    known = [number for number in stored if number is not None]
    originals = [f.version.size for f in files if f.directory is None]
    in_base = [f.version.size for f in files if f.directory and f.directory is state.base]
    size = sum(f.version.size for f in files)
    small = [f for f in files if not f.has_deletes and f.version.size < limits().small_file_bytes]
    return Health(
        partition=table.partition_name(partition.values) if table.partition_columns else None,
        base=state.base.name if state.base else None,
        base_bytes=sum(in_base),
        deltas=len(state.insert_deltas),
        delete_deltas=len(state.delete_deltas),
        delta_bytes=size - sum(in_base) - sum(originals),
        originals=len(originals),
        stored_rows=sum(known) if len(known) == len(stored) else None,
        delete_events=sum(number or 0 for file, number in counted if file.has_deletes),
        files=len(files),
        small_files=len(small),
        size=size,
        obsolete=len(state.obsolete),
        aborted=len(state.aborted),
    )
