"""Rows of ``executemany`` as one statement: ``INSERT … VALUES (?, ?)`` with a row for each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from acidsql.syntax import bind
from acidsql.syntax.lexer import blank_comments, code_spans
from acidsql.syntax.statements import Insert

Row = Mapping[str, Any] | Sequence[Any]

_VALUES = re.compile(r"\s*VALUES\s*(?=\()", re.IGNORECASE)
_DEFAULT = re.compile(r"(?i)\bDEFAULT\b")
_INT, _LONG = 1 << 31, 1 << 63
_MOST_DIGITS = 38


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTemplate:
    """``INSERT`` with one row of ``VALUES``.

    Attributes:
        head: text before ``VALUES``.
        row: what is between the parentheses of the row.
    """

    head: str
    row: str

    def of_literals(self, rows: Sequence[Mapping[str, str] | Sequence[str]]) -> str:
        """Return the text with a row for each of ``rows``, whose values are SQL texts."""
        written = ", ".join(f"({bind(self.row, row)})" for row in rows)
        return f"{self.head} VALUES {written}"

    def of_frame(self, columns: Mapping[str, str] | Sequence[str], frame: str) -> str:
        """Return the text with the rows of a DataFrame, which it names in braces.

        Args:
            columns: SQL text that stands for each parameter.
            frame: name of the DataFrame.
        """
        row = bind(_escaped(self.row), columns)
        return f"{_escaped(self.head)} SELECT {row} FROM {{{frame}}}"


def _escaped(text: str) -> str:
    """Double the braces of a text, in which DataFrames are named in braces."""
    return text.replace("{", "{{").replace("}", "}}")


def row_template(text: str, statement: Insert) -> RowTemplate | None:
    """Return the template of an ``INSERT … VALUES (…)`` of one row; None if it is another one.

    >>> from acidsql.syntax import parse
    >>> text = "INSERT INTO t VALUES (?, upper(?))"
    >>> row_template(text, parse(text))
    RowTemplate(head='INSERT INTO t ', row='?, upper(?)')
    """
    text = blank_comments(text)
    found = _VALUES.match(text, statement.query.start)
    if found is None:
        return None
    end = _closing(text, found.end())
    if end is None or text[end + 1 :].strip().rstrip(";").strip():
        return None
    row = text[found.end() + 1 : end]
    # DEFAULT has another meaning outside VALUES.
    if any(_DEFAULT.search(span.of(row)) for span in code_spans(row)):
        return None
    return RowTemplate(head=text[: statement.query.start], row=row)


def _closing(text: str, opening: int) -> int | None:
    """Return the offset of the parenthesis that closes the one at ``opening``."""
    depth = 0
    for span in code_spans(text):
        for i in range(max(span.start, opening), span.end):
            depth += (text[i] == "(") - (text[i] == ")")
            if depth == 0:
                return i
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedRows:
    """Values of parameters with a type of Spark for each, as literals of the values would have.

    Attributes:
        schema: a column for each parameter that has values; its name is that of the parameter,
            or ``p`` and its position.
        rows: values in the order of the columns.
        columns: SQL text that stands for each parameter; ``NULL`` if it has no value in any row.
    """

    schema: StructType
    rows: Sequence[tuple[Any, ...]]
    columns: Mapping[str, str] | Sequence[str]


def typed_rows(rows: Sequence[Row]) -> TypedRows | None:
    """Find a type for each parameter; None if there is none, and literals have to be written.

    >>> typed_rows([(1, None), (2, None)]).columns
    ['`p0`', 'NULL']
    """
    first = rows[0]
    if isinstance(first, Mapping):
        names = list(first)
        if not all(isinstance(row, Mapping) and row.keys() == first.keys() for row in rows):
            return None
        by_column = [[row[name] for row in rows] for name in names]  # type: ignore[call-overload]
    else:
        names = [f"p{i}" for i in range(len(first))]
        if any(isinstance(row, Mapping) or len(row) != len(names) for row in rows):
            return None
        by_column = [list(values) for values in zip(*rows, strict=True)]
    fields: list[StructField] = []
    kept: list[list[Any]] = []
    texts: list[str] = []
    for name, values in zip(names, by_column, strict=True):
        if all(value is None for value in values):
            texts.append("NULL")
            continue
        typed = _typed(values)
        if typed is None or not re.fullmatch(r"\w+", name):
            return None
        kind, converted = typed
        fields.append(StructField(name, kind))
        kept.append(converted)
        texts.append(f"`{name}`")
    if not fields:
        return None
    columns = dict(zip(names, texts, strict=True)) if isinstance(first, Mapping) else texts
    return TypedRows(schema=StructType(fields), rows=list(zip(*kept, strict=True)), columns=columns)


def _typed(values: list[Any]) -> tuple[DataType, list[Any]] | None:
    """Return a type for all values, and the values as Spark takes them for it."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {float, int}:
        kinds = {float}
        values = [None if value is None else float(value) for value in values]
    if len(kinds) != 1:
        return None
    kind = kinds.pop()
    if kind is int:
        return _integers(values)
    if kind is Decimal:
        return _decimals(values)
    made = _TYPES.get(kind)
    return None if made is None else (made(), values)


_TYPES: Mapping[type, Callable[[], DataType]] = {
    bool: BooleanType,
    bytes: BinaryType,
    bytearray: BinaryType,
    date: DateType,
    datetime: TimestampType,
    float: DoubleType,
    str: StringType,
}


def _integers(values: list[Any]) -> tuple[DataType, list[Any]] | None:
    present = [value for value in values if value is not None]
    low, high = min(present), max(present)
    if low >= -_INT and high < _INT:
        return IntegerType(), values
    if low >= -_LONG and high < _LONG:
        return LongType(), values
    return None


def _decimals(values: list[Any]) -> tuple[DataType, list[Any]] | None:
    present = [value for value in values if value is not None]
    if not all(value.is_finite() for value in present):
        return None
    scale = max(max(-value.as_tuple().exponent, 0) for value in present)
    whole = max(max(value.adjusted() + 1, 0) for value in present)
    if scale + whole > _MOST_DIGITS:
        return None
    return DecimalType(max(scale + whole, 1), scale), values
