"""Seeds of tests with random inputs."""

from __future__ import annotations

import os
from typing import Any

import pytest


def seeds(few: int, many: int) -> list[Any]:
    """Return the seeds of a test as its parameters.

    They are 0 to ``few - 1``, and those below ``many`` with the mark ``random``. Where
    ``ACIDSQL_SEEDS`` has a range, such as 1000:2000, they are the seeds in it, all with the mark.
    """
    first, _, end = os.environ.get("ACIDSQL_SEEDS", "").partition(":")
    marked = range(int(first), int(end)) if end else range(few, many)
    unmarked = [] if end else list(range(few))
    return [*unmarked, *(pytest.param(seed, marks=pytest.mark.random) for seed in marked)]
