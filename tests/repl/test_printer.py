"""Results and errors as the user sees them."""

from __future__ import annotations

import pytest

from acidsql.errors import AcidAnalysisError, AcidParseError
from acidsql.repl.answers import concise
from acidsql.repl.printer import (
    FORMATS,
    Position,
    error_text,
    locate,
    result_text,
    shown_text,
    summary,
)
from acidsql.repl.runner import Cell, Result
from acidsql.repl.statements import Statement

RESULT = Result(
    columns=("id", "name", "paid"),
    numeric=(True, False, False),
    rows=((1, "007", True), (22, None, False)),
    truncated=False,
)


def test_table() -> None:
    assert result_text(RESULT, "table") == (
        "+----+------+-------+\n"
        "| id | name | paid  |\n"
        "|----+------+-------|\n"
        "|  1 | 007  | true  |\n"
        "| 22 | NULL | false |\n"
        "+----+------+-------+\n"
        "2 rows\n"
    )


def test_vertical() -> None:
    assert result_text(RESULT, "vertical").splitlines()[1:4] == [
        "id   | 1",
        "name | 007",
        "paid | true",
    ]


@pytest.mark.parametrize(
    ("format_name", "expanded", "columns", "shown_as"),
    [
        ("table", "off", 10, "table"),
        ("table", "on", None, "vertical"),
        ("table", "auto", 21, "table"),  # just as wide
        ("table", "auto", 20, "vertical"),
        ("table", "auto", None, "table"),
        ("unicode", "auto", 20, "vertical"),
        ("csv", "on", 10, "csv"),
    ],
)
def test_expanded(format_name: str, expanded: str, columns: int | None, shown_as: str) -> None:
    shown = shown_text(RESULT, format_name, expanded=expanded, columns=columns)
    assert shown == result_text(RESULT, shown_as)


def test_nothing_is_not_expanded() -> None:
    nothing = Result(columns=(), numeric=(), rows=(), truncated=False)
    assert shown_text(nothing, "table", expanded="on", columns=None) == "OK\n"


@pytest.mark.parametrize("format_name", list(FORMATS))
@pytest.mark.parametrize("rows", [(), ((1, None, True),)])
def test_every_format_shows_repeated_names_and_no_rows(
    format_name: str, rows: tuple[tuple[Cell, ...], ...]
) -> None:
    result = Result(
        columns=("a", "a", "b"), numeric=(True, False, False), rows=rows, truncated=False
    )
    assert result_text(result, format_name).endswith("\n") or format_name == "jsonl"


def test_long_values_are_whole() -> None:
    result = Result(columns=("a",), numeric=(False,), rows=(("x" * 2000,),), truncated=False)
    assert "x" * 2000 in result_text(result, "table")


def test_truncation_is_said() -> None:
    result = Result(columns=("a",), numeric=(True,), rows=((1,),), truncated=True)
    assert result_text(result, "table").splitlines()[-1] == (
        "first 1 rows; there are more (change this with --limit)"
    )
    assert result_text(result, "csv") == "a\n1\n"


def test_plans_and_definitions_are_lines() -> None:
    for name in ("plan", "createtab_stmt"):
        rows = (("== Plan ==\n+- Scan\n",),)
        result = Result(columns=(name,), numeric=(False,), rows=rows, truncated=False)
        for format_name in ("table", "unicode", "vertical"):
            assert result_text(result, format_name) == "== Plan ==\n+- Scan\n"
        assert result_text(result, "csv") == f'{name}\n"== Plan ==\n+- Scan\n"\n'
        two = Result(columns=(name,), numeric=(False,), rows=2 * rows, truncated=False)
        assert result_text(two, "table").endswith("2 rows\n")


def test_compactions_are_answered_concisely() -> None:
    columns = (
        *("compactionid", "dbname", "tabname", "partname", "type", "state", "workerid"),
        *("errormessage", "poolname"),
    )
    result = Result(
        columns=columns,
        numeric=(True, *[False] * 8),
        rows=((1, "default", "pet", None, "major", "succeeded", "w", None, None),),
        truncated=False,
    )
    shown = concise(result, "ALTER TABLE pet COMPACT 'major'")
    assert shown.columns == ("compactionid", "dbname", "tabname", "type", "state")
    assert shown.rows == ((1, "default", "pet", "major", "succeeded"),)
    assert shown.numeric == (True, *[False] * 4)
    assert concise(result, " show compactions") == result
    assert concise(shown, "SELECT 1") == shown


def test_statement_without_columns() -> None:
    result = Result(columns=(), numeric=(), rows=(), truncated=False)
    assert result_text(result, "table") == "OK\n"
    assert result_text(result, "csv") == ""


def statement(text: str, line: int = 1) -> Statement:
    return Statement(text=text, line=line)


def test_parse_error_has_one_line_and_a_caret() -> None:
    error = AcidParseError("unexpected 'SETT'", line=2, column=3, context="  SETT a = 1\n  ^")
    assert error_text(error, statement("UPDATE t\n  SETT a = 1")) == (
        "error: [PARSE_SYNTAX_ERROR] unexpected 'SETT'\n  SETT a = 1\n  ^\n"
    )


def test_file_and_line_of_the_file() -> None:
    error = AcidParseError("unexpected 'x'", line=2, column=1, context="x\n^")
    text = error_text(error, statement("UPDATE t\nx", line=10), "a.sql")
    assert text.startswith("a.sql:11: error: [PARSE_SYNTAX_ERROR] unexpected 'x'\n")


def test_caret_stands_under_wide_characters_and_behind_tabs() -> None:
    error = AcidParseError("unexpected 'x'", line=1, column=5, context="")
    assert error_text(error, statement("\t日本 x")).splitlines()[1:] == ["\t日本 x", "\t     ^"]


def test_other_acid_errors_have_no_caret() -> None:
    error = AcidAnalysisError("TABLE_NOT_FOUND", "no table 't' (create it first)")
    assert error_text(error, statement("SELECT 1")) == (
        "error: [TABLE_NOT_FOUND] no table 't' (create it first)\n"
    )


def test_foreign_errors_show_their_class() -> None:
    assert summary(KeyError("x")) == "KeyError: 'x'"
    assert summary(ValueError()) == "ValueError"


SPARK_ANALYSIS = (
    "[UNRESOLVED_COLUMN] A column `x` cannot be resolved. SQLSTATE: 42703; line 2 pos 1;\n"
    "'Project ['x]\n+- Range (0, 3, step=1)\n"
)
SPARK_PARSE = (
    "\n[PARSE_SYNTAX_ERROR] Syntax error at or near 'frm'. SQLSTATE: 42601 (line 2, pos 9)\n\n"
    "== SQL ==\nselect\n    1 xx frm t\n---------^^^\nwhere a\n"
)


class SparkError(Exception):
    """Replacement of PySpark's exceptions, which need a JVM to be made."""


def test_spark_message_ends_before_state_position_and_plan() -> None:
    assert summary(SparkError(SPARK_ANALYSIS)) == (
        "[UNRESOLVED_COLUMN] A column `x` cannot be resolved."
    )
    assert summary(SparkError(SPARK_PARSE)) == (
        "[PARSE_SYNTAX_ERROR] Syntax error at or near 'frm'."
    )


def test_spark_parse_error_is_located_in_the_user_s_text() -> None:
    error = SparkError(SPARK_PARSE)
    assert locate(error, "select\n    1 xx frm t\nwhere a") == Position(line=2, column=9)
    assert locate(error, "explain\n\nselect\n    1 xx frm t") == Position(line=4, column=9)
    assert locate(error, "select 1 xx frm t") is None


class ContextError(SparkError):
    def __init__(self, fragment: str, start: int) -> None:
        super().__init__("[X] y.")
        self._context = Context(fragment, start)

    def getQueryContext(self) -> list[Context]:  # noqa: N802 - PySpark's spelling
        return [self._context]


class Context:
    def __init__(self, fragment: str, start: int) -> None:
        self._fragment, self._start = fragment, start

    def fragment(self) -> str:
        return self._fragment

    def startIndex(self) -> int:  # noqa: N802 - PySpark's spelling
        return self._start


@pytest.mark.parametrize(
    ("fragment", "start", "expected"),
    [
        ("1/0", 7, Position(line=1, column=7)),
        ("b/0", 99, Position(line=2, column=1)),  # Spark saw a rewritten text
        ("/0", 99, None),  # ambiguous
        ("q", 0, None),
        ("", 0, None),
    ],
)
def test_query_context_counts_only_where_it_agrees(
    fragment: str, start: int, expected: Position | None
) -> None:
    assert locate(ContextError(fragment, start), "select 1/0,\n b/0") == expected
