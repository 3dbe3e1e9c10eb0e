"""Tests of the number of calls from Python into the JVM, and of what Spark analyses again."""

from __future__ import annotations

import pytest

from acidsql import bridge
from tests.product.conftest import Lab
from tpcds_bench.jvm_calls import calls_into_the_jvm

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM {t} WHERE id = 1",
        "SELECT a.id FROM {t} AS a JOIN {t} AS b ON a.id = b.id",
        "UPDATE {t} SET c1 = 'x' WHERE id = 1",
        "DELETE FROM {t} WHERE id = 2",
    ],
)
def test_calls_do_not_grow_with_the_columns(lab: Lab, text: str) -> None:
    counts = []
    for width in (2, 60):
        names = [f"c{i}" for i in range(width)]
        table = lab.create(", ".join(["id INT", *(f"{name} STRING" for name in names)]))
        lab.insert(table, ", ".join(str((i, *names)) for i in range(3)))
        own = text.format(t=table)
        lab.frame(own)
        with calls_into_the_jvm() as count:
            lab.frame(own)
        counts.append(count())
    assert counts[1] <= counts[0] + 10


def test_each_further_table_needs_few_calls(lab: Lab) -> None:
    tables = [lab.create("id INT, v STRING") for _ in range(5)]
    for table in tables:
        lab.insert(table, "(1, 'a')")
    counts = []
    for number in (1, 5):
        own = f"SELECT 1 FROM {tables[0]} " + " ".join(
            f"JOIN {table} USING (id)" for table in tables[1:number]
        )
        lab.frame(own)
        with calls_into_the_jvm() as count:
            lab.frame(own)
        counts.append(count())
    assert counts[1] - counts[0] <= 4 * 13


def test_the_analyser_does_not_analyse_the_tables_of_a_query_again(lab: Lab) -> None:
    rows = bridge.UnresolvedPlan.of(lab.frame(f"SELECT * FROM {lab.create('id INT, v STRING')}"))
    hidden = bridge.hide_columns(rows, 1, ("t",))
    assert hidden.analyzed()
    assert str(hidden.schema().simpleString()) == "struct<id:int>"
