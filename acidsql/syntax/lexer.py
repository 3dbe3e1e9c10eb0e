"""Spark's comments, string literals and quoted names, by the rules of its ``SqlBaseLexer.g4``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from acidsql.once import once
from acidsql.syntax.nodes import Span


class Lexis(Enum):
    """Rules of a dialect for comments and quotes."""

    SPARK = "spark"
    HIVE = "hive"
    TRINO = "trino"


_COMMENTS = {
    Lexis.SPARK: r"--(?:\\\n|[^\r\n])*",
    Lexis.HIVE: r"--[^\r\n]*",
    Lexis.TRINO: r"--[^\r\n]*",
}
# Quoted tokens by their quote character.
_BACKSLASHED = {
    "'": r"'(?:[^'\\]|\\.)*'",
    '"': r'"(?:[^"\\]|\\.)*"',
    "`": "`[^`]*`",
}
_QUOTED = {
    Lexis.SPARK: _BACKSLASHED,
    Lexis.HIVE: _BACKSLASHED,
    Lexis.TRINO: {"'": "'[^']*'", '"': '"[^"]*"'},
}
_RAW = {Lexis.SPARK: [r"""(?<!\w)[rR](?:'[^']*'|"[^"]*")"""]}


@once
def _opening(lexis: Lexis, unfinished: str) -> re.Pattern[str]:
    """Return the pattern for the start of a mark.

    Args:
        unfinished: quote characters that are known to have no end.
    """
    quoted = [form for quote, form in _QUOTED[lexis].items() if quote not in unfinished]
    return re.compile(
        rf"""
          (?P<COMMENT>{_COMMENTS[lexis]})
        | (?P<HINT>/\*\+)
        | (?P<BRACKETED>/\*)
        | (?P<QUOTED>{"|".join([*_RAW.get(lexis, []), *quoted, "(?!)"])})
        | (?P<UNFINISHED>['"`])
        | (?P<SEMICOLON>;)
        """,
        re.VERBOSE | re.DOTALL,
    )


# `/*+` opens a hint, but has no meaning inside a comment.
_BRACKETS = re.compile(r"(?=(/\*(?!\+)|\*/))")


class Kind(Enum):
    """Kind of a mark in the text.

    The text between marks consists of words, numbers and operators.
    """

    COMMENT = "comment"
    HINT = "``/*+``, which opens a hint"
    QUOTED = "string literal or quoted name"
    SEMICOLON = "semicolon"
    UNFINISHED = "a quote or ``/*`` without its end"


@dataclass(frozen=True, slots=True)
class Mark:
    """A piece of the text that is not plain code."""

    kind: Kind
    span: Span


def marks(text: str, lexis: Lexis = Lexis.SPARK) -> Iterator[Mark]:
    """Yield comments, hints, quoted tokens and semicolons in order.

    For an unfinished quote or comment, only the opening characters are a mark. The text after them
    is code, as in Spark's lexer.
    """
    position = 0
    # An unfinished quote is searched only once: later quotes of its kind have no end either.
    unfinished = ""
    comment_ends: Mapping[int, int] | None = None
    while match := _opening(lexis, unfinished).search(text, position):
        kind, position = match.lastgroup or "", match.end()
        if kind == "BRACKETED":
            comment_ends = _comment_ends(text) if comment_ends is None else comment_ends
            end = comment_ends.get(position)
            kind, position = ("UNFINISHED", position) if end is None else ("COMMENT", end)
        elif kind == "UNFINISHED":
            unfinished += match[0]
        yield Mark(Kind[kind], Span(start=match.start(), end=position))


_ESCAPE = re.compile(
    r"\\(?:u(?P<utf16>[0-9a-fA-F]{4})|U(?P<utf32>00(?:10|0[0-9a-fA-F])[0-9a-fA-F]{4})"
    r"|(?P<octal>[01][0-7]{2})|(?P<other>.))"
    r"""|(?P<doubled>''|"")""",
    re.DOTALL,
)
_CONTROL = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}


def blank_comments(text: str, lexis: Lexis = Lexis.SPARK) -> str:
    """Return ``text`` with blanks in place of each comment; hints (``/*+``) stay.

    Bracketed comments can be nested. A comment that is never closed stays unchanged.

    >>> blank_comments("a/*x*/'--' -- y")
    "a     '--'     "
    """
    pieces: list[str] = []
    position = 0
    for mark in marks(text, lexis):
        if mark.kind is Kind.COMMENT:
            span = mark.span
            pieces.append(text[position : span.start])
            pieces.append(" " * (span.end - span.start))
            position = span.end
    pieces.append(text[position:])
    return "".join(pieces)


def replaced_words(text: str, words: re.Pattern[str], other: str) -> str:
    """Replace words of a text, except in comments and quotes.

    If the replacement is not longer than a word, the text after it keeps its position.

    >>> replaced_words("a INT, b CHAR COMMENT 'INT'", re.compile("INT|CHAR"), "X")
    "a X  , b X    COMMENT 'INT'"
    """
    pieces = list(text)
    for span in code_spans(text):
        for match in words.finditer(text, span.start, span.end):
            replaced = other.ljust(len(match[0]))
            pieces[match.start() : match.end()] = [replaced] + [""] * (len(match[0]) - 1)
    return "".join(pieces)


def code_spans(text: str) -> Iterator[Span]:
    """Yield the parts of ``text`` outside comments, string literals and quoted names."""
    position = 0
    for mark in marks(text):
        if mark.kind in (Kind.COMMENT, Kind.QUOTED):
            yield Span(start=position, end=mark.span.start)
            position = mark.span.end
    yield Span(start=position, end=len(text))


def quote(name: str) -> str:
    """Return a name as a quoted identifier."""
    return "`" + name.replace("`", "``") + "`"


def unquote_name(token: str) -> str:
    """Return the identifier of a token, which may be quoted with backticks."""
    return token[1:-1].replace("``", "`") if token.startswith("`") else str(token)


def unquote_string(token: str) -> str:
    r"""Return the value of a string literal.

    The rules are those of Spark's ``unescapeSQLString``: ``r''`` literals have no escapes, a
    doubled quote is one quote, ``\%`` and ``\_`` keep their backslash, and other unknown escapes
    lose it.

    >>> unquote_string(r"'a''b\tc\%'")
    "a'b\tc\\%"
    """
    if token[0] in "rR":
        return token[2:-1]
    value = _ESCAPE.sub(lambda match: _unescaped(match, quote=token[0]), token[1:-1])
    # Two UTF-16 escapes may be a surrogate pair, which is one character.
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


def _comment_ends(text: str) -> Mapping[int, int]:
    """Map the end of the ``/*`` of each closed comment to the end of the comment."""
    # A bracket may overlap the bracket before it, as in `*/*`.
    brackets = [(match.start(), match[1]) for match in _BRACKETS.finditer(text)]
    # For each bracket, the bracket that closes a comment with content after this bracket.
    closing: list[int | None] = [None] * len(brackets)
    for index in range(len(brackets) - 1, -1, -1):
        behind = brackets[index][0] + 2
        following = index + 1
        while following < len(brackets) and brackets[following][0] < behind:
            following += 1
        if following == len(brackets):
            continue
        if brackets[following][1] == "*/":
            closing[index] = following
        elif (inner := closing[following]) is not None:
            closing[index] = closing[inner]
    return {
        brackets[index][0] + 2: brackets[last][0] + 2
        for index, last in enumerate(closing)
        if last is not None and brackets[index][1] == "/*"
    }
