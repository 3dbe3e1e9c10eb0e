"""Tests of rows that are far larger than a batch of the reader or a stripe of the writer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = [pytest.mark.spark, pytest.mark.slow]

_HALF = 25_000_000


def test_rows_of_fifty_megabytes_are_written_changed_and_compacted(lab: Lab) -> None:
    table = lab.create("id int, s string, b binary")
    lab.sql(
        f"INSERT INTO {table} SELECT id, repeat(CAST(id AS STRING), {_HALF}), "
        f"CAST(repeat('x', {_HALF}) AS BINARY) FROM range(1, 4)"
    )
    lab.sql(f"UPDATE {table} SET s = concat(s, 'e') WHERE id = 2")
    lab.sql(f"DELETE FROM {table} WHERE id = 3")
    expected = [(1, _HALF, _HALF, "1"), (2, _HALF + 1, _HALF, "e")]
    measured = f"SELECT id, length(s), length(b), right(s, 1) FROM {table} ORDER BY id"
    assert lab.sql(measured) == expected
    lab.sql(f"ALTER TABLE {table} COMPACT 'major'")
    assert lab.sql(measured) == expected
