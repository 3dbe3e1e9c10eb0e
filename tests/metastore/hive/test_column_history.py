"""Tests of the property with the columns of older versions of a table of a Hive Metastore."""

from __future__ import annotations

from dataclasses import replace

import pytest

from acidsql.metastore.hive import column_history
from acidsql.metastore.hive.column_history import PROPERTY, columns_at, recorded
from acidsql.metastore.model import Column, Table

ID, V, N = (
    Column(name="Id", type="INT"),
    Column(name="v", type="string"),
    Column(name="n", type="int"),
)
TABLE = Table(database="db", name="t", columns=(ID, V), created=5)


def altered(table: Table, write_id: int, *columns: Column) -> Table:
    return recorded(table, replace(table, columns=columns), write_id)


def test_versions_below_a_change_have_the_columns_of_before() -> None:
    renamed = altered(TABLE, 3, ID, replace(V, name="w"))
    added = altered(renamed, 7, *renamed.columns, N)
    assert [columns_at(added, n) for n in (0, 2)] == [(ID, V)] * 2
    assert [columns_at(added, n) for n in (3, 6)] == [renamed.columns] * 2
    assert [columns_at(added, n) for n in (7, 9)] == [None, None]
    assert columns_at(TABLE, 1) is None


def test_other_changes_are_not_recorded() -> None:
    commented = (replace(ID, comment="key", nullable=False), replace(V, name="V"))
    assert PROPERTY not in altered(TABLE, 3, *commented).properties


def test_nothing_is_told_after_a_change_by_somebody_else() -> None:
    renamed = altered(TABLE, 3, ID, replace(V, name="w"))
    by_hive = replace(renamed, columns=(*renamed.columns, N))
    assert columns_at(by_hive, 2) is None
    again = altered(by_hive, 9, *by_hive.columns, V)
    assert [columns_at(again, n) for n in (2, 7, 8, 9)] == [None, None, by_hive.columns, None]


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"created":5,"now":1}'])
def test_what_others_have_written_tells_nothing(text: str) -> None:
    assert columns_at(replace(TABLE, properties={PROPERTY: text}), 1) is None


def test_another_table_does_not_take_a_copy_for_its_own() -> None:
    renamed = altered(TABLE, 3, ID, replace(V, name="w"))
    assert columns_at(replace(renamed, created=6), 2) is None


def test_the_oldest_changes_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_history, "_MOST_CHARACTERS", 200)
    table = TABLE
    for write_id in range(2, 9):
        name = f"v{write_id}"
        table = altered(table, write_id, ID, replace(V, name=name))
    assert len(table.properties[PROPERTY]) <= 200
    assert columns_at(table, 1) is None
    assert columns_at(table, 7) == (ID, replace(V, name="v7"))
