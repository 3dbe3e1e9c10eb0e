"""Files of other writers: from before a table became transactional, and of a streaming client."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import acidsql
from tests.hive_values import rows, rows_with_ids

pytestmark = pytest.mark.spark

FIXTURES = Path(__file__).parent.parent / "fixtures"
_BUCKET = 536_870_912  # bucket property of writer 0, statement 0
_NEXT_BUCKET = 65_536
# The ids of each bucket, in the order of its files; row 2 of bucket 0, id 3, is deleted.
_ORIGINALS: tuple[list[int | None], ...] = (
    [0, 1, None, 4],
    [5, 6, 7, 8],
    [9, 10, 11, 12, 13, 14, 15, 16],
)


def _create(spark: SparkSession, fixture: str, columns: str, place: Path) -> None:
    shutil.copytree(FIXTURES / fixture, place / fixture)
    acidsql.sql(
        spark,
        f"CREATE TABLE t ({columns}) STORED AS ORC LOCATION '{place / fixture}' "
        "TBLPROPERTIES ('transactional'='true')",
    )


@pytest.mark.slow
def test_original_files_are_numbered_per_bucket(empty: SparkSession, tmp_path: Path) -> None:
    _create(empty, "originals", "id INT, data STRING, comment STRING", tmp_path)
    expected = [
        ((0, _BUCKET + bucket * _NEXT_BUCKET, number), str(key))
        for bucket, keys in enumerate(_ORIGINALS)
        for number, key in enumerate(keys)
        if key is not None
    ]
    found = rows_with_ids(acidsql.table(empty, "t"))
    # 000002_0_copy_1 goes on where 000002_0 ends.
    assert [(row_id, row[0]) for row_id, row in found] == expected
    assert {row[1] for _, row in found} == {f"test{key}" for _, key in expected}
    acidsql.sql(empty, "ALTER TABLE t COMPACT 'major' AND WAIT")
    assert rows_with_ids(acidsql.table(empty, "t")) == found


@pytest.mark.parametrize(
    ("valid_write_ids", "valid_txns", "expected"),
    [
        ("default.t:0:9223372036854775807::", "0:9223372036854775807::", []),
        ("default.t:2:1:1,2:", "2:1:1,2:", []),
        ("default.t:1:9223372036854775807::", "1:9223372036854775807::", [1, 3]),
        ("default.t:2:2:2:", "2:2:2:", [1, 3]),
        ("default.t:2:9223372036854775807::1", "2:9223372036854775807::1", [5, 7]),
        ("default.t:2:9223372036854775807::", "2:9223372036854775807::", [1, 3, 5, 7]),
    ],
)
def test_a_streaming_delta_shows_the_write_ids_that_are_committed(
    empty: SparkSession,
    tmp_path: Path,
    valid_write_ids: str,
    valid_txns: str,
    expected: list[int],
) -> None:
    _create(empty, "streaming", "a STRING, b STRING", tmp_path)
    frame = acidsql.table(empty, "t", valid_write_ids=valid_write_ids, valid_txns=valid_txns)
    assert rows(frame) == [(f"a{n}", f"b{n + 1}") for n in expected]
