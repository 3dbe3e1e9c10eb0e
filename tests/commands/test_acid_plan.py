"""Tests of the words of EXPLAIN's section about ACID tables."""

from __future__ import annotations

import doctest

from acidsql.commands import acid_plan


def test_examples() -> None:
    assert doctest.testmod(acid_plan).failed == 0
