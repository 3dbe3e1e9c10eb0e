"""Statements of Spark's that would damage an ACID table are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession

from tests.product.refusals import bad_tables, refused

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", autouse=True)
def tables(spark: SparkSession) -> Iterator[None]:
    """Create the tables that the statements name."""
    with bad_tables(spark):
        yield


WRITING = [
    "INSERT OVERWRITE DIRECTORY '{place}' USING orc SELECT 1 AS id",
    "INSERT OVERWRITE LOCAL DIRECTORY '{place}' USING orc SELECT 1 AS id",
    "INSERT OVERWRITE DIRECTORY USING orc OPTIONS (path '{place}') SELECT 1 AS id",
    "WITH c AS (SELECT 1 AS id) INSERT OVERWRITE DIRECTORY '{place}' USING orc SELECT * FROM c",
    "INSERT OVERWRITE orc.`{place}` SELECT 1 AS id",
    "INSERT INTO orc.`{place}` SELECT 1 AS id",
    "FROM bad_source INSERT OVERWRITE DIRECTORY '{place}' USING orc SELECT id "
    "INSERT INTO bad_plain SELECT id",
    "CREATE TABLE bad2 (id int) USING orc LOCATION '{place}'",
    "CREATE TABLE bad2 (id int) USING orc OPTIONS (path '{place}')",
    "CREATE TABLE bad2 USING orc LOCATION '{place}' AS SELECT 1 AS id",
    "CREATE TABLE bad2 LIKE bad_plain LOCATION '{place}'",
    "ALTER TABLE bad_plain SET LOCATION '{place}'",
]


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize("below", ["", "/delta_0000001_0000001_0000", "/new", "/.."])
def test_directories_of_acid_tables_are_not_written_by_others(lab: Lab, below: str) -> None:
    place = f"{lab.root('bad')}{below}"
    refused(lab, {text.format(place=place): "LOCATION_IN_USE" for text in WRITING})


@pytest.mark.slow
def test_a_partition_elsewhere_is_known_by_its_directories(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "far" / "delta_0000001_0000001_0000").mkdir(parents=True)
    for below in ("far", "far/delta_0000001_0000001_0000"):
        text = f"INSERT OVERWRITE DIRECTORY '{tmp_path}/{below}' USING orc SELECT 1 AS id"
        refused(lab, {text: "LOCATION_IN_USE"})


def test_other_directories_are_written(lab: Lab, tmp_path: Path) -> None:
    lab.sql(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/out' USING orc SELECT count(*) AS n FROM bad")
    assert lab.sql(f"SELECT * FROM orc.`{tmp_path}/out`") == [(2,)]


def test_commands_of_sparks_own_catalog_are_refused(lab: Lab) -> None:
    cases = {
        "ALTER VIEW bad RENAME TO bad2": "RENAME_TABLE",
        "ALTER VIEW bad_view RENAME TO bad2": "RENAME_TABLE",
        "CREATE TABLE bad2 LIKE bad_view": "CREATE_TABLE_LIKE",
    }
    refused(lab, {text: f"UNSUPPORTED_FEATURE.{name}" for text, name in cases.items()})
