"""What the tests of writers of enabled sessions share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from tests.product.conditions import condition_of

if TYPE_CHECKING:
    from tests.product.conftest import Lab

ONLY = {"transactional_properties": "insert_only"}


def frame(lab: Lab, schema: str, *rows: tuple[Any, ...]) -> DataFrame:
    """Return rows as a DataFrame."""
    return lab.spark.createDataFrame(rows, schema)


def parts(lab: Lab) -> str:
    """Create a table of two partitions with a row each; return its name."""
    t = lab.create("v int", partitioned="p int")
    lab.insert(t, "(1, 1), (2, 2)")
    return t


def refused(write: Callable[[], Any]) -> str:
    """Run a write that must fail; return its condition."""
    with pytest.raises(PySparkException) as caught:
        write()
    return condition_of(caught.value)
