"""Expressions that call static methods of Java, with arrays as values.

An array is handed to the generated program as a value. It is not part of its text, so one compiled
program serves all arrays.
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
        owner: the class.
        method: its name.
        result: type of the result.
        arguments: of the method.
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
    """Build the expression of a Java array.

    Args:
        array: the array.
        kind: name of its class, such as ``[J`` for longs.
    """
    known = jvm_class(spark, "java.lang.Class").forName(kind)
    object_type = jvm_class(spark, f"{_TYPES}.ObjectType")(known)
    return jvm_class(spark, f"{CATALYST}.expressions.Literal")(array, object_type)


def texts(spark: SparkSession, values: Sequence[str]) -> JavaObject:
    """Return texts as an array of Spark's texts (``Object[]`` of ``UTF8String``).

    Args:
        values: none is empty, and none begins or ends with NUL, or has two of them in a row.
    """
    made = jvm_class(spark, "org.apache.spark.unsafe.types.UTF8String").fromString
    return made(_BETWEEN.join(values)).split(made(_BETWEEN), -1)


def position_of_text(spark: SparkSession, known: Sequence[str], wanted: Column) -> Column:
    """Build the position of a text among others (``Arrays.binarySearch``), an INT; negative if it
    is none of them.

    Args:
        known: sorted by their bytes in UTF-8; see ``texts``.
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
