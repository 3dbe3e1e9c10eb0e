"""Tests of files that the reader cannot read: the error names the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


def bucket(lab: Lab, table: str, directory: str) -> Path:
    return lab.root(table) / directory / "bucket_00000"


@pytest.mark.parametrize(
    "directory", ["delta_0000001_0000001_0000", "delete_delta_0000002_0000002_0000"]
)
def test_a_file_that_is_gone_or_shorter_when_the_query_runs(lab: Lab, directory: str) -> None:
    t = lab.create("id int, s string", values="(1, 'a'), (2, 'b'), (3, 'c')")
    lab.sql(f"DELETE FROM {t} WHERE id = 2")
    file = bucket(lab, t, directory)
    content = file.read_bytes()
    for damaged in (content[: len(content) // 2], b"", None):
        query = lab.frame(f"SELECT * FROM {t}")
        if damaged is None:
            file.unlink()
        else:
            file.write_bytes(damaged)
        with pytest.raises(Exception, match=f"{directory}/bucket_00000"):
            query.collect()
        file.write_bytes(content)
        file.touch()
    assert lab.rows(t) == [(1, "a"), (3, "c")]


def test_a_plan_of_a_transaction_that_was_rolled_back_fails(lab: Lab) -> None:
    t = lab.create("id int", values="(1), (2)")
    lab.sql("START TRANSACTION")
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    seen = lab.frame(f"SELECT * FROM {t}")
    assert [tuple(row) for row in seen.collect()] == [(2,)]
    lab.sql("ROLLBACK")
    with pytest.raises(Exception, match="delete_delta"):
        seen.collect()
    assert lab.rows(t) == [(1,), (2,)]
