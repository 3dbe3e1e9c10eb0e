"""Fixtures of the tests of the reader."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

import acidsql
from tests.product.conftest import Lab, lab, new_lab, other

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["lab", "new_lab", "other"]

Compare = Callable[..., list[str]]


@pytest.fixture
def same() -> Compare:
    """Return a function that runs a query over tables, and over all their rows and columns once
    these were read as a whole: neither predicates nor columns of the query reach the reader then.

    It takes a session, the columns, and what follows them in the query; it asserts that the rows
    are the same, and returns them as JSON, sorted.
    """

    def compare(lab: Lab, columns: str, rest: str) -> list[str]:
        found = as_json(lab.frame(f"SELECT {columns} {rest}"))
        for table in set(re.findall(r"\bt\d+\b", rest)):
            whole = acidsql.table(lab.spark, table)
            read = whole.select("*", "row__id").localCheckpoint()
            read.createOrReplaceTempView(f"whole_{table}")
            rest = re.sub(rf"\b{table}\b", f"whole_{table}", rest)
        shown = "*" if columns == "*, row__id" else columns
        expected = lab.frame(f"SELECT {shown} {rest}")
        assert as_json(expected.drop("row__id") if columns == "*" else expected) == found, rest
        return found

    return compare


def as_json(frame: DataFrame) -> list[str]:
    """Return the rows of a frame as JSON, sorted."""
    whole = "to_json(struct(*), map('ignoreNullFields', 'false')) AS row"
    rows = [json.loads(row.row) for row in frame.selectExpr(whole).collect()]
    return sorted(json.dumps(row, sort_keys=True) for row in rows)
