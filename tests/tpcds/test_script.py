"""Tests of the maintenance script, run only in DuckDB: every statement changes something."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tpcds_bench.data import Column, duckdb_with
from tpcds_bench.script import (
    PARTITION_COLUMN,
    PARTITIONED,
    TABLES,
    Compact,
    partitioned_columns,
    script,
)

if TYPE_CHECKING:
    from tpcds_bench.data import Dataset


@pytest.mark.tpcds
def test_every_statement_changes_rows_and_merge_does_all_three(data: Dataset) -> None:
    columns = {
        **{table: data.columns[table] for table in TABLES},
        PARTITIONED: partitioned_columns(data.columns["store_sales"]),
    }
    duck = duckdb_with(data, TABLES)
    names = ", ".join(column.name for column in columns[PARTITIONED])
    duck.execute(f"CREATE TABLE {PARTITIONED} AS SELECT {names} FROM store_sales")
    for step in script(columns):
        for action in step.actions:
            if isinstance(action, Compact):
                continue
            if step.name == "MERGE, all branches":
                counts = Counter(duck.execute(f"{action} RETURNING merge_action").fetchall())
                assert set(counts) == {("INSERT",), ("UPDATE",), ("DELETE",)}
            else:
                ((count,),) = duck.execute(action).fetchall()
                assert count > 0, step.name


@pytest.mark.tpcds
def test_one_percent_is_about_one_percent(data: Dataset) -> None:
    columns = {
        **{table: data.columns[table] for table in TABLES},
        PARTITIONED: partitioned_columns(data.columns["store_sales"]),
    }
    duck = duckdb_with(data, TABLES)
    ((total,),) = duck.execute("SELECT count(*) FROM store_sales").fetchall()
    for step in script(columns):
        if step.name.startswith(("UPDATE 1 %", "DELETE 1 %")):
            ((count,),) = duck.execute(step.actions[0]).fetchall()
            assert 0.008 < count / total < 0.012


def test_the_partition_column_comes_last() -> None:
    columns = [Column(name=name, type="BIGINT") for name in ("a", PARTITION_COLUMN, "b")]
    assert [c.name for c in partitioned_columns(columns)] == ["a", "b", PARTITION_COLUMN]
