"""Tests that each promise of the guarantees names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_PAGE = (_ROOT / "docs" / "guarantees.md").read_text("utf-8")
_PROMISES, _, _NOTES = _PAGE.partition("\n[^")
_DEFINED = dict(re.findall(r"^\[\^([\w-]+)\]: (.+)$", f"[^{_NOTES}", re.MULTILINE))
# What explains, and promises nothing.
_NO_PROMISE = (
    "# ",
    "## ",
    "### ",
    "What acidsql promises about",
    "To be able to run a statement again",
    "This takes the disk at its word",
    "| what came back | the statement",
    "| at the same time | result",
    "|---",
    "| a result |",
)


def promises() -> list[str]:
    """Return the paragraphs, list items and table rows before the notes."""
    text = re.sub(r"\n(?=- |\| )", "\n\n", _PROMISES)
    return [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]


@pytest.mark.parametrize("promise", [p for p in promises() if not p.startswith(_NO_PROMISE)])
def test_each_promise_has_a_note(promise: str) -> None:
    assert re.search(r"\[\^[\w-]+\]", promise)


def test_the_notes_are_those_that_are_used() -> None:
    used = re.findall(r"\[\^([\w-]+)\]", _PROMISES)
    assert set(used) == set(_DEFINED)


@pytest.mark.parametrize("name", _DEFINED)
def test_each_note_names_tests_that_exist(name: str) -> None:
    tests = re.findall(r"`(tests/[\w/.]+)(?:::(\w+))?`", _DEFINED[name])
    assert tests
    for path, function in tests:
        code = (_ROOT / path).read_text("utf-8")
        assert re.search(rf"^def {function or 'test_'}", code, re.MULTILINE), f"{path}::{function}"
