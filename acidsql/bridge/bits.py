"""Bits in arrays of arrays, looked up by an expression."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence

import numpy as np
from pyspark.sql import SparkSession

from acidsql.bridge.jvm import (
    CATALYST,
    JavaObject,
    jvm_class,
    long_array,
    scala_map,
    session_state,
)

_EXPRESSIONS = f"{CATALYST}.expressions"
Words = Mapping[tuple[int, ...], bytes]


def bit_of(
    spark: SparkSession,
    words: Words,
    indexes: Sequence[str],
    bit: str,
    numbers: Mapping[str, int],
) -> JavaObject:
    """An expression of the bit that a row has in some words; NULL where its words are not there.

    The words, and the numbers, are values that are handed to Spark's program, not a part of its
    text: it serves all of them.

    Args:
        words: 64-bit, big-endian, by the indexes of their array: arrays in each other.
        indexes: SQL of these indexes and, in the end, of that of the word in its array.
        bit: SQL of an INT, the place of the bit in the word.
        numbers: 64-bit numbers; each stands in the indexes as an array of its own, by name.
    """
    parse = session_state(spark).sqlParser().parseExpression
    kind = jvm_class(spark, "org.apache.spark.sql.types.DataType").fromDDL
    literal = jvm_class(spark, f"{_EXPRESSIONS}.Literal")
    arrays = jvm_class(spark, f"{_EXPRESSIONS}.UnsafeArrayData")
    depth = len(indexes) - 1
    nested = kind(f"{'array<' * len(indexes)}bigint{'>' * len(indexes)}")
    found = literal(_nested(spark, words, nested, depth), nested)
    places = []
    for name, number in numbers.items():
        made = arrays.fromPrimitiveArray(long_array(spark, struct.pack(">q", number)))
        places.append((parse(name), literal(made, kind("array<bigint>"))))
    given = scala_map(spark, places)
    item = jvm_class(spark, f"{_EXPRESSIONS}.GetArrayItem")
    for index in indexes:
        found = item(found, parse(index).transform(given), False)
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
        numbers = np.frombuffer(words[()], ">i8").astype(np.int64)
        return _beginning(len(numbers), range(len(numbers))) + numbers.tobytes()
    inner: dict[int, dict[tuple[int, ...], bytes]] = defaultdict(dict)
    for (first, *others), own in words.items():
        inner[first][tuple(others)] = own
    size = max(inner, default=-1) + 1
    beginning = _beginning(size, inner)
    items, arrays = np.zeros(size, np.int64), []
    end = len(beginning) + items.nbytes
    for index, nested in inner.items():
        arrays.append(_packed(nested))
        items[index] = end << 32 | len(arrays[-1])
        end += len(arrays[-1])
    return b"".join([beginning, items.tobytes(), *arrays])


def _beginning(size: int, known: Container[int]) -> bytes:
    """The beginning of an array: its size, and a bit for each item that is null, in words."""
    bits = np.zeros(-(-size // 64) * 64, np.bool_)
    bits[:size] = [index not in known for index in range(size)]
    words = np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64)
    return struct.pack("=q", size) + words.tobytes()
