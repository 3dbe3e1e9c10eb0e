"""Tests of rows of ``executemany`` as one statement."""

from __future__ import annotations

import pytest

from acidsql.dbapi.many_rows import RowTemplate, row_template
from acidsql.syntax import parse
from acidsql.syntax.statements import Insert


def template(text: str) -> RowTemplate | None:
    statement = parse(text)
    assert isinstance(statement, Insert)
    return row_template(text, statement)


def test_one_row_of_values_is_a_template() -> None:
    found = template("INSERT INTO t (a, b) VALUES (?, concat(?, ')')) ; -- end")
    assert found is not None
    assert found.row == "?, concat(?, ')')"
    assert found.of_literals([("1", "'x'"), ("2", "NULL")]) == (
        "INSERT INTO t (a, b)  VALUES (1, concat('x', ')')), (2, concat(NULL, ')'))"
    )


def test_braces_of_the_text_are_not_taken_for_frames() -> None:
    found = template("INSERT INTO t VALUES (:a, '{x}')")
    assert found is not None
    text = found.of_frame({"a": "`a`"}, "rows")
    assert text.format(rows="r") == "INSERT INTO t  SELECT `a`, '{x}' FROM r"


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t VALUES (?), (?)",
        "INSERT INTO t SELECT ?",
        "INSERT INTO t VALUES (?, DEFAULT)",
        "INSERT INTO t VALUES (?) LIMIT 1",
        "INSERT INTO t VALUES ?, ?",
    ],
)
def test_other_inserts_are_none(text: str) -> None:
    assert template(text) is None


def test_targets_are_columns_whose_value_is_a_parameter_alone() -> None:
    found = template(
        "INSERT INTO t VALUES ( ? , concat('a,b', ?, '?'), map(1, 2)[?], ?, DATE '2024-01-01')"
    )
    assert found is not None
    assert found.targets(["int", "string", "bigint", "double", "date"]) == {0: "int", 3: "double"}
    assert found.targets(["int"]) == {}
    named = template("INSERT INTO t VALUES (:a, :b, :a, :c, :c + 1)")
    assert named is not None
    assert named.targets(["int", "date", "bigint", "double", "int"]) == {"b": "date", "c": "double"}
