"""Predicates that a set of values meets: IN for a few values, their range for many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from acidsql.bridge.jvm import Expression, elements, scala_map, session_state

# Name that stands for the value in a condition.
_VALUE = "k"


def _text(value: str) -> str:
    return f"CAST(X'{value.encode().hex()}' AS STRING)"


# SQL literals of the types that ORC and Spark compare alike.
_LITERALS: dict[str, Callable[[object], str]] = {
    "TINYINT": "{}Y".format,
    "SMALLINT": "{}S".format,
    "INT": "{}".format,
    "BIGINT": "{}L".format,
    "DATE": "date_from_unix_date({})".format,
    "STRING": lambda value: _text(str(value)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf:
    """Predicate that all values of a set meet.

    Attributes:
        text: SQL, in which the name ``k`` stands for the value.
        coarse: it is the range of the values, which may contain most others too.
    """

    text: str
    coarse: bool

    def of(self, spark: SparkSession, value: Expression) -> Expression:
        """Build the predicate of a Catalyst expression."""
        parser = session_state(spark).sqlParser()
        place = parser.parseExpression(_VALUE)
        return parser.parseExpression(self.text).transform(scala_map(spark, [(place, value)]))


def is_plain(value: Expression) -> bool:
    """Return whether equal values of an expression are identical.

    They need not be for floating-point numbers, timestamps and CHAR or VARCHAR columns.
    """
    kind = str(value.dataType().sql())
    columns = elements(value.references().toSeq())
    padded = any(a.metadata().contains("__CHAR_VARCHAR_TYPE_STRING") for a in columns)
    return (kind in _LITERALS or kind.startswith("DECIMAL")) and not padded


def one_of(values: pa.ChunkedArray, kind: str, most: int) -> OneOf:
    """Build the predicate of a set of values; NULL is never one of them.

    Args:
        values: any number, with repetition.
        kind: type of the values, as SQL; a plain one (``is_plain``).
        most: above this number of distinct values the predicate is their range.
    """
    known = pc.unique(_numbered(values).drop_null())
    literal = _literal(kind)
    if len(known) == 0:
        return OneOf(text=f"{_VALUE} <> {_VALUE}", coarse=False)
    if len(known) <= most:
        text = f"{_VALUE} IN ({', '.join(map(literal, known.to_pylist()))})"
        return OneOf(text=text, coarse=False)
    ends = pc.min_max(known).as_py()
    low, high = literal(ends["min"]), literal(ends["max"])
    return OneOf(text=f"{_VALUE} >= {low} AND {_VALUE} <= {high}", coarse=True)


def only_one(values: pa.ChunkedArray, kind: str) -> str:
    """Return SQL for the single value in an array, or for NULL if there is none.

    Args:
        values: at most one.
        kind: its type, as SQL; a plain one (``is_plain``).
    """
    known = _numbered(values).drop_null().to_pylist()
    return _literal(kind)(known[0]) if known else f"CAST(NULL AS {kind})"


def _numbered(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert dates to days since 1970, since Python's dates end before Spark's."""
    return values.cast(pa.int32()) if pa.types.is_date32(values.type) else values


def _literal(kind: str) -> Callable[[object], str]:
    return _LITERALS.get(kind, f"CAST('{{}}' AS {kind})".format)
