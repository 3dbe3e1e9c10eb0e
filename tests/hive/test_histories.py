"""acidsql and Hive take turns at tables with random histories, and agree after each step."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.hive.histories import history
from tests.hive.history_runner import play
from tests.hive.hive import Hive

pytestmark = [pytest.mark.hive, pytest.mark.spark]


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(12))
def test_acidsql_and_hive_agree_throughout_a_history(
    hive: Hive, shared: SparkSession, seed: int
) -> None:
    play(shared, hive, history(seed))
