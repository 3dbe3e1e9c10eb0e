"""Hive writes, acidsql reads: rows, row ids, partition values and types; then our statements."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.hive.agreement import check_copy
from tests.hive.hive import Hive
from tests.hive.shapes import SHAPES, WriteSchema
from tests.hive_dml import write_and_compact

pytestmark = [pytest.mark.hive, pytest.mark.spark]


def _make(hive: Hive, shape: WriteSchema) -> None:
    for statement in shape.statements:
        if statement == "worker":
            hive.call("compactor", statement)
        elif statement == "cleaner":
            hive.clean(shape.name)
        else:
            names = {"t": shape.name, "warehouse": hive.warehouse}
            hive.run(statement.format_map(names))
    states = {row[5] for row in hive.run("SHOW COMPACTIONS") if row[2] == shape.name}
    assert states <= {"ready for cleaning", "succeeded"}


@pytest.mark.sample(  # tests/golden has the others as Hive wrote them
    "partitioned_by_texts_and_times",
    "nested",
    "widened_columns",
    "original_files_in_union_directories",
    "merged_by_query_compaction",
    "insert_only_parquet",
)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_what_hive_makes_reads_as_in_hive(
    hive: Hive, empty: SparkSession, tmp_path: Path, shape: WriteSchema
) -> None:
    _make(hive, shape)
    table, expected = check_copy(empty, hive, shape.name, tmp_path, shape.file_format)
    if table.all_committed and not table.insert_only:
        write_and_compact(empty, table, expected)
