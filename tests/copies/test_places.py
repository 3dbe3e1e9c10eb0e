"""Tests of the places of tables of other formats."""

from __future__ import annotations

import pytest

from acidsql.copies.places import (
    EXPORT_FORMATS,
    FILE_FORMATS,
    TABLE_FORMATS,
    ForeignTable,
    parse_place,
)
from acidsql.errors import AcidAnalysisError

_ALL = (*FILE_FORMATS, *TABLE_FORMATS)


@pytest.mark.parametrize(
    ("text", "format_name", "name"),
    [
        ("parquet:/in/t", "parquet", "/in/t"),
        ("Delta:s3a://bucket/t", "delta", "s3a://bucket/t"),
        ("iceberg:cat.db.t", "iceberg", "cat.db.t"),
        ("csv:in", "csv", "in"),
        ("db.t", "table", "db.t"),
    ],
)
def test_places(text: str, format_name: str, name: str) -> None:
    assert parse_place(text, _ALL, tables=True) == ForeignTable(format=format_name, name=name)


@pytest.mark.parametrize("text", ["", "/in/t", "avro:/in/t", "parquet:", "s3a://bucket/t"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(AcidAnalysisError) as caught:
        parse_place(text, _ALL, tables=True)
    assert caught.value.condition == "INVALID_PARAMETER_VALUE"


def test_a_target_of_an_export_is_no_name_by_itself() -> None:
    with pytest.raises(AcidAnalysisError, match="parquet:PATH"):
        parse_place("db.t", EXPORT_FORMATS, tables=False)


def test_names_of_iceberg_are_told_from_paths() -> None:
    assert not ForeignTable(format="iceberg", name="cat.db.t").is_path
    assert ForeignTable(format="iceberg", name="hdfs://h/t").is_path
