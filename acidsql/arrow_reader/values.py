"""Conversion of a stripe's arrays to the table's types, with the values that Spark reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.arrow_reader.arrays import array_of, booleans_of, numbers_of
from acidsql.arrow_reader.calendars import Numbers, local_micros, proleptic_days
from acidsql.errors import FormatError
from acidsql.format.identifiers import folded
from acidsql.format.orc_tail import OrcTail, OrcType
from acidsql.streaming.column_types import ColumnType

_INTEGERS = ("byte", "short", "int", "long")
_TEXTS = ("string", "varchar", "char")
_TIMESTAMPS = ("timestamp", "timestamp_instant")
_INTEGER_TYPES = dict(zip(_INTEGERS, (pa.int8(), pa.int16(), pa.int32(), pa.int64()), strict=True))
_OTHER_TYPES = {"boolean": pa.bool_(), "double": pa.float64(), "binary": pa.binary()}
_MOST_DIGITS = 76  # precision of Arrow's widest decimals


@dataclass(frozen=True, slots=True, kw_only=True)
class StripeValues:
    """Conversion of the values of a stripe.

    Attributes:
        path: path of the file, for errors.
        tail: tail of the file.
        is_proleptic: whether its days use the proleptic Gregorian calendar.
        time_zone: time zone of the writer of the timestamps.
        nanos: function that returns the nanoseconds of the non-NULL values of a timestamp column,
            from its column id and the number of these values.
    """

    path: str
    tail: OrcTail
    is_proleptic: bool
    time_zone: Callable[[], str]
    nanos: Callable[[int, int], Numbers]

    def convert(self, values: pa.Array, column_id: int, target: ColumnType) -> pa.Array:
        """Convert the array of a column, or of a part of a nested column, to a type.

        Args:
            values: values that Arrow read from a file with integers as timestamps.
            column_id: id of the column in the file.
            target: type of the column in the table.

        Raises:
            FormatError: UNSUPPORTED_FEATURE.ARROW_TYPE_CHANGE, UNSUPPORTED_FEATURE.ARROW_VALUE.
        """
        stored = self.tail.types[column_id]
        if target.kind in ("list", "map", "struct"):
            if stored.kind != target.kind:
                raise self._other_type(stored, target)
            return self._nested(values, stored, target)
        return self._leaf(values, stored, column_id, target)

    def _nested(self, values: pa.Array, stored: OrcType, target: ColumnType) -> pa.Array:
        mask = values.is_null() if values.null_count else None
        if target.kind == "struct":
            children = [
                pa.nulls(len(values), child.arrow)
                if i is None
                else self.convert(values.field(i), stored.subtypes[i], child)
                for i, child in zip(self._places(stored, target), target.children, strict=True)
            ]
            return pa.StructArray.from_arrays(children, fields=list(target.arrow), mask=mask)
        parts = (values.values,) if target.kind == "list" else (values.keys, values.items)
        made = [
            self.convert(part, subtype, child)
            for part, subtype, child in zip(parts, stored.subtypes, target.children, strict=True)
        ]
        offsets = values.offsets
        if target.kind == "list":
            return pa.ListArray.from_arrays(offsets, *made, type=target.arrow, mask=mask)
        return pa.MapArray.from_arrays(offsets, *made, type=target.arrow, mask=mask)

    def _places(self, stored: OrcType, target: ColumnType) -> list[int | None]:
        """Return the positions of a struct's fields in the file, matched by name.

        The position of a field that was added after the file was written is None. Fields of the
        file that an old version of the table lacks are omitted.
        """
        places = {folded(name): i for i, name in enumerate(stored.field_names)}
        names = [folded(name) for name in target.names]
        if not (places.keys() <= set(names) or set(names) <= places.keys()):
            raise self._other_type(stored, target)
        return [places.get(name) for name in names]

    def _leaf(
        self, values: pa.Array, stored: OrcType, column_id: int, target: ColumnType
    ) -> pa.Array:
        if stored.kind in _TIMESTAMPS and pa.types.is_timestamp(target.arrow):
            is_instant = stored.kind == "timestamp_instant"
            if is_instant != (target.arrow.tz is not None):
                raise self._other_type(stored, target)
            zone = "UTC" if is_instant else self.time_zone()
            return self._timestamps(values, column_id, zone).cast(target.arrow)
        if not holds(target, stored):
            raise self._other_type(stored, target)
        if stored.kind == "date":
            values = self._days(values)
        if values.type != target.arrow:
            values = _widened(values, target.arrow)
        return _padded(values, target.length) if target.kind == "char" else values

    def _timestamps(self, values: pa.Array, column_id: int, zone: str) -> pa.Array:
        present = values.is_valid()
        valid = booleans_of(present)
        micros = np.zeros(len(values), np.int64)
        if valid.any():
            seconds = numbers_of(values)[valid]
            nanos = self.nanos(column_id, len(seconds))
            micros[valid] = local_micros(seconds, nanos, zone, is_proleptic=self.is_proleptic)
        return array_of(micros, pa.timestamp("us"), present if values.null_count else None)

    def _days(self, values: pa.Array) -> pa.Array:
        days = numbers_of(values.view(pa.int32()).fill_null(0))
        made = proleptic_days(days, is_proleptic=self.is_proleptic)
        if made is days:
            return values
        valid = values.is_valid() if values.null_count else None
        return array_of(made.astype(np.int32), pa.date32(), valid)

    def _other_type(self, stored: OrcType, target: ColumnType) -> FormatError:
        return FormatError(
            "UNSUPPORTED_FEATURE.ARROW_TYPE_CHANGE",
            f"{self.path} has values of type {stored.kind} in a column of type {target.text}, "
            "which are not converted without Spark: read the table with acidsql.table, or compact "
            "it with COMPACT 'major'",
        )


def holds(target: ColumnType, stored: OrcType) -> bool:
    """Return whether a file's type is the column's type or an earlier type of the column.

    An earlier type is one that ``type_widening`` allows. The function does not apply to nested
    types and TIMESTAMP.
    """
    arrow = target.arrow
    if stored.kind in _INTEGERS:
        if pa.types.is_integer(arrow):
            return bool(arrow.bit_width >= _INTEGER_TYPES[stored.kind].bit_width)
        is_double = pa.types.is_float64(arrow) and stored.kind != "long"
        return is_double or pa.types.is_decimal(arrow) or pa.types.is_string(arrow)
    if stored.kind == "float":
        return bool(pa.types.is_floating(arrow))
    if stored.kind == "decimal":
        if not pa.types.is_decimal(arrow) or arrow.scale < stored.scale:
            return False
        return bool(arrow.precision - arrow.scale >= stored.precision - stored.scale)
    if stored.kind == "date":
        return bool(pa.types.is_date(arrow) or pa.types.is_string(arrow))
    if stored.kind in _TEXTS:
        return bool(pa.types.is_string(arrow))
    return bool(arrow == _OTHER_TYPES.get(stored.kind))


def _widened(values: pa.Array, target: pa.DataType) -> pa.Array:
    """Convert an array to a wider type, which holds all its values."""
    if pa.types.is_decimal(target) and pa.types.is_integer(values.type):
        # Arrow requires a decimal that holds every integer of the type.
        values = values.cast(pa.decimal256(_MOST_DIGITS, target.scale))
    return values.cast(target)


def _padded(values: pa.Array, length: int) -> pa.Array:
    """Pad texts with blanks to the length of a CHAR (``rpad``)."""
    return pc.utf8_slice_codeunits(pc.utf8_rpad(values, length), 0, length)
