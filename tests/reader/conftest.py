"""Fixtures of the tests of acidsql's own reader."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.limits import set_limits
from tests.product.conftest import Lab, lab, new_lab, other

__all__ = ["lab", "new_lab", "other"]

Compare = Callable[..., list[str]]


@pytest.fixture
def own_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have rows read by acidsql's own reader."""
    set_limits(monkeypatch, own_reader=True)


@pytest.fixture
def same(monkeypatch: pytest.MonkeyPatch) -> Compare:
    """Return a function that runs a query by Spark's reader and by acidsql's own.

    It takes a session, the columns, and what follows them in the query; it asserts that the rows
    are the same, and returns them as JSON, sorted.
    """

    def compare(lab: Lab, columns: str, rest: str) -> list[str]:
        query = f"SELECT {columns} {rest}"
        found = []
        for own in (False, True):
            with monkeypatch.context() as patch:
                set_limits(patch, own_reader=own)
                frame = lab.frame(query)
                plan = plan_of(frame)
                assert "<empty>" in plan or ("BatchScan" in plan) is own, query
                whole = "to_json(struct(*), map('ignoreNullFields', 'false')) AS row"
                rows = [json.loads(row.row) for row in frame.selectExpr(whole).collect()]
                # Where Spark reads row by row, it sorts the entries of maps.
                found.append(sorted(json.dumps(row, sort_keys=True) for row in rows))
        old, new = found
        assert new == old, query
        return new

    return compare


def plan_of(frame: object) -> str:
    """Return the physical plan of a DataFrame as text."""
    return str(frame._jdf.queryExecution().sparkPlan().toString())  # type: ignore[attr-defined]
