"""Rows as CSV, TSV and JSON lines."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.repl.machine_formats import lines
from acidsql.repl.printer import result_text
from acidsql.repl.rendering import Form
from acidsql.repl.runner import Result

_TEXT, _NUMBER, _JSON = Form.TEXT, Form.NUMBER, Form.JSON


@pytest.mark.parametrize(("format_name", "delimiter"), [("csv", ","), ("tsv", "\t")])
@given(rows=st.lists(st.lists(st.text(), min_size=2, max_size=2)))
def test_fields_are_read_back(format_name: str, delimiter: str, rows: list[list[str]]) -> None:
    text = "".join(lines(["a", "b"], [_TEXT, _TEXT], rows, format_name))
    found = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    assert list(found) == [["a", "b"], *rows]


@given(st.lists(st.lists(st.text() | st.integers() | st.booleans() | st.none(), min_size=1)))
def test_json_is_read_back(rows: list[list[str | int | bool | None]]) -> None:
    for row in rows:
        names = [f"c{position}" for position in range(len(row))]
        (line,) = lines(names, [_TEXT] * len(row), [row], "jsonl")
        assert line.count("\n") == 1
        assert json.loads(line) == dict(zip(names, row, strict=True))


def test_json_has_numbers_and_nested_values() -> None:
    names, forms = ["n", "x", "j", 'q"'], [_NUMBER, _NUMBER, _JSON, _TEXT]
    rows: list[tuple[str | int | None, ...]] = [
        ("1.50", "1.0E-10", '{"a":[1,null]}', "1"),
        ("NaN", "-Infinity", None, None),
        (7,) * 4,
    ]
    assert list(lines(names, forms, rows, "jsonl")) == [
        '{"n":1.50,"x":1.0E-10,"j":{"a":[1,null]},"q\\"":"1"}\n',
        '{"n":"NaN","x":"-Infinity","j":null,"q\\"":null}\n',
        '{"n":7,"x":7,"j":7,"q\\"":7}\n',
    ]


def test_texts_of_values() -> None:
    rows = [(1, "007", True), (22, None, False)]
    assert "".join(lines(["id", "name", "paid"], [_TEXT] * 3, rows, "tsv")) == (
        "id\tname\tpaid\n1\t007\ttrue\n22\tNULL\tfalse\n"
    )


def test_results_of_the_shell_itself() -> None:
    result = Result(
        columns=("n", "t"), numeric=(True, False), rows=(("1.5", "1.5"),), truncated=False
    )
    assert result_text(result, "jsonl") == '{"n":1.5,"t":"1.5"}\n'
    assert result_text(result, "csv") == "n,t\n1.5,1.5\n"
