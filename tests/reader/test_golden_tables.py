"""Tests that acidsql's own reader reads the golden tables as Hive did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.golden import test_golden_reads
from tests.golden.golden import DELETING, GOLDEN, parameters

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.hive_tables import HiveTable

pytestmark = [
    pytest.mark.spark,
    pytest.mark.repeated,
    pytest.mark.usefixtures("own_reader"),
]


@pytest.mark.sample(4)
@pytest.mark.parametrize("golden", parameters(GOLDEN))
def test_what_hive_wrote_reads_as_in_hive(
    empty: SparkSession, tmp_path: Path, golden: HiveTable
) -> None:
    test_golden_reads.test_what_hive_wrote_reads_as_in_hive(empty, tmp_path, golden)


@pytest.mark.sample(1)
@pytest.mark.parametrize("golden", parameters(DELETING))
def test_the_deleted_rows_are_all_others_in_the_files(
    empty: SparkSession, tmp_path: Path, golden: HiveTable
) -> None:
    test_golden_reads.test_the_deleted_rows_are_all_others_in_the_files(empty, tmp_path, golden)
