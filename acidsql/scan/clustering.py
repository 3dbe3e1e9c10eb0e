"""Shares of the row groups of a table that conditions read, from statistics of some columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from acidsql.format.identifiers import folded
from acidsql.format.orc_row_index import (
    ROW_INDEX,
    GroupBounds,
    parse_row_index,
    point_read_share,
)
from acidsql.format.orc_stripe_footer import parse_stripe_footer
from acidsql.format.orc_tail import OrcTail
from acidsql.format.protobuf import corrupt
from acidsql.metastore.model import FileFormat
from acidsql.scan.directories import is_acid_file
from acidsql.scan.health import SnapshotFile, data_files
from acidsql.scan.snapshot import PartitionSnapshot, TableSnapshot
from acidsql.scan.streaming import may_be_written
from acidsql.session.acid_session import AcidSession
from acidsql.storage.parallel import in_parallel

# Largest number of stripes whose row indexes are read. If there are more, an evenly spread sample
# is read.
_MOST_STRIPES = 256


class _Place(NamedTuple):
    """Stripe of a file."""

    file: SnapshotFile
    tail: OrcTail
    stripe: int


def point_read_shares(
    session: AcidSession,
    snapshot: TableSnapshot,
    partition: PartitionSnapshot,
    columns: Sequence[str],
) -> Mapping[str, float]:
    """Return the share of row groups that a condition on one value reads, for each column.

    The row indexes of up to 256 stripes are read, but no rows.

    Args:
        session: the session.
        snapshot: snapshot of the table.
        partition: partition whose files are examined.
        columns: names of columns; the result omits columns that no file contains.
    """
    if snapshot.table.file_format is not FileFormat.ORC or not columns:
        return {}
    places = list(_stripes(session, snapshot, partition))
    chosen = places[:: -(-len(places) // _MOST_STRIPES)] if places else []
    positions = {c.key: position for position, c in enumerate(snapshot.table.columns)}
    wanted = [positions[folded(name)] for name in columns]
    stripe_groups = in_parallel(lambda place: _groups(session, place, wanted), chosen)
    shares = {}
    for name, number in zip(columns, range(len(columns)), strict=True):
        share = point_read_share([group for groups in stripe_groups for group in groups[number]])
        if share is not None:
            shares[name] = share
    return shares


def _stripes(
    session: AcidSession, snapshot: TableSnapshot, partition: PartitionSnapshot
) -> list[_Place]:
    files = [
        file
        for file in data_files(snapshot, partition)
        if not file.has_deletes and not (file.directory and may_be_written(file.directory))
    ]
    tails = in_parallel(lambda file: session.tails.tail(file.path, file.version), files)
    return [
        _Place(file, tail, stripe)
        for file, tail in zip(files, tails, strict=True)
        for stripe in range(len(tail.stripes))
    ]


def _groups(
    session: AcidSession, place: _Place, positions: Sequence[int]
) -> list[list[GroupBounds]]:
    """Read the row groups of a stripe, for each of some columns of the table."""
    tail, stripe = place.tail, place.tail.stripes[place.stripe]
    path, size = place.file.path, place.file.version.size
    start = stripe.offset + stripe.index_length + stripe.data_length
    section = session.files.read(path, start, stripe.footer_length, size)
    footer = parse_stripe_footer(section, tail, place.stripe)
    struct = tail.types[0].subtypes[-1] if is_acid_file(tail) else 0
    fields = tail.struct_fields(struct)
    groups: list[list[GroupBounds]] = []
    for position in positions:
        index = None
        if position < len(fields):
            index = footer.stream(fields[position][1], ROW_INDEX)
        if index is None:
            groups.append([])  # an older file without this column, or a file without an index
            continue
        content = session.files.read(path, index.offset, index.length, size)
        if len(content) < index.length:
            raise corrupt(f"the row index of {path} ends after it")
        groups.append(parse_row_index(content, tail))
    return groups
