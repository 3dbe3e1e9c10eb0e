"""What was typed: statements, commands, and when Enter ends the input."""

from __future__ import annotations

import pytest

from acidsql.repl.typed import Typed, is_submittable, read_typed
from acidsql.syntax.lexer import Lexis


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("SELECT 1;", Typed(statements="SELECT 1;")),
        ("\\q", Typed(command="\\q")),
        (" \\timing ;", Typed(command="\\timing")),
        ("\\?", Typed(command="\\?")),
        ("\\d+  shop.pet ", Typed(command="\\d+", argument="shop.pet")),
        (
            "\\fs two SELECT 1;\nSELECT 2;",
            Typed(command="\\fs", argument="two SELECT 1;\nSELECT 2;"),
        ),
        ("SELECT 1\\G", Typed(statements="SELECT 1", command="\\G")),
        ("SELECT 1; \\G;", Typed(statements="SELECT 1;", command="\\G")),
        ("SELECT\n1 \\e", Typed(statements="SELECT\n1", command="\\e")),
        ("SELECT 1 \\watch 0.5", Typed(statements="SELECT 1", command="\\watch", argument="0.5")),
        ("SELECT '\\e", Typed(statements="SELECT '\\e")),
        ("SELECT 1 -- \\G", Typed(statements="SELECT 1 -- \\G")),
        ("SELECT '\\G'", Typed(statements="SELECT '\\G'")),
        ("SELECT 1 \\d", Typed(statements="SELECT 1 \\d")),
    ],
)
def test_parts_of_an_input(text: str, typed: Typed) -> None:
    assert read_typed(text) == typed


def test_quotes_are_those_of_the_dialect() -> None:
    text = "SELECT '\\' AS a \\G"  # a backslash escapes the quote in Spark alone
    assert read_typed(text, Lexis.TRINO).command == "\\G"
    assert read_typed(text).command is None


@pytest.mark.parametrize(
    "text",
    ["", "  ", "\\q", " \\timing", "\\", "exit", "QUIT ", "SELECT 1;", "exit;", "SELECT 1 \\G"],
)
def test_submittable(text: str) -> None:
    assert is_submittable(text)


@pytest.mark.parametrize("text", ["SELECT 1", "SELECT ';", "exit now", "SELECT 1 -- ;", "x \\d"])
def test_not_submittable(text: str) -> None:
    assert not is_submittable(text)
