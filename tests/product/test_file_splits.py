"""Tests that a scan is divided among tasks by bytes, however many small deltas there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.limits import set_limits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

ROWS = 75_000
# 40 characters.
TEXT = "sha1(CAST(id AS STRING))"


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "properties",
    [{}, {"transactional_properties": "insert_only"}],
    ids=["full ACID", "insert-only"],
)
def test_many_small_deltas_do_not_put_large_files_into_one_task(
    lab: Lab, properties: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(monkeypatch, fair_share_bytes=1024 * 1024)
    t = lab.create("id BIGINT, v STRING", properties={"orc.compress": "none", **properties})
    for first in (0, ROWS):
        lab.sql(f"INSERT INTO {t} SELECT id, {TEXT} FROM range({first}, {first + ROWS}, 1, 1)")
    for _ in range(6):
        lab.sql(f"INSERT INTO {t} SELECT id, {TEXT} FROM range(10)")
    sizes = sorted(path.stat().st_size for path in lab.root(t).rglob("*") if path.is_file())
    small, large = sizes[-3], sizes[-2]
    assert small < 10_000
    assert large > 2_500_000
    text = f"SELECT spark_partition_id(), count(*) FROM {t} WHERE id >= 10 GROUP BY 1"
    with lab.settings(spark__sql__files__openCostInBytes=str(1024 * 1024)):
        assert sorted(rows for _, rows in lab.sql(text)) == [ROWS - 10, ROWS]
