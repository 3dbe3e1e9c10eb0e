"""Tests of writer settings that suit a table or do not, without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from acidsql.enabled.writer_settings import (
    WriterSettings,
    check_insert,
    check_save,
    is_transactional,
    new_table,
    table_properties,
)
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.model import Column, FileFormat, Table

BUCKETED = Table(
    database="d",
    name="t",
    columns=(Column(name="id", type="int"), Column(name="v", type="string")),
    partition_columns=(Column(name="P", type="int"), Column(name="q", type="string")),
    bucket_columns=("id",),
    num_buckets=4,
    location="file:/t",
)
PARQUET = Table(
    database="d",
    name="only",
    columns=(Column(name="id", type="int"),),
    location="file:/only",
    file_format=FileFormat.PARQUET,
    properties={"transactional_properties": "insert_only"},
)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (BUCKETED, {}),
        (BUCKETED, {"format": "ORC"}),
        (BUCKETED, {"format": "hive"}),
        (BUCKETED, {"partitioned_by": ("p", "Q")}),
        (BUCKETED, {"bucketed_by": ("ID",), "buckets": 4}),
        (BUCKETED, {"options": {"PartitionOverwriteMode": "dynamic"}}),
        (BUCKETED, {"options": {"transactional": "TRUE"}}),
        (BUCKETED, {"options": {"MergeSchema": "TRUE"}}),
        (PARQUET, {"format": "parquet"}),
    ],
)
def test_what_agrees_with_the_table_is_taken(table: Table, told: dict[str, Any]) -> None:
    check_save(WriterSettings(**told), table)


@pytest.mark.parametrize(
    ("table", "told", "feature"),
    [
        (BUCKETED, {"format": "parquet"}, "WRITE_FORMAT"),
        (PARQUET, {"format": "orc"}, "WRITE_FORMAT"),
        (BUCKETED, {"partitioned_by": ("p",)}, "PARTITION_BY"),
        (BUCKETED, {"partitioned_by": ("q", "p")}, "PARTITION_BY"),
        (PARQUET, {"partitioned_by": ("id",)}, "PARTITION_BY"),
        (BUCKETED, {"bucketed_by": ("id",), "buckets": 8}, "BUCKET_BY"),
        (BUCKETED, {"bucketed_by": ("v",), "buckets": 4}, "BUCKET_BY"),
        (BUCKETED, {"sorted_by": ("id",)}, "SORT_BY"),
        (BUCKETED, {"clustered_by": ("id",)}, "CLUSTER_BY"),
        (BUCKETED, {"options": {"mergeSchema": "maybe"}}, "WRITE_OPTION"),
        (BUCKETED, {"options": {"transactional": "false"}}, "WRITE_OPTION"),
    ],
)
def test_what_contradicts_the_table_is_refused(
    table: Table, told: dict[str, Any], feature: str
) -> None:
    with pytest.raises(AcidAnalysisError) as caught:
        check_save(WriterSettings(**told), table)
    assert caught.value.getCondition() == f"UNSUPPORTED_FEATURE.{feature}"
    assert table.full_name in str(caught.value)


def test_insert_into_takes_no_layout_even_if_it_agrees() -> None:
    check_insert(WriterSettings(format="orc"), BUCKETED)
    refused: dict[str, dict[str, Any]] = {
        "PARTITION_BY": {"partitioned_by": ("P", "q")},
        "BUCKET_BY": {"bucketed_by": ("id",), "buckets": 4},
        "WRITE_OPTION": {"options": {"compression": "zstd"}},
    }
    for feature, told in refused.items():
        with pytest.raises(AcidAnalysisError) as caught:
            check_insert(WriterSettings(**told), BUCKETED)
        assert caught.value.getCondition() == f"UNSUPPORTED_FEATURE.{feature}"


def test_insert_into_replaces_no_table() -> None:
    given: dict[str, Any] = {"mode": "overwrite", "options": {"overwriteSchema": "true"}}
    with pytest.raises(AcidAnalysisError) as caught:
        check_insert(WriterSettings(**given), BUCKETED)
    assert caught.value.getCondition() == "UNSUPPORTED_FEATURE.WRITE_OPTION"
    check_insert(WriterSettings(mode="overwrite", options={"overwriteSchema": "false"}), BUCKETED)


def test_options_of_an_overwrite_that_contradict_each_other_are_refused() -> None:
    both = {"replaceWhere": "id = 1", "partitionOverwriteMode": "dynamic"}
    for check in (check_insert, check_save):
        with pytest.raises(AcidAnalysisError) as caught:
            check(WriterSettings(mode="overwrite", options=both), BUCKETED)
        assert caught.value.getCondition() == "UNSUPPORTED_FEATURE.WRITE_OPTION"
        for key, value in both.items():
            check(WriterSettings(mode="overwrite", options={key: value}), BUCKETED)
    with pytest.raises(AcidAnalysisError) as caught:
        check_save(WriterSettings(mode="append", options={"replaceWhere": "id = 1"}), BUCKETED)
    assert "option replaceWhere" in str(caught.value)


def test_options_become_properties_of_a_new_table() -> None:
    settings = WriterSettings(
        partitioned_by=("p",),
        bucketed_by=("id",),
        buckets=2,
        options={
            "Transactional": "true",
            "Compression": "zstd",
            "path": "/x",
            "partitionOverwriteMode": "static",
            "my.key": "v",
        },
    )
    made = new_table(("d", "t"), settings)
    assert made.properties == {"transactional": "true", "orc.compress": "zstd", "my.key": "v"}
    assert (made.stored_as, made.location, made.partitioned_by) == ("ORC", "/x", ("p",))
    assert made.clustered_by is not None
    assert (made.clustered_by.columns, made.clustered_by.buckets) == (("id",), 2)
    assert new_table(("t",), WriterSettings(format="parquet")).stored_as == "parquet"
    for told in (WriterSettings(sorted_by=("id",)), WriterSettings(clustered_by=("id",))):
        with pytest.raises(AcidAnalysisError):
            new_table(("t",), told)


def test_transactional_is_a_property_in_any_case() -> None:
    assert is_transactional({"TRANSACTIONAL": "True"})
    assert not is_transactional({"transactional": "false"})
    assert not is_transactional({"transactional_properties": "insert_only"})
    assert table_properties({"TRANSACTIONAL": "true"}) == {"transactional": "true"}
