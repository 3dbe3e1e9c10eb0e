"""Rows less those that were deleted.

Delete events are read by the driver, up to some millions, and become bits of words, which a filter
looks up (``bitmap``). What would take too much there is joined by Spark: broadcast up to a few
millions, by sorting beyond, which spills. The parts of a row id are packed into one number where
they fit, on which a join is faster; where events are dense, each row of the join has the bits of 64
neighbours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from acidsql import bridge
from acidsql.limits import limits
from acidsql.scan.columns import ORDINAL
from acidsql.scan.deletes.bitmap import MOST_WRITE_ID, delete_bitmap_columns, make_delete_bitmap
from acidsql.scan.deletes.packing import Keys, Packing, Range, most_words, packing_of
from acidsql.scan.directories import (
    DataDirectory,
    delete_deltas,
    delete_files,
    insert_directories,
)
from acidsql.scan.snapshot import TableSnapshot
from acidsql.schema.acid_file import KEYS
from acidsql.session.acid_session import AcidSession
from acidsql.storage.delete_files import DELETED_BY, NO_KEYS
from acidsql.storage.filesystem import FileVersion
from acidsql.storage.parallel import in_parallel
from acidsql.storage.tails import BUCKET, ORIGINAL_WRITE_ID, ROW_ID

_PACKED = "__key"


@dataclass(frozen=True, slots=True, kw_only=True)
class _DeleteFile:
    """A delete file with events, and what its statistics say of the rows that they delete.

    Attributes:
        keys: of the write id, the bucket property and the row id; None if they are not told.
    """

    path: str
    version: FileVersion
    ordinal: int
    events: int
    write_ids: Range
    keys: Keys | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletes:
    """The delete events of a snapshot."""

    files: tuple[_DeleteFile, ...]

    @property
    def words(self) -> int:
        """The most words in which their row ids are."""
        return most_words((file.ordinal, file.events, file.keys) for file in self.files)

    @property
    def events(self) -> int:
        """Their number, with those that the snapshot does not see."""
        return sum(file.events for file in self.files)

    def write_ids(self) -> Mapping[int, Sequence[Range]]:
        """Those of the rows that each file's events can delete, by the partition's ordinal."""
        found = defaultdict(list)
        for file in self.files:
            found[file.ordinal].append(file.write_ids)
        return found


def find_deletes(session: AcidSession, snapshot: TableSnapshot) -> Deletes:
    """Look into the tails of the delete files."""

    def look(data: DataDirectory) -> list[_DeleteFile]:
        found = []
        for path, version, tail in delete_files(session, snapshot.listings.get(data.path)):
            columns = [tail.file_int_stats(c) for c in (ORIGINAL_WRITE_ID, BUCKET, ROW_ID)]
            ranges = [Range(c.minimum, c.maximum) for c in columns if c is not None]
            is_told = len(ranges) == len(columns)
            if tail.rows:
                found.append(
                    _DeleteFile(
                        path=path,
                        version=version,
                        ordinal=data.ordinal,
                        events=tail.rows,
                        write_ids=ranges[0] if is_told else Range(0, data.directory.max_write_id),
                        keys=Keys(*ranges) if is_told else None,
                    )
                )
        return found

    found = in_parallel(look, delete_deltas(snapshot))
    return Deletes(files=tuple(file for own in found for file in own))


def bitmap_filter(
    session: AcidSession, snapshot: TableSnapshot, deletes: Deletes
) -> Callable[[bridge.UnresolvedPlan], bridge.UnresolvedPlan] | None:
    """What takes the deleted rows from a scan of insert events without a join.

    It costs so little that it need not be kept from the rows that no event can concern: a scan of
    their own would cost more.

    Returns:
        None if there are too many for that.
    """
    if deletes.events > limits().bitmap_events:
        return None
    # The same events, of which the same are seen, are the same filter of the next query.
    key = deletes, snapshot.write_ids
    return session.delete_filters.get(key, lambda: _made_filter(session, snapshot, deletes))


def _made_filter(
    session: AcidSession, snapshot: TableSnapshot, deletes: Deletes
) -> Callable[[bridge.UnresolvedPlan], bridge.UnresolvedPlan] | None:
    partitioned = bool(snapshot.table.partition_columns)
    keys = valid_keys(session, snapshot, deletes)
    if not len(keys):
        return lambda part: part
    write_ids = (data.directory.max_write_id for data in insert_directories(snapshot))
    if max(write_ids, default=0) > MOST_WRITE_ID:
        return None
    bitmap = make_delete_bitmap(keys, partitioned=partitioned)
    if bitmap is None:
        return None
    columns = delete_bitmap_columns(partitioned=partitioned)
    condition = bridge.is_not_deleted(session.spark, bitmap, columns)
    return lambda part: part.filtered(condition)


def anti_join(
    snapshot: TableSnapshot,
    parts: Sequence[bridge.UnresolvedPlan],
    deletes: Deletes,
    scan_events: Callable[[], DataFrame],
) -> list[bridge.UnresolvedPlan]:
    """Insert events but for those that a delete event meets, by a join.

    Args:
        parts: scans of insert events.
        deletes: the delete events of the snapshot.
        scan_events: gives a scan of them.
    """
    partitioned = bool(snapshot.table.partition_columns)
    partitions = len(snapshot.partitions) if partitioned else 1
    packing = packing_of([file.keys for file in deletes.files], partitions)
    events = scan_events()
    if packing is not None and deletes.words * limits().events_per_word <= deletes.events:
        return _without_bits(parts, packing, events, deletes.words)
    if packing is not None:
        keys = {_PACKED: F.expr(packing.sql())}
    else:
        keys = {k: F.col(k) for k in ([*KEYS, ORDINAL] if partitioned else KEYS)}
    events = events.select(*[value.alias(f"__d_{k}") for k, value in keys.items()])
    events = _hinted(events, deletes.events * len(keys))
    condition = [value == F.col(f"__d_{k}") for k, value in keys.items()]
    frames = [part.frame().join(events, condition, "left_anti") for part in parts]
    return [bridge.UnresolvedPlan.of(frame) for frame in frames]


def _without_bits(
    parts: Sequence[bridge.UnresolvedPlan], packing: Packing, events: DataFrame, most: int
) -> list[bridge.UnresolvedPlan]:
    """The rows without a bit in the words of the events: these are fewer than the events, so that
    less is broadcast, or sorted.

    Args:
        most: words at most.
    """
    word, bit = F.expr(packing.word_sql()), packing.bit_sql()
    bits = F.expr(f"bit_or(shiftleft(1L, {bit}))")
    # The word is named among the aggregates: spark.sql.retainGroupColumns may leave out the groups.
    gathered = events.groupBy(word).agg(word.alias("__d_word"), bits.alias("__d_bits"))
    gathered = _hinted(gathered.select("__d_word", "__d_bits"), most * 2)
    kept = f"coalesce(getbit(__d_bits, {bit}), 0) = 0"
    frames = [
        part.frame().join(gathered, word == F.col("__d_word"), "left").where(kept) for part in parts
    ]
    return [bridge.UnresolvedPlan.of(frame) for frame in frames]


def _hinted(rows: DataFrame, numbers: int) -> DataFrame:
    """The right side of a join, broadcast if it has so few numbers, or else sorted."""
    return F.broadcast(rows) if numbers <= limits().broadcast_numbers else rows.hint("merge")


_ORDINAL = "ordinal"
_NO_KEYS = NO_KEYS.append_column(_ORDINAL, pa.nulls(0, pa.int64()))


def valid_keys(session: AcidSession, snapshot: TableSnapshot, deletes: Deletes) -> pa.Table:
    """The row ids of the delete events that the snapshot sees: the parts under their names in
    ``RowId``, and ``ordinal``, that of the partition. A row id may be there more than once.
    """

    def read(file: _DeleteFile) -> pa.Table:
        events = session.delete_events.events(file.path, file.version)
        write_ids = pc.unique(events[DELETED_BY]).to_pylist()
        valid = [w for w in write_ids if snapshot.write_ids.is_valid(w)]
        seen = events
        if len(valid) < len(write_ids):
            seen = events.filter(pc.is_in(events[DELETED_BY], pa.array(valid, pa.int64())))
        ordinals = pa.repeat(pa.scalar(file.ordinal, pa.int64()), seen.num_rows)
        return seen.drop_columns(DELETED_BY).append_column(_ORDINAL, ordinals)

    return pa.concat_tables([_NO_KEYS, *in_parallel(read, deletes.files)])
