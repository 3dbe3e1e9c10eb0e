"""Completion offers tables where a table is expected, else columns, tables and keywords."""

from __future__ import annotations

import pytest
from prompt_toolkit.completion import CompleteEvent, WordCompleter
from prompt_toolkit.document import Document

from acidsql.repl.completer import StatementCompleter


class Names:
    def tables(self) -> tuple[str, ...]:
        return ("sales", "Stores", "employee")

    def columns(self, table: str) -> tuple[str, ...]:
        own = {"sales": ("id", "price", "sold at"), "Stores": ("id", "city"), "x.far": ("ferry",)}
        return own.get(table, ())


def completer(casing: str = "auto") -> StatementCompleter:
    return StatementCompleter(
        keywords={"SELECT", "SET", "FROM", "MERGE", "COMPACT"},
        commands={
            "\\q": None,
            "\\timing": WordCompleter(["on", "off"]),
            "\\format": None,
        },
        names=Names(),
        casing=casing,
    )


def completions(marked: str, *, tab: bool = False, casing: str = "auto") -> list[str]:
    """Return the completions at ``|``, or at the end."""
    before, _, after = marked.partition("|")
    document = Document(before + after, len(before))
    found = completer(casing).get_completions(document, CompleteEvent(completion_requested=tab))
    return [completion.text for completion in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SEL", ["SELECT"]),
        ("sel", ["select"]),
        ("s", ["sales", "Stores", "select", "set"]),
        ("SELECT * FROM ", ["sales", "Stores", "employee"]),
        ("SELECT * FROM s", ["sales", "Stores"]),
        ("update\n emp", ["employee"]),
        ("SELECT * FROM sales JOIN ST", ["Stores"]),
        ("ALTER TABLE sales comp", ["compact"]),
        ("SELECT 'fr", []),
        ("SELECT 1 -- fr", []),
        ("SELECT ", []),
        ("", []),
        ("\\", ["\\format", "\\q", "\\timing"]),
        ("\\t", ["\\timing"]),
        ("\\timing o", ["on", "off"]),
        ("\\format s", ["sales", "Stores", "select", "set"]),
        ("SELECT \\t", []),
    ],
)
def test_completions_of_the_word_before_the_cursor(text: str, expected: list[str]) -> None:
    assert completions(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT p| FROM sales", ["price"]),
        ("SELECT PR| FROM sales", ["price"]),
        ("SELECT s| FROM sales", ["`sold at`", "sales", "Stores", "select", "set"]),
        ("SELECT `so| FROM sales", []),
        ("SELECT i| FROM sales, Stores", ["id"]),
        ("SELECT c| FROM sales a JOIN Stores b", ["city", "compact"]),
        ("SELECT b.| FROM sales a JOIN Stores b", ["id", "city"]),
        ("SELECT b.c| FROM sales a JOIN Stores b", ["city"]),
        ("SELECT Stores.| FROM Stores", ["id", "city"]),
        ("SELECT far.f| FROM x.far", ["ferry"]),
        ("SELECT Stores.| FROM Stores b", []),
        ("DELETE FROM sales WHERE pr", ["price"]),
        ("SELECT pr| FROM nosuch", []),
    ],
)
def test_columns_of_the_tables_that_the_statement_names(text: str, expected: list[str]) -> None:
    assert completions(text) == expected


def test_tab_after_a_blank_offers_columns() -> None:
    assert completions("SELECT | FROM Stores", tab=True) == ["id", "city"]
    assert completions("SELECT | FROM Stores") == []
    assert completions("SELECT ", tab=True) == []


@pytest.mark.parametrize(
    ("casing", "typed", "keyword"),
    [("upper", "sel", "SELECT"), ("lower", "SEL", "select"), ("auto", "Sel", "SELECT")],
)
def test_case_of_keywords(casing: str, typed: str, keyword: str) -> None:
    assert completions(typed, casing=casing) == [keyword]


@pytest.mark.parametrize(
    ("text", "completed", "start"),
    [("x; mer", "merge", -3), ("SELECT a.ci| FROM Stores a", "city", -2)],
)
def test_a_completion_replaces_the_word(text: str, completed: str, start: int) -> None:
    before, _, after = text.partition("|")
    document = Document(before + after, len(before))
    (completion,) = completer().get_completions(document, CompleteEvent())
    assert (completion.text, completion.start_position) == (completed, start)
