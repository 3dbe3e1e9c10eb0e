"""Conversion of column statistics to and from the server's form, by the type of the column."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from acidsql.metastore.hive.idl import hms
from acidsql.metastore.table_statistics import ColumnStatistics

_EPOCH = date(1970, 1, 1)
_TEXT = frozenset({"string", "varchar", "char"})
_WHOLE = frozenset({"tinyint", "smallint", "int", "bigint"})
_SIZES = {
    "boolean": 1, "tinyint": 1, "smallint": 2, "int": 4, "bigint": 8, "float": 4, "double": 8,
    "date": 4, "timestamp": 8, "decimal": 8,
}  # fmt: skip


def kind_of(hive_type: str) -> str:
    """Return the name of a type without its arguments: ``decimal`` of ``decimal(7,2)``."""
    return re.match(r"\w*", hive_type.lower())[0]  # type: ignore[index]


def to_hive(column: ColumnStatistics, hive_type: str, *, has_timestamps: bool) -> Any:
    """Convert statistics to ``hms.ColumnStatisticsObj``.

    Args:
        column: the statistics.
        hive_type: type of the column.
        has_timestamps: whether the server has statistics of timestamps; 3.1 stores seconds.
    """
    data = hms.ColumnStatisticsData(**_data(column, kind_of(hive_type), has_timestamps))
    return hms.ColumnStatisticsObj(colName=column.name, colType=hive_type, statsData=data)


def _data(column: ColumnStatistics, kind: str, has_timestamps: bool) -> dict[str, Any]:
    lengths = {
        "maxColLen": column.maximum_length or 0,
        "avgColLen": column.average_length or 0.0,
        "numNulls": column.nulls,
    }
    counts = {"numNulls": column.nulls, "numDVs": column.distinct or 0}
    if kind in _TEXT:
        made = hms.StringColumnStatsData(**lengths, numDVs=column.distinct or 0)
        return {"stringStats": made}
    if kind == "binary":
        return {"binaryStats": hms.BinaryColumnStatsData(**lengths)}
    if kind == "boolean":
        return {"booleanStats": _booleans(column)}
    if kind in _WHOLE:
        return {"longStats": hms.LongColumnStatsData(**_bounds(column, int), **counts)}
    if kind in ("float", "double"):
        return {"doubleStats": hms.DoubleColumnStatsData(**_bounds(column, _finite), **counts)}
    if kind == "decimal":
        return {"decimalStats": hms.DecimalColumnStatsData(**_bounds(column, _decimal), **counts)}
    if kind == "date":
        return {"dateStats": hms.DateColumnStatsData(**_bounds(column, _date), **counts)}
    if has_timestamps:
        bounds = _bounds(column, lambda text: hms.Timestamp(secondsSinceEpoch=_seconds(text)))
        return {"timestampStats": hms.TimestampColumnStatsData(**bounds, **counts)}
    return {"longStats": hms.LongColumnStatsData(**_bounds(column, _seconds), **counts)}


def _booleans(column: ColumnStatistics) -> Any:
    return hms.BooleanColumnStatsData(
        numTrues=column.trues or 0, numFalses=column.falses or 0, numNulls=column.nulls
    )


def _bounds(column: ColumnStatistics, convert: Callable[[str], Any]) -> dict[str, Any]:
    bounds = {"lowValue": column.minimum, "highValue": column.maximum}
    return {key: _converted(text, convert) for key, text in bounds.items()}


def _converted(text: str | None, convert: Callable[[str], Any]) -> Any:
    """Convert a bound; return None if it is missing, or outside the years 1 to 9999."""
    if text is None:
        return None
    try:
        return convert(text)
    except ValueError:
        return None


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _decimal(text: str) -> Any:
    """Convert a decimal to the bytes of its unscaled value, in two's complement."""
    value = Decimal(text)
    scale = max(0, -int(value.as_tuple().exponent))
    unscaled = int(value.scaleb(scale))
    length = unscaled.bit_length() // 8 + 1
    return hms.Decimal(unscaled=unscaled.to_bytes(length, "big", signed=True), scale=scale)


def _date(text: str) -> Any:
    return hms.Date(daysSinceEpoch=(date.fromisoformat(text) - _EPOCH).days)


def _seconds(text: str) -> int:
    moment = datetime.fromisoformat(text).replace(tzinfo=None)
    return (moment - datetime.combine(_EPOCH, time.min)) // timedelta(seconds=1)


def from_hive(structure: Any) -> ColumnStatistics:
    """Convert the server's ``hms.ColumnStatisticsObj``."""
    kind = kind_of(structure.colType)
    name, data = next((k, v) for k, v in vars(structure.statsData).items() if v is not None)
    nulls = data.numNulls
    if name in ("stringStats", "binaryStats"):
        return ColumnStatistics(
            name=structure.colName,
            nulls=nulls,
            distinct=getattr(data, "numDVs", None),
            average_length=data.avgColLen,
            maximum_length=data.maxColLen,
        )
    size = _SIZES.get(kind, 8)
    sizes: Mapping[str, Any] = {"average_length": float(size), "maximum_length": size}
    if name == "booleanStats":
        trues, falses = max(data.numTrues, 0), max(data.numFalses, 0)
        return ColumnStatistics(
            name=structure.colName,
            nulls=nulls,
            distinct=(trues > 0) + (falses > 0),
            minimum=("false" if falses else "true") if trues or falses else None,
            maximum=("true" if trues else "false") if trues or falses else None,
            trues=trues,
            falses=falses,
            **sizes,
        )
    return ColumnStatistics(
        name=structure.colName,
        nulls=nulls,
        distinct=data.numDVs,
        minimum=_text(data.lowValue, kind),
        maximum=_text(data.highValue, kind),
        **sizes,
    )


def _text(value: Any, kind: str) -> str | None:
    """Convert a bound to the text to which Spark casts it."""
    if value is None:
        return None
    if kind == "decimal":
        unscaled = int.from_bytes(value.unscaled, "big", signed=True)
        return f"{Decimal(unscaled).scaleb(-value.scale):f}"
    if kind == "date":
        return (_EPOCH + timedelta(days=value.daysSinceEpoch)).isoformat()
    if kind == "timestamp":
        seconds = getattr(value, "secondsSinceEpoch", value)
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
        return moment.replace(tzinfo=None).isoformat(sep=" ", timespec="seconds")
    return str(value)
