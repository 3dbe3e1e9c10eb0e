from __future__ import annotations

import pytest

from acidsql.syntax.lexer import (
    Kind,
    blank_comments,
    code_spans,
    marks,
    unquote_name,
    unquote_string,
)

COMMENTS = [
    ("a -- b\nc", "a     \nc"),
    ("a -- b\r\nc", "a     \r\nc"),
    ("a -- b\\\nc\nd", "a        \nd"),
    ("a/**/b", "a    b"),
    ("a /* b /* c */ d */ e", "a                   e"),
    ("a /* b /*+ c */ d", "a               d"),
    ("a /*+ b */ c", "a /*+ b */ c"),
    ("a /* b", "a /* b"),
    ("a /* b /* c */ d", "a /* b         d"),
    ("'--' /* ' */ '", "'--'         '"),
    ("'\\'--' --", "'\\'--'   "),
    ("'''--' --", "'''--'   "),
    ("r'\\' --'", "r'\\'    "),
    ("bar'\\' --'", "bar'\\' --'"),
    ('R"\\" --"', 'R"\\"    '),
    ('"/*" --', '"/*"   '),
    ("`--``--` --", "`--``--`   "),
    ("- - - --", "- - -   "),
    ("😀--😀", "😀   "),
    ("'unclosed -- x", "'unclosed     "),
]


@pytest.mark.parametrize(("text", "blanked"), COMMENTS)
def test_comments_are_blanked_and_nothing_else(text: str, blanked: str) -> None:
    assert blank_comments(text) == blanked


def test_code_is_what_is_outside_comments_and_quotes() -> None:
    text = "a'b'c--d\n`e`/* f */g"
    assert [span.of(text) for span in code_spans(text)] == ["a", "c", "\n", "", "g"]


def test_marks_are_all_that_is_not_plain_code() -> None:
    text = "a /*+ b(';') */ -- c\n; r'\\' `x /* y"
    assert [(mark.kind, mark.span.of(text)) for mark in marks(text)] == [
        (Kind.HINT, "/*+"),
        (Kind.QUOTED, "';'"),
        (Kind.COMMENT, "-- c"),
        (Kind.SEMICOLON, ";"),
        (Kind.QUOTED, r"r'\'"),
        (Kind.UNFINISHED, "`"),
        (Kind.UNFINISHED, "/*"),
    ]


# Quadratic time would be minutes.
@pytest.mark.parametrize(
    ("unit", "count"), [("/*", 1), ("'\\", 1), ("\\'", 1), ("\\\"'", 1), ("'/*'*/*", 2)]
)
def test_what_has_no_end_is_looked_for_once(unit: str, count: int) -> None:
    text = unit[-1] + unit * 20_000
    assert sum(1 for _ in marks(text)) >= count * 10_000


STRINGS = [
    ("''", ""),
    ("'it''s'", "it's"),
    ("'it\"\"s'", 'it""s'),
    ('"it""s"', 'it"s'),
    ("\"it''s\"", "it''s"),
    (r"'a\'b\"c'", "a'b\"c"),
    (r"'\''''", "''"),
    (r"'\n\t\r\b\0\Z\\'", "\n\t\r\b\0\x1a\\"),
    (r"'\%\_\q'", r"\%\_q"),
    (r"'\101\u00e9\U0001F600\8'", "Aé😀8"),
    (r"'\ud83d\ude00\ud83d'", "😀\ufffd"),
    (r"r'\n'", r"\n"),
    (r'R"\"', "\\"),
]


@pytest.mark.parametrize(("token", "value"), STRINGS)
def test_string_literals(token: str, value: str) -> None:
    assert unquote_string(token) == value


@pytest.mark.parametrize(("token", "name"), [("a", "a"), ("`a`", "a"), ("`a``b.c`", "a`b.c")])
def test_names(token: str, name: str) -> None:
    assert unquote_name(token) == name
