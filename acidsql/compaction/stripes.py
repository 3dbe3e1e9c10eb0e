"""Stripes of a partition's files by bucket, in the order of their row ids.

Rows keep their row ids, and files with later write ids follow files with earlier write ids. So the
stripes of all files, in the order of their row ids, form the file that a compaction must write.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby, pairwise

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.errors import FormatError
from acidsql.format.acid_metadata import KEY_INDEX, parse_key_index
from acidsql.format.bucket_codec import decode_bucket
from acidsql.format.names import parse_bucket_file
from acidsql.format.orc_stripes import CopiedStripe, StripeFile, stripe_file, stripes_of
from acidsql.format.selection import needs_row_filter
from acidsql.limits import limits
from acidsql.scan.deletes import find_deletes, valid_keys
from acidsql.scan.directories import DataDirectory, is_acid_file, is_raw
from acidsql.scan.snapshot import TableSnapshot
from acidsql.scan.streaming import bound_to_complete
from acidsql.session.acid_session import AcidSession
from acidsql.storage.delete_files import RowId
from acidsql.storage.filesystem import child
from acidsql.storage.parallel import in_parallel
from acidsql.storage.tails import (
    BUCKET,
    OPERATION,
    ORIGINAL_WRITE_ID,
    ROW_ID,
    last_keys,
    parsed,
    stripe_keys,
)

_POSITION = "position"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Stripe of a file, with the bounds of its row ids.

    Attributes:
        least: lower bound of the row ids, from statistics.
        last: row id of the last row.
        left_out: positions of its deleted rows, ascending.
    """

    path: str
    copied: CopiedStripe
    least: RowId
    last: RowId
    left_out: Sequence[int] = field(default=(), repr=False)

    @property
    def rows(self) -> int:
        """Number of its rows, including deleted rows."""
        return self.copied.stripe.rows


Buckets = Mapping[int, Sequence[Placed]]


def stripes_by_bucket(
    session: AcidSession, snapshot: TableSnapshot, directories: Sequence[DataDirectory]
) -> Buckets | None:
    """Return the stripes of each bucket in the order of their row ids, all of the same types.

    Returns:
        None if files have no statistics, are raw or encrypted, or have invisible rows, or if
            statistics do not determine their order.
    """
    if any(needs_row_filter(d.directory, snapshot.write_ids) for d in directories):
        return None
    if any(is_raw(session, snapshot.listings.get(d.path), d.directory) for d in directories):
        return None
    if bound_to_complete(session, snapshot, directories):
        return None
    paths = [
        (child(d.path, name), int(bucket.bucket_id))
        for d in directories
        for name in sorted(snapshot.listings.get(d.path).names)
        if (bucket := parse_bucket_file(name))
    ]
    buckets: dict[int, list[list[Placed]]] = defaultdict(list)
    for (_, bucket_id), placed in zip(
        paths, in_parallel(lambda p: placed_stripes(session, *p), paths), strict=True
    ):
        if placed is None:
            return None
        if placed:
            buckets[bucket_id].append(placed)
    joined = {}
    for bucket_id, files in buckets.items():
        files.sort(key=lambda stripes: stripes[0].least)
        follow = all(a[-1].last < b[0].least for a, b in pairwise(files))
        if not follow or len({stripes[0].copied.file.types for stripes in files}) > 1:
            return None
        joined[bucket_id] = [placed for stripes in files for placed in stripes]
    return joined


def placed_stripes(session: AcidSession, path: str, bucket_id: int) -> list[Placed] | None:
    """Return the stripes of a file with their bounds; None if statistics lack the bounds."""
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
    stripes = []
    for copied, last, *bounds in zip(stripes_of(file), lasts, *columns, strict=True):
        known = [b for b in bounds if b is not None]
        if len(known) < len(columns):
            return None
        if not all(b.minimum <= part <= b.maximum for b, part in zip(known, last, strict=True)):
            return None
        least = RowId(*(b.minimum for b in known))
        stripes.append(Placed(path=path, copied=copied, least=least, last=last))
    return stripes


def _last_keys(session: AcidSession, path: str, file: StripeFile) -> list[RowId]:
    """Return the last row id of each stripe, from the key index if it is complete, or the rows."""
    noted = file.tail.metadata.get(KEY_INDEX)
    try:
        keys = () if noted is None else parse_key_index(noted)
    except FormatError:
        keys = ()
    if len(keys) != len(file.tail.stripes):
        keys = tuple(last_keys(session.files, path, len(file.tail.stripes)))
    return [RowId(*key) for key in keys]


def less_deleted(session: AcidSession, snapshot: TableSnapshot, buckets: Buckets) -> Buckets | None:
    """Return stripes with the positions of their deleted rows.

    Returns:
        None if there are too many delete events.
    """
    deletes = find_deletes(session, snapshot)
    if deletes.events > limits().compaction_events:
        return None
    if not deletes.events:
        return buckets
    keys = valid_keys(session, snapshot, deletes).select(RowId._fields)
    properties = {p: decode_bucket(p) for p in pc.unique(keys["bucket"]).to_pylist()}
    remaining = {}
    for bucket_id, stripes in buckets.items():
        bucket_properties = [p for p, bucket in properties.items() if bucket == bucket_id]
        chosen = keys.filter(
            pc.is_in(keys["bucket"], pa.array(bucket_properties, keys["bucket"].type))
        )
        ordered = chosen.sort_by([(name, "ascending") for name in RowId._fields]).combine_chunks()
        files = [list(some) for _, some in groupby(stripes, lambda placed: placed.path)]
        less = in_parallel(partial(_less, session, ordered), files)
        remaining[bucket_id] = [placed for some in less for placed in some]
    return remaining


def _less(session: AcidSession, deleted: pa.Table, stripes: Sequence[Placed]) -> list[Placed]:
    """Return the stripes of a file with the positions of deleted rows; ``deleted`` is sorted."""
    columns = deleted.columns

    def key(i: int) -> RowId:
        return RowId(*(column[i].as_py() for column in columns))

    near = {}
    for placed in stripes:
        first = bisect_left(range(len(deleted)), placed.least, key=key)
        end = bisect_right(range(len(deleted)), placed.last, first, key=key)
        if first < end:
            near[placed.copied.number] = deleted.slice(first, end - first)
    keys = stripe_keys(session.files, stripes[0].path, near)
    left_out = {n: _positions(batch, near[n]) for n, batch in zip(near, keys, strict=True)}
    return [replace(p, left_out=left_out.get(p.copied.number, ())) for p in stripes]


def _positions(keys: pa.RecordBatch, deleted: pa.Table) -> list[int]:
    """Return the positions of the rows with a deleted key."""
    rows = pa.table(keys.columns, names=RowId._fields)
    likely = pc.is_in(rows["row_id"], deleted["row_id"])
    numbered = rows.filter(likely).append_column(_POSITION, pc.indices_nonzero(likely))
    matches = numbered.join(deleted, keys=list(RowId._fields), join_type="left semi")
    return sorted(matches[_POSITION].to_pylist())
