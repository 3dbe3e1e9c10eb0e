"""Compaction without Spark, which joins the stripes of a bucket's files in one file.

Stripes with deleted rows, and long runs of small stripes, are rewritten. All others are copied byte
for byte. Spark does the whole compaction if files have different schemas or invisible rows, or if
the statistics do not determine the order of the stripes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import accumulate, groupby, pairwise

import pyarrow as pa
import pyarrow.compute as pc

from acidsql import bridge
from acidsql.compaction.stripes import (
    Buckets,
    Placed,
    less_deleted,
    placed_stripes,
    stripes_by_bucket,
)
from acidsql.errors import FormatError
from acidsql.format.acid_metadata import footer_items
from acidsql.format.names import bucket_file_name
from acidsql.format.orc_stripes import HEADER, joined_tail
from acidsql.format.selection import needs_row_filter
from acidsql.limits import limits
from acidsql.metastore.model import Table
from acidsql.scan.directories import (
    delete_deltas,
    delete_files,
    insert_deltas,
    insert_directories,
)
from acidsql.scan.snapshot import TableSnapshot
from acidsql.schema.acid_file import event_schema
from acidsql.schema.columns import file_schema
from acidsql.session.acid_session import AcidSession
from acidsql.storage.delete_files import NO_EVENTS, distinct, write_buckets
from acidsql.storage.filesystem import FilePart, child
from acidsql.storage.parallel import in_parallel
from acidsql.storage.staging import codec


def copy_deltas(session: AcidSession, snapshot: TableSnapshot, staged: str, rewritten: str) -> bool:
    """Write the merged insert deltas of a minor compaction.

    Args:
        staged: directory to write.
        rewritten: directory for rewritten stripes.

    Returns:
        False if Spark must do it; ``staged`` then stays empty.
    """
    buckets = stripes_by_bucket(session, snapshot, insert_deltas(snapshot))
    if buckets is None:
        return False
    return _merge(session, snapshot.table, buckets, staged, rewritten)


def copy_undeleted(
    session: AcidSession, snapshot: TableSnapshot, staged: str, rewritten: str
) -> bool:
    """Write the insert deltas of a snapshot without their deleted rows (see ``copy_deltas``)."""
    buckets = stripes_by_bucket(session, snapshot, insert_deltas(snapshot))
    left = buckets and less_deleted(session, snapshot, buckets)
    if left is None:
        return False
    return _merge(session, snapshot.table, left, staged, rewritten)


def copy_base(session: AcidSession, snapshot: TableSnapshot, staged: str, rewritten: str) -> bool:
    """Write the base of a major compaction (see ``copy_deltas``)."""
    if any(p.state.originals for p in snapshot.partitions):
        return False
    buckets = stripes_by_bucket(session, snapshot, insert_directories(snapshot))
    left = buckets and less_deleted(session, snapshot, buckets)
    if left is None:
        return False
    return _merge(
        session, snapshot.table, left, staged, rewritten, compression=codec(snapshot.table)
    )


def merge_few_deletes(
    session: AcidSession, snapshot: TableSnapshot, staged: str, *, but_of: int | None
) -> bool:
    """Write the merged delete deltas of a minor compaction, if the driver can hold their events.

    Args:
        but_of: write id of rows whose delete events are omitted, or None.

    Returns:
        False if Spark must do it; ``staged`` then stays empty.
    """
    events = _few_delete_events(session, snapshot)
    if events is None:
        return False
    if but_of is not None:
        events = events.filter(pc.field("write_id") != but_of)
    if len(events):
        row = event_schema(file_schema(session.spark, snapshot.table))["row"].dataType
        unique = distinct(events)
        write_buckets(session.files, staged, unique, row, codec(snapshot.table))
    return True


def _few_delete_events(session: AcidSession, snapshot: TableSnapshot) -> pa.Table | None:
    """Read the delete events of a snapshot; None if there are too many, or some are invisible."""
    directories = delete_deltas(snapshot)
    if any(needs_row_filter(d.directory, snapshot.write_ids) for d in directories):
        return None
    listings = [snapshot.listings.get(data.path) for data in directories]
    files = [
        file for listing in listings for file in delete_files(session, listing) if file.tail.rows
    ]
    if sum(file.tail.rows for file in files) > limits().driver_events:
        return None
    known = session.delete_events
    tables = in_parallel(lambda file: known.events(file.path, file.version), files)
    return pa.concat_tables([NO_EVENTS, *tables])


# A stripe to copy, or a run of stripes to rewrite.
_Piece = Placed | tuple[Placed, ...]


def _merge(
    session: AcidSession,
    table: Table,
    buckets: Buckets,
    staged: str,
    rewritten: str,
    compression: str | None = None,
) -> bool:
    """Write a file for each bucket.

    Args:
        compression: compression of the new files; None keeps the compression of the old files.

    Returns:
        False if the driver would have to rewrite too many bytes.
    """
    pieces = {
        bucket_id: [tuple(stripes)] if _is_mixed(stripes, compression) else _pieces(stripes)
        for bucket_id, stripes in buckets.items()
    }
    if _is_too_much(session, pieces):
        return False
    merged = _with_new(session, table, pieces, child(rewritten, "parts"))
    # One file cannot contain both rewritten stripes and stripes of another writer.
    mixed = [b for b, stripes in merged.items() if _is_mixed(stripes, compression)]
    if mixed:
        whole: dict[int, list[_Piece]] = {b: [tuple(buckets[b])] for b in mixed}
        if _is_too_much(session, whole):
            return False
        merged |= _with_new(session, table, whole, child(rewritten, "whole"))
    _assemble(session, staged, merged)
    return True


def _is_mixed(stripes: Sequence[Placed], compression: str | None) -> bool:
    """Return whether stripes cannot all be copied to one file with this compression, if any."""
    files = {placed.path: placed.copied.file for placed in stripes}.values()
    others = {file.tail.compression for file in files} - {compression}
    return len({file.kind for file in files}) > 1 or bool(compression and others)


def _pieces(stripes: Sequence[Placed]) -> list[_Piece]:
    """Divide a bucket's stripes into stripes to copy and runs of neighbours to rewrite.

    Stripes with only deleted rows are left out.
    """
    small = {i for run in _small_runs(stripes) for i in run}
    pieces: list[_Piece] = []
    run: list[Placed] = []
    for i, placed in enumerate(stripes):
        if len(placed.left_out) == placed.rows:
            continue
        if placed.left_out or i in small:
            run.append(placed)
            continue
        pieces += [tuple(run)] if run else []
        pieces.append(placed)
        run = []
    return [*pieces, tuple(run)] if run else pieces


def _small_runs(stripes: Sequence[Placed]) -> list[range]:
    """Return the positions of long runs of small stripes (``Limits.small_stripes``)."""

    def is_small(placed: Placed) -> bool:
        return (
            placed.rows < limits().small_stripe_rows
            and placed.copied.length < limits().small_stripe_bytes
        )

    runs, start = [], 0
    for i in range(len(stripes) + 1):
        if i == len(stripes) or not is_small(stripes[i]):
            if i - start >= limits().small_stripes:
                runs.append(range(start, i))
            start = i + 1
    return runs


def _is_too_much(session: AcidSession, pieces: Mapping[int, Sequence[_Piece]]) -> bool:
    """Return whether the driver of a cluster would have to rewrite too many stripes."""
    if session.spark.sparkContext.master.startswith("local"):
        return False
    return sum(map(_bytes_of, _runs(pieces))) > limits().rewritten_bytes


def _runs(pieces: Mapping[int, Sequence[_Piece]]) -> list[tuple[Placed, ...]]:
    """Return the runs of stripes to rewrite."""
    return [
        piece
        for bucket_pieces in pieces.values()
        for piece in bucket_pieces
        if isinstance(piece, tuple)
    ]


def _with_new(
    session: AcidSession, table: Table, pieces: Mapping[int, Sequence[_Piece]], rewritten: str
) -> dict[int, list[Placed]]:
    """Rewrite runs of stripes; return the stripes of each bucket with the new stripes."""
    memory = bridge.jvm_memory(session.spark)
    threads = max(1, min(os.cpu_count() or 1, memory // limits().thread_memory_bytes))
    size = _chunk_bytes(sum(map(_bytes_of, _runs(pieces))), threads)
    parts: list[tuple[int, _Piece]] = [
        (bucket_id, part)
        for bucket_id, bucket_pieces in pieces.items()
        for piece in bucket_pieces
        for part in ([piece] if isinstance(piece, Placed) else _chunks(piece, size))
    ]
    chunks = [(bucket_id, part) for bucket_id, part in parts if isinstance(part, tuple)]

    def write(number: int) -> list[Placed]:
        return _rewrite(session, table, *chunks[number], child(rewritten, str(number)))

    written = iter(in_parallel(write, range(len(chunks)), threads))
    merged: dict[int, list[Placed]] = {bucket_id: [] for bucket_id in pieces}
    for bucket_id, part in parts:
        merged[bucket_id] += [part] if isinstance(part, Placed) else next(written)
    return merged


def _bytes_of(run: Sequence[Placed]) -> int:
    return sum(placed.copied.length for placed in run)


def _chunk_bytes(total: int, threads: int) -> int:
    """Return the bytes that a thread rewrites at a time, so that every thread has work."""
    return min(limits().most_chunk_bytes, max(limits().least_chunk_bytes, total // threads))


def _chunks(run: tuple[Placed, ...], size: int) -> list[tuple[Placed, ...]]:
    """Cut a run of stripes into pieces of about ``size`` bytes."""
    return [run[piece] for piece in cut_evenly([p.copied.length for p in run], size)]


def cut_evenly(lengths: Sequence[int], size: int) -> list[slice]:
    """Return slices of a sequence with about equal total lengths, close to ``size``.

    Args:
        lengths: lengths of the elements, all positive; at least one.
    """
    ends = list(accumulate(lengths))
    number = max(1, round(ends[-1] / size))
    # Each element belongs to the piece that contains its middle.
    middles = [end - length / 2 for end, length in zip(ends, lengths, strict=True)]
    places = [int(middle * number / ends[-1]) for middle in middles]
    starts = [i for i, place in enumerate(places) if i == 0 or place != places[i - 1]]
    return [slice(start, end) for start, end in pairwise([*starts, len(lengths)])]


def _rewrite(
    session: AcidSession, table: Table, bucket_id: int, stripes: Sequence[Placed], path: str
) -> list[Placed]:
    """Write the undeleted rows of stripes to a file; return its stripes."""
    rows = [
        _rows_of(session, [placed for _, placed in some])
        # Consecutive stripes of a file are read together.
        for _, some in groupby(
            enumerate(stripes), lambda one: (one[1].path, one[1].copied.number - one[0])
        )
    ]
    settings = {key: value for key, value in table.properties.items() if key.startswith("orc.")}
    settings["orc.compress"] = codec(table).upper()
    settings["orc.proleptic.gregorian"] = str(stripes[0].copied.file.is_proleptic).lower()
    bridge.rewrite_stripes(session.spark, rows, session.files.hadoop_path(path)[1], settings)
    written = placed_stripes(session, path, bucket_id)
    if written is None:
        raise FormatError(
            "UNEXPECTED_STAGED_FILE",
            f"{path} lacks the statistics that ORC writes: report this with the Spark version "
            "and the session's configuration",
        )
    return written


def _rows_of(session: AcidSession, stripes: Sequence[Placed]) -> bridge.StripeRows:
    """Return the rows of stripes that follow each other in a file."""
    first = stripes[0]
    left_out: list[int] = []
    rows = 0
    for placed in stripes:
        left_out += [rows + position for position in placed.left_out]
        rows += placed.rows
    return bridge.StripeRows(
        path=session.files.hadoop_path(first.path)[1],
        start=first.copied.stripe.offset,
        length=sum(placed.copied.length for placed in stripes),
        rows=rows,
        left_out=left_out,
    )


def _assemble(session: AcidSession, staged: str, buckets: Buckets) -> None:
    """Write a file for each bucket from its stripes."""

    def write(one: tuple[int, Sequence[Placed]]) -> None:
        bucket_id, stripes = one
        rows = sum(placed.rows for placed in stripes)
        items = footer_items([placed.last for placed in stripes], rows, 0)
        tail = joined_tail([placed.copied for placed in stripes], items)
        parts = [FilePart(p.path, p.copied.stripe.offset, p.copied.length) for p in stripes]
        session.files.assemble(child(staged, bucket_file_name(bucket_id)), HEADER, parts, tail)

    in_parallel(write, [(b, stripes) for b, stripes in buckets.items() if stripes])
