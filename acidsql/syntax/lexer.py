"""Spark's comments, string literals and quoted names, by the rules of its ``SqlBaseLexer.g4``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from acidsql.syntax.nodes import Span

_OPENING = re.compile(
    r"""
      (?P<line_comment>--(?:\\\n|[^\r\n])*)
    | (?P<bracketed_comment>/\*(?!\+))
    | (?P<quoted>(?<!\w)[rR](?:'[^']*'|"[^"]*")
        | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `[^`]*`)
    """,
    re.VERBOSE | re.DOTALL,
)
# `/*+` opens a hint, and nothing inside a comment.
_BRACKET = re.compile(r"/\*(?!\+)|\*/")

_ESCAPE = re.compile(
    r"\\(?:u(?P<utf16>[0-9a-fA-F]{4})|U(?P<utf32>00(?:10|0[0-9a-fA-F])[0-9a-fA-F]{4})"
    r"|(?P<octal>[01][0-7]{2})|(?P<other>.))"
    r"""|(?P<doubled>''|"")""",
    re.DOTALL,
)
_CONTROL = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}


def blank_comments(text: str) -> str:
    """Return ``text`` with every comment replaced by as many blanks; hints (``/*+``) stay.

    A bracketed comment may hold others. One that is never closed stays as it is.

    >>> blank_comments("a/*x*/'--' -- y")
    "a     '--'     "
    """
    pieces: list[str] = []
    position = 0
    for span, is_comment in _hidden(text):
        if is_comment:
            pieces.append(text[position : span.start])
            pieces.append(" " * (span.end - span.start))
            position = span.end
    pieces.append(text[position:])
    return "".join(pieces)


def code_spans(text: str) -> Iterator[Span]:
    """Yield the parts of ``text`` outside comments, string literals and quoted names."""
    position = 0
    for span, _ in _hidden(text):
        yield Span(start=position, end=span.start)
        position = span.end
    yield Span(start=position, end=len(text))


def quote(name: str) -> str:
    """Return a name as a quoted identifier."""
    return "`" + name.replace("`", "``") + "`"


def unquote_name(token: str) -> str:
    """Return the identifier of a token, which may be quoted with backticks."""
    return token[1:-1].replace("``", "`") if token.startswith("`") else str(token)


def unquote_string(token: str) -> str:
    r"""Return the value of a string literal.

    The rules are those of Spark's ``unescapeSQLString``: ``r''`` literals are taken as they are, a
    doubled quote is one, ``\%`` and ``\_`` keep their backslash, unknown escapes lose it.

    >>> unquote_string(r"'a''b\tc\%'")
    "a'b\tc\\%"
    """
    if token[0] in "rR":
        return token[2:-1]
    value = _ESCAPE.sub(lambda match: _unescaped(match, quote=token[0]), token[1:-1])
    # Two UTF-16 escapes may be a surrogate pair, one character.
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unescaped(match: re.Match[str], quote: str) -> str:
    if match["doubled"]:
        return quote if match["doubled"][0] == quote else match["doubled"]
    code = match["utf16"] or match["utf32"]
    if code:
        return chr(int(code, 16))
    if match["octal"]:
        return chr(int(match["octal"], 8))
    other = match["other"]
    return match[0] if other in "%_" else _CONTROL.get(other, other)


def _hidden(text: str) -> Iterator[tuple[Span, bool]]:
    """Yield comments (with True) and quoted tokens (with False) in order."""
    position = 0
    while match := _OPENING.search(text, position):
        position = match.end()
        if match.lastgroup == "bracketed_comment":
            end = _comment_end(text, position)
            if end is None:
                continue
            position = end
        yield Span(start=match.start(), end=position), match.lastgroup != "quoted"


def _comment_end(text: str, position: int) -> int | None:
    """Return the end of the comment whose ``/*`` ends at ``position``, None if it is never
    closed.
    """
    depth = 1
    for match in _BRACKET.finditer(text, position):
        depth += -1 if match.group() == "*/" else 1
        if depth == 0:
            return match.end()
    return None
