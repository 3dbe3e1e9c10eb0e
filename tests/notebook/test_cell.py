from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.error import UsageError

from acidsql.notebook.cell import Cell, parse_cell


def texts(cell: Cell) -> list[str]:
    return [statement.text for statement in cell.statements]


def test_a_line() -> None:
    cell = parse_cell("SELECT '--limit 3 << x;'", None)
    assert texts(cell) == ["SELECT '--limit 3 << x;'"]
    assert (cell.spark, cell.limit, cell.variable) == (None, 100, None)


def test_a_cell_has_several_statements() -> None:
    cell = parse_cell("", "-- first; not here\nUPDATE t SET a = ';';\n\nSELECT 1 << 2;\n")
    assert texts(cell) == ["-- first; not here\nUPDATE t SET a = ';'", "SELECT 1 << 2"]
    assert cell.variable is None


@pytest.mark.parametrize("line", ["--limit 7 --spark s", " --spark=s  --limit = 7 "])
def test_options_come_first(line: str) -> None:
    cell = parse_cell(line, "SELECT 1")
    assert (cell.limit, cell.spark, texts(cell)) == (7, "s", ["SELECT 1"])


def test_statements_of_a_dialect_end_by_its_rules() -> None:
    cell = parse_cell("--dialect Trino", r"SELECT 'a\'; SELECT 2")
    assert (cell.dialect, texts(cell)) == ("trino", [r"SELECT 'a\'", "SELECT 2"])
    assert texts(parse_cell("", r"SELECT 'a\'; SELECT 2")) == [r"SELECT 'a\'; SELECT 2"]


@pytest.mark.parametrize(
    ("line", "body"),
    [
        ("df << SELECT 1", None),
        ("df <<", "SELECT 1"),
        ("", "  df<<\nSELECT 1;"),
        ("df", "<<SELECT 1"),
    ],
)
def test_a_variable_for_the_dataframe(line: str, body: str | None) -> None:
    cell = parse_cell(f"--limit 5 {line}", body)
    assert (cell.variable, cell.limit, texts(cell)) == ("df", 5, ["SELECT 1"])


@pytest.mark.parametrize(
    ("line", "body", "message"),
    [
        ("", "-- nothing\n;", "there is no statement to run: see %acidsql?"),
        ("df <<", "", "there is no statement to run: see %acidsql?"),
        ("--limits 3 SELECT 1", None, "the options are --dialect, --limit, --spark"),
        ("--dialect impala", "SELECT 1", "--dialect is 'impala': give one of spark, hive, trino"),
        ("--limit many", "SELECT 1", "--limit is 'many': give a number of rows"),
        ("--limit -1", "SELECT 1", "--limit is '-1': give a number of rows"),
        ("--spark", "SELECT 1", "--spark needs a value"),
    ],
)
def test_wrong_usage(line: str, body: str | None, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        parse_cell(line, body)


@given(st.text(alphabet="a;'-\n <>=7", max_size=20))
def test_a_body_is_never_read_as_options(body: str) -> None:
    cell = parse_cell("--limit 3", f"{body}\n*/ x")
    assert cell.limit == 3
    assert cell.spark is None
