"""Places of rows on a Hilbert curve, by ``curve/HilbertCurve.java``."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType

from acidsql.bridge.executor_classes import maker
from acidsql.bridge.java_calls import TEXTS, array_value, static_call, texts
from acidsql.bridge.jvm import Expression, JavaObject, column, expression_of, java_type
from acidsql.format.zorder import MOST_COLUMNS


def range_id(
    spark: SparkSession,
    bounds: Sequence[int] | Sequence[float] | Sequence[str],
    ids: Sequence[int],
    key: Column,
) -> Column:
    """Build the id of the range that contains a key, an INT. NULL is in the first range.

    Args:
        spark: the session.
        bounds: lowest key of each range except the first, in order; not empty.
        ids: id of each range.
        key: a BIGINT, DOUBLE or STRING column of the same type as the bounds.
    """
    curve = _curve(spark)
    if isinstance(bounds[0], str):
        values = array_value(spark, texts(spark, list(map(str, bounds))), TEXTS)
    elif isinstance(bounds[0], float):
        values = array_value(spark, curve.doubles(_listed(bounds)), "[D")
    else:
        values = array_value(spark, curve.longs(_listed(bounds)), "[J")
    arguments = [values, _ints(spark, ids), expression_of(spark, key)]
    call = static_call(spark, curve.methods(), "id", java_type(spark, IntegerType()), arguments)
    return F.coalesce(column(spark, call), F.lit(ids[0]))


def hilbert_place(
    spark: SparkSession, ids: Sequence[Column], bits: int, table: Sequence[int]
) -> Column:
    """Build the place of a row on a Hilbert curve, a BIGINT.

    Args:
        spark: the session.
        ids: range ids of two to five columns, INT and never NULL.
        bits: number of bits of an id.
        table: steps of the curve (``format.zorder.hilbert_table``).
    """
    # The Java method has one parameter for each of at most MOST_COLUMNS columns.
    numbers = [F.lit(len(ids)), F.lit(bits), *ids, *[F.lit(0)] * (MOST_COLUMNS - len(ids))]
    arguments = [_ints(spark, table), *(expression_of(spark, number) for number in numbers)]
    methods, kind = _curve(spark).methods(), java_type(spark, LongType())
    return column(spark, static_call(spark, methods, "place", kind, arguments, nullable=False))


def _curve(spark: SparkSession) -> JavaObject:
    return maker(spark, "curve", "HilbertCurve")


def _ints(spark: SparkSession, numbers: Sequence[int]) -> Expression:
    return array_value(spark, _curve(spark).ints(_listed(numbers)), "[I")


def _listed(numbers: Sequence[object]) -> str:
    return ",".join(map(str, numbers))
