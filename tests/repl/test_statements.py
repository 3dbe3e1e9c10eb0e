"""Statements end where Spark's lexer sees a semicolon, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.repl.statements import Statement, is_complete, is_inside_literal, split

# Pieces that hide what looks like the end of a statement.
HIDING = [
    "';'",
    "'it''s;'",
    r"'a\';'",
    r"'\\'",
    '"x;y"',
    r'"a\";"',
    "`a;b`",
    "`a``;b`",
    r"r'\'",
    r"R'a;\'",
    'r";\\"',
    "/* ; */",
    "/* a ; /* b ; */ ; */",
    "/*+ BROADCAST(t;) */",
    "/* a ; /*+ b ; */",
    "-- a;b'\n",
    "-- a \\\n still ; hidden\n",
    "'line\nbreak;'",
    "'日本;'",
]


@pytest.mark.parametrize("piece", HIDING)
def test_hidden_semicolons_end_nothing(piece: str) -> None:
    text = f"SELECT {piece} x"
    assert [s.text for s in split(f"{text}; SELECT 2")] == [text, "SELECT 2"]


@given(st.lists(st.lists(st.sampled_from(HIDING), min_size=1, max_size=4), min_size=1, max_size=4))
def test_any_sequence_of_pieces_is_cut_at_the_semicolons_between(parts: list[list[str]]) -> None:
    statements = [" ".join(["SELECT", *part, "z"]) for part in parts]
    assert [s.text for s in split(" ;\n".join(statements))] == statements


@given(st.text(alphabet="';\"`-/*r\\ \na"))
def test_every_text_is_cut_without_loss(text: str) -> None:
    pieces = [s.text for s in split(text)]
    position = 0
    for piece in pieces:
        position = text.index(piece, position) + len(piece)


def test_line_is_that_of_the_first_character() -> None:
    assert split("SELECT 1;\n\n  SELECT\n 2;\n-- three\nSELECT 3") == (
        Statement(text="SELECT 1", line=1),
        Statement(text="SELECT\n 2", line=3),
        Statement(text="-- three\nSELECT 3", line=5),
    )


@pytest.mark.parametrize("text", ["", " \n", ";", ";;\n;", "-- only;\n", "/* only; */;"])
def test_blanks_and_comments_are_no_statements(text: str) -> None:
    assert split(text) == ()


@pytest.mark.parametrize("text", ["SELECT 'a; b", "SELECT `a;", "SELECT /* a; /* b */ ;", "r'a;"])
def test_unfinished_literals_reach_to_the_end(text: str) -> None:
    assert [s.text for s in split(text)] == [text]
    assert not is_complete(text)
    assert is_inside_literal(text)


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("SELECT 1;", True),
        ("SELECT 1; -- done", True),
        ("SELECT 1; /* done */ \n", True),
        ("SELECT 1", False),
        ("SELECT 1; SELECT 2", False),
        ("SELECT 1 -- ;", False),
        ("", False),
    ],
)
def test_a_semicolon_completes(text: str, *, complete: bool) -> None:
    assert is_complete(text) is complete


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("", False),
        ("SELECT a", False),
        ("SELECT 'a", True),
        ("SELECT 'a' ", False),
        ("-- fro", True),
        ("-- from\n", False),
        ("/* a */", False),
        ("x /* fro", True),
    ],
)
def test_the_inside_of_literals_and_comments_is_known(text: str, *, inside: bool) -> None:
    assert is_inside_literal(text) is inside
