"""Tokens are the text without blanks and comments."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acidsql.repl.tokens import TokenKind, tokens
from acidsql.syntax.lexer import Lexis

_TEXTS = st.text(alphabet="ab ;,.()'\"`-/*+\n\\é", max_size=40)


def test_kinds_and_depths() -> None:
    found = tokens("SELECT `a b`, f('x', (1)) -- end\nFROM t")
    assert [(token.text, token.kind.name, token.depth) for token in found] == [
        ("SELECT", "WORD", 0),
        ("`a b`", "NAME", 0),
        (",", "SYMBOL", 0),
        ("f", "WORD", 0),
        ("(", "SYMBOL", 0),
        ("'x'", "STRING", 1),
        (",", "SYMBOL", 1),
        ("(", "SYMBOL", 1),
        ("1", "WORD", 2),
        (")", "SYMBOL", 1),
        (")", "SYMBOL", 0),
        ("FROM", "WORD", 0),
        ("t", "WORD", 0),
    ]


def test_double_quotes_are_names_in_trino() -> None:
    ((trino,), (spark,)) = tokens('"a"', Lexis.TRINO), tokens('"a"')
    assert (trino.kind, spark.kind) == (TokenKind.NAME, TokenKind.STRING)


@given(_TEXTS, st.sampled_from(Lexis))
def test_tokens_are_pieces_of_the_text_in_order(text: str, lexis: Lexis) -> None:
    position = 0
    for token in tokens(text, lexis):
        assert token.start >= position
        position = token.end
        assert text[token.start : token.end] == token.text
        assert token.text
        assert not token.text.isspace()
        assert token.depth >= 0
