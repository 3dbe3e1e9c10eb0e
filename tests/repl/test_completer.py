"""Completion offers tables where a table is expected, else keywords too."""

from __future__ import annotations

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from acidsql.repl.completer import StatementCompleter


def completions(text: str) -> list[str]:
    completer = StatementCompleter(
        keywords={"SELECT", "SET", "FROM", "MERGE", "COMPACT"},
        commands=["\\q", "\\timing", "\\format"],
        table_names=lambda: ("sales", "Stores", "employee"),
    )
    return [c.text for c in completer.get_completions(Document(text), CompleteEvent())]


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
        ("SELECT \\t", []),
    ],
)
def test_completions_of_the_word_before_the_cursor(text: str, expected: list[str]) -> None:
    assert completions(text) == expected


def test_a_completion_replaces_the_word() -> None:
    completer = StatementCompleter(keywords=["MERGE"], commands=[], table_names=tuple)
    (completion,) = completer.get_completions(Document("x; mer"), CompleteEvent())
    assert (completion.text, completion.start_position) == ("merge", -3)
