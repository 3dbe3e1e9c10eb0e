"""Columns as Spark's types, without Spark."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    IntegerType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from acidsql.errors import AcidAnalysisError
from acidsql.schema.spark_limits import check_written, has_dates_in_map_keys

_DATE, _INT = DateType(), IntegerType()


def _struct(kind: DataType) -> StructType:
    return StructType([StructField("f", kind)])


@pytest.mark.parametrize(
    "kind",
    [
        MapType(_DATE, _INT),
        MapType(_struct(_DATE), _INT),
        MapType(ArrayType(_DATE), _INT),
        MapType(MapType(_DATE, _INT), _INT),
        MapType(_INT, MapType(_DATE, _INT)),
        ArrayType(_struct(MapType(_DATE, _INT))),
    ],
)
def test_dates_in_map_keys_are_found(kind: DataType) -> None:
    assert has_dates_in_map_keys(kind)
    with pytest.raises(AcidAnalysisError, match="UNSUPPORTED_DATATYPE.*column 'f'"):
        check_written(_struct(kind))


@pytest.mark.parametrize(
    "kind", [_DATE, ArrayType(_DATE), MapType(StringType(), _DATE), MapType(_INT, _struct(_DATE))]
)
def test_dates_elsewhere_are_none(kind: DataType) -> None:
    assert not has_dates_in_map_keys(kind)
    check_written(_struct(kind))
