"""Finalising of delete events: they are sorted by row id and written to the file of their bucket.

A row id that a MERGE matched twice is detected before anything is visible. The driver sorts and
writes up to ``Limits.driver_events`` events. A second Spark job, which can spill, handles more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from acidsql import bridge
from acidsql.errors import CardinalityError, FormatError
from acidsql.format.bucket_codec import decode_bucket_sql
from acidsql.limits import limits
from acidsql.schema.acid_file import KEYS, ROW_ID_FIELDS
from acidsql.storage import delete_files
from acidsql.storage.delete_files import RowId
from acidsql.storage.delete_places import DeletePlaces
from acidsql.storage.driver_writer import EventDestination, Keys
from acidsql.storage.finalize import (
    DuplicateKeys,
    FinishedDirectory,
    Staging,
    finished_directories,
    with_versions,
)
from acidsql.storage.parallel import in_parallel
from acidsql.storage.relation import ReadOptions, event_file, file_relation, metadata_columns
from acidsql.storage.staging import (
    BUCKET_COLUMN,
    CHECK_TARGET,
    PLACE_COLUMN,
    TARGET,
    codec,
    write_keys,
)
from acidsql.storage.staging_place import StagedFile


def finalize(staging: Staging, keys: Keys | None = None) -> list[FinishedDirectory]:
    """Finalise everything that a statement staged.

    Args:
        staging: staging directory of the statement.
        keys: row ids of the delete events if the driver has them; then none are staged.

    Raises:
        CardinalityError: MERGE_CARDINALITY_VIOLATION, a row id occurs twice.
        FormatError: UNEXPECTED_STAGED_FILE, a task left something unexpected.
    """
    files = staging.place.files
    finished = finished_directories(staging, [f for f in files if f.rows], "rows")
    if keys is not None:
        finished += _write_on_driver(staging, keys)
    elif deletes := [f for f in files if f.deletes]:
        finished += _finalize_deletes(staging, deletes)
    return with_versions(staging.files, finished)


def _finalize_deletes(staging: Staging, events: Sequence[StagedFile]) -> list[FinishedDirectory]:
    if sum(file.deletes for file in events) <= limits().driver_events:
        return _finalize_on_driver(staging, events)
    return _finalize_with_spark(staging, events)


def _finalize_on_driver(staging: Staging, events: Sequence[StagedFile]) -> list[FinishedDirectory]:
    files = staging.files
    tables = in_parallel(lambda file: delete_files.read_events(files, str(file.path)), events)
    parts: dict[EventDestination, list[pa.Table]] = defaultdict(list)
    for file, table in zip(events, tables, strict=True):
        for values, part in _by_partition(staging, table):
            parts[EventDestination(file.target, values)].append(part.select(RowId._fields))
    return _write_on_driver(staging, {p: pa.concat_tables(each) for p, each in parts.items()})


def _by_partition(staging: Staging, events: pa.Table) -> Iterator[tuple[tuple[str, ...], pa.Table]]:
    """Yield the values of each partition that staged events belong to, with these events."""
    if staging.places is None:
        yield (), events
        return
    ordered = events.sort_by(delete_files.DELETED_BY)
    ordinals, firsts = np.unique(ordered[delete_files.DELETED_BY].to_numpy(), return_index=True)
    bounds = [*firsts.tolist(), len(ordered)]
    for ordinal, (first, end) in zip(ordinals.tolist(), pairwise(bounds), strict=True):
        yield _values(staging.places, ordinal), ordered.slice(first, end - first)


def _values(places: DeletePlaces, ordinal: int) -> tuple[str, ...]:
    """Return the values of the partition of a staged event.

    Raises:
        FormatError: UNEXPECTED_STAGED_FILE.
    """
    if not 0 <= ordinal < len(places.partitions):
        raise FormatError(
            "UNEXPECTED_STAGED_FILE",
            "a deleted row lies in none of the partitions that the statement has read: "
            "report this with the Spark version and the session's configuration",
        )
    return places.partitions[ordinal]


def _write_on_driver(staging: Staging, keys: Keys) -> list[FinishedDirectory]:
    if staging.duplicate_keys is DuplicateKeys.AN_ERROR:
        _check_once(keys)
    wanted = [place for place, ids in keys.items() if place.target != CHECK_TARGET and len(ids)]

    def encoded(place: EventDestination) -> list[StagedFile]:
        unique = delete_files.distinct(keys[place])
        by = pa.repeat(pa.scalar(staging.write_id, pa.int64()), len(unique))
        events = unique.append_column(delete_files.DELETED_BY, by)
        written = delete_files.encode_buckets(events, staging.row, codec(staging.table))
        return [
            StagedFile(
                target=place.target,
                values=place.values,
                bucket=file.bucket,
                rows=0,
                deletes=file.events,
                size=len(file.content),
                content=file.content,
            )
            for file in written
        ]

    made = in_parallel(encoded, sorted(wanted))
    return finished_directories(staging, [file for files in made for file in files], "deletes")


def _check_once(keys: Keys) -> None:
    partitions: dict[tuple[str, ...], list[pa.Table]] = defaultdict(list)
    for place, row_ids in keys.items():
        partitions[place.values].append(row_ids)
    for tables in partitions.values():
        seen = pa.concat_tables(tables)
        if len(delete_files.distinct(seen)) < len(seen):
            counted = seen.group_by(list(RowId._fields)).aggregate([([], "count_all")])
            duplicate_keys = counted.filter(pc.field("count_all") > 1).select(RowId._fields)
            raise _cardinality_error(RowId(**duplicate_keys.to_pylist()[0]))


def _cardinality_error(key: RowId) -> CardinalityError:
    return CardinalityError(
        "MERGE_CARDINALITY_VIOLATION",
        f"the ON condition of the MERGE matched the target row with row__id {tuple(key)} with more "
        "than one source row: make the source rows unique on the columns of the ON condition",
    )


def _finalize_with_spark(staging: Staging, events: Sequence[StagedFile]) -> list[FinishedDirectory]:
    """Sort and write the events in a second job.

    A task sorts all events of a file and keeps no other rows. An operator that keeps rows in
    addition to its sort, for example a window, would leave so little memory that the sort spills
    thousands of times.
    """
    if staging.duplicate_keys is DuplicateKeys.AN_ERROR:
        _check_once_with_spark(_staged_keys(staging, events))
    written = [file for file in events if file.target != CHECK_TARGET]
    if not written:
        return []
    keys = _staged_keys(staging, written)
    if staging.duplicate_keys is DuplicateKeys.AS_ONE:
        keys = keys.dropDuplicates()
    bucket = f"{decode_bucket_sql('bucket')} AS {BUCKET_COLUMN}"
    placed = bridge.select(keys, *KEYS, TARGET, PLACE_COLUMN, bucket)
    made = write_keys(placed, staging.place, staging.table, staging.row, staging.write_id)
    return finished_directories(staging, [_of_place(staging, file) for file in made], "deletes")


def _of_place(staging: Staging, file: StagedFile) -> StagedFile:
    """Replace the ordinal of a file's partition by the values of the partition."""
    if staging.places is None:
        return replace(file, values=())
    return replace(file, values=_values(staging.places, int(file.values[0])))


def _staged_keys(staging: Staging, events: Sequence[StagedFile]) -> DataFrame:
    """Return the row ids of staged delete events, with their targets and partition ordinals."""
    files = staging.files
    targets = sorted({file.target for file in events})
    (listing,) = files.list_all([staging.place.path])
    read = [
        event_file(listing, str(file.path).rpartition("/")[2], targets.index(file.target))
        for file in events
    ]
    table = replace(staging.table, columns=(), partition_columns=())
    size = max(1, sum(file.length for file in read))
    rows, _ = file_relation(
        files.spark, table, (), read, ReadOptions(), zone="UTC", statistics=(size, -1)
    )
    names = metadata_columns(table)
    fields = zip(ROW_ID_FIELDS, KEYS, strict=True)
    keys = [f"{names.row_id}.{field} AS {key}" for field, key in fields]
    named = ", ".join(f"'{target}'" for target in targets)
    target = f"array({named})[{names.partition}] AS {TARGET}"
    place = f"{names.write_id if staging.places is not None else '0L'} AS {PLACE_COLUMN}"
    return rows.select(*keys, target, place).frame()


def _check_once_with_spark(keys: DataFrame) -> None:
    # The key is an aggregate, because spark.sql.retainGroupColumns can leave out the groups.
    counted = keys.groupBy(PLACE_COLUMN, *KEYS).agg(
        F.struct(*KEYS).alias("key"), F.count("*").alias("count")
    )
    with bridge.job_errors():
        repeated = counted.where("count > 1").select("key.*").take(1)
    if repeated:
        raise _cardinality_error(RowId(*repeated[0]))
