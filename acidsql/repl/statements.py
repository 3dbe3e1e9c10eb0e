"""Splitting of text into SQL statements at the semicolons that Spark's lexer would see.

Strings (with backslash escapes, and raw ones), backtick identifiers, line comments and nested
bracketed comments hide semicolons, by the rules of Spark's ``SqlBaseLexer.g4``. sqlglot's tokenizer
is not used because it refuses unfinished text, and texts that Spark accepts. SQL scripts (``BEGIN …
END``) are not supported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
      (?P<blank>\s+)
    | (?P<comment>--(?:\\\n|[^\r\n])*)
    | (?P<bracketed>/\*)
    | (?P<literal>[rR]'[^']*' | [rR]"[^"]*" | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `[^`]*`)
    | (?P<open>[rR]?['"] | `)
    | (?P<word>\w+)
    | (?P<end>;)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_BRACKET = re.compile(r"/\*|\*/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Statement of a longer text.

    Attributes:
        text: the statement, leading comments included, without its semicolon.
        line: 1-based line of the source at which ``text`` starts.
    """

    text: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Token:
    kind: str
    start: int
    stop: int


def split(source: str) -> tuple[Statement, ...]:
    """Return the statements of ``source``; the last one needs no semicolon.

    >>> [s.text for s in split("SELECT ';'; -- done;")]
    ["SELECT ';'"]
    """
    statements: list[Statement] = []
    start = 0
    has_code = False
    for token in _tokens(source):
        if token.kind == "end":
            if has_code:
                statements.append(_statement(source, start, token.start))
            start, has_code = token.stop, False
        elif token.kind not in {"blank", "comment"}:
            has_code = True
    if has_code:
        statements.append(_statement(source, start, len(source)))
    return tuple(statements)


def is_complete(source: str) -> bool:
    """Return whether ``source`` ends with the semicolon of a statement; comments may follow."""
    last = ""
    for token in _tokens(source):
        if token.kind not in {"blank", "comment"}:
            last = token.kind
    return last == "end"


def is_inside_literal(source: str) -> bool:
    """Return whether ``source`` ends inside a string, a backtick identifier or a comment."""
    last = None
    for token in _tokens(source):
        last = token
    if last is None:
        return False
    return last.kind == "open" or (last.kind == "comment" and not source.endswith("*/"))


def _statement(source: str, start: int, stop: int) -> Statement:
    text = source[start:stop]
    blanks = len(text) - len(text.lstrip())
    return Statement(text=text.strip(), line=source.count("\n", 0, start + blanks) + 1)


def _tokens(source: str) -> Iterator[_Token]:
    """Yield tokens that cover ``source``; an unfinished literal or comment reaches to its end."""
    position = 0
    while match := _TOKEN.match(source, position):
        kind, stop = match.lastgroup or "other", match.end()
        if kind == "bracketed":
            kind, stop = _bracketed_comment(source, stop)
        elif kind == "open":
            stop = len(source)
        yield _Token(kind=kind, start=position, stop=stop)
        position = stop


def _bracketed_comment(source: str, position: int) -> tuple[str, int]:
    """Return the kind and the end of the comment whose ``/*`` ends at ``position``."""
    depth = 1
    for match in _BRACKET.finditer(source, position):
        depth += 1 if match.group() == "/*" else -1
        if depth == 0:
            return "comment", match.end()
    return "open", len(source)
