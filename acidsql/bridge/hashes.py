"""Hash codes by which Hive assigns rows to buckets.

Bucketing version 1 is Spark's ``HiveHash``. Version 2 is ``Murmur3`` over the bytes that Hive's
``ObjectInspectorUtils.hashCodeMurmur`` makes of a value. The Hive classes that it needs come with
ORC, so every executor has them.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    VarcharType,
)

from acidsql.bridge.java_calls import static_call
from acidsql.bridge.jvm import (
    CATALYST,
    Expression,
    JavaObject,
    column,
    expression_of,
    java_type,
    jvm_class,
    scala_seq,
)

_SEED = 104_729
_NUMBERS = f"{CATALYST}.util.NumberConverter"
_MURMUR = "org.apache.hive.common.util.Murmur3"
_DECIMAL = "org.apache.hadoop.hive.common.type.HiveDecimal"


def can_hash(data_type: DataType) -> bool:
    """Return whether acidsql can compute the hash code of a type.

    It cannot for timestamps, binary and nested types.
    """
    known = (BooleanType | ByteType | ShortType | IntegerType | LongType | DateType | FloatType) | (
        DoubleType | StringType | VarcharType | CharType | DecimalType
    )
    return isinstance(data_type, known)


def java_hash(spark: SparkSession, values: Sequence[Column]) -> Column:
    """Build the hash code of a row of values in bucketing version 1 (Hive's Java hash), an INT."""
    expressions = [expression_of(spark, value) for value in values]
    hashed = jvm_class(spark, f"{CATALYST}.expressions.HiveHash")(scala_seq(spark, expressions))
    return column(spark, hashed)


def murmur_hash(spark: SparkSession, value: Column, data_type: DataType) -> Column:
    """Build the hash code of one value in bucketing version 2, an INT; NULL has the code 0.

    Args:
        spark: the session.
        value: the value.
        data_type: declared type, including char and varchar.
    """
    if isinstance(data_type, BooleanType | ByteType):
        code = value.cast("int")
    else:
        octets = _octets(spark, value, data_type)
        code = _static(
            spark, _MURMUR, "hash32", IntegerType(), octets, F.length(octets), F.lit(_SEED)
        )
    return F.coalesce(code, F.lit(0))


def _octets(spark: SparkSession, value: Column, data_type: DataType) -> Column:
    """Build the bytes of a value that Hive's ``hashCodeMurmur`` hashes, a BINARY."""
    if isinstance(data_type, CharType):
        return F.rtrim(value).cast("binary")
    if isinstance(data_type, StringType | VarcharType):
        return value.cast("binary")
    if isinstance(data_type, DecimalType):
        return _decimal_octets(spark, value)
    if isinstance(data_type, DateType):
        return _number(spark, F.unix_date(value))
    if isinstance(data_type, FloatType):
        # Hive converts the bits from an integer to a float, and hashes the bits of this float.
        bits = _static(spark, "java.lang.Float", "floatToIntBits", IntegerType(), value)
        again = _static(
            spark, "java.lang.Float", "floatToRawIntBits", IntegerType(), bits.cast("float")
        )
        return _number(spark, again)
    if isinstance(data_type, DoubleType):
        bits = _static(spark, "java.lang.Double", "doubleToLongBits", LongType(), value)
        again = _static(
            spark, "java.lang.Double", "doubleToRawLongBits", LongType(), bits.cast("double")
        )
        return _number(spark, again)
    return _number(spark, value)


def _number(spark: SparkSession, value: Column) -> Column:
    """Build the bytes of an integer in big-endian order, a BINARY."""
    return _static(spark, _NUMBERS, "toBinary", BinaryType(), value)


def _decimal_octets(spark: SparkSession, value: Column) -> Column:
    """Build the shortest bytes of a decimal's unscaled value, without its trailing zeros."""
    big, hive = (_class(spark, name) for name in ("java.math.BigDecimal", _DECIMAL))
    object_type = jvm_class(spark, "org.apache.spark.sql.types.ObjectType")
    java = _invoke(spark, expression_of(spark, value), "toJavaBigDecimal", object_type(big))
    made = static_call(spark, hive, "create", object_type(hive), [java])
    return column(spark, _invoke(spark, made, "bigIntegerBytes", java_type(spark, BinaryType())))


def _static(
    spark: SparkSession, owner: str, method: str, result: DataType, *arguments: Column
) -> Column:
    expressions = [expression_of(spark, a) for a in arguments]
    made = static_call(spark, _class(spark, owner), method, java_type(spark, result), expressions)
    return column(spark, made)


def _class(spark: SparkSession, name: str) -> JavaObject:
    return jvm_class(spark, "java.lang.Class").forName(name)


def _invoke(spark: SparkSession, target: JavaObject, method: str, result: JavaObject) -> Expression:
    """Build a call of a Java method without arguments, NULL if its object is NULL."""
    nothing = scala_seq(spark, [])
    return jvm_class(spark, f"{CATALYST}.expressions.objects.Invoke")(
        target, method, result, nothing, nothing, True, True, True
    )
