"""Finalising of delete events: sorted by row id, and written to the file of their bucket.

A row id that a MERGE matched twice is found before anything is visible. Up to
``Limits.driver_events`` events are sorted and written by the driver, more by a second Spark job,
which spills.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from acidsql import bridge
from acidsql.errors import CardinalityError
from acidsql.format.bucket_codec import decode_bucket_sql
from acidsql.limits import limits
from acidsql.schema.acid_file import KEYS, event_schema, guarded_columns, padded
from acidsql.storage import delete_files
from acidsql.storage.delete_files import RowId
from acidsql.storage.driver_writer import Keys, Place
from acidsql.storage.filesystem import FileSystem, child
from acidsql.storage.finalize import (
    DuplicateKeys,
    FinishedDirectory,
    StagedDirectory,
    Staging,
    finalize_rows,
    name_bucket_parts,
    staged_directories,
    write_versions,
)
from acidsql.storage.parallel import in_parallel
from acidsql.storage.staging import BUCKET_COLUMN, CHECK_TARGET, codec, write_keys
from acidsql.storage.tails import Stamped, read_tail

# Columns: number of a staged directory, and of the first one of the same partition.
_PLACE, _PARTITION = "__place", "__partition"


def finalize(staging: Staging, keys: Keys | None = None) -> list[FinishedDirectory]:
    """Finalise everything that a statement staged.

    Args:
        keys: row ids of its delete events if the driver has them; then none are staged.

    Raises:
        CardinalityError: MERGE_CARDINALITY_VIOLATION, a row id occurs twice.
        FormatError: UNEXPECTED_STAGED_FILE, Spark left something unexpected.
    """
    directories = staged_directories(staging.files, staging.path)
    finished = finalize_rows(staging, [d for d in directories if d.target.startswith("i")])
    if keys is None:
        deletes = [d for d in directories if not d.target.startswith("i")]
        finished += _finalize_deletes(staging, deletes)
    else:
        finished += _write_on_driver(staging, keys)
    write_versions(staging.files, finished)
    return finished


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
    paths = [(_place(d), child(d.path, name)) for d in directories for name in d.files]
    tables = in_parallel(lambda one: delete_files.read_events(files, one[1]), paths)
    found: dict[Place, list[pa.Table]] = defaultdict(list)
    for (place, _), table in zip(paths, tables, strict=True):
        found[place].append(table.select(RowId._fields))
    return _write_on_driver(staging, {p: pa.concat_tables(own) for p, own in found.items()})


def _write_on_driver(staging: Staging, keys: Keys) -> list[FinishedDirectory]:
    if staging.duplicate_keys is DuplicateKeys.AN_ERROR:
        _check_once(keys)
    finished = []
    for number, (place, own) in enumerate(sorted(keys.items(), key=lambda item: item[0])):
        if place.target == CHECK_TARGET or not len(own):
            continue
        path = child(staging.path, f"deletes_{number}")
        unique = delete_files.distinct(own)
        by = pa.repeat(pa.scalar(staging.write_id, pa.int64()), len(unique))
        events = unique.append_column(delete_files.DELETED_BY, by)
        arguments = path, events, staging.row, codec(staging.table)
        written = delete_files.write_buckets(staging.files, *arguments)
        finished.append(_finished(place, path, written))
    return finished


def _place(directory: StagedDirectory) -> Place:
    return Place(directory.target, directory.values)


def _finished(place: Place, path: str, written: Sequence[Stamped]) -> FinishedDirectory:
    return FinishedDirectory(
        path=path,
        values=place.values,
        deletes=True,
        statement_id=int(place.target[1:]),
        events=sum(file.rows for file in written),
        files=len(written),
        size=sum(file.size for file in written),
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
        _check_once_with_spark(_staged_keys(files, directories))
    written = [d for d in directories if d.target != CHECK_TARGET]
    if not written:
        return []
    keys = _staged_keys(files, written)
    if staging.duplicate_keys is DuplicateKeys.AS_ONE:
        keys = keys.dropDuplicates()
    out = child(staging.path, "deletes")
    bucket = f"{decode_bucket_sql('bucket')} AS {BUCKET_COLUMN}"
    placed = bridge.select(keys, *KEYS, _PLACE, bucket)
    write_keys(placed, out, staging.table, staging.row, staging.write_id, [_PLACE, BUCKET_COLUMN])
    finished = []
    for name in files.names(out):
        path = child(out, name)
        named = name_bucket_parts(files, path, row=(), deletes=True)
        finished.append(_finished(_place(written[int(name.partition("=")[2])]), path, named))
    return finished


def _staged_keys(files: FileSystem, directories: Sequence[StagedDirectory]) -> DataFrame:
    """Return the row ids of staged delete events, with numbers of directories.

    ``_PLACE`` is the number of their directory, ``_PARTITION`` that of the first directory of the
    same partition.
    """
    parts = [
        (ordinal, *child(directory.path, file).rpartition("/"))
        for ordinal, directory in enumerate(directories)
        for file in directory.files
    ]
    places = dict.fromkeys(place for _, place, _, _ in parts)
    listings = {listing.path: listing for listing in files.list_all(list(places))}
    scanned = [listings[place].scanned(name, ordinal) for ordinal, place, _, name in parts]
    nothing = StructType([])
    schema = event_schema(padded(nothing), deletes=True)
    relation = bridge.orc_relation(files.spark, scanned, schema, {})
    first: dict[tuple[str, ...], int] = {}
    firsts = ", ".join(str(first.setdefault(d.values, i)) for i, d in enumerate(directories))
    rows = relation.rows.guarded(guarded_columns(nothing)).frame()
    placed = bridge.select(rows, *KEYS, f"{bridge.FILE_ORDINAL} AS {_PLACE}")
    return bridge.select(placed, "*", f"get(array({firsts}), {_PLACE}) AS {_PARTITION}")


def _check_once_with_spark(keys: DataFrame) -> None:
    # The key is an aggregate, because spark.sql.retainGroupColumns may leave out the groups.
    counted = keys.groupBy(_PARTITION, *KEYS).agg(
        F.struct(*KEYS).alias("key"), F.count("*").alias("count")
    )
    with bridge.job_errors():
        found = counted.where("count > 1").select("key.*").take(1)
    if found:
        raise _cardinality_error(RowId(*found[0]))
