"""Texts of statements and commands, and when Enter ends the input."""

from __future__ import annotations

import pytest

from acidsql.repl.statements import Statement
from acidsql.repl.typed import Line, Script, is_submittable, read_line
from acidsql.syntax.lexer import Lexis


def parts(text: str, lexis: Lexis = Lexis.SPARK) -> list[Statement | Line]:
    script, found = Script(text), []
    while (part := script.next(lexis)) is not None:
        found.append(part)
    return found


def said(text: str) -> list[str]:
    """Return statements as they are, and commands with what they take or stand in."""
    return [
        part.text
        if isinstance(part, Statement)
        else f"{part.command} {part.argument} {part.statement}"
        for part in parts(text)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1; SELECT 2", ["SELECT 1", "SELECT 2"]),
        ("\\q", ["\\q  "]),
        ("SELECT 1\\G", ["\\G  SELECT 1"]),
        ("SELECT 1; \\G;", ["\\G ; SELECT 1;"]),
        ("SELECT\n1 \\e", ["\\e  SELECT\n1"]),
        ("SELECT 1 \\watch 0.5", ["\\watch 0.5 SELECT 1"]),
        ("SELECT 0; SELECT 1;\\g\nSELECT 2;", ["SELECT 0", "\\g  SELECT 1;", "SELECT 2"]),
        ("SELECT 1;\n\\G", ["SELECT 1", "\\G  "]),
        ("SELECT 1; \\d pet", ["SELECT 1", "\\d pet "]),
        ("SELECT 1 +\n\\? x\n2; SELECT 3", ["\\? x SELECT 1 +", "SELECT 1 +\n    \n2", "SELECT 3"]),
        ("\\echo don't;\nSELECT 1", ["\\echo don't; ", "SELECT 1"]),
        ("\\!ls '\nSELECT 1", ["\\! ls ' ", "SELECT 1"]),
        ("SELECT '\\e", ["SELECT '\\e"]),
        ("SELECT 1 -- \\G", ["SELECT 1 -- \\G"]),
        ("SELECT '\\G', `\\d` /* \\q */", ["SELECT '\\G', `\\d` /* \\q */"]),
        ("-- only a comment", []),
    ],
)
def test_parts_of_a_text(text: str, expected: list[str]) -> None:
    assert said(text) == expected


def test_lines_are_counted() -> None:
    first, line, last = parts("SELECT 0;\n\nSELECT\n 1 \\timing on\n+ 1;")
    assert isinstance(first, Statement)
    assert first.line == 1
    assert isinstance(line, Line)
    assert (line.number, line.statement) == (4, "SELECT\n 1")
    assert isinstance(last, Statement)
    assert last.line == 3


def test_what_a_command_interrupts_can_be_dropped_or_typed_on() -> None:
    script = Script("SELECT\n\\?\n1")
    assert isinstance(script.next(Lexis.SPARK), Line)
    assert script.rest() == "SELECT\n  \n1"
    script.drop()
    assert script.rest() == "1"


def test_quotes_are_those_of_the_dialect() -> None:
    text = "SELECT '\\' AS a \\G"  # a backslash escapes the quote only in Spark
    (line,) = parts(text, Lexis.TRINO)
    assert isinstance(line, Line)
    assert line.command == "\\G"
    assert isinstance(parts(text)[0], Statement)


def test_the_argument_of_a_command_that_begins_an_input_is_all_the_rest() -> None:
    assert read_line("\\fs two SELECT 1;\nSELECT 2;") == Line(
        command="\\fs", argument="two SELECT 1;\nSELECT 2;"
    )
    assert read_line(" \\d+  shop.pet ") == Line(command="\\d+", argument="shop.pet")
    assert read_line("SELECT 1") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "\\q",
        " \\timing",
        "\\",
        "exit",
        "QUIT ",
        "help",
        "SELECT 1;",
        "exit;",
        "a \\G",
        "a \\d",
    ],
)
def test_submittable(text: str) -> None:
    assert is_submittable(text)


@pytest.mark.parametrize("text", ["SELECT 1", "SELECT ';", "exit now", "SELECT 1 -- ;", "help me"])
def test_not_submittable(text: str) -> None:
    assert not is_submittable(text)
