"""Compaction without decoding: the stripes of a bucket's files, one after the other in one file.

Rows keep their row ids, and files of later write ids follow those of earlier ones. So the stripes
of all files, in the order of their row ids, are the file that a compaction has to make. Only
stripes in which a row was deleted, and many small ones in a row, are written anew, by Spark.
Whatever is in doubt (files of several writers or schemas, rows that are not all seen, an order
that cannot be told from statistics) is left to Spark as a whole.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

from pyspark.sql import Column
from pyspark.sql import functions as F

from acidsql.compaction.rewriting import write_buckets_of
from acidsql.errors import FormatError
from acidsql.format.acid_metadata import KEY_INDEX, footer_items, parse_key_index
from acidsql.format.bucket_codec import decode_bucket, decode_bucket_sql
from acidsql.format.names import (
    base_name,
    bucket_file_name,
    parse_bucket_file,
    parse_directory,
)
from acidsql.format.orc_stripes import (
    HEADER,
    CopiedStripe,
    StripeFile,
    joined_tail,
    stripe_file,
    stripes_of,
)
from acidsql.format.selection import needs_row_filter
from acidsql.metastore.model import Table
from acidsql.scan.directories import (
    DataDirectory,
    delete_deltas,
    delete_file_tails,
    insert_deltas,
    insert_directories,
    is_acid_file,
    is_raw,
)
from acidsql.scan.plan import surviving_among
from acidsql.scan.snapshot import TableSnapshot
from acidsql.scan.streaming import complete
from acidsql.schema import KEYS, data_schema, event_schema
from acidsql.session import AcidSession
from acidsql.storage import delete_files
from acidsql.storage.delete_files import DeleteEvent, RowId
from acidsql.storage.few import DRIVER_EVENTS
from acidsql.storage.filesystem import FilePart, child
from acidsql.storage.parallel import in_parallel
from acidsql.storage.staging import codec
from acidsql.storage.tails import (
    BUCKET,
    OPERATION,
    ORIGINAL_WRITE_ID,
    ROW_ID,
    last_keys,
    parsed,
)

# Of more delete events the driver does not find the stripes: most stripes have one.
_MOST_EVENTS = 200_000
# Stripes with fewer rows and bytes are small; so many of them in a row are written anew.
_SMALL_ROWS, _SMALL_BYTES = 10_000, 1024 * 1024
_MANY_SMALL = 20
# If more than this part of the rows is to be written anew, or more runs, Spark writes all.
_MOST_REWRITTEN = 0.5
_MOST_RUNS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    """A stripe of a file, the least that its first row id can be, and its last one."""

    path: str
    copied: CopiedStripe
    least: RowId
    last: RowId

    @property
    def rows(self) -> int:
        return self.copied.stripe.rows

    @property
    def is_small(self) -> bool:
        return self.rows < _SMALL_ROWS and self.copied.length < _SMALL_BYTES


# A stripe to copy, or stripes to write anew.
_Piece = _Placed | tuple[_Placed, ...]


def copy_deltas(session: AcidSession, snapshot: TableSnapshot, staged: str) -> bool:
    """Write the merged insert deltas of a minor compaction.

    Returns:
        False if stripes cannot be copied; nothing is written then.
    """
    buckets = _by_bucket(session, snapshot, insert_deltas(snapshot))
    if buckets is None or any(_small_runs(stripes) for stripes in buckets.values()):
        return False
    _assemble(session, staged, buckets)
    return True


def copy_base(session: AcidSession, snapshot: TableSnapshot, staged: str, runs: str) -> bool:
    """Write the base of a major compaction.

    Args:
        staged: the directory of the base.
        runs: a directory for the stripes that are written anew.

    Returns:
        False if stripes cannot be copied; nothing is written to ``staged`` then.
    """
    if any(p.state.originals for p in snapshot.partitions):
        return False
    buckets = _by_bucket(session, snapshot, insert_directories(snapshot))
    if buckets is None or not _has_codec_of(snapshot.table, buckets):
        return False
    deleted = _deleted(session, snapshot)
    if deleted is None:
        return False
    pieces = {b: _pieces(stripes, deleted.get(b, ())) for b, stripes in buckets.items()}
    rewritten = [p for own in pieces.values() for p in own if isinstance(p, tuple)]
    rows = sum(placed.rows for own in buckets.values() for placed in own)
    too_much = sum(p.rows for run in rewritten for p in run) > _MOST_REWRITTEN * rows
    if too_much or len(rewritten) > _MOST_RUNS:
        return False
    if rewritten:
        found = _rewrite(session, snapshot, pieces, runs)
        if found is None:
            return False
        buckets = found
    _assemble(session, staged, buckets)
    return True


def merge_few_deletes(
    session: AcidSession, snapshot: TableSnapshot, staged: str, *, but_of: int | None
) -> bool:
    """Write the merged delete deltas of a minor compaction, if there are so few events that the
    driver can.

    Args:
        but_of: a write id whose rows are left out.
    """
    events = _delete_events(session, snapshot, DRIVER_EVENTS)
    if events is None:
        return False
    unique = {event.key: event for event in events if event.key.write_id != but_of}
    row = event_schema(data_schema(session.spark, snapshot.table))["row"].dataType
    ordered = [unique[key] for key in sorted(unique)]
    delete_files.write_buckets(session.files, staged, ordered, row, codec(snapshot.table))
    return True


def _by_bucket(
    session: AcidSession, snapshot: TableSnapshot, directories: Sequence[DataDirectory]
) -> dict[int, list[_Placed]] | None:
    """The stripes of each bucket in the order of their row ids; None if they cannot be copied."""
    if any(needs_row_filter(d.directory, snapshot.write_ids) for d in directories):
        return None
    if any(is_raw(session, snapshot.listings.get(d.path), d.directory) for d in directories):
        return None
    if complete(session, snapshot, directories) != list(directories):
        return None
    paths = [
        (child(d.path, name), int(bucket.bucket_id))
        for d in directories
        for name in sorted(snapshot.listings.get(d.path).names)
        if (bucket := parse_bucket_file(name))
    ]
    buckets: dict[int, list[list[_Placed]]] = defaultdict(list)
    for (_, bucket_id), placed in zip(
        paths, in_parallel(lambda p: _placed(session, *p), paths), strict=True
    ):
        if placed is None:
            return None
        if placed:
            buckets[bucket_id].append(placed)
    joined = {}
    for bucket_id, files in buckets.items():
        files.sort(key=lambda stripes: stripes[0].least)
        follow = all(a[-1].last < b[0].least for a, b in pairwise(files))
        if not follow or len({file[0].copied.file.kind for file in files}) > 1:
            return None
        joined[bucket_id] = [placed for file in files for placed in file]
    return joined


def _has_codec_of(table: Table, buckets: Mapping[int, Sequence[_Placed]]) -> bool:
    """Whether files are compressed as the table's are to be; it may have changed."""
    return all(own[0].copied.file.tail.compression == codec(table) for own in buckets.values())


def _placed(session: AcidSession, path: str, bucket_id: int) -> list[_Placed] | None:
    """The stripes of a file; None if they cannot be copied."""
    if not session.files.size(path):
        return []
    file = parsed(session.files, path, stripe_file)
    if file is None or not is_acid_file(file.tail):
        return None
    tail = file.tail
    if not tail.stripes:
        return []
    operations, buckets = tail.file_int_stats(OPERATION), tail.file_int_stats(BUCKET)
    if operations is None or operations.maximum or buckets is None:
        return None
    if {decode_bucket(buckets.minimum), decode_bucket(buckets.maximum)} != {bucket_id}:
        return None
    lasts = _last_keys(session, path, file)
    columns = [tail.stripe_int_stats(c) for c in (ORIGINAL_WRITE_ID, BUCKET, ROW_ID)]
    found = []
    for copied, last, *bounds in zip(stripes_of(file), lasts, *columns, strict=True):
        known = [b for b in bounds if b is not None]
        if len(known) < len(KEYS):
            return None
        if not all(b.minimum <= part <= b.maximum for b, part in zip(known, last, strict=True)):
            return None
        least = RowId(*(b.minimum for b in known))
        found.append(_Placed(path=path, copied=copied, least=least, last=last))
    return found


def _last_keys(session: AcidSession, path: str, file: StripeFile) -> list[RowId]:
    """The last row id of each stripe, from the key index where it is whole."""
    noted = file.tail.metadata.get(KEY_INDEX)
    try:
        keys = () if noted is None else parse_key_index(noted)
    except FormatError:
        keys = ()
    if len(keys) != len(file.tail.stripes):
        keys = tuple(last_keys(session.files, path, len(file.tail.stripes)))
    return [RowId(*key) for key in keys]


def _delete_events(
    session: AcidSession, snapshot: TableSnapshot, most: int
) -> list[DeleteEvent] | None:
    """The delete events of a snapshot; None if there are more, or not all of them are seen."""
    directories = delete_deltas(snapshot)
    if any(needs_row_filter(d.directory, snapshot.write_ids) for d in directories):
        return None
    paths, number = [], 0
    for data in directories:
        for name, tail in delete_file_tails(session, snapshot.listings.get(data.path)):
            number += tail.rows
            paths += [child(data.path, name)] if tail.rows else []
    if number > most:
        return None
    files = session.files
    read = in_parallel(lambda path: delete_files.read_events(files, path), paths)
    return [event for events in read for event in events]


def _deleted(session: AcidSession, snapshot: TableSnapshot) -> dict[int, list[RowId]] | None:
    """The ids of deleted rows by bucket, sorted; None if there are too many."""
    events = _delete_events(session, snapshot, _MOST_EVENTS)
    if events is None:
        return None
    found: dict[int, list[RowId]] = defaultdict(list)
    for key in sorted({event.key for event in events}):
        found[decode_bucket(key.bucket)].append(key)
    return found


def _pieces(stripes: Sequence[_Placed], deleted: Sequence[RowId]) -> list[_Piece]:
    """What becomes of a bucket's stripes: those next to each other that are written anew are one
    piece.
    """
    small = _small_runs(stripes)
    pieces: list[_Piece] = []
    run: list[_Placed] = []
    for i, placed in enumerate(stripes):
        first = bisect_left(deleted, placed.least)
        is_hit = first < len(deleted) and deleted[first] <= placed.last
        if is_hit or any(i in own for own in small):
            run.append(placed)
            continue
        pieces += [tuple(run)] if run else []
        pieces.append(placed)
        run = []
    return [*pieces, tuple(run)] if run else pieces


def _small_runs(stripes: Sequence[_Placed]) -> list[range]:
    """The positions of many small stripes in a row."""
    found, start = [], 0
    for i in range(len(stripes) + 1):
        if i == len(stripes) or not stripes[i].is_small:
            if i - start >= _MANY_SMALL:
                found.append(range(start, i))
            start = i + 1
    return found


def _rewrite(
    session: AcidSession, snapshot: TableSnapshot, pieces: dict[int, list[_Piece]], runs: str
) -> dict[int, list[_Placed]] | None:
    """Write runs of stripes anew without the deleted rows.

    They are copied to files of their own first, so that Spark reads nothing else.

    Returns:
        The stripes of each bucket; None if the new ones are of another kind than those beside them.
    """
    numbered = [(b, run) for b, own in pieces.items() for run in own if isinstance(run, tuple)]
    directory = parse_directory(base_name(snapshot.write_ids.high_water_mark))
    if directory is None:
        return None
    touched = []
    for number, (bucket_id, run) in enumerate(numbered):
        path = child(runs, f"touched_{number}")
        _assemble(session, path, {bucket_id: run})
        touched.append(DataDirectory(directory=directory, path=path, ordinal=0))
    rows = surviving_among(session, snapshot, touched)
    out = child(runs, "rewritten")
    ends = [(b, run[-1].last) for b, run in numbered]
    write_buckets_of(session, snapshot.table, rows, out, file=_number_of_run(ends))
    new = {
        number: _placed(session, child(out, name), numbered[number][0])
        for name in session.files.names(out)
        if (file := parse_bucket_file(name))
        for number in [int(file.bucket_id)]
    }
    found: dict[int, list[_Placed]] = {}
    number = 0
    for bucket_id, own in pieces.items():
        stripes: list[_Placed] = []
        for piece in own:
            if isinstance(piece, _Placed):
                stripes.append(piece)
                continue
            written = new.get(number, [])
            if written is None:
                return None
            stripes += written
            number += 1
        if len({placed.copied.file.kind for placed in stripes}) > 1:
            return None
        if stripes:
            found[bucket_id] = stripes
    return found


def _number_of_run(ends: Iterable[tuple[int, RowId]]) -> Column:
    """The number of a row's run, of the runs with these buckets and last row ids."""
    bucket, key = F.expr(decode_bucket_sql("bucket")), F.struct(*KEYS)
    numbered = list(enumerate(ends))

    def case(later: Column, one: tuple[int, tuple[int, RowId]]) -> Column:
        number, (bucket_id, last) = one
        # Spark 3.5 compares only structs whose fields have the same names.
        typed = zip(last, _KEY_TYPES, KEYS, strict=True)
        end = F.struct(*[F.lit(value).cast(kind).alias(key) for value, kind, key in typed])
        return F.when((bucket == bucket_id) & (key <= end), number).otherwise(later)

    return reduce(case, reversed(numbered), F.lit(None).cast("int"))


_KEY_TYPES = ("long", "int", "long")


def _assemble(session: AcidSession, staged: str, buckets: Mapping[int, Sequence[_Placed]]) -> None:
    """Write a file for each bucket of its stripes."""

    def write(one: tuple[int, Sequence[_Placed]]) -> None:
        bucket_id, stripes = one
        rows = sum(placed.rows for placed in stripes)
        items = footer_items([placed.last for placed in stripes], rows, 0)
        tail = joined_tail([placed.copied for placed in stripes], items)
        parts = [FilePart(p.path, p.copied.stripe.offset, p.copied.length) for p in stripes]
        session.files.assemble(child(staged, bucket_file_name(bucket_id)), HEADER, parts, tail)

    in_parallel(write, [(b, stripes) for b, stripes in buckets.items() if stripes])
