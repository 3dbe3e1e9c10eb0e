"""Finalising of delete events: sorted by row id, and written to the file of their bucket.

A row id that a MERGE matched twice is found before anything is visible. Up to
``Limits.driver_events`` events are sorted and written by the driver, more by a second Spark job,
which spills.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from acidsql import bridge
from acidsql.errors import CardinalityError, FormatError
from acidsql.format.bucket_codec import decode_bucket_sql
from acidsql.limits import limits
from acidsql.schema.acid_file import KEYS, event_schema, guarded_columns, padded
from acidsql.storage import delete_files
from acidsql.storage.delete_files import RowId
from acidsql.storage.delete_places import DeletePlaces
from acidsql.storage.driver_writer import Keys, Place
from acidsql.storage.filesystem import FileSystem, child
from acidsql.storage.finalize import (
    DuplicateKeys,
    FinishedDirectory,
    FinishedFile,
    StagedDirectory,
    Staging,
    UnwrittenFile,
    finalize_rows,
    finish_bucket_parts,
    staged_directories,
    with_versions,
)
from acidsql.storage.parallel import in_parallel
from acidsql.storage.staging import (
    BUCKET_COLUMN,
    CHECK_TARGET,
    codec,
    write_keys,
)
from acidsql.storage.staging_place import StagingPlace, files_of_jobs
from acidsql.storage.tails import Stamped, read_tail

# Columns: number of a staged directory, and ordinal of a partition.
_TARGET, _PARTITION = "__target", "__partition"


def finalize(staging: Staging, keys: Keys | None = None) -> list[FinishedDirectory]:
    """Finalise everything that a statement staged.

    Args:
        keys: row ids of its delete events if the driver has them; then none are staged.

    Raises:
        CardinalityError: MERGE_CARDINALITY_VIOLATION, a row id occurs twice.
        FormatError: UNEXPECTED_STAGED_FILE, Spark left something unexpected.
    """
    directories = staged_directories(staging.files, staging.place)
    finished = finalize_rows(staging, [d for d in directories if d.target.startswith("i")])
    if keys is None:
        deletes = [d for d in directories if not d.target.startswith("i")]
        finished += _finalize_deletes(staging, deletes)
    else:
        finished += _write_on_driver(staging, keys)
    return with_versions(staging.files, finished)


def _finalize_deletes(
    staging: Staging, directories: Sequence[StagedDirectory]
) -> list[FinishedDirectory]:
    files = staging.files
    paths = [child(d.path, name) for d in directories for name in d.files]
    tails = in_parallel(lambda path: read_tail(files, path), paths)
    if sum(tail.rows for tail in tails) <= limits().driver_events:
        return _finalize_on_driver(staging, directories)
    return _finalize_with_spark(staging, directories)


def _finalize_on_driver(
    staging: Staging, directories: Sequence[StagedDirectory]
) -> list[FinishedDirectory]:
    files = staging.files
    paths = [(d.target, child(d.path, name)) for d in directories for name in d.files]
    tables = in_parallel(lambda one: delete_files.read_events(files, one[1]), paths)
    found: dict[Place, list[pa.Table]] = defaultdict(list)
    for (target, _), table in zip(paths, tables, strict=True):
        for values, own in _by_partition(staging, table):
            found[Place(target, values)].append(own.select(RowId._fields))
    return _write_on_driver(staging, {p: pa.concat_tables(own) for p, own in found.items()})


def _by_partition(staging: Staging, events: pa.Table) -> Iterator[tuple[tuple[str, ...], pa.Table]]:
    """Yield the values of each partition that staged events are of, with these events."""
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
    wanted = [place for place, own in keys.items() if place.target != CHECK_TARGET and len(own)]

    def write(numbered: tuple[int, Place]) -> FinishedDirectory:
        number, place = numbered
        path = child(staging.place.path, f"deletes_{number}")
        unique = delete_files.distinct(keys[place])
        by = pa.repeat(pa.scalar(staging.write_id, pa.int64()), len(unique))
        events = unique.append_column(delete_files.DELETED_BY, by)
        encoded = delete_files.encode_buckets(events, staging.row, codec(staging.table))
        return _finished(place, path, [_encoded_file(staging, path, file) for file in encoded])

    return in_parallel(write, list(enumerate(sorted(wanted))))


def _encoded_file(staging: Staging, directory: str, file: delete_files.EncodedFile) -> FinishedFile:
    stamped = Stamped(rows=file.events, size=len(file.content))
    if staging.place.local is not None:
        return FinishedFile(stamped, UnwrittenFile(file.name, None, file.content))
    staging.files.write(child(directory, file.name), file.content)
    return FinishedFile(stamped)


def _finished(place: Place, path: str, written: Sequence[FinishedFile]) -> FinishedDirectory:
    return FinishedDirectory(
        path=path,
        values=place.values,
        deletes=True,
        statement_id=int(place.target[1:]),
        events=sum(file.stamped.rows for file in written),
        files=len(written),
        size=sum(file.stamped.size for file in written),
        unwritten=tuple(file.unwritten for file in written if file.unwritten is not None),
    )


def _check_once(keys: Keys) -> None:
    partitions: dict[tuple[str, ...], list[pa.Table]] = defaultdict(list)
    for place, own in keys.items():
        partitions[place.values].append(own)
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


def _finalize_with_spark(
    staging: Staging, directories: Sequence[StagedDirectory]
) -> list[FinishedDirectory]:
    """Sort and write the events in a second job.

    A task sorts all events of a file and holds nothing else: an operator that holds rows beside its
    sort, such as a window, leaves so little memory that the sort spills thousands of times.
    """
    files = staging.files
    if staging.duplicate_keys is DuplicateKeys.AN_ERROR:
        _check_once_with_spark(_staged_keys(staging, directories))
    written = [d for d in directories if d.target != CHECK_TARGET]
    if not written:
        return []
    keys = _staged_keys(staging, written)
    if staging.duplicate_keys is DuplicateKeys.AS_ONE:
        keys = keys.dropDuplicates()
    out = staging.place.below("deletes")
    bucket = f"{decode_bucket_sql('bucket')} AS {BUCKET_COLUMN}"
    directory_columns = [_TARGET, _PARTITION, BUCKET_COLUMN]
    placed = bridge.select(keys, *KEYS, _TARGET, _PARTITION, bucket)
    write_keys(placed, out, staging.table, staging.row, staging.write_id, directory_columns)
    finished = []
    for target, partition in _subdirectories(files, out):
        path = child(out.path, target, partition)
        named = finish_bucket_parts(files, out, path, row=(), deletes=True)
        numbers = [int(name.partition("=")[2]) for name in (target, partition)]
        values = () if staging.places is None else _values(staging.places, numbers[1])
        finished.append(_finished(Place(written[numbers[0]].target, values), path, named))
    return finished


def _subdirectories(files: FileSystem, staging: StagingPlace) -> list[tuple[str, str]]:
    """Return the names of the directories that a write job has left, and of those in them."""
    if staging.local is None:
        outer = files.names(staging.path)
        return [(one, name) for one in outer for name in files.names(child(staging.path, one))]
    below = (file.path.removeprefix(f"{staging.path}/") for file in files_of_jobs(staging))
    return sorted({(names[0], names[1]) for names in (path.split("/") for path in below)})


def _staged_keys(staging: Staging, directories: Sequence[StagedDirectory]) -> DataFrame:
    """Return the row ids of staged delete events.

    ``_TARGET`` is the number of their directory, ``_PARTITION`` the ordinal of their partition.
    """
    files = staging.files
    parts = [
        (number, *child(directory.path, file).rpartition("/"))
        for number, directory in enumerate(directories)
        for file in directory.files
    ]
    above = dict.fromkeys(path for _, path, _, _ in parts)
    listings = {listing.path: listing for listing in files.list_all(list(above))}
    scanned = [listings[path].scanned(name, number) for number, path, _, name in parts]
    nothing = StructType([])
    schema = event_schema(padded(nothing), deletes=True)
    relation = bridge.orc_relation(files.spark, scanned, schema, {})
    rows = relation.rows.guarded(guarded_columns(nothing)).frame()
    partition = "currentTransaction" if staging.places is not None else "0L"
    numbers = f"{bridge.FILE_ORDINAL} AS {_TARGET}", f"{partition} AS {_PARTITION}"
    return bridge.select(rows, *KEYS, *numbers)


def _check_once_with_spark(keys: DataFrame) -> None:
    # The key is an aggregate, because spark.sql.retainGroupColumns may leave out the groups.
    counted = keys.groupBy(_PARTITION, *KEYS).agg(
        F.struct(*KEYS).alias("key"), F.count("*").alias("count")
    )
    with bridge.job_errors():
        found = counted.where("count > 1").select("key.*").take(1)
    if found:
        raise _cardinality_error(RowId(*found[0]))
