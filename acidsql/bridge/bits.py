"""Bits in arrays of arrays, looked up by an expression."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from pyspark.sql import SparkSession

from acidsql.bridge.jvm import (
    CATALYST,
    JavaObject,
    jvm_class,
    session_state,
)

_EXPRESSIONS = f"{CATALYST}.expressions"
Words = Mapping[tuple[int, ...], bytes]


def bit_of(
    spark: SparkSession,
    words: Words,
    indexes: Sequence[str],
    bit: str,
) -> JavaObject:
    """An expression of the bit that a row has in some words; NULL where its words are not there.

    The words are values that are handed to Spark's program, not a part of its text: it serves all
    of them.

    Args:
        words: 64-bit, in the byte order of the machine, by the indexes of their array: arrays in
            each other.
        indexes: SQL of these indexes and, in the end, of that of the word in its array.
        bit: SQL of an INT, the place of the bit in the word.
    """
    parse = session_state(spark).sqlParser().parseExpression
    kind = jvm_class(spark, "org.apache.spark.sql.types.DataType").fromDDL
    literal = jvm_class(spark, f"{_EXPRESSIONS}.Literal")
    depth = len(indexes) - 1
    nested = kind(f"{'array<' * len(indexes)}bigint{'>' * len(indexes)}")
    found = literal(_nested(spark, words, nested, depth), nested)
    item = jvm_class(spark, f"{_EXPRESSIONS}.GetArrayItem")
    for index in indexes:
        found = item(found, parse(index), False)
    return jvm_class(spark, f"{_EXPRESSIONS}.BitwiseGet")(found, parse(bit))


def _nested(spark: SparkSession, words: Words, kind: JavaObject, depth: int) -> JavaObject:
    """Arrays in each other by indexes, the innermost of words; null where there is none.

    All are handed over as the bytes that Spark keeps of arrays. What is read there is a new object
    at each look: the arrays above the words are made of objects that stay.
    """
    packed = _packed(words)
    whole = jvm_class(spark, f"{_EXPRESSIONS}.UnsafeArrayData")()
    platform = jvm_class(spark, "org.apache.spark.unsafe.Platform")
    whole.pointTo(packed, platform.BYTE_ARRAY_OFFSET, len(packed))
    return _of_objects(spark, whole, list(words), kind, depth)


def _of_objects(
    spark: SparkSession,
    array: JavaObject,
    indexes: Sequence[Sequence[int]],
    kind: JavaObject,
    depth: int,
) -> JavaObject:
    """An array with the same items, which are objects, down to a depth."""
    items = array.toObjectArray(kind.elementType())
    inner: dict[int, list[Sequence[int]]] = defaultdict(list)
    for first, *others in indexes if depth > 1 else ():
        inner[first].append(others)
    for index, own in inner.items():
        items[index] = _of_objects(spark, items[index], own, kind.elementType(), depth - 1)
    return jvm_class(spark, f"{CATALYST}.util.GenericArrayData")(items)


def _packed(words: Words) -> bytes:
    """Arrays in each other as ``UnsafeArrayData`` has them: how many items there are, which of them
    are null, and the words, or of each array where it begins and how long it is.
    """
    if () in words:
        return _beginning(np.zeros(len(words[()]) // 8, np.bool_)) + words[()]
    inner: dict[int, dict[tuple[int, ...], bytes]] = defaultdict(dict)
    for (first, *others), own in words.items():
        inner[first][tuple(others)] = own
    size = max(inner, default=-1) + 1
    is_null = np.ones(size, np.bool_)
    is_null[list(inner)] = False
    beginning = _beginning(is_null)
    items, arrays = np.zeros(size, np.int64), []
    end = len(beginning) + items.nbytes
    for index, nested in inner.items():
        arrays.append(_packed(nested))
        items[index] = end << 32 | len(arrays[-1])
        end += len(arrays[-1])
    return b"".join([beginning, items.tobytes(), *arrays])


def _beginning(is_null: npt.NDArray[np.bool_]) -> bytes:
    """The beginning of an array: its size, and a bit for each item that is null, in words."""
    size = len(is_null)
    bits = np.pad(is_null, (0, -size % 64))
    words = np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64)
    return struct.pack("=q", size) + words.tobytes()
