"""Reading of a snapshot's rows as record batches, stripe by stripe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from acidsql.arrow_reader.arrays import array_of
from acidsql.arrow_reader.cached_files import CachedFiles
from acidsql.arrow_reader.calendars import Numbers
from acidsql.arrow_reader.columns import ROW_ID, TableColumns
from acidsql.arrow_reader.data_files import ArrowDataFile
from acidsql.arrow_reader.deleted_rows import (
    DeletedRows,
    are_visible,
    is_deleted,
    may_concern,
)
from acidsql.arrow_reader.filters import RowFilter, all_of, equal_to
from acidsql.arrow_reader.orc_file import StripeReader, open_stripe
from acidsql.arrow_reader.partition_values import partition_scalars
from acidsql.arrow_reader.stripe_guarantees import stripe_guarantee
from acidsql.format.valid_lists import ValidWriteIdList
from acidsql.scan.snapshot import TableSnapshot
from acidsql.storage.tails import BUCKET, ORIGINAL_WRITE_ID
from acidsql.storage.tails import ROW_ID as ROW_NUMBER
from acidsql.streaming.column_types import ColumnType

# Positions of the row id columns among the columns of an ACID file.
_KEYS = (1, 2, 3)
_CURRENT = 4


class FileStripe(NamedTuple):
    """Stripe of a file, by its number; ``first_row`` rows of the file precede it."""

    file: ArrowDataFile
    number: int
    first_row: int

    @property
    def rows(self) -> int:
        """Number of rows of the stripe, including deleted rows."""
        return self.file.known.tail.stripes[self.number].rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Columns and rows of a table that are read.

    Attributes:
        columns: columns of the table.
        names: names of the columns that are returned, in their order.
        rows: filter of the rows; None for all rows.
    """

    columns: TableColumns
    names: tuple[str, ...]
    rows: RowFilter | None

    @property
    def schema(self) -> pa.Schema:
        """Schema of the result."""
        return pa.schema([self.columns.field(name) for name in self.names])


def stripes_of(
    files: Sequence[ArrowDataFile], wanted: Wanted, partitions: Sequence[Sequence[pa.Scalar]]
) -> list[FileStripe]:
    """Return the stripes that can have matching rows.

    Args:
        files: files of the snapshot.
        wanted: columns and rows that are read.
        partitions: values of the partition columns of each partition.
    """
    stripes = []
    for file in files:
        first = 0
        for number, known_stripe in enumerate(file.known.tail.stripes):
            stripes.append(FileStripe(file, number, first))
            first += known_stripe.rows
    if wanted.rows is None:
        return stripes
    guarantees = []
    columns = wanted.columns
    for stripe in stripes:
        values = zip(columns.partition_names, partitions[stripe.file.ordinal], strict=True)
        known = [equal_to(n, value) for n, value in values if n in wanted.rows.columns]
        compared = {}
        for name in wanted.rows.columns:
            place = columns.positions.get(name)
            if place is not None and place < len(stripe.file.columns):
                compared[name] = stripe.file.columns[place], columns.types[place]
            elif place is not None:
                known.append(equal_to(name, columns.initial[place]))
        known.append(stripe_guarantee(stripe.file.known.tail, stripe.number, compared))
        guarantees.append(all_of(known))
    return [stripes[i] for i in wanted.rows.possible(guarantees)]


def partitions_of(snapshot: TableSnapshot, wanted: Wanted) -> list[list[pa.Scalar]]:
    """Return the values of the partition columns of each partition of a snapshot.

    Raises:
        FormatError: see ``partition_scalars``.
    """
    types = wanted.columns.partition_types
    return [partition_scalars(snapshot.table, p.values, types) for p in snapshot.partitions]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowReader:
    """Reader of the stripes of a snapshot; any thread may use it.

    Attributes:
        source: files of the tables.
        wanted: columns and rows that are read.
        deleted: deleted rows, which are skipped; None if no row is skipped.
        write_ids: write ids that are visible.
        partitions: values of the partition columns of each partition.
    """

    source: CachedFiles
    wanted: Wanted
    deleted: DeletedRows | None
    write_ids: ValidWriteIdList
    partitions: Sequence[Sequence[pa.Scalar]]

    def read(self, stripe: FileStripe) -> pa.RecordBatch | None:
        """Read the matching rows of a stripe; return None if there are none.

        Raises:
            FormatError: FAILED_READ_FILE, UNSUPPORTED_FEATURE.ARROW_TYPE_CHANGE,
                UNSUPPORTED_FEATURE.ARROW_VALUE.
            AcidAnalysisError: INVALID_PARAMETER_VALUE, the filter fails for a value.
        """
        file = stripe.file
        with open_stripe(self.source.files, file.path, file.known, stripe.number) as reader:
            return _StripeRows(self, stripe, reader).batch()


class _StripeRows:
    """Rows of one stripe: first reads the columns that determine the rows, then the others."""

    def __init__(self, rows: RowReader, stripe: FileStripe, reader: StripeReader) -> None:
        self._rows = rows
        self._stripe = stripe
        self._file = stripe.file
        self._reader = reader
        # Arrays of the whole stripe, or of its rows up to the last matching row.
        self._known: dict[str, pa.Array] = {}
        self._keys: list[pa.Array] = []

    def batch(self) -> pa.RecordBatch | None:
        wanted = self._rows.wanted
        filtered = () if wanted.rows is None else wanted.rows.columns
        positions = self._visible({*filtered, *wanted.names})
        if positions is not None and not len(positions):
            return None
        if wanted.rows is not None:
            columns = [self._chosen(name, positions) for name in filtered]
            count = self._stripe.rows if positions is None else len(positions)
            matching = wanted.rows.positions(columns, count)
            if not len(matching):
                return None
            if len(matching) < count:
                positions = matching if positions is None else positions[matching]
        last = None if positions is None else int(positions[-1]) + 1
        self._load([name for name in wanted.names if name not in self._known], rows=last)
        arrays = [self._chosen(name, positions) for name in wanted.names]
        if not arrays:
            # A batch without columns gets its number of rows from a struct.
            rows = self._stripe.rows if positions is None else len(positions)
            return pa.RecordBatch.from_struct_array(
                pa.StructArray.from_buffers(pa.struct([]), rows, [None])
            )
        return pa.RecordBatch.from_arrays(arrays, schema=wanted.schema)

    def _visible(self, names: set[str]) -> Numbers | None:
        """Return the positions of the visible rows: neither deleted nor of a hidden write id.

        Return None if all rows are visible. Read the columns of the filter, and those of row ids if
        they are needed.
        """
        rows, file = self._rows, self._file
        tail = file.known.tail
        deleted = None
        if rows.deleted is not None and (file.has_keys or file.original is not None):
            deleted = rows.deleted.of(file.ordinal)
            concerned = may_concern(deleted, tail) if file.has_keys else bool(deleted.rows)
            deleted = deleted if concerned else None
        needs_keys = ROW_ID in names or deleted is not None
        known = self._keys_from_statistics() if file.has_keys and needs_keys else []
        extra = []
        if file.has_keys:
            top = tail.types[0].subtypes
            extra += [top[i] for i in _KEYS] if needs_keys and not known else []
            extra += [top[_CURRENT]] if file.is_partial else []
        read = self._load([] if rows.wanted.rows is None else rows.wanted.rows.columns, extra)
        if needs_keys:
            self._keys = known or (read[: len(_KEYS)] if file.has_keys else self._counted_keys())
        hidden = np.zeros(self._stripe.rows, np.bool_)
        if file.is_partial:
            hidden |= ~are_visible(read[-1], rows.write_ids)
        if deleted is not None:
            hidden |= is_deleted(deleted, self._keys)
        return np.flatnonzero(~hidden) if hidden.any() else None

    def _keys_from_statistics(self) -> list[pa.Array]:
        """Return the row ids of a stripe if its statistics determine them; otherwise [].

        They do if the stripe has one write id, one bucket property and row ids without gaps, as one
        INSERT writes them. The rows of a file are ordered by row id, and row ids are unique.
        """
        tail = self._file.known.tail
        columns = (ORIGINAL_WRITE_ID, BUCKET, ROW_NUMBER)
        statistics = [tail.stripe_int_stats(column)[self._stripe.number] for column in columns]
        write_ids, buckets, row_ids = statistics
        if write_ids is None or buckets is None or row_ids is None:
            return []
        is_one = write_ids.minimum == write_ids.maximum and buckets.minimum == buckets.maximum
        count = self._stripe.rows
        if not is_one or row_ids.maximum - row_ids.minimum + 1 != count:
            return []
        return _run_of_keys(write_ids.minimum, buckets.minimum, row_ids.minimum, count)

    def _counted_keys(self) -> list[pa.Array]:
        """Return row ids for a file that stores none: they are the positions of its rows."""
        original = self._file.original
        if original is None:
            return []
        first = original.first_row + self._stripe.first_row
        return _run_of_keys(original.write_id, original.bucket, first, self._stripe.rows)

    def _load(
        self, names: Sequence[str], extra: Sequence[int] = (), rows: int | None = None
    ) -> list[pa.Array]:
        """Read table columns that the file has, and keep their values.

        Args:
            names: names of columns; those that the file lacks are skipped.
            extra: ids of further columns, children of the root.
            rows: number of leading rows to read; None for all rows.

        Returns:
            The arrays of ``extra``.
        """
        columns, file = self._rows.wanted.columns, self._file
        places = {
            name: columns.positions[name]
            for name in names
            if columns.positions.get(name, len(file.columns)) < len(file.columns)
        }
        ids = [file.columns[place] for place in places.values()]
        parents = {**dict.fromkeys(extra, 0), **dict.fromkeys(ids, file.parent)}
        arrays = self._reader.read(parents, rows)
        for (name, place), column_id, values in zip(
            places.items(), ids, arrays[len(extra) :], strict=True
        ):
            kind: ColumnType = columns.types[place]
            self._known[name] = self._reader.values.convert(values, column_id, kind)
        return arrays[: len(extra)]

    def _chosen(self, name: str, positions: Numbers | None) -> pa.Array:
        """Return the values of a column at some positions; None means all positions."""
        count = self._stripe.rows if positions is None else len(positions)
        columns = self._rows.wanted.columns
        if name in self._known:
            values = self._known[name]
        elif name == ROW_ID:
            values = pa.StructArray.from_arrays(self._keys, fields=list(columns.field(name).type))
        elif name in columns.positions:
            return pa.repeat(columns.initial[columns.positions[name]], count)
        else:
            place = columns.partition_names.index(name)
            return pa.repeat(self._rows.partitions[self._file.ordinal][place], count)
        return values if positions is None else values.take(array_of(positions, pa.int64()))


def _run_of_keys(write_id: int, bucket: int, first_row: int, count: int) -> list[pa.Array]:
    """Return row ids with one write id and bucket, and consecutive row numbers."""
    row_ids = np.arange(first_row, first_row + count, dtype=np.int64)
    return [
        pa.repeat(pa.scalar(write_id, pa.int64()), count),
        pa.repeat(pa.scalar(bucket, pa.int32()), count),
        array_of(row_ids, pa.int64()),
    ]
