"""Tokens of a statement: its words, names, strings and symbols, without a syntax tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from acidsql.repl.statements import marks_of_statements
from acidsql.syntax.lexer import Kind, Lexis

_PIECE = re.compile(r"(?P<WORD>\w+)|(?P<SYMBOL>[^\w\s])")
# In Trino, double quotes enclose a name. In the other dialects, they enclose a string.
_NAME_QUOTES = {Lexis.TRINO: '"'}


class TokenKind(Enum):
    """Kind of a token."""

    WORD = "keyword, name without quotes, or number"
    NAME = "name in quotes"
    STRING = "string literal"
    SYMBOL = "one character of an operator or of punctuation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """Token of a text.

    Attributes:
        kind: kind of the token.
        text: characters of the token, including quotes.
        start: offset of the first character.
        depth: number of open parentheses around the token; a parenthesis does not enclose itself.
    """

    kind: TokenKind
    text: str
    start: int
    depth: int

    @property
    def end(self) -> int:
        """Offset after the last character."""
        return self.start + len(self.text)

    def is_word(self, *words: str) -> bool:
        """Return whether this token is one of ``words``, which are in upper case."""
        return self.kind is TokenKind.WORD and self.text.upper() in words


def tokens(text: str, lexis: Lexis = Lexis.SPARK) -> list[Token]:
    """Return the tokens of ``text``; unfinished strings and comments are read as code.

    >>> [token.text for token in tokens("DELETE FROM `a b` -- all")]
    ['DELETE', 'FROM', '`a b`']
    """
    token_list: list[Token] = []
    depth = 0
    for kind, piece, start in _pieces(text, lexis):
        if piece == ")":
            depth = max(depth - 1, 0)
        token_list.append(Token(kind=kind, text=piece, start=start, depth=depth))
        if piece == "(":
            depth += 1
    return token_list


def _pieces(text: str, lexis: Lexis) -> Iterator[tuple[TokenKind, str, int]]:
    position = 0
    for mark in marks_of_statements(text, lexis):
        yield from _code(text, position, mark.span.start)
        position = mark.span.end
        piece = text[mark.span.start : position]
        if mark.kind is Kind.QUOTED:
            is_name = piece[0] == _NAME_QUOTES.get(lexis, "`")
            yield (TokenKind.NAME if is_name else TokenKind.STRING), piece, mark.span.start
        elif mark.kind is not Kind.COMMENT:
            yield TokenKind.SYMBOL, piece, mark.span.start
    yield from _code(text, position, len(text))


def _code(text: str, start: int, end: int) -> Iterator[tuple[TokenKind, str, int]]:
    for match in _PIECE.finditer(text, start, end):
        yield TokenKind[match.lastgroup or ""], match[0], match.start()
