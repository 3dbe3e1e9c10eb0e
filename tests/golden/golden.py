"""Golden tables: directories that Hive 4.1.0 wrote, with the rows that it read.

A folder of ``tables`` has ``create.sql`` (what Hive ran), ``data`` (the table's directory as Hive
left it), ``meta.json`` (the table as Hive's metastore described it, and the snapshot of that
moment) and ``expected.jsonl`` (Hive's rows under that snapshot; partition columns come last, an
insert-only table has no ``row__id``).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import DataType

from acidsql.format.partitions import DEFAULT_PARTITION
from tests.hive_tables import HiveTable, hive_table
from tests.hive_values import Identified, Row, in_order, row_of_hive

TABLES = Path(__file__).parent / "tables"


def _read(directory: Path) -> HiveTable:
    meta = json.loads((directory / "meta.json").read_text())
    text = "stored as textfile" in (directory / "create.sql").read_text()
    return hive_table(directory.name, meta, "TEXTFILE" if text else "ORC")


GOLDEN = tuple(map(_read, sorted(TABLES.iterdir())))
# Those with delete events.
DELETING = tuple(g for g in GOLDEN if any((TABLES / g.name).rglob("delete_delta*")))


# Hive reads NULL in a partition column of strings as the name of the default partition, and then it
# is not NULL to Hive. To Spark it is NULL, in its own tables and so in ours.
_AS_NULL = {"partition_empty_string": DEFAULT_PARTITION}


def parameters(tables: Iterable[HiveTable], quick: Container[str] | None = None) -> list[Any]:
    """Return tables as arguments of a test; those not in ``quick`` are marked ``golden``."""
    found = []
    for table in tables:
        marks = [pytest.mark.golden] if quick is not None and table.name not in quick else []
        found.append(pytest.param(table, id=table.name, marks=marks))
    return found


def expected_rows(spark: SparkSession, golden: HiveTable) -> list[Row]:
    """Return Hive's rows, sorted by their text."""
    return expected_of(golden, golden.types(spark))


def expected_of(golden: HiveTable, types: Sequence[DataType]) -> list[Row]:
    """Return Hive's rows, sorted by their text; ``types`` are those of all columns."""
    return sorted((row_of_hive(line["row"], types) for line in _expected(golden)), key=repr)


def expected_with_ids(spark: SparkSession, golden: HiveTable) -> list[Identified]:
    """Return Hive's rows with their row ids, sorted by these."""
    return expected_with_ids_of(golden, golden.types(spark))


def expected_with_ids_of(golden: HiveTable, types: Sequence[DataType]) -> list[Identified]:
    """Return Hive's rows with their row ids, sorted by these.

    ``types`` are those of all columns.
    """
    lines = _expected(golden)
    return in_order((tuple(line["row__id"]), row_of_hive(line["row"], types)) for line in lines)


def _expected(golden: HiveTable) -> list[dict[str, Any]]:
    lines = (TABLES / golden.name / "expected.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    for line in found:
        line["row"] = [None if v == _AS_NULL.get(golden.name, ()) else v for v in line["row"]]
    return found


def copy(golden: HiveTable, place: Path) -> Path:
    """Copy the table's directory to a place where a test may write; return its path."""
    shutil.copytree(TABLES / golden.name / "data", place / "t")
    return place / "t"
