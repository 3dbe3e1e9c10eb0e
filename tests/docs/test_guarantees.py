"""Each promise of the guarantees has its tests on the page of evidence, and these tests exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_GUARANTEES = (_ROOT / "docs" / "guarantees.md").read_text("utf-8")
_EVIDENCE = (_ROOT / "docs" / "internals" / "evidence.md").read_text("utf-8")
_EXPLAINS_ONLY = ("After an error", "Where to go next")


def sections(page: str) -> Iterator[tuple[str, str]]:
    """Yield the heading and the text of each section, of both levels."""
    parts = re.split(r"^##+ (.+)$", page, flags=re.MULTILINE)
    for heading, text in zip(parts[1::2], parts[2::2], strict=True):
        if heading not in _EXPLAINS_ONLY:
            yield heading, text


def promises(text: str) -> list[str]:
    """Return the words in bold, without links and the mark at their end."""
    bold = re.findall(r"\*\*(.+?)\*\*", text, re.DOTALL)
    return [re.sub(r"\[(.+?)\]\(.+?\)", r"\1", " ".join(b.split())).rstrip(",.:") for b in bold]


def evidence() -> dict[str, dict[str, list[tuple[str, str]]]]:
    """Return the tests of each promise, as pairs of file and function, by section."""
    found = {}
    for heading, text in sections(_EVIDENCE):
        items = re.split(r"^- \*\*(.+)\*\*$", text, flags=re.MULTILINE)
        found[heading] = {
            promise: re.findall(r"^  - `(tests/[\w/.]+)(?:::(\w+))?`$", tests, re.MULTILINE)
            for promise, tests in zip(items[1::2], items[2::2], strict=True)
        }
    return found


def test_words_in_bold_are_promises() -> None:
    text = "**One [thing](x.md#y).** Text\n\n- **Another\n  thing,** that is, and **a third**"
    assert promises(text) == ["One thing", "Another thing", "a third"]


def test_evidence_has_the_promises_of_each_section() -> None:
    promised = {heading: promises(text) for heading, text in sections(_GUARANTEES)}
    assert all(promised.values())
    assert {heading: list(found) for heading, found in evidence().items()} == promised


@pytest.mark.parametrize("heading", evidence())
def test_tests_of_each_promise_exist(heading: str) -> None:
    for promise, tests in evidence()[heading].items():
        assert tests, promise
        for path, function in tests:
            code = (_ROOT / path).read_text("utf-8")
            assert re.search(rf"^def {function or 'test_'}", code, re.MULTILINE), (path, function)
