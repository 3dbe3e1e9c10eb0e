"""From staged part files to finished delta directories: one file per bucket, sorted, with ACID metadata.

Part files of rows are complete but for their footer and their name. Delete events are few and narrow: they
are read back, sorted by row id and written anew, each to the file of the bucket that its row id names. That
pass sees a row id twice if a MERGE matched it twice, before anything is visible.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from acidsql import bridge
from acidsql.errors import CardinalityError, FormatError
from acidsql.format.bucket_codec import decode_bucket, decode_bucket_sql
from acidsql.format.bucket_codec import encode as encode_bucket
from acidsql.format.names import VERSION_CONTENT, VERSION_FILE, bucket_file_name
from acidsql.format.orc_tail import OrcTail
from acidsql.format.partitions import unescape
from acidsql.metastore.protocol import Table
from acidsql.schema import event_schema, padded
from acidsql.session import AcidSession
from acidsql.storage import delete_files
from acidsql.storage.filesystem import child
from acidsql.storage.staging import (
    BUCKET_COLUMN,
    CHECK_TARGET,
    PART,
    TARGET,
    codec,
    write_buckets,
)
from acidsql.storage.tails import BUCKET, read_tail, stamp

# Up to so many delete events of a statement are sorted and written by the driver.
DRIVER_EVENTS = 50_000
# Appending to a file takes up to half a second on HDFS, so files are finished side by side.
_THREADS = 8

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """A staged directory: its target's name, its partition's values, its files."""

    target: str
    values: tuple[str, ...]
    path: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A finished directory in staging, ready to be moved to its place."""

    path: str
    values: tuple[str, ...]
    deletes: bool
    statement_id: int
    events: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRule:
    """What to do with a row id that is there twice: an error (MERGE), or one event (its DELETE alone)."""

    collapse: bool = False


def in_parallel(action: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Run an action on every item, a few at a time; the first failure is raised."""
    if len(items) <= 1:
        return [action(item) for item in items]
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(action, items))


def staged_directories(session: AcidSession, staging: str) -> list[Staged]:
    """What the write job left in staging."""
    found: list[Staged] = []

    def walk(path: str, target: str, values: tuple[str, ...]) -> None:
        names = session.files.list(path).names
        files = tuple(sorted(n for n in names if n.startswith("part-")))
        if files:
            found.append(Staged(target=target, values=values, path=path, files=files))
        for name in names:
            if name.startswith(f"{TARGET}="):
                walk(child(path, name), name[len(TARGET) + 1 :], ())
            elif name.startswith(PART):
                value = unescape(name.partition("=")[2])
                walk(child(path, name), target, (*values, value))

    walk(staging, "", ())
    return found


def settle(
    session: AcidSession,
    staging: str,
    table: Table,
    row: StructType,
    write_id: int,
    rule: DeleteRule = DeleteRule(),  # noqa: B008 - immutable
) -> list[Settled]:
    """Finish everything that was staged.

    Args:
        row: the table's columns, for the schema of delete files.

    Raises:
        CardinalityError: a row id is there twice (MERGE_CARDINALITY_VIOLATION).
        FormatError: Spark left something else than one file per writer (UNEXPECTED_STAGED_FILE).
    """
    directories = staged_directories(session, staging)
    rows = [d for d in directories if d.target.startswith("i")]
    keyed = [d for d in directories if not d.target.startswith("i")]
    settled = _settle_rows(session, rows)
    settled += _settle_deletes(session, staging, keyed, table, row, write_id, rule)
    for directory in settled:
        session.files.write(child(directory.path, VERSION_FILE), VERSION_CONTENT)
    return settled


# -- rows -----------------------------------------------------------------------------------------


def _settle_rows(session: AcidSession, directories: Sequence[Staged]) -> list[Settled]:
    files = [(d, name) for d in directories for name in d.files]
    counts: dict[str, int] = defaultdict(int)
    for (directory, _), rows in zip(
        files, in_parallel(lambda f: _finish_rows(session, *f), files), strict=True
    ):
        counts[directory.path] += rows
    return [
        Settled(
            path=d.path,
            values=d.values,
            deletes=False,
            statement_id=int(d.target[1:]),
            events=counts[d.path],
        )
        for d in directories
        if counts[d.path]
    ]


def _finish_rows(session: AcidSession, directory: Staged, name: str) -> int:
    """Name a part file after its writer and give it its metadata; returns its rows."""
    path = child(directory.path, name)
    bucket_id = int(name.split("-")[1])
    property_value = encode_bucket(bucket_id, int(directory.target[1:]))
    tail = read_tail(session.files, path)
    if tail.rows == 0:
        session.files.delete(path)
        return 0
    written = tail.file_int_stats(BUCKET)
    if written is None or (written[0], written[1]) != (property_value, property_value):
        raise FormatError(
            "UNEXPECTED_STAGED_FILE",
            f"{path} holds bucket properties {written}, expected {property_value}: "
            "report this with the Spark version and the session's configuration",
        )
    stamp(session.files, path, deletes=False, one_writer=True)
    session.files.rename(path, child(directory.path, bucket_file_name(bucket_id)))
    return tail.rows


# -- delete events --------------------------------------------------------------------------------


def _settle_deletes(
    session: AcidSession,
    staging: str,
    directories: Sequence[Staged],
    table: Table,
    row: StructType,
    write_id: int,
    rule: DeleteRule,
) -> list[Settled]:
    paths = [child(d.path, name) for d in directories for name in d.files]
    tails: list[OrcTail] = in_parallel(lambda path: read_tail(session.files, path), paths)
    if sum(tail.rows for tail in tails) <= DRIVER_EVENTS:
        return _settle_on_driver(session, staging, directories, table, row, write_id, rule)
    return _settle_with_spark(session, staging, directories, table, row, write_id, rule)


def _settle_on_driver(
    session: AcidSession,
    staging: str,
    directories: Sequence[Staged],
    table: Table,
    row: StructType,
    write_id: int,
    rule: DeleteRule,
) -> list[Settled]:
    events: dict[tuple[tuple[str, ...], str], list[delete_files.RowId]] = defaultdict(list)
    for directory in directories:
        for name in directory.files:
            keys = delete_files.read_keys(session.files, child(directory.path, name))
            events[directory.values, directory.target].extend(keys)
    _check_once(events, rule)
    settled = []
    for number, ((values, target), keys) in enumerate(sorted(events.items())):
        if target == CHECK_TARGET or not keys:
            continue
        path = child(staging, f"deletes_{number}")
        buckets: dict[int, list[delete_files.RowId]] = defaultdict(list)
        unique = sorted(set(keys))
        for key in unique:
            buckets[decode_bucket(key.bucket)].append(key)
        for bucket_id, bucket_keys in buckets.items():
            content = delete_files.encode(bucket_keys, write_id, row, codec(table))
            session.files.write(child(path, bucket_file_name(bucket_id)), content)
        settled.append(
            Settled(
                path=path,
                values=values,
                deletes=True,
                statement_id=int(target[1:]),
                events=len(unique),
            )
        )
    return settled


def _check_once(
    events: dict[tuple[tuple[str, ...], str], list[delete_files.RowId]], rule: DeleteRule
) -> None:
    if rule.collapse:
        return
    seen: dict[tuple[str, ...], set[delete_files.RowId]] = defaultdict(set)
    for (values, _), keys in events.items():
        for key in keys:
            if key in seen[values]:
                raise cardinality_error(key)
            seen[values].add(key)


def cardinality_error(key: delete_files.RowId) -> CardinalityError:
    """The error of a MERGE whose source matches a row more than once."""
    return CardinalityError(
        "MERGE_CARDINALITY_VIOLATION",
        f"the ON condition of the MERGE matched the target row with row__id {tuple(key)} with more than one "
        "source row: make the source rows unique on the columns of the ON condition",
    )


def _settle_with_spark(
    session: AcidSession,
    staging: str,
    directories: Sequence[Staged],
    table: Table,
    row: StructType,
    write_id: int,
    rule: DeleteRule,
) -> list[Settled]:
    """Sort and write the delete events in a second job, which spills where memory is short."""
    # Imported here: the scan's guard is needed to read staged files, and scans stand above storage.
    from acidsql.scan.plan import guard

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
    relation = bridge.orc_relation(session.spark, scanned, event_schema(padded(nothing)), {})
    place = F.unix_millis(F.col("_metadata.file_modification_time")).cast("int")
    values = sorted({d.values for d in directories})
    partitions = F.lit([values.index(d.values) for d in directories])
    events = relation.frame.where(guard(nothing)).select(
        "operation", "originalTransaction", "bucket", "rowId", "currentTransaction",
        F.lit(None).cast(_plain(row)).alias("row"),
        place.alias("__place"),
        F.get(partitions, place).alias("__partition"),
        F.expr(decode_bucket_sql("bucket")).alias(BUCKET_COLUMN),
    )  # fmt: skip
    files = ["__partition", BUCKET_COLUMN]
    keys = ["originalTransaction", "bucket", "rowId"]
    window = Window.partitionBy(*files).orderBy(*keys)
    again = F.lag(F.struct(*keys)).over(window) == F.struct(*keys)
    events = events.withColumn("__again", F.coalesce(again, F.lit(False)))
    if rule.collapse:
        events = events.where("NOT __again")
    out = child(staging, "deletes")
    events = events.drop("__partition")
    write_buckets(events, out, table, ["__again", "__place", BUCKET_COLUMN])
    return _collect_written(session, out, staging, directories)


def _plain(row: StructType) -> StructType:
    return event_schema(row)["row"].dataType  # type: ignore[return-value]  # the type given


def _collect_written(
    session: AcidSession, out: str, staging: str, directories: Sequence[Staged]
) -> list[Settled]:
    """Name and stamp what the second job wrote."""
    twice = child(out, "__again=true")
    if session.files.exists(twice):
        raise cardinality_error(_first_key(session, twice))
    root = child(out, "__again=false")
    settled = []
    for name in session.files.list(root).names:
        directory = directories[int(name.partition("=")[2])]
        if directory.target == CHECK_TARGET:
            continue
        path = child(root, name)
        parts = bucket_parts(session, path)
        tails = in_parallel(
            lambda part: stamp(session.files, part[1], deletes=True, one_writer=False), parts
        )
        for bucket_id, source in parts:
            session.files.rename(source, child(path, bucket_file_name(bucket_id)))
            session.files.delete(child(path, f"{BUCKET_COLUMN}={bucket_id}"))
        settled.append(
            Settled(
                path=path,
                values=directory.values,
                deletes=True,
                statement_id=int(directory.target[1:]),
                events=sum(tail.rows for tail in tails),
            )
        )
    return settled


def bucket_parts(session: AcidSession, path: str) -> list[tuple[int, str]]:
    """Bucket id and path of each part file that was written by bucket below a directory.

    Raises:
        FormatError: a bucket has not exactly one file (UNEXPECTED_STAGED_FILE).
    """
    found = []
    for name in session.files.list(path).names:
        if not name.startswith(f"{BUCKET_COLUMN}="):
            continue
        place = child(path, name)
        parts = [n for n in session.files.list(place).names if n.startswith("part-")]
        if len(parts) != 1:
            raise FormatError("UNEXPECTED_STAGED_FILE", f"{place} holds {parts}, expected one file")
        found.append((int(name.partition("=")[2]), child(place, parts[0])))
    return found


def _first_key(session: AcidSession, root: str) -> delete_files.RowId:
    names = session.files.list(root).names
    path = root
    while not (parts := [n for n in names if n.startswith("part-")]):
        path = child(path, next(n for n in names if "=" in n))
        names = session.files.list(path).names
    return delete_files.read_keys(session.files, child(path, parts[0]))[0]
