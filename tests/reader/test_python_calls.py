"""Threads of Spark that call Python share few connections."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_queries_do_not_add_threads(lab: Lab) -> None:
    """Check that stages and broadcasts, each in a thread of Spark's, do not add one each."""
    a = lab.create("id INT, v INT", values="(1, 1), (2, 2)")
    b = lab.create("id INT, v INT", values="(1, 1), (2, 2)")
    query = (
        f"SELECT count(*), sum(b.v) FROM {a} a JOIN {b} b ON a.id = b.id "
        f"WHERE a.v >= (SELECT avg(v) FROM {b})"
    )
    assert lab.sql(query) == [(1, 2)]
    before = threading.active_count()
    for _ in range(8):
        assert lab.sql(query) == [(1, 2)]
    assert threading.active_count() <= before + 2
