"""The filters of every scan, which become few instructions.

Spark makes a program of them for each statement, and Java compiles it anew. Columns without nulls
are marked as such, which leaves out all that would be done for nulls, and numbers are looked up by
a method of Java's own, which is compiled once.
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
    scala_seq,
    session_state,
)
from acidsql.bridge.jvm_cache import cached_per_session
from acidsql.bridge.spark_versions import differences

_EXPRESSIONS = f"{CATALYST}.expressions"
_TYPES = "org.apache.spark.sql.types"
_POSITION, _WORD, _BITS = "__position", "__word", "__bits"
Numbers = npt.NDArray[np.int64]
# Of a half of a number in a level of words, and of the numbers that are bits of one word.
HALF_BITS, WORD_BITS = 32, 6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeleteBitmap:
    """Numbers of several parts, of which 64 neighbours are the bits of one word.

    A word is found level by level. A number in a level has two halves of 32 bits: the upper one is
    a position in the level above, in the first level the first part; the lower one is the next
    part. A position in the last level is that of a word.

    Attributes:
        levels: numbers, ascending.
        bits: the words.
    """

    levels: tuple[Numbers, ...]
    bits: Numbers


@cached_per_session(256)
def guard(spark: SparkSession, columns: tuple[str, ...]) -> Expression:
    """A condition that one of some columns is not negative, of which a null is none.

    No rule of Spark's optimizer simplifies it, pushes it down, or infers anything from it: no user
    can write its terms. When it runs, the first that is true ends it.

    Args:
        columns: SQL of them.
    """
    either, greater = (jvm_class(spark, f"{_EXPRESSIONS}.{n}") for n in ("Or", "GreaterThan"))
    nullable = jvm_class(spark, f"{_EXPRESSIONS}.KnownNullable")
    terms = [
        greater(_never_null(spark, nullable(_parse(spark, name))), _parse(spark, "-1"))
        for name in columns
    ]
    return reduce(either, terms)


def is_not_deleted(spark: SparkSession, bitmap: DeleteBitmap, columns: Sequence[str]) -> Expression:
    """The condition that the bit of a row's number is not set, or is in none of the words.

    The words are values that are handed to Spark's program, not a part of its text: it serves all
    of them.

    Args:
        columns: the parts of the number, one more than there are levels, without nulls. The last
            one has less than 38 bits, of which six tell the place in a word; the others less than
            32.
    """
    literal = jvm_class(spark, f"{_EXPRESSIONS}.Literal")
    array = jvm_class(spark, f"{_EXPRESSIONS}.UnsafeArrayData").fromPrimitiveArray
    of_numbers, of_words = _types(spark)
    levels = [literal(_numbers(spark, level), of_numbers) for level in bitmap.levels]
    bits = literal(array(_numbers(spark, bitmap.bits)), of_words)
    condition, places = _look_up(spark, tuple(columns))
    return _with(spark, condition, zip(places, [*levels, bits], strict=True))


@cached_per_session(256)
def _look_up(
    spark: SparkSession, columns: tuple[str, ...]
) -> tuple[JavaObject, Sequence[JavaObject]]:
    """The condition of ``is_not_deleted`` with names in place of the levels and the bits, and these
    names.
    """
    first, *others = columns
    last = columns[-1]
    known = {name: _never_null(spark, _parse(spark, name)) for name in columns}
    levels = [f"__level_{i}" for i in range(len(others))]
    position = known[first]
    for level, name in zip(levels, others, strict=True):
        part = f"shiftright({name}, {WORD_BITS})" if name == last else f"CAST({name} AS BIGINT)"
        number = f"shiftleft(CAST({_POSITION} AS BIGINT), {HALF_BITS}) | {part}"
        wanted = _parsed_with(spark, number, {_POSITION: position, name: known[name]})
        position = _position(spark, _parse(spark, level), wanted)
    item = jvm_class(spark, f"{_EXPRESSIONS}.GetArrayItem")
    word = item(_parse(spark, _BITS), position, False)
    text = f"NOT (shiftright({_WORD}, CAST({last} & {(1 << WORD_BITS) - 1}L AS INT)) & 1L <=> 1L)"
    condition = _parsed_with(spark, text, {_WORD: word, last: known[last]})
    return condition, [_parse(spark, name) for name in (*levels, _BITS)]


def _position(spark: SparkSession, numbers: JavaObject, wanted: Expression) -> Expression:
    """Where a number stands among sorted ones; negative if it does not."""
    no_function = [scala_object(spark, "scala.None")] * differences(
        spark
    ).has_scalar_functions_in_invokes
    return scala_object(spark, f"{_EXPRESSIONS}.objects.StaticInvoke").apply(
        jvm_class(spark, "java.lang.Class").forName("java.util.Arrays"),
        scala_object(spark, f"{_TYPES}.IntegerType"),
        "binarySearch",
        scala_seq(spark, [numbers, wanted]),
        scala_object(spark, "scala.collection.immutable.Nil"),
        True,  # null of null, which there is not
        False,  # never null
        True,  # always the same
        *no_function,
    )


@cached_per_session(256)
def _types(spark: SparkSession) -> tuple[JavaObject, JavaObject]:
    """Those of Java's arrays of numbers, and of Spark's without nulls."""
    java_class = jvm_class(spark, "java.lang.Class").forName("[J")
    number = scala_object(spark, f"{_TYPES}.LongType")
    return (
        jvm_class(spark, f"{_TYPES}.ObjectType")(java_class),
        jvm_class(spark, f"{_TYPES}.ArrayType")(number, False),
    )


def _numbers(spark: SparkSession, numbers: Numbers) -> JavaObject:
    return long_array(spark, numbers.astype(">i8").tobytes())


def _parsed_with(spark: SparkSession, text: str, values: Mapping[str, JavaObject]) -> Expression:
    """The expression of a text with others in place of some of its names."""
    pairs = [(_parse(spark, name), value) for name, value in values.items()]
    return _with(spark, _parse(spark, text), pairs)


def _with(
    spark: SparkSession, expression: Expression, pairs: Iterable[tuple[JavaObject, JavaObject]]
) -> JavaObject:
    """An expression with others in place of some of its nodes, each with what takes its place."""
    return expression.transformUp(scala_map(spark, list(pairs)))


def _never_null(spark: SparkSession, value: Expression) -> Expression:
    return jvm_class(spark, f"{_EXPRESSIONS}.KnownNotNull")(value)


def _parse(spark: SparkSession, text: str) -> Expression:
    return session_state(spark).sqlParser().parseExpression(text)
