from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
    VarcharType,
)

from acidsql import bridge
from acidsql.scan.statistics import Usage, default_size, relative_width

ROW = StructType([StructField(f"c{i}", StringType()) for i in range(9)])
NONE = StructType([])


@pytest.mark.parametrize(
    ("data_type", "size"),
    [
        (BooleanType(), 1), (ByteType(), 1), (ShortType(), 2), (IntegerType(), 4), (LongType(), 8),
        (FloatType(), 4), (DoubleType(), 8), (DateType(), 4), (TimestampType(), 8),
        (StringType(), 20), (VarcharType(3), 20), (BinaryType(), 100), (DecimalType(18, 2), 8),
        (DecimalType(19, 2), 16), (ArrayType(LongType()), 8),
        (MapType(StringType(), IntegerType()), 24),
        (StructType([StructField("a", LongType()), StructField("b", StringType())]), 28),
    ],
)  # fmt: skip
def test_default_sizes_are_those_of_spark(data_type: DataType, size: int) -> None:
    assert default_size(data_type) == size


@pytest.mark.parametrize("columns", [frozenset({"c1"}), frozenset({"c1", "c2", "x"}), None])
def test_spark_computes_the_share_of_the_columns_used(columns: frozenset[str] | None) -> None:
    """Check Spark's rule: of a relation's size a projection keeps the share of its columns."""
    used = 20 * (9 if columns is None else len(columns - {"x"}))
    seen = 4 + 8 + 4 + 8 + 8 + used + 1
    share = relative_width(ROW, NONE, columns) * (8 + used) / (8 + seen)
    assert share == pytest.approx((8 + used) / (8 + 9 * 20))


def test_deleted_rows_do_not_count() -> None:
    usage = Usage(table=("db", "t"), rows_per_byte=0.06, kept=0.75, width=2.0)
    files = [bridge.ScanFile(path=path, size=500) for path in ("a", "b")]
    found = usage.of(files)
    assert found == bridge.RelationStatistics(table=("db", "t"), size=1500, rows=45)
    assert usage.of([]) == bridge.RelationStatistics(table=("db", "t"), size=1, rows=1)
