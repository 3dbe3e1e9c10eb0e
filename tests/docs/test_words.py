"""The list of words that documents avoid, and the check that finds them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from scripts import check_words
from scripts.check_words import WordList, hits, read_list

_WORDS = read_list()


def found(text: str, name: str = "page.md", words: WordList = _WORDS) -> list[tuple[int, str]]:
    """Return the lines and words of the hits."""
    return [(hit.line, hit.found) for hit in hits(name, text, words)]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("The log tells how often", "tells"),
        ("nobody has a copy", "nobody"),
        ("whoever reads it", "whoever"),
        ("columns alone", "alone"),
        ("written anew", "anew"),
        ("tables of\n  which two", "of which"),
        ("It stands for a table", "stands for"),
        ("rows that were asked for", "asked for"),
        ("as far as it goes", "as far as"),
        ("It is a matter of taste", "a matter of"),
        ("``a `b` `` tells `c`", "tells"),
    ],
)
def test_word_is_found(text: str, word: str) -> None:
    assert found(f"First\n\n{text}") == [(3, word)]


@pytest.mark.parametrize(
    "text",
    [
        "It is left alone",
        "`nobody`, and [a link](whoever.md)",
        "``tell `alone` ``, and `anew`",
        "```sql\nSELECT anew;\n```",
        "    nobody $ tell",
        "<!-- told -->",
        "foretelling, untold",
    ],
)
def test_code_and_other_words_are_not(text: str) -> None:
    assert not found(text)


def test_names_of_python_are_checked() -> None:
    text = "def f(found: int) -> int:\n    return found + not_found  # what was found\n"
    assert found(text, "module.py") == [(1, "found"), (2, "found")]


def test_comments_and_strings_of_python_are_checked() -> None:
    code = '''def alone():
    """Return rows.

    Nobody reads ``anew``.
    """
    return "the log\\ntells"  # whoever
'''
    assert found(code, "module.py") == [(6, "tells"), (4, "Nobody"), (6, "whoever")]


def test_semicolons_are_counted_in_prose() -> None:
    prose = f"{'word ' * 300}\n\n"
    assert not found(f"{prose}a; b\n\n- c; d")
    assert found(f"{prose}a; b\n\n- c; d; e") == [(5, ";")]
    assert not found("| a; b; c |\n|---|\n\n```\na; b; c\n```")


def test_exception_needs_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "words.toml"
    text = 'paths = []\nwords = []\nwords_per_semicolon = 1\n[[exceptions]]\nfile = "a.md"\n'
    path.write_text(f'{text}text = "told"\nreason = "a title"\n')
    assert read_list(path).exceptions == {"a.md": ("told",)}
    path.write_text(f'{text}text = "told"\n')
    with pytest.raises(ValueError, match="has no reason"):
        read_list(path)


def test_exceptions_are_needed() -> None:
    root = check_words.ROOT
    without = replace(_WORDS, exceptions={})
    for name, texts in _WORDS.exceptions.items():
        text = (root / name).read_text("utf-8")
        lines = text.splitlines()
        kept = [lines[line - 1] for line, _ in found(text, name, without)]
        for each in texts:
            assert any(each in line for line in kept), (name, each)
