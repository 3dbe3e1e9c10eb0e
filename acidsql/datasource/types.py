"""Column types and values in the form of Spark's Python data sources."""

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
# From here on, offsets of time zones change only at whole quarters of an hour.
_FIRST_QUARTERS = 94_694_400  # 1973-01-01
# The Gregorian calendar, with its days of the week, repeats every 400 years.
_CALENDAR_CYCLE = 146_097 * 86_400
_FIRST_YEAR, _LAST_YEAR = -62_135_596_800 + 86_400, 253_402_300_800 - 86_400
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - local times
_CHANGE_DDL = {CHANGE_TYPE: "string", COMMIT_VERSION: "bigint", COMMIT_TIMESTAMP: "timestamp"}
_ROW_ID_DDL = "struct<writeid:bigint,bucketid:int,rowid:bigint>"


def schema_ddl(columns: TableColumns, names: Sequence[str]) -> str:
    """Return the definition of columns, in the form that Spark parses.

    Args:
        columns: columns of the table.
        names: names of the requested columns.
    """
    return ", ".join(f"{quote(name)} {_column_ddl(columns, name)}" for name in names)


def change_names(columns: TableColumns, names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the columns of changes.

    Args:
        columns: columns of the table.
        names: names of the requested columns, in any case; None for all except ``row__id``.

    Raises:
        AcidAnalysisError: COLUMN_NOT_FOUND, INVALID_PARAMETER_VALUE.
    """
    if names is None:
        return (*columns.names, *_CHANGE_DDL)
    change_columns = {folded(name): name for name in _CHANGE_DDL}
    columns.chosen([name for name in names if folded(name) not in change_columns])
    known = {**{folded(name): name for name in columns.schema.names}, **change_columns}
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
    """Return the text of a type for Spark, with STRING for CHAR and VARCHAR."""
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
    # The parameter is new in Spark 4.2; in earlier releases, instants are always in UTC.
    parameters = inspect.signature(to_arrow_schema).parameters
    return to_arrow_schema(schema, **({"timezone": "UTC"} if "timezone" in parameters else {}))


def spark_batches(
    batches: Iterable[pa.RecordBatch], schema: StructType, zone: ZoneInfo
) -> Iterator[pa.RecordBatch]:
    """Yield the batches that Spark expects.

    Args:
        batches: batches of the Arrow reader, with the columns of the schema.
        schema: schema of Spark's rows.
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
    """Convert values of a table to Spark's: local times become instants, at any nesting depth.

    Args:
        values: values of the Arrow reader. Instants, such as commit times, have a time zone.
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
    """Convert local times to instants, in microseconds since 1970, without a time zone."""
    local = numbers_of(values.cast(pa.int64()).fill_null(0))
    micros = local - offsets(local // _MICROS, zone) * _MICROS
    return array_of(micros, pa.timestamp("us"), values.is_valid() if values.null_count else None)


def offsets(seconds: Numbers, zone: ZoneInfo) -> Numbers:
    """Return the offsets from UTC, in seconds, of local times.

    A local time that occurs twice means the earlier instant. A local time in a gap moves forward by
    the length of the gap (Java's ``atZone`` of a local time).

    Args:
        seconds: local times in seconds since 1970-01-01 00:00:00, shape (rows,).
        zone: the time zone.
    """
    # Python's calendar covers the years 1 to 9999.
    early = np.minimum(0, (seconds - _FIRST_YEAR) // _CALENDAR_CYCLE)
    late = np.maximum(0, (seconds - _LAST_YEAR) // _CALENDAR_CYCLE + 1)
    moved = seconds - (early + late) * _CALENDAR_CYCLE
    steps = np.where(moved >= _FIRST_QUARTERS, _QUARTER_HOUR, 1)
    begins, places = np.unique(moved - moved % steps, return_inverse=True)
    shifts = [
        (_EPOCH + timedelta(seconds=one)).replace(tzinfo=zone).utcoffset()
        for one in begins.tolist()
    ]
    made = np.array([int(one.total_seconds()) if one else 0 for one in shifts], np.int64)
    return made[places] if len(made) else np.zeros(0, np.int64)
