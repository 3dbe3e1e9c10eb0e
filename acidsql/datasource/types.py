"""Types of columns as Spark's data sources in Python have them, and their values."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from acidsql.arrow_reader.arrays import array_of, numbers_of
from acidsql.arrow_reader.calendars import Numbers
from acidsql.arrow_reader.columns import ROW_ID, TableColumns
from acidsql.format.identifiers import folded
from acidsql.scan.change_form import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION
from acidsql.streaming.column_types import ColumnType
from acidsql.syntax.lexer import quote

_MICROS = 1_000_000
_QUARTER_HOUR = 900
# From here on offsets of time zones change at whole quarters of an hour only.
_FIRST_QUARTERS = 94_694_400  # 1973-01-01
# After 400 years the Gregorian calendar repeats, with the same day of the week.
_CALENDAR_CYCLE = 146_097 * 86_400
_FIRST_YEAR, _LAST_YEAR = -62_135_596_800 + 86_400, 253_402_300_800 - 86_400
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - local times
_CHANGE_DDL = {CHANGE_TYPE: "string", COMMIT_VERSION: "bigint", COMMIT_TIMESTAMP: "timestamp"}
_ROW_ID_DDL = "struct<writeid:bigint,bucketid:int,rowid:bigint>"


def schema_ddl(columns: TableColumns, names: Sequence[str]) -> str:
    """Return the definition of columns, as Spark parses it.

    Args:
        columns: of the table.
        names: of those that are wanted.
    """
    return ", ".join(f"{quote(name)} {_column_ddl(columns, name)}" for name in names)


def change_names(columns: TableColumns, names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of columns of changes.

    Args:
        columns: of the table.
        names: of those that are wanted, in any case; None for all but ``row__id``.

    Raises:
        AcidAnalysisError: COLUMN_NOT_FOUND, INVALID_PARAMETER_VALUE.
    """
    if names is None:
        return (*columns.names, *_CHANGE_DDL)
    own = {folded(name): name for name in _CHANGE_DDL}
    columns.chosen([name for name in names if folded(name) not in own])
    known = {**{folded(name): name for name in columns.schema.names}, **own}
    return tuple(known[folded(name)] for name in names)


def _column_ddl(columns: TableColumns, name: str) -> str:
    if name == ROW_ID:
        return _ROW_ID_DDL
    if name in columns.positions:
        return type_ddl(columns.types[columns.positions[name]])
    if name in columns.partition_names:
        return type_ddl(columns.partition_types[columns.partition_names.index(name)])
    return _CHANGE_DDL[name]


def type_ddl(kind: ColumnType) -> str:
    """Return a type as Spark reads it: CHAR and VARCHAR as STRING."""
    if kind.kind == "simple":
        return kind.text
    children = [type_ddl(child) for child in kind.children]
    if kind.kind == "list":
        return f"array<{children[0]}>"
    if kind.kind == "map":
        return f"map<{children[0]},{children[1]}>"
    if kind.kind == "struct":
        fields = zip(kind.names, children, strict=True)
        return f"struct<{','.join(f'{quote(name)}:{child}' for name, child in fields)}>"
    return "string"


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the schema of the batches that Spark expects; instants are in UTC."""
    # The name came with Spark 4.2; before, instants are in UTC anyway.
    parameters = inspect.signature(to_arrow_schema).parameters
    return to_arrow_schema(schema, **({"timezone": "UTC"} if "timezone" in parameters else {}))


def spark_batches(
    batches: Iterable[pa.RecordBatch], schema: StructType, zone: ZoneInfo
) -> Iterator[pa.RecordBatch]:
    """Yield the batches that Spark expects.

    Args:
        batches: as the Arrow reader returns them, with the columns of the schema.
        schema: of Spark's rows.
        zone: time zone of the local times.
    """
    target = arrow_schema(schema)
    for batch in batches:
        columns = [
            as_spark_has_it(values, field.type, zone)
            for values, field in zip(batch.columns, target, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=target)


def as_spark_has_it(values: pa.Array, target: pa.DataType, zone: ZoneInfo) -> pa.Array:
    """Return values of a table as those of Spark: local times as instants, at any depth.

    Args:
        values: as the Arrow reader returns them; instants, the times of commits, have a time zone.
        target: type that Spark expects.
        zone: time zone of the local times.
    """
    is_instant = pa.types.is_timestamp(values.type) and values.type.tz is not None
    if is_instant or not has_instants(target):
        return values.cast(target)
    if pa.types.is_timestamp(target):
        return _instants(values, zone).cast(target)
    mask = values.is_null() if values.null_count else None
    if pa.types.is_struct(target):
        fields = [target.field(i) for i in range(target.num_fields)]
        parts = [
            as_spark_has_it(values.field(i), field.type, zone) for i, field in enumerate(fields)
        ]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)
    if pa.types.is_map(target):
        keys = as_spark_has_it(values.keys, target.key_type, zone)
        items = as_spark_has_it(values.items, target.item_type, zone)
        return pa.MapArray.from_arrays(values.offsets, keys, items, type=target, mask=mask)
    elements = as_spark_has_it(values.values, target.value_type, zone)
    return pa.ListArray.from_arrays(values.offsets, elements, type=target, mask=mask)


def has_instants(kind: pa.DataType) -> bool:
    """Return whether a type is, or contains, a timestamp with a time zone."""
    if pa.types.is_timestamp(kind):
        return kind.tz is not None
    return any(has_instants(kind.field(i).type) for i in range(kind.num_fields))


def _instants(values: pa.Array, zone: ZoneInfo) -> pa.Array:
    """Return the instants of local times, in microseconds since 1970, without a zone."""
    local = numbers_of(values.cast(pa.int64()).fill_null(0))
    micros = local - offsets(local // _MICROS, zone) * _MICROS
    return array_of(micros, pa.timestamp("us"), values.is_valid() if values.null_count else None)


def offsets(seconds: Numbers, zone: ZoneInfo) -> Numbers:
    """Return the offsets from UTC, in seconds, of local times.

    A time that is there twice is the earlier one; one that is left out is as much later as the gap
    is long (Java's ``atZone`` of a local time).

    Args:
        seconds: local times, since 1970-01-01 00:00:00, shape (rows,).
        zone: the time zone.
    """
    # Python's calendar has the years 1 to 9999.
    early = np.minimum(0, (seconds - _FIRST_YEAR) // _CALENDAR_CYCLE)
    late = np.maximum(0, (seconds - _LAST_YEAR) // _CALENDAR_CYCLE + 1)
    moved = seconds - (early + late) * _CALENDAR_CYCLE
    steps = np.where(moved >= _FIRST_QUARTERS, _QUARTER_HOUR, 1)
    begins, places = np.unique(moved - moved % steps, return_inverse=True)
    found = [
        (_EPOCH + timedelta(seconds=one)).replace(tzinfo=zone).utcoffset()
        for one in begins.tolist()
    ]
    made = np.array([int(one.total_seconds()) if one else 0 for one in found], np.int64)
    return made[places] if len(made) else np.zeros(0, np.int64)
