"""Tests of the differences between releases of Spark, and of the warning for untried releases."""

from __future__ import annotations

import warnings

import pytest
from pyspark.sql import SparkSession

from acidsql.bridge.jvm import jvm_class, session_state
from acidsql.bridge.jvm_planning import copy_node, field_names
from acidsql.bridge.spark_versions import TRIED, differences_of, warn_if_untried
from acidsql.errors import AcidAnalysisError


@pytest.mark.parametrize("version", [*TRIED, "4.1.9", "4.3.1.dev0"])
def test_tried_releases_are_not_warned_of(version: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_untried(version)


@pytest.mark.parametrize("version", ["3.4.1", "4.4.0", "5.0.0"])
def test_a_warning_names_the_releases_that_were_tried(version: str) -> None:
    with pytest.warns(UserWarning, match=rf"not tried on Spark {version}, but on 3\.5\.9, .*4\.3"):
        warn_if_untried(version)


def test_differences_begin_with_a_release() -> None:
    assert [differences_of(v).has_column_nodes for v in TRIED] == [False, True, True, True]
    orc = [differences_of(v).has_three_orc_filter_arguments for v in TRIED]
    assert orc == [False, False, False, True]


# Of parsed statements: the class of a node, and the fields that acidsql changes, by their position.
_PLANS = {
    "UPDATE t SET a = 1 WHERE a = 2": ("UpdateTable", {1: "assignments", 2: "condition"}),
    "MERGE INTO t USING s ON a = b WHEN MATCHED THEN DELETE": (
        "MergeIntoTable",
        {
            2: "mergeCondition",
            3: "matchedActions",
            4: "notMatchedActions",
            5: "notMatchedBySourceActions",
        },
    ),
    "INSERT INTO t SELECT 1": (
        "InsertIntoStatement",
        {0: "table", 4: "overwrite", 5: "ifPartitionNotExists"},
    ),
    "CREATE TABLE t AS SELECT 1": ("CreateTableAsSelect", {2: "query"}),
    "SELECT * FROM t": ("Project", {0: "projectList", 1: "child"}),
}


@pytest.mark.spark
@pytest.mark.parametrize("text", _PLANS)
def test_fields_are_found_by_name(spark: SparkSession, text: str) -> None:
    plan = session_state(spark).sqlParser().parsePlan(text)
    name, fields = _PLANS[text]
    assert plan.getClass().getSimpleName() == name
    found = field_names(spark, plan)
    assert {position: found[position] for position in fields} == fields


@pytest.mark.spark
def test_a_missing_field_or_class_is_an_error_of_the_release(spark: SparkSession) -> None:
    plan = session_state(spark).sqlParser().parsePlan("SELECT 1")
    with pytest.raises(AcidAnalysisError, match=r"no Project\.nothing, which .*3\.5\.9") as caught:
        copy_node(spark, plan, {"nothing": 1})
    assert caught.value.getCondition() == "UNSUPPORTED_SPARK_VERSION"
    with pytest.raises(AcidAnalysisError) as caught:
        jvm_class(spark, "org.apache.spark.sql.NoSuchClass")
    assert caught.value.getCondition() == "UNSUPPORTED_SPARK_VERSION"
