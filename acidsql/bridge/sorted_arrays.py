"""Lookups in sorted Java arrays, by a method of the JDK.

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

_EXPRESSIONS = f"{CATALYST}.expressions"
_TYPES = "org.apache.spark.sql.types"
_UTF8 = "org.apache.spark.unsafe.types.UTF8String"
_BETWEEN = "\0\0"


def position(spark: SparkSession, values: JavaObject, wanted: Expression) -> Expression:
    """Build the position of a value in a sorted array (``Arrays.binarySearch``), an INT; negative
    if it is not there.

    Args:
        values: expression of a Java array.
        wanted: never NULL.
    """
    no_function = [scala_object(spark, "scala.None")] * differences(
        spark
    ).has_scalar_functions_in_invokes
    return scala_object(spark, f"{_EXPRESSIONS}.objects.StaticInvoke").apply(
        jvm_class(spark, "java.lang.Class").forName("java.util.Arrays"),
        scala_object(spark, f"{_TYPES}.IntegerType"),
        "binarySearch",
        scala_seq(spark, [values, wanted]),
        scala_object(spark, "scala.collection.immutable.Nil"),
        True,  # propagateNull; no argument is ever null
        False,  # returnNullable
        True,  # isDeterministic
        *no_function,
    )


def position_of_text(spark: SparkSession, texts: Sequence[str], wanted: Column) -> Column:
    """Build the position of a text among others, an INT; negative if it is none of them.

    Args:
        texts: sorted by their bytes in UTF-8. None is empty, and none begins or ends with NUL, or
            has two of them in a row.
        wanted: a STRING, neither NULL nor empty.
    """
    made = jvm_class(spark, _UTF8).fromString
    values = made(_BETWEEN.join(texts)).split(made(_BETWEEN), -1)
    objects = jvm_class(spark, "java.lang.Class").forName("[Ljava.lang.Object;")
    of_objects = jvm_class(spark, f"{_TYPES}.ObjectType")(objects)
    known = jvm_class(spark, f"{_EXPRESSIONS}.Literal")(values, of_objects)
    never_null = jvm_class(spark, f"{_EXPRESSIONS}.KnownNotNull")(expression_of(spark, wanted))
    return column(spark, position(spark, known, never_null))
