"""Hive's hash codes, which say the bucket of a row.

Spark has those of Hive 1 (``HiveHash``). Those of Hive 3 are computed by classes of Hive that
ORC brings along, and so are on every executor: ``Murmur3`` over the bytes that
``ObjectInspectorUtils.hashCodeMurmur`` makes of a value.
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

from acidsql.bridge.jvm import (
    CATALYST,
    Expression,
    JavaObject,
    column,
    expression_of,
    jvm_class,
    scala_seq,
)

_SEED = 104_729
_NUMBERS = f"{CATALYST}.util.NumberConverter"
_MURMUR = "org.apache.hive.common.util.Murmur3"
_DECIMAL = "org.apache.hadoop.hive.common.type.HiveDecimal"


def can_hash(data_type: DataType) -> bool:
    """Whether the hash code of a type is known; not of timestamps, bytes and nested types."""
    known = (BooleanType | ByteType | ShortType | IntegerType | LongType | DateType | FloatType) | (
        DoubleType | StringType | VarcharType | CharType | DecimalType
    )
    return isinstance(data_type, known)


def java_hash(spark: SparkSession, values: Sequence[Column]) -> Column:
    """The hash code that Hive 1 gives to a row of values, an INT (bucketing version 1)."""
    expressions = [expression_of(spark, value) for value in values]
    hashed = jvm_class(spark, f"{CATALYST}.expressions.HiveHash")(scala_seq(spark, expressions))
    return column(spark, hashed)


def murmur_hash(spark: SparkSession, value: Column, data_type: DataType) -> Column:
    """The hash code of one value in bucketing version 2, an INT; that of NULL is 0.

    Args:
        data_type: as declared, with char and varchar.
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
    """The bytes that are hashed (ObjectInspectorUtils.hashCodeMurmur)."""
    if isinstance(data_type, CharType):
        return F.rtrim(value).cast("binary")
    if isinstance(data_type, StringType | VarcharType):
        return value.cast("binary")
    if isinstance(data_type, DecimalType):
        return _decimal_octets(spark, value)
    if isinstance(data_type, DateType):
        return _number(spark, F.unix_date(value))
    if isinstance(data_type, FloatType):
        # Hive puts the bits into a float once more, as a number.
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
    """The bytes of an integer, the highest first."""
    return _static(spark, _NUMBERS, "toBinary", BinaryType(), value)


def _decimal_octets(spark: SparkSession, value: Column) -> Column:
    """The unscaled value in the fewest bytes, zeros at the end of the fraction cut off."""
    big = jvm_class(spark, "java.lang.Class").forName("java.math.BigDecimal")
    hive = jvm_class(spark, "java.lang.Class").forName(_DECIMAL)
    object_type = jvm_class(spark, "org.apache.spark.sql.types.ObjectType")
    java = _invoke(spark, expression_of(spark, value), "toJavaBigDecimal", object_type(big))
    made = _static_expression(spark, _DECIMAL, "create", object_type(hive), [java])
    binary = jvm_class(spark, "org.apache.spark.sql.types.DataType").fromJson('"binary"')
    return column(spark, _invoke(spark, made, "bigIntegerBytes", binary))


def _static(
    spark: SparkSession, owner: str, method: str, result: DataType, *arguments: Column
) -> Column:
    java_type = jvm_class(spark, "org.apache.spark.sql.types.DataType").fromJson(result.json())
    expressions = [expression_of(spark, a) for a in arguments]
    return column(spark, _static_expression(spark, owner, method, java_type, expressions))


def _static_expression(
    spark: SparkSession,
    owner: str,
    method: str,
    result: JavaObject,
    arguments: Sequence[JavaObject],
) -> Expression:
    """A call of a static Java method; NULL if an argument is."""
    classes = jvm_class(spark, "java.lang.Class")
    name = f"{CATALYST}.expressions.objects.StaticInvoke"
    # Later releases of Spark have one argument more, an option.
    arity = classes.forName(name).getConstructors()[0].getParameterCount()
    given = [
        classes.forName(owner),
        result,
        method,
        scala_seq(spark, list(arguments)),
        scala_seq(spark, []),
        True,
        True,
        True,
        *[jvm_class(spark, "scala.Option").empty()] * (arity - 8),
    ]
    return jvm_class(spark, name)(*given)


def _invoke(spark: SparkSession, target: JavaObject, method: str, result: JavaObject) -> Expression:
    """A call of a Java method without arguments; NULL if its object is."""
    nothing = scala_seq(spark, [])
    return jvm_class(spark, f"{CATALYST}.expressions.objects.Invoke")(
        target, method, result, nothing, nothing, True, True, True
    )
