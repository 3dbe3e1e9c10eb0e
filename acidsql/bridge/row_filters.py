"""Filters that every scan of an ACID table has, built so that their generated code is short.

Spark generates a program for each statement, and Java compiles each. Columns without nulls are
marked, so that no code for NULL is generated, and numbers are looked up by a method of the JDK,
which is compiled once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt
from pyspark.sql import SparkSession

from acidsql.bridge.jvm import (
    CATALYST,
    Expression,
    JavaObject,
    jvm_class,
    long_array,
    scala_map,
    scala_object,
    session_state,
)
from acidsql.bridge.jvm_cache import cached_per_session
from acidsql.bridge.sorted_arrays import position

_EXPRESSIONS = f"{CATALYST}.expressions"
_TYPES = "org.apache.spark.sql.types"
_POSITION, _WORD, _BITS = "__position", "__word", "__bits"
Numbers = npt.NDArray[np.int64]
# Bits of each half of a number in a level of a ``DeleteBitmap``, and of a position in a word.
HALF_BITS, WORD_BITS = 32, 6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeleteBitmap:
    """Set of row ids of deleted rows, as bits of 64-bit words that are found through sorted arrays.

    A row id is packed into several parts. Each level is a sorted array of 64-bit numbers, in which
    a part is looked up: the upper 32 bits of a number are the position found in the level before
    (in the first level, the first part), the lower 32 bits are the next part. The position found in
    the last level is that of a word.

    Attributes:
        levels: int64 arrays of shape (entries of the level,), ascending.
        bits: int64 array of shape (entries of the last level,), the words.
    """

    levels: tuple[Numbers, ...]
    bits: Numbers


@cached_per_session(256)
def guard(spark: SparkSession, columns: tuple[str, ...]) -> Expression:
    """Build the condition that at least one of some columns is 0 or more; NULL counts as negative.

    No rule of Spark's optimizer simplifies the condition, pushes it down or infers anything from
    it, since SQL cannot express its terms. When it runs, the first true term ends it.

    Args:
        columns: SQL texts.
    """
    either, greater = (jvm_class(spark, f"{_EXPRESSIONS}.{n}") for n in ("Or", "GreaterThan"))
    nullable = jvm_class(spark, f"{_EXPRESSIONS}.KnownNullable")
    terms = [
        greater(_never_null(spark, nullable(_parse(spark, name))), _parse(spark, "-1"))
        for name in columns
    ]
    return reduce(either, terms)


def is_not_deleted(spark: SparkSession, bitmap: DeleteBitmap, columns: Sequence[str]) -> Expression:
    """Build the condition that a row is not in a delete bitmap.

    The arrays are handed to the generated program as values. They are not part of its text, so one
    compiled program serves all bitmaps.

    Args:
        columns: names of the parts of the row id, without nulls, one more than there are levels.
            The last part has fewer than 38 bits, the lowest six of which are the position in a
            word; the others have fewer than 32.
    """
    literal = jvm_class(spark, f"{_EXPRESSIONS}.Literal")
    array = jvm_class(spark, f"{_EXPRESSIONS}.UnsafeArrayData").fromPrimitiveArray
    of_numbers, of_words = _types(spark)
    levels = [literal(_numbers(spark, level), of_numbers) for level in bitmap.levels]
    bits = literal(array(_numbers(spark, bitmap.bits)), of_words)
    condition, places = _look_up(spark, tuple(columns))
    return _with(spark, condition, zip(places, [*levels, bits], strict=True))


def is_deleted(spark: SparkSession, bitmap: DeleteBitmap, columns: Sequence[str]) -> Expression:
    """Build the condition that a row is in a delete bitmap (``is_not_deleted``)."""
    negation = jvm_class(spark, f"{_EXPRESSIONS}.Not")
    return negation(is_not_deleted(spark, bitmap, columns))


@cached_per_session(256)
def _look_up(
    spark: SparkSession, columns: tuple[str, ...]
) -> tuple[JavaObject, Sequence[JavaObject]]:
    """Build the condition of ``is_not_deleted`` with placeholder names for the arrays, and return
    it with these names.
    """
    first, *others = columns
    last = columns[-1]
    known = {name: _never_null(spark, _parse(spark, name)) for name in columns}
    levels = [f"__level_{i}" for i in range(len(others))]
    found = known[first]
    for level, name in zip(levels, others, strict=True):
        part = f"shiftright({name}, {WORD_BITS})" if name == last else f"CAST({name} AS BIGINT)"
        number = f"shiftleft(CAST({_POSITION} AS BIGINT), {HALF_BITS}) | {part}"
        wanted = _parsed_with(spark, number, {_POSITION: found, name: known[name]})
        found = position(spark, _parse(spark, level), wanted)
    item = jvm_class(spark, f"{_EXPRESSIONS}.GetArrayItem")
    word = item(_parse(spark, _BITS), found, False)
    text = f"NOT (shiftright({_WORD}, CAST({last} & {(1 << WORD_BITS) - 1}L AS INT)) & 1L <=> 1L)"
    condition = _parsed_with(spark, text, {_WORD: word, last: known[last]})
    return condition, [_parse(spark, name) for name in (*levels, _BITS)]


@cached_per_session(256)
def _types(spark: SparkSession) -> tuple[JavaObject, JavaObject]:
    """Return the Spark types of a Java ``long[]`` and of an array of BIGINT without nulls."""
    java_class = jvm_class(spark, "java.lang.Class").forName("[J")
    number = scala_object(spark, f"{_TYPES}.LongType")
    return (
        jvm_class(spark, f"{_TYPES}.ObjectType")(java_class),
        jvm_class(spark, f"{_TYPES}.ArrayType")(number, False),
    )


def _numbers(spark: SparkSession, numbers: Numbers) -> JavaObject:
    return long_array(spark, numbers.astype(">i8").tobytes())


def _parsed_with(spark: SparkSession, text: str, values: Mapping[str, JavaObject]) -> Expression:
    """Parse an expression and replace some of its names by expressions."""
    pairs = [(_parse(spark, name), value) for name, value in values.items()]
    return _with(spark, _parse(spark, text), pairs)


def _with(
    spark: SparkSession, expression: Expression, pairs: Iterable[tuple[JavaObject, JavaObject]]
) -> JavaObject:
    """Replace nodes of an expression.

    Args:
        pairs: each a node and its replacement.
    """
    return expression.transformUp(scala_map(spark, list(pairs)))


def _never_null(spark: SparkSession, value: Expression) -> Expression:
    return jvm_class(spark, f"{_EXPRESSIONS}.KnownNotNull")(value)


def _parse(spark: SparkSession, text: str) -> Expression:
    return session_state(spark).sqlParser().parseExpression(text)
