"""Removal of deleted rows from the plan of a scan.

The driver reads up to some millions of delete events into a delete bitmap, which a filter looks up
(``scan.deletes.bitmap``). More events are joined by Spark: the delete side is broadcast up to a few
millions, else sorted, which can spill. The parts of a row id are packed into one number where they
fit, which makes the join faster; where events are dense, each row of the delete side has the bits
of 64 neighbouring row ids.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from acidsql import bridge
from acidsql.format.valid_lists import ValidWriteIdList
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
_DELETED_BY = "__deleted_by"
# Column of ``with_deleters``: whether the row was deleted.
IS_DELETED = "__is_deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class _DeleteFile:
    """Delete file with events.

    Attributes:
        path: qualified.
        version: identifies its content.
        ordinal: index of its partition in the snapshot.
        events: their number.
        write_ids: range of the write ids of the rows that the events delete, from statistics or
            else all that are possible.
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
    """Delete events of a snapshot, by file."""

    files: tuple[_DeleteFile, ...]

    @property
    def words(self) -> int:
        """Upper bound of the number of words in which the row ids are bits."""
        return most_words((file.ordinal, file.events, file.keys) for file in self.files)

    @property
    def events(self) -> int:
        """Number of the events, with those of write ids that the snapshot does not see."""
        return sum(file.events for file in self.files)

    def write_ids(self) -> Mapping[int, Sequence[Range]]:
        """Return, by ordinal of the partition, the ranges of write ids whose rows the events can
        delete.
        """
        found = defaultdict(list)
        for file in self.files:
            found[file.ordinal].append(file.write_ids)
        return found


def find_deletes(
    session: AcidSession,
    snapshot: TableSnapshot,
    directories: Sequence[DataDirectory] | None = None,
) -> Deletes:
    """Read the tails of the delete files of a snapshot.

    Args:
        session: the session.
        snapshot: the snapshot.
        directories: those of its delete deltas that count; None for all.

    Raises:
        FormatError: a delete file is empty (INVALID_ORC_TAIL).
    """

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

    wanted = delete_deltas(snapshot) if directories is None else directories
    found = in_parallel(look, wanted)
    return Deletes(files=tuple(file for own in found for file in own))


def bitmap_filter(
    session: AcidSession, snapshot: TableSnapshot, deletes: Deletes
) -> Callable[[bridge.UnresolvedPlan], bridge.UnresolvedPlan] | None:
    """Build the function that filters deleted rows out of a scan of insert events by a delete
    bitmap.

    The filter costs so little that it is also applied to rows that no event can delete; to scan
    these apart would cost more.

    Returns:
        None if there are too many events, or their row ids do not fit into a bitmap.
    """
    if deletes.events > limits().bitmap_events:
        return None
    # The next query reuses the filter if it reads the same events and sees the same write ids.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteJoin:
    """Way in which deleted rows are removed by a join.

    Attributes:
        packing: how the parts of a row id become one number; None if they do not fit into it.
        by_words: whether each row of the delete side has the bits of 64 neighbouring row ids.
        numbers: values on that side, its rows times its columns.
    """

    packing: Packing | None
    by_words: bool
    numbers: int

    @property
    def broadcast(self) -> bool:
        """Whether the delete side is small enough to be broadcast; else both are sorted."""
        return self.numbers <= limits().broadcast_numbers


def delete_join(snapshot: TableSnapshot, deletes: Deletes) -> DeleteJoin:
    """Choose the way in which the delete events of a snapshot are joined."""
    partitioned = bool(snapshot.table.partition_columns)
    partitions = len(snapshot.partitions) if partitioned else 1
    packing = packing_of([file.keys for file in deletes.files], partitions)
    if packing is None:
        columns = len(_key_columns(snapshot))
        return DeleteJoin(packing=None, by_words=False, numbers=deletes.events * columns)
    by_words = deletes.words * limits().events_per_word <= deletes.events
    numbers = deletes.words * 2 if by_words else deletes.events
    return DeleteJoin(packing=packing, by_words=by_words, numbers=numbers)


def _key_columns(snapshot: TableSnapshot) -> list[str]:
    return [*KEYS, ORDINAL] if snapshot.table.partition_columns else list(KEYS)


def anti_join(
    snapshot: TableSnapshot,
    parts: Sequence[bridge.UnresolvedPlan],
    way: DeleteJoin,
    events: DataFrame,
) -> list[bridge.UnresolvedPlan]:
    """Remove deleted rows from scans of insert events by a join.

    Args:
        parts: scans of insert events.
        way: of joining, as ``delete_join`` chose it.
        events: scan of the delete events of the snapshot.
    """
    packing = way.packing
    if packing is not None and way.by_words:
        return _without_bits(parts, packing, events, way)
    keys = join_keys(snapshot, packing)
    events = events.select(*[value.alias(f"__d_{k}") for k, value in keys.items()])
    events = hinted(events, way)
    condition = [value == F.col(f"__d_{k}") for k, value in keys.items()]
    frames = [part.frame().join(events, condition, "left_anti") for part in parts]
    return [bridge.UnresolvedPlan.of(frame) for frame in frames]


def join_keys(snapshot: TableSnapshot, packing: Packing | None) -> dict[str, Column]:
    """Return the parts of a row id in an event, by name, or the one number that they make.

    Args:
        snapshot: the snapshot.
        packing: of the row ids; None for the parts.
    """
    if packing is not None:
        return {_PACKED: F.expr(packing.sql())}
    return {k: F.col(k) for k in _key_columns(snapshot)}


def deleter_join(snapshot: TableSnapshot, deletes: Deletes) -> DeleteJoin:
    """Choose the way in which ``with_deleters`` joins the delete events of a snapshot."""
    way = delete_join(snapshot, deletes)
    columns = 1 if way.packing is not None else len(_key_columns(snapshot))
    return replace(way, by_words=False, numbers=deletes.events * (columns + 1))


def with_deleters(
    session: AcidSession,
    snapshot: TableSnapshot,
    parts: Sequence[bridge.UnresolvedPlan],
    way: DeleteJoin,
    events: DataFrame,
) -> list[bridge.UnresolvedPlan]:
    """Mark the deleted rows in scans of insert events, as Hive does
    (``VectorizedOrcAcidRowBatchReader``).

    Args:
        parts: scans of insert events.
        way: of joining, as ``deleter_join`` chose it.
        events: scan of the delete events of the snapshot.

    Returns:
        The scans with a column ``IS_DELETED``. The original write id of a deleted row is replaced
        by the write id that deleted it, the last one if there are several.
    """
    keys = join_keys(snapshot, way.packing)
    last = F.max("currentTransaction")
    deleters = hinted(by_row(events, keys, last, _DELETED_BY), way)
    condition = [
        bridge.no_pushdown(session.spark, value, nullable=True) == F.col(f"__d_{k}")
        for k, value in keys.items()
    ]
    deleted_by, original = F.col(_DELETED_BY), F.col("originalTransaction")
    frames = [
        part.frame()
        .join(deleters, condition, "left")
        .withColumns(
            {
                IS_DELETED: deleted_by.isNotNull(),
                "originalTransaction": F.coalesce(deleted_by, original),
            }
        )
        for part in parts
    ]
    return [bridge.UnresolvedPlan.of(frame) for frame in frames]


def by_row(events: DataFrame, keys: Mapping[str, Column], deleter: Column, name: str) -> DataFrame:
    """Return one event for each row: its keys, with ``__d_`` before their names, and who has
    deleted it.

    Args:
        events: the delete events.
        keys: parts of a row id by name, see ``join_keys``.
        deleter: aggregate of the events of a row.
        name: of its column.
    """
    grouped = events.groupBy(*keys.values()).agg(
        *[value.alias(f"__d_{k}") for k, value in keys.items()], deleter.alias(name)
    )
    # spark.sql.retainGroupColumns adds the grouping columns.
    return grouped.select(*[f"__d_{k}" for k in keys], name)


def _without_bits(
    parts: Sequence[bridge.UnresolvedPlan], packing: Packing, events: DataFrame, way: DeleteJoin
) -> list[bridge.UnresolvedPlan]:
    """Remove deleted rows by a join with words whose bits are deleted rows.

    There are fewer words than events, so less is broadcast or sorted.

    Args:
        packing: of their row ids.
        events: scan of the delete events.
    """
    word, bit = F.expr(packing.word_sql()), packing.bit_sql()
    bits = F.expr(f"bit_or(shiftleft(1L, {bit}))")
    # The word is an aggregate too, since spark.sql.retainGroupColumns may drop grouping columns.
    gathered = events.groupBy(word).agg(word.alias("__d_word"), bits.alias("__d_bits"))
    gathered = hinted(gathered.select("__d_word", "__d_bits"), way)
    kept = f"coalesce(getbit(__d_bits, {bit}), 0) = 0"
    frames = [
        part.frame().join(gathered, word == F.col("__d_word"), "left").where(kept) for part in parts
    ]
    return [bridge.UnresolvedPlan.of(frame) for frame in frames]


def hinted(rows: DataFrame, way: DeleteJoin) -> DataFrame:
    """Hint Spark to broadcast the right side of a join if it is small, else to sort-merge join."""
    return F.broadcast(rows) if way.broadcast else rows.hint("merge")


_ORDINAL = "ordinal"
_NO_KEYS = NO_KEYS.append_column(_ORDINAL, pa.nulls(0, pa.int64()))


def valid_keys(
    session: AcidSession,
    snapshot: TableSnapshot,
    deletes: Deletes,
    but_of: ValidWriteIdList | None = None,
) -> pa.Table:
    """Read the row ids of the delete events that a snapshot sees.

    Args:
        session: the session.
        snapshot: the snapshot.
        deletes: its delete events.
        but_of: write ids whose events are left out, None for none.

    Returns:
        Table with the fields of ``RowId`` and ``ordinal`` (the index of the partition), int64; a
        row id may occur more than once.
    """

    def read(file: _DeleteFile) -> pa.Table:
        events = session.delete_events.events(file.path, file.version)
        write_ids = pc.unique(events[DELETED_BY]).to_pylist()
        valid = [w for w in write_ids if snapshot.write_ids.is_valid(w)]
        if but_of is not None:
            valid = [w for w in valid if not but_of.is_valid(w)]
        seen = events
        if len(valid) < len(write_ids):
            seen = events.filter(pc.is_in(events[DELETED_BY], pa.array(valid, pa.int64())))
        ordinals = pa.repeat(pa.scalar(file.ordinal, pa.int64()), seen.num_rows)
        return seen.drop_columns(DELETED_BY).append_column(_ORDINAL, ordinals)

    return pa.concat_tables([_NO_KEYS, *in_parallel(read, deletes.files)])
