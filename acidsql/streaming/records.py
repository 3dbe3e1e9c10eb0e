"""Conversion of records to Arrow tables with a table's columns, and the rejected records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from acidsql.format.identifiers import folded
from acidsql.metastore.model import Column
from acidsql.streaming.assignment import Rules, assign, assign_objects
from acidsql.streaming.column_types import ColumnType
from acidsql.streaming.refusals import Refused, repeated_name
from acidsql.streaming.writers import Fields, RecordWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """Record that cannot be a row.

    Attributes:
        position: 1-based number of the record in its connection.
        column: name of the column at fault; None if the whole record is at fault.
        reason: end of a sentence that begins with the record or the column.
        record: the record; a dict for a row of Arrow.
    """

    position: int
    column: str | None
    reason: str
    record: Any

    def __str__(self) -> str:
        place = f"record {self.position}" + (f", column {self.column}," if self.column else "")
        return f"{place} {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordColumn:
    """Column that records have values for."""

    column: Column
    type: ColumnType

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.column.name


class _RefusedColumn(Exception):  # noqa: N818 - see Refused
    def __init__(self, column: str | None, reason: str) -> None:
        super().__init__(reason)
        self.column = column
        self.reason = reason


class Converter:
    """Conversion of the records of one connection.

    Args:
        targets: the columns, in the order of a tuple's values.
        writer: form of the records, except Arrow tables and batches.
        zone: time zone of local times in files.
    """

    def __init__(
        self, targets: Sequence[RecordColumn], writer: RecordWriter, zone: ZoneInfo
    ) -> None:
        self._targets = targets
        self._writer = writer
        self._names = [target.name for target in targets]
        self._keys = [target.column.key for target in targets]
        get = itemgetter(*self._names)
        self._getter = get if len(targets) > 1 else lambda record: (get(record),)
        self._schema = pa.schema([(target.name, target.type.arrow) for target in targets])
        self._rules = Rules(
            zone=zone, parses=writer.parses, binary_is_base64=writer.binary_is_base64
        )
        self._arrow_rules = Rules(zone=zone)

    def convert(self, records: Sequence[Any], first: int) -> tuple[pa.Table, list[Rejection]]:
        """Convert records to a table, and return the rejected records separately.

        Args:
            records: records in the writer's form.
            first: position of the first record.
        """
        fields: list[Fields] = []
        positions: list[int] = []
        rejected: list[Rejection] = []
        for position, record in enumerate(records, start=first):
            try:
                fields.append(self._writer.fields(record))
                positions.append(position)
            except (ValueError, TypeError, AttributeError) as error:
                rejected.append(_rejection(position, None, str(error), record))
        parts: list[pa.Table] = []
        self._bisect_objects(fields, positions, parts, rejected)
        return self._joined(parts), _ordered(rejected)

    def convert_arrow(self, table: pa.Table, first: int) -> tuple[pa.Table, list[Rejection]]:
        """Convert the rows of an Arrow table, with columns matched by name; see ``convert``.

        Raises:
            Refused: the column names do not match the table's, so no row can be converted.
        """
        parts: list[pa.Table] = []
        rejected: list[Rejection] = []
        self._bisect_arrow(table, first, parts, rejected)
        return self._joined(parts), _ordered(rejected)

    def _joined(self, parts: Sequence[pa.Table]) -> pa.Table:
        return pa.concat_tables(parts) if parts else self._schema.empty_table()

    def _bisect_objects(
        self,
        fields: Sequence[Fields],
        positions: Sequence[int],
        parts: list[pa.Table],
        rejected: list[Rejection],
    ) -> None:
        """Convert records; on failure, convert each half, to find a few bad records quickly."""
        if not fields:
            return
        try:
            parts.append(self._of_objects(fields))
        except _RefusedColumn as refused:
            if len(fields) == 1:
                rejected.append(_rejection(positions[0], refused.column, refused.reason, fields[0]))
                return
            middle = len(fields) // 2
            self._bisect_objects(fields[:middle], positions[:middle], parts, rejected)
            self._bisect_objects(fields[middle:], positions[middle:], parts, rejected)

    def _bisect_arrow(
        self, table: pa.Table, first: int, parts: list[pa.Table], rejected: list[Rejection]
    ) -> None:
        if not len(table):
            return
        try:
            parts.append(self._of_arrow(table))
        except _RefusedColumn as refused:
            if len(table) == 1:
                (record,) = table.to_pylist()
                rejected.append(_rejection(first, refused.column, refused.reason, record))
                return
            middle = len(table) // 2
            self._bisect_arrow(table.slice(0, middle), first, parts, rejected)
            self._bisect_arrow(table.slice(middle), first + middle, parts, rejected)

    def _of_objects(self, fields: Sequence[Fields]) -> pa.Table:
        arrays = []
        for target, values in zip(self._targets, self._in_columns(fields), strict=True):
            try:
                arrays.append(assign_objects(values, target.type, self._rules))
            except Refused as error:
                raise _RefusedColumn(target.name, str(error)) from error
        return self._checked(arrays)

    def _in_columns(self, fields: Sequence[Fields]) -> Sequence[Sequence[Any]]:
        """Return the values of records by column, in the order of the columns."""
        # Most records have the same form. Converting them together avoids a tuple for each record:
        # so many tuples would make Python's garbage collector run again and again.
        if set(map(len, fields)) == {len(self._names)}:
            kinds = set(map(type, fields))
            if kinds <= {tuple, list}:
                return list(zip(*fields, strict=True))
            if kinds == {dict}:
                try:
                    return [list(map(itemgetter(name), fields)) for name in self._names]
                except KeyError:
                    pass  # a name has another spelling
        return list(zip(*map(self._in_order, fields), strict=True))

    def _in_order(self, record: Fields) -> tuple[Any, ...]:
        """Return the values of a record in the order of the columns."""
        if not isinstance(record, Mapping):
            if len(record) != len(self._targets):
                raise _RefusedColumn(
                    None, f"has {len(record)} values instead of {len(self._targets)}"
                )
            return tuple(record)
        if len(record) == len(self._names):
            try:
                return self._getter(record)
            except KeyError:
                pass  # a name has another spelling
        by_key = {folded(str(name)): value for name, value in record.items()}
        unknown = by_key.keys() - set(self._keys)
        if unknown:
            raise _RefusedColumn(None, f"has a field {min(unknown)!r}, which is no column")
        if len(by_key) < len(record):
            raise _RefusedColumn(
                None, f"has the field {repeated_name(record)!r} twice, in another case"
            )
        self._check_missing(by_key.keys())
        return tuple(map(by_key.get, self._keys))

    def _of_arrow(self, table: pa.Table) -> pa.Table:
        by_key = dict(zip(map(folded, table.column_names), table.columns, strict=True))
        unknown = by_key.keys() - set(self._keys)
        if unknown or len(by_key) < len(table.column_names):
            raise Refused(f"the rows have columns {table.column_names}, the table {self._names}")
        self._check_missing(by_key.keys())
        arrays = []
        for target in self._targets:
            if target.column.key not in by_key:
                arrays.append(pa.nulls(len(table), target.type.arrow))
                continue
            chunks = by_key[target.column.key].combine_chunks()
            values = (
                pa.concat_arrays(chunks.chunks) if isinstance(chunks, pa.ChunkedArray) else chunks
            )
            try:
                arrays.append(assign(values, target.type, self._arrow_rules))
            except Refused as error:
                raise _RefusedColumn(target.name, str(error)) from error
        return self._checked(arrays)

    def _check_missing(self, names: Any) -> None:
        """Refuse a record without a value for a DEFAULT column: only Spark can compute it."""
        for target in self._targets:
            if target.column.default is not None and target.column.key not in names:
                raise _RefusedColumn(
                    target.name, "has a DEFAULT, which needs Spark: give its value in each record"
                )

    def _checked(self, arrays: Sequence[pa.Array]) -> pa.Table:
        for target, values in zip(self._targets, arrays, strict=True):
            if not target.column.nullable and values.null_count:
                raise _RefusedColumn(target.name, "is NOT NULL and has no value")
        return pa.table(list(arrays), schema=self._schema)


def _rejection(position: int, column: str | None, reason: str, record: Any) -> Rejection:
    return Rejection(position=position, column=column, reason=reason, record=record)


def _ordered(rejected: Sequence[Rejection]) -> list[Rejection]:
    return sorted(rejected, key=lambda rejection: rejection.position)
