"""Rewrites are few and fit the texts they are for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tpcds_bench.rewrites import MAX_REWRITES, REWRITES, Rewrite

if TYPE_CHECKING:
    from tpcds_bench.data import Dataset


@pytest.mark.tpcds
def test_every_rewrite_changes_its_query(data: Dataset) -> None:
    assert sorted(data.queries) == list(range(1, 100))
    for number, rewrite in REWRITES.items():
        assert rewrite.apply(data.queries[number]) != data.queries[number]


def test_there_are_no_more_than_allowed_and_each_has_a_reason() -> None:
    assert len(REWRITES) <= MAX_REWRITES
    assert all(rewrite.reason for rewrite in REWRITES.values())


def test_a_rewrite_that_does_not_fit_is_an_error() -> None:
    rewrite = Rewrite(query=1, reason="test", pattern=r"avg\((\w+)\)", replacement=r"mean(\1)")
    assert rewrite.apply("SELECT avg(a), avg(b)") == "SELECT mean(a), mean(b)"
    with pytest.raises(ValueError, match="query 1 does not match"):
        rewrite.apply("SELECT sum(a)")
