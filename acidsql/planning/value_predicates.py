"""Conditions that hold of all of some values: what rows with one of these values can meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from acidsql.bridge.jvm import Expression, elements, scala_map, session_state

# The value, in a condition.
_VALUE = "k"


def _text(value: str) -> str:
    return f"CAST(X'{value.encode().hex()}' AS STRING)"


# SQL of values of the types that ORC and Spark compare alike.
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
    """A condition that holds of all of some values.

    Attributes:
        text: its SQL.
        coarse: it is a range: of scattered values it says nothing.
    """

    text: str
    coarse: bool

    def of(self, spark: SparkSession, value: Expression) -> Expression:
        """The condition on the value of a Java expression, as such an expression."""
        parser = session_state(spark).sqlParser()
        place = parser.parseExpression(_VALUE)
        return parser.parseExpression(self.text).transform(scala_map(spark, [(place, value)]))


def is_plain(value: Expression) -> bool:
    """Whether equal values of a Java expression are the same one: not floating-point numbers,
    instants or padded texts.
    """
    kind = str(value.dataType().sql())
    columns = elements(value.references().toSeq())
    padded = any(a.metadata().contains("__CHAR_VARCHAR_TYPE_STRING") for a in columns)
    return (kind in _LITERALS or kind.startswith("DECIMAL")) and not padded


def one_of(values: pa.ChunkedArray, kind: str, most: int) -> OneOf:
    """The condition to be one of some values, of which nulls are none.

    Args:
        kind: the type of the values, as SQL; a plain one.
        most: more values than these are told by the lowest and the highest.
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
    """SQL of the only one of some values, NULL if there is none.

    Args:
        kind: its type, as SQL; a plain one.
    """
    known = _numbered(values).drop_null().to_pylist()
    return _literal(kind)(known[0]) if known else f"CAST(NULL AS {kind})"


def _numbered(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values, and days for dates: Python's dates end sooner than Spark's."""
    return values.cast(pa.int32()) if pa.types.is_date32(values.type) else values


def _literal(kind: str) -> Callable[[object], str]:
    return _LITERALS.get(kind, f"CAST('{{}}' AS {kind})".format)
