"""Expressions that call static methods of Java, with arrays as values.

The generated program takes an array as a value. The array is not part of the program's text, so
one compiled program serves all arrays.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, SparkSession

from acidsql.bridge.jvm import (
    CATALYST,
    Expression,
    JavaObject,
    column,
    expression_of,
    jvm_class,
    scala_object,
    scala_seq,
)
from acidsql.bridge.spark_versions import differences

_TYPES = "org.apache.spark.sql.types"
_BETWEEN = "\0\0"
TEXTS = "[Ljava.lang.Object;"
"""Class of an array of texts."""


def static_call(
    spark: SparkSession,
    owner: JavaObject,
    method: str,
    result: JavaObject,
    arguments: Sequence[Expression],
    *,
    nullable: bool = True,
) -> Expression:
    """Build a call of a static method, NULL if an argument is NULL.

    Args:
        spark: the session.
        owner: the class.
        method: name of the method.
        result: type of the result.
        arguments: arguments of the method.
        nullable: False if no argument is ever NULL.
    """
    no_function = [scala_object(spark, "scala.None")] * differences(
        spark
    ).has_scalar_functions_in_invokes
    return scala_object(spark, f"{CATALYST}.expressions.objects.StaticInvoke").apply(
        owner,
        result,
        method,
        scala_seq(spark, list(arguments)),
        scala_object(spark, "scala.collection.immutable.Nil"),
        True,  # propagateNull
        nullable,  # returnNullable
        True,  # isDeterministic
        *no_function,
    )


def array_value(spark: SparkSession, array: JavaObject, kind: str) -> Expression:
    """Build a literal whose value is a Java array.

    Args:
        spark: the session.
        array: the array.
        kind: name of its class, such as ``[J`` for longs.
    """
    known = jvm_class(spark, "java.lang.Class").forName(kind)
    object_type = jvm_class(spark, f"{_TYPES}.ObjectType")(known)
    return jvm_class(spark, f"{CATALYST}.expressions.Literal")(array, object_type)


def texts(spark: SparkSession, values: Sequence[str]) -> JavaObject:
    """Convert strings to an array of Spark's strings (``Object[]`` of ``UTF8String``).

    Args:
        spark: the session.
        values: the strings. They must not be empty, begin or end with NUL, or contain two NULs in
            a row.
    """
    made = jvm_class(spark, "org.apache.spark.unsafe.types.UTF8String").fromString
    return made(_BETWEEN.join(values)).split(made(_BETWEEN), -1)


def position_of_text(spark: SparkSession, known: Sequence[str], wanted: Column) -> Column:
    """Build the position of a text in a sorted list of texts, an INT.

    ``Arrays.binarySearch`` computes the position. It is negative if the list lacks the text.

    Args:
        spark: the session.
        known: the list, sorted by the UTF-8 bytes. See ``texts`` for the values that it can have.
        wanted: a STRING, neither NULL nor empty.
    """
    values = array_value(spark, texts(spark, known), TEXTS)
    never_null = jvm_class(spark, f"{CATALYST}.expressions.KnownNotNull")
    arguments = [values, never_null(expression_of(spark, wanted))]
    arrays = jvm_class(spark, "java.lang.Class").forName("java.util.Arrays")
    integer = scala_object(spark, f"{_TYPES}.IntegerType")
    return column(
        spark, static_call(spark, arrays, "binarySearch", integer, arguments, nullable=False)
    )
