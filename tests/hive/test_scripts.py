"""A script of Hive gives the same tables in Hive and, with `dialect="hive"`, in acidsql."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.repl.statements import split
from acidsql.syntax.lexer import Lexis
from tests.hive.hive import Hive
from tests.hive_values import row_of_hive, rows

pytestmark = [pytest.mark.spark, pytest.mark.hive]

_SCRIPT = Path(__file__).parents[1] / "dialects" / "orders.hql"
_TABLES = {"orders": 5, "lines": 5, "totals": 3}


@pytest.mark.filterwarnings("ignore:hive.exec.dynamic.partition.mode is kept:UserWarning")
def test_a_script_makes_the_same_tables(empty: SparkSession, hive: Hive) -> None:
    for statement in split(_SCRIPT.read_text(), Lexis.HIVE):
        hive.run(statement.text)
        acidsql.sql(empty, statement.text, dialect="hive")
    for table, count in _TABLES.items():
        frame = acidsql.sql(empty, f"SELECT * FROM {table}")
        types = [field.dataType for field in frame.schema.fields]
        theirs = [row_of_hive(row, types) for row in hive.run(f"SELECT * FROM {table}")]
        assert len(theirs) == count
        assert rows(frame) == sorted(theirs, key=repr)
