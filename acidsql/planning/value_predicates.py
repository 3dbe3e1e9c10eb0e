"""Predicates that a set of values meets: IN for a few values, their range for many."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.syntax.literals import has_typed_literal, typed_literal

# Name of the value in a condition.
_VALUE = "k"


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf:
    """Predicate that all values of a set meet.

    Attributes:
        text: SQL text where the name ``k`` is the value.
    """

    text: str

    def of(self, spark: SparkSession, value: bridge.Expression) -> bridge.Expression:
        """Apply the predicate to a Catalyst expression."""
        place, condition = (bridge.parse_expression(spark, t) for t in (_VALUE, self.text))
        return bridge.substitute(spark, condition, [(place, value)])


def is_plain(value: bridge.Expression) -> bool:
    """Return whether equal values of an expression are identical.

    They can differ for floating-point numbers, timestamps and CHAR or VARCHAR columns.
    """
    is_plain_type = has_typed_literal(bridge.data_type_of(value))
    return is_plain_type and not bridge.has_char_columns(value)


def one_of(values: pa.ChunkedArray, kind: str, most: int) -> OneOf:
    """Build the predicate of a set of values; it never accepts NULL.

    Args:
        values: any number of values, with repetition.
        kind: plain type of the values (``is_plain``), as SQL.
        most: above this number of distinct values the predicate is their range.
    """
    known = pc.unique(_numbered(values).drop_null())
    if len(known) == 0:
        return OneOf(text=f"{_VALUE} <> {_VALUE}")
    if len(known) <= most:
        text = (
            f"{_VALUE} IN ({', '.join(typed_literal(value, kind) for value in known.to_pylist())})"
        )
        return OneOf(text=text)
    ends = pc.min_max(known).as_py()
    low, high = (typed_literal(ends[end], kind) for end in ("min", "max"))
    return OneOf(text=f"{_VALUE} >= {low} AND {_VALUE} <= {high}")


def only_one(values: pa.ChunkedArray, kind: str) -> str:
    """Return SQL for the single value in an array, or for NULL if there is none.

    Args:
        values: at most one value.
        kind: plain type of the value (``is_plain``), as SQL.
    """
    known = _numbered(values).drop_null().to_pylist()
    return typed_literal(known[0] if known else None, kind)


def _numbered(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert dates to days since 1970, because Python's dates end before Spark's dates."""
    return values.cast(pa.int32()) if pa.types.is_date32(values.type) else values
