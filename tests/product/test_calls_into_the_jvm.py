"""Tests that statements on wide tables need no more calls from Python into the JVM."""

from __future__ import annotations

import pytest

from tests.product.conftest import Lab
from tpcds_bench.jvm_calls import calls_into_the_jvm

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM {t} WHERE id = 1",
        "SELECT a.id FROM {t} AS a JOIN {t} AS b ON a.id = b.id",
        "UPDATE {t} SET c1 = 'x' WHERE id = 1",
        "DELETE FROM {t} WHERE id = 2",
    ],
)
def test_calls_do_not_grow_with_the_columns(lab: Lab, text: str) -> None:
    counts = []
    for width in (2, 60):
        names = [f"c{i}" for i in range(width)]
        table = lab.create(", ".join(["id INT", *(f"{name} STRING" for name in names)]))
        lab.insert(table, ", ".join(str((i, *names)) for i in range(3)))
        own = text.format(t=table)
        lab.frame(own)
        with calls_into_the_jvm() as count:
            lab.frame(own)
        counts.append(count())
    assert counts[1] <= counts[0] + 10
