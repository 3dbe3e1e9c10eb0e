"""Delete events: read back from staging, sorted by row id, written to the file of their bucket.

The pass sees a row id twice if a MERGE matched it twice, before anything is visible. A million
events are sorted and written by the driver, more by a second Spark job, which spills.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from acidsql import bridge
from acidsql.errors import CardinalityError
from acidsql.format.bucket_codec import decode_bucket_sql
from acidsql.schema import KEYS, event_schema, guard, padded
from acidsql.session import AcidSession
from acidsql.storage import delete_files, few
from acidsql.storage.delete_files import RowId
from acidsql.storage.few import Keys, Place
from acidsql.storage.filesystem import child
from acidsql.storage.parallel import in_parallel
from acidsql.storage.settle import (
    Settled,
    StagedDirectory,
    Staging,
    name_bucket_parts,
    settle_rows,
    staged_directories,
    write_versions,
)
from acidsql.storage.staging import BUCKET_COLUMN, CHECK_TARGET, codec, write_buckets
from acidsql.storage.tails import read_tail


def settle(staging: Staging, keys: Keys | None = None) -> list[Settled]:
    """Finish everything that a statement staged.

    Args:
        keys: the row ids of its delete events if the driver has them, and none are staged.

    Raises:
        CardinalityError: a row id is there twice (MERGE_CARDINALITY_VIOLATION).
        FormatError: Spark left something unexpected (UNEXPECTED_STAGED_FILE).
    """
    directories = staged_directories(staging.session, staging.path)
    settled = settle_rows(staging, [d for d in directories if d.target.startswith("i")])
    if keys is None:
        deletes = [d for d in directories if not d.target.startswith("i")]
        settled += _settle_deletes(staging, deletes)
    else:
        settled += _write_on_driver(staging, keys)
    write_versions(staging.session, settled)
    return settled


def _settle_deletes(staging: Staging, directories: Sequence[StagedDirectory]) -> list[Settled]:
    files = staging.session.files
    paths = [child(d.path, name) for d in directories for name in d.files]
    tails = in_parallel(lambda path: read_tail(files, path), paths)
    if sum(tail.rows for tail in tails) <= few.DRIVER_EVENTS:
        return _settle_on_driver(staging, directories)
    return _settle_with_spark(staging, directories)


def _settle_on_driver(staging: Staging, directories: Sequence[StagedDirectory]) -> list[Settled]:
    files = staging.session.files
    paths = [(_place(d), child(d.path, name)) for d in directories for name in d.files]
    tables = in_parallel(lambda one: delete_files.read_events(files, one[1]), paths)
    found: dict[Place, list[pa.Table]] = defaultdict(list)
    for (place, _), table in zip(paths, tables, strict=True):
        found[place].append(table.select(RowId._fields))
    return _write_on_driver(staging, {p: pa.concat_tables(own) for p, own in found.items()})


def _write_on_driver(staging: Staging, keys: Keys) -> list[Settled]:
    if staging.once:
        _check_once(keys)
    settled = []
    for number, (place, own) in enumerate(sorted(keys.items(), key=lambda item: item[0])):
        if place.target == CHECK_TARGET or not len(own):
            continue
        path = child(staging.path, f"deletes_{number}")
        unique = delete_files.distinct(own)
        by = pa.repeat(pa.scalar(staging.write_id, pa.int64()), len(unique))
        events = unique.append_column(delete_files.DELETED_BY, by)
        arguments = path, events, staging.row, codec(staging.table)
        delete_files.write_buckets(staging.session.files, *arguments)
        settled.append(_settled(place, path, len(unique)))
    return settled


def _place(directory: StagedDirectory) -> Place:
    return Place(directory.target, directory.values)


def _settled(place: Place, path: str, events: int) -> Settled:
    return Settled(
        path=path,
        values=place.values,
        deletes=True,
        statement_id=int(place.target[1:]),
        events=events,
    )


def _check_once(keys: Keys) -> None:
    partitions: dict[tuple[str, ...], list[pa.Table]] = defaultdict(list)
    for place, own in keys.items():
        partitions[place.values].append(own)
    for tables in partitions.values():
        seen = pa.concat_tables(tables)
        if len(delete_files.distinct(seen)) < len(seen):
            counted = seen.group_by(list(RowId._fields)).aggregate([([], "count_all")])
            twice = counted.filter(pc.field("count_all") > 1).select(RowId._fields)
            raise _cardinality_error(RowId(**twice.to_pylist()[0]))


def _cardinality_error(key: RowId) -> CardinalityError:
    return CardinalityError(
        "MERGE_CARDINALITY_VIOLATION",
        f"the ON condition of the MERGE matched the target row with row__id {tuple(key)} with more "
        "than one source row: make the source rows unique on the columns of the ON condition",
    )


def _settle_with_spark(staging: Staging, directories: Sequence[StagedDirectory]) -> list[Settled]:
    """Sort and write the events in a second job."""
    session = staging.session
    scanned = []
    for ordinal, directory in enumerate(directories):
        listing = session.files.list(directory.path)
        scanned.append(
            bridge.ScanDirectory(
                path=listing.java_path,
                statuses=listing.java_statuses,
                files=directory.files,
                ordinal=ordinal,
            )
        )
    nothing = StructType([])
    relation = bridge.orc_relation(
        session.spark, scanned, event_schema(padded(nothing), deletes=True), {}
    )
    place = F.expr(bridge.FILE_ORDINAL)
    values = sorted({d.values for d in directories})
    partitions = F.lit([values.index(d.values) for d in directories])
    events = (
        relation.rows.frame()
        .where(guard(nothing))
        .select(
            "operation",
            *KEYS,
            "currentTransaction",
            F.lit(None).cast(event_schema(staging.row)["row"].dataType).alias("row"),
            place.alias("__place"),
            F.get(partitions, place).alias("__partition"),
            F.expr(decode_bucket_sql("bucket")).alias(BUCKET_COLUMN),
        )
    )
    # One task has all events of a partition and bucket, so it sees a row id twice side by side.
    window = Window.partitionBy("__partition", BUCKET_COLUMN).orderBy(*KEYS)
    again = F.lag(F.struct(*KEYS)).over(window) == F.struct(*KEYS)
    events = events.withColumn("__again", F.coalesce(again, F.lit(False))).drop("__partition")
    if not staging.once:
        events = events.where("NOT __again")
    out = child(staging.path, "deletes")
    write_buckets(events, out, staging.table, ["__again", "__place", BUCKET_COLUMN])
    twice = child(out, "__again=true")
    if session.files.exists(twice):
        raise _cardinality_error(_first_key(session, twice))
    settled = []
    root = child(out, "__again=false")
    for name in session.files.names(root):
        directory = directories[int(name.partition("=")[2])]
        if directory.target != CHECK_TARGET:
            path = child(root, name)
            events_written = name_bucket_parts(session, path, row=(), deletes=True)
            settled.append(_settled(_place(directory), path, events_written))
    return settled


def _first_key(session: AcidSession, root: str) -> RowId:
    """Any row id below a directory that a write job filled."""
    path = root
    while not (parts := [n for n in session.files.names(path) if n.startswith("part-")]):
        path = child(path, next(n for n in session.files.names(path) if "=" in n))
    events = delete_files.read_events(session.files, child(path, parts[0]))
    return RowId(**events.select(RowId._fields).slice(0, 1).to_pylist()[0])
