"""Types of the values of ``executemany``, and groups of rows with the same types.

A column of ``VALUES`` or of a DataFrame has one type. If a column has values of several types, a
common type can change some values: DOUBLE changes a DECIMAL, for example. These rows are written
separately, so that each value is stored as ``execute`` stores it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from acidsql.syntax.values import MOST_DIGITS, decimal_type, plain

Row = Mapping[str, Any] | Sequence[Any]
Targets = Mapping[int | str, str]
"""Types of the columns whose value is exactly one parameter, by its position or name."""

_INT, _LONG = 1 << 31, 1 << 63
_INTEGER, _DOUBLE, _FLOAT, _DECIMAL = "integer", "double", "float", "decimal"
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")

# Python types whose values all have one kind. Values of subclasses are inspected one by one.
_KINDS: Mapping[type, str] = {
    bool: "boolean",
    bytes: "binary",
    bytearray: "binary",
    date: "date",
    datetime: "timestamp",
    float: _DOUBLE,
    int: _INTEGER,
    str: "string",
}
_TYPES: Mapping[str, Callable[[], DataType]] = {
    "binary": BinaryType,
    "boolean": BooleanType,
    "date": DateType,
    _DOUBLE: DoubleType,
    _FLOAT: FloatType,
    "string": StringType,
    "timestamp": TimestampType,
}
_PYTHON: Sequence[tuple[Any, str]] = (
    (bool, "boolean"),
    (int, _INTEGER),
    (float, _DOUBLE),
    (str, "string"),
    (bytes | bytearray, "binary"),
    (datetime, "timestamp"),
    (date, "date"),
    (timedelta, "interval"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroup:
    """Rows whose values have one kind for each parameter; NULL has every kind.

    Attributes:
        names: names of the parameters; None if they have positions.
        kinds: kind of each parameter; None if all its values are NULL.
        columns: values of each parameter.
        size: number of rows.
    """

    size: int
    names: tuple[str, ...] | None
    kinds: tuple[str | None, ...]
    columns: tuple[Sequence[Any], ...]

    def rows(self) -> list[Row]:
        """Return the rows; as literals, the values of each parameter have one SQL type."""
        columns = [
            _as_kind(values, kind) for values, kind in zip(self.columns, self.kinds, strict=True)
        ]
        rows = list(zip(*columns, strict=True)) if columns else [()] * self.size
        if self.names is None:
            return list(rows)
        return [dict(zip(self.names, row, strict=True)) for row in rows]


def groups_of(rows: Sequence[Row], targets: Callable[[], Targets]) -> list[RowGroup]:
    """Divide rows of parameters into as few groups as possible; groups keep the row order.

    Args:
        rows: sequences or mappings.
        targets: function that is called if the result depends on the columns' types.

    Raises:
        AcidAnalysisError: a value has no type or is out of range; see ``values.literal``.
    """
    shapes: dict[object, list[Row]] = {}
    for row in rows:
        shape = frozenset(row) if isinstance(row, Mapping) else len(row)
        shapes.setdefault(shape, []).append(row)
    return [group for alike in shapes.values() for group in _groups(alike, targets)]


def _groups(rows: Sequence[Row], targets: Callable[[], Targets]) -> Iterable[RowGroup]:
    """Divide rows that have the same parameters into groups."""
    first = rows[0]
    if isinstance(first, Mapping):
        names: tuple[str, ...] | None = tuple(first)
        places: Sequence[int | str] = tuple(first)
        columns = [[row[name] for row in rows] for name in first]  # type: ignore[call-overload]
    else:
        names, places = None, range(len(first))
        columns = [list(values) for values in zip(*rows, strict=True)]
    first_kinds: list[str | None] = []
    mixed: dict[int, list[str]] = {}
    for i, place in enumerate(places):
        kinds = _kinds(columns, i)
        if isinstance(kinds, list):
            kinds = _merged(kinds, columns[i], partial(_target, targets, place))
            if len(set(kinds)) > 1:
                mixed[i] = kinds
            first_kinds.append(kinds[0])
        else:
            first_kinds.append(kinds)
    if not mixed:
        yield RowGroup(
            size=len(rows), names=names, kinds=tuple(first_kinds), columns=tuple(columns)
        )
        return
    divided: dict[tuple[str, ...], list[int]] = {}
    for number, key in enumerate(zip(*mixed.values(), strict=True)):
        divided.setdefault(key, []).append(number)
    for key, numbers in divided.items():
        kind_by_position = dict(zip(mixed, key, strict=True))
        yield RowGroup(
            size=len(numbers),
            names=names,
            kinds=tuple(kind_by_position.get(i, kind) for i, kind in enumerate(first_kinds)),
            columns=tuple([values[n] for n in numbers] for values in columns),
        )


def _target(targets: Callable[[], Targets], place: int | str) -> str:
    return targets().get(place, "")


def _kinds(columns: list[list[Any]], i: int) -> str | list[str] | None:
    """Return the common kind of a column's values, the kind of each value, or None if all are NULL.

    Scalars of numpy and pandas in the column are replaced by Python values.
    """
    types = set(map(type, columns[i])) - {type(None)}
    if not types:
        return None
    known = {_KINDS.get(one) for one in types}
    if len(known) == 1 and (kind := known.pop()) is not None:
        return kind
    columns[i] = [plain(value) for value in columns[i]]
    kinds = [None if value is None else kind_of(value) for value in columns[i]]
    present = next(kind for kind in kinds if kind is not None)
    return [kind or present for kind in kinds]


def kind_of(value: object) -> str:
    """Return a name for the SQL type that a value has as a literal.

    All integers have one kind, because an INT does not change its value as a BIGINT.

    >>> kind_of(5), kind_of(Decimal("1.50")), kind_of([1, "a", None])
    ('integer', 'decimal(3,2)', 'array<integer,string>')
    """
    value = plain(value)
    if isinstance(value, Decimal):
        precision, scale = decimal_type(value)
        return f"decimal({precision},{scale})"
    for python, kind in _PYTHON:
        if isinstance(value, python):
            return kind
    if isinstance(value, list | tuple):
        return f"array<{_all(value)}>"
    if isinstance(value, Mapping):
        return f"map<{_all(value)};{_all(value.values())}>"
    if type(value).__module__ == "numpy" and type(value).__name__ == "float32":
        return _FLOAT
    return f"{type(value).__name__} {id(value)}"  # a Column, whose type is not known


def _all(values: Iterable[object]) -> str:
    return ",".join(sorted({kind_of(value) for value in values if value is not None}))


def _merged(kinds: list[str], values: Sequence[Any], target: Callable[[], str]) -> list[str]:
    """Merge the kinds whose values a common type does not change."""
    different = set(kinds)
    if len(different) == 1:
        return kinds
    of_decimals = {kind for kind in different if kind.startswith("decimal(")}
    column = target().partition("(")[0].lower()
    merged: dict[str, str] = {}
    if column == "double" and different & {_DOUBLE, _FLOAT}:
        merged = dict.fromkeys((_INTEGER, _DOUBLE, _FLOAT), _DOUBLE)
    if of_decimals:
        alike = set(of_decimals)
        if column == "decimal" and _INTEGER in different:
            alike.add(_INTEGER)
        pairs = zip(values, kinds, strict=True)
        some = [value for value, kind in pairs if kind in alike and value is not None]
        if column in _NUMBERS and _decimal(some) is not None:
            merged |= dict.fromkeys(alike, _DECIMAL)
        else:  # in a text column, decimals of different scale differ by their trailing zeros
            merged |= {
                kind: f"{_DECIMAL} of scale {kind.partition(',')[2]}" for kind in of_decimals
            }
    return [merged.get(kind, kind) for kind in kinds]


def _as_kind(values: Sequence[Any], kind: str | None) -> Sequence[Any]:
    """Convert the values of a column of one kind to one Python type."""
    if kind == _DOUBLE:
        return [None if value is None else float(value) for value in values]
    if kind is not None and kind.startswith(_DECIMAL):
        return [None if value is None else Decimal(value) for value in values]
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedRows:
    """Values of parameters with their Spark types, which are the types of equal literals.

    Attributes:
        schema: a column for each parameter that has values. It has the name of the parameter, or
            ``p`` and the position.
        rows: values in the order of the columns.
        columns: SQL text that replaces each parameter; ``NULL`` if all its values are NULL.
    """

    schema: StructType
    rows: Sequence[tuple[Any, ...]]
    columns: Mapping[str, str] | Sequence[str]


def typed_rows(group: RowGroup) -> TypedRows | None:
    """Find a type for each parameter; None if one has no type, so that literals are needed."""
    names = group.names or [f"p{i}" for i in range(len(group.kinds))]
    fields: list[StructField] = []
    kept: list[Sequence[Any]] = []
    texts: list[str] = []
    for name, kind, values in zip(names, group.kinds, group.columns, strict=True):
        if kind is None or all(value is None for value in values):
            texts.append("NULL")
            continue
        converted = _as_kind(values, _DOUBLE if kind == _FLOAT else kind)
        declared = _data_type(kind, converted)
        if declared is None or not re.fullmatch(r"\w+", name):
            return None
        fields.append(StructField(name, declared))
        kept.append(converted)
        texts.append(f"`{name}`")
    if not fields:
        return None
    columns = dict(zip(names, texts, strict=True)) if group.names else texts
    return TypedRows(schema=StructType(fields), rows=list(zip(*kept, strict=True)), columns=columns)


def _data_type(kind: str, values: Sequence[Any]) -> DataType | None:
    """Return the Spark type for the values of a column of one kind; None if there is none."""
    present = [value for value in values if value is not None]
    if kind == _INTEGER:
        return _integer(present)
    if kind.startswith(_DECIMAL):
        return _decimal(present)
    made = _TYPES.get(kind)
    return None if made is None else made()


def _integer(values: Sequence[int]) -> DataType | None:
    low, high = min(values), max(values)
    if low >= -_INT and high < _INT:
        return IntegerType()
    if low >= -_LONG and high < _LONG:
        return LongType()
    return None


def _decimal(values: Iterable[Decimal | int]) -> DecimalType | None:
    """Return the narrowest DECIMAL that can store all values; None if none is wide enough."""
    types = [decimal_type(Decimal(value)) for value in values]
    scale = max(scale for _, scale in types)
    whole = max(precision - scale for precision, scale in types)
    if whole + scale > MOST_DIGITS:
        return None
    return DecimalType(max(whole + scale, 1), scale)
