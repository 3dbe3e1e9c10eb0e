"""Comparison of a table as Hive reads it, in every way, and as acidsql does."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from pyspark.sql import SparkSession
from pyspark.sql.types import DataType

import acidsql
from tests.hive.hive import Hive
from tests.hive_tables import HiveTable, adopt, hive_table
from tests.hive_values import Identified, Row, in_order, row_of_hive, rows, rows_with_ids

_Found = TypeVar("_Found")
# The settings of a way of reading.
Mode = tuple[str, ...]
# Vectorised or row by row, as a task of the engine or fetched by the driver: four readers.
_VECTORIZED, _CONVERSION = "hive.vectorized.execution.enabled", "hive.fetch.task.conversion"
MODES: tuple[Mode, ...] = tuple(
    (f"SET {_VECTORIZED}={vectorized}", f"SET {_CONVERSION}={conversion}")
    for vectorized, conversion in itertools.product(("false", "true"), ("more", "none"))
)
# The two that differ most: rows in the driver, and batches in a task.
OPPOSITE_MODES = (MODES[0], MODES[-1])


def described(hive: Hive, name: str, file_format: str = "ORC") -> HiveTable:
    """Describe a table of Hive's default database, with the snapshot of this moment."""
    lists = {
        "valid_write_ids": hive.call("valid_write_ids", f"default.{name}"),
        "valid_txns": hive.call("valid_txns"),
    }
    return hive_table(name, {**hive.call("table", "default", name), **lists}, file_format)


def rows_of_hive(
    hive: Hive, name: str, types: list[DataType], modes: Sequence[Mode] = MODES
) -> list[Identified]:
    """Return the rows with their row ids; all given ways of reading must agree."""

    def identified(answer: list[Row]) -> list[Identified]:
        return in_order(
            ((int(row[0][0]), int(row[0][1]), int(row[0][2])), row_of_hive(row[1:], types))
            for row in answer
        )

    return _in_modes(hive, f"SELECT row__id, * FROM {name}", identified, modes)


def plain_rows_of_hive(
    hive: Hive, name: str, types: list[DataType], modes: Sequence[Mode] = MODES
) -> list[Row]:
    """Return the rows of a table without row ids; all given ways of reading must agree."""

    def plain(answer: list[Row]) -> list[Row]:
        return sorted((row_of_hive(row, types) for row in answer), key=repr)

    return _in_modes(hive, f"SELECT * FROM {name}", plain, modes)


def _in_modes(
    hive: Hive,
    query: str,
    ordered: Callable[[list[Row]], list[_Found]],
    modes: Sequence[Mode],
) -> list[_Found]:
    answers = []
    for mode in modes:
        for setting in mode:
            hive.run(setting)
        answers.append(ordered(hive.run(query)))
    for mode, answer in zip(modes, answers, strict=True):
        other = [pair for pair in zip(answers[0], answer, strict=False) if pair[0] != pair[1]]
        assert answer == answers[0], f"Hive disagrees with itself, {mode}: {other[:1]}"
    return answers[0]


def check_copy(
    spark: SparkSession, hive: Hive, name: str, place: Path, file_format: str = "ORC"
) -> tuple[HiveTable, list[Identified]]:
    """Adopt a copy of a table's directory, and compare our rows under Hive's lists with Hive's."""
    table = described(hive, name, file_format)
    shutil.copytree(hive.warehouse / name, place / name)
    adopt(spark, table, place / name)
    frame = acidsql.table(
        spark, "t", valid_write_ids=table.valid_write_ids, valid_txns=table.valid_txns
    )
    types = table.types(spark)
    if table.insert_only:
        assert rows(frame) == plain_rows_of_hive(hive, name, types)
        return table, []
    expected = rows_of_hive(hive, name, types)
    assert rows_with_ids(frame) == expected
    return table, expected
