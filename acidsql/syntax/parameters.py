"""Binding of SQL parameters: replacement of the markers in a statement with values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from acidsql.errors import AcidAnalysisError
from acidsql.syntax.lexer import code_spans

_NAMED = re.compile(r"""(?<![\w:`'")\]]):(?P<name>[^\W\d]\w*)""")
_POSITIONAL = re.compile(r"\?")
_NEEDS_NO_BLANK = re.compile(r"[\s(),=\[\]]?")


def bind(text: str, args: Mapping[str, str] | Sequence[str] | None) -> str:
    """Replace the parameter markers of ``text`` with SQL literals.

    Strings, quoted names and comments contain no markers. With a mapping, a marker is a colon and
    a name, ``:limit``. A colon directly after a letter, digit, underscore, quote, closing
    parenthesis, closing bracket or another colon is not a marker: it belongs to a type or a path,
    as in ``struct<a:int>``, ``a::int`` and ``document:path``. A colon before a digit is not a
    marker either, as in ``a[1:2]``. With a sequence, every ``?`` is a marker, and the markers take
    the values in order.

    Args:
        text: SQL.
        args: SQL text of each value, by name or by position. Values without a marker are ignored,
            as in Spark. None leaves the text unchanged.

    Raises:
        AcidAnalysisError: UNBOUND_SQL_PARAMETER, a marker has no value.

    >>> bind("SELECT ':a', x::int, :a", {"a": "1"})
    "SELECT ':a', x::int, 1"
    """
    if args is None:
        return text
    markers = _named(text, args) if isinstance(args, Mapping) else _positional(text, args)
    pieces: list[str] = []
    position = 0
    for match, value in markers:
        pieces += (text[position : match.start()], _apart(value, match))
        position = match.end()
    return "".join((*pieces, text[position:]))


def positional_markers(text: str) -> int:
    """Return the number of parameter markers ``?`` in a text.

    >>> positional_markers("SELECT ?, '?', ? -- ?")
    2
    """
    return sum(1 for _ in _markers(_POSITIONAL, text))


def _named(text: str, args: Mapping[str, str]) -> Iterator[tuple[re.Match[str], str]]:
    for match in _markers(_NAMED, text):
        name = match["name"]
        if name not in args:
            raise _unbound(f"{name!r}", f"args={{{name!r}: …}}")
        yield match, args[name]


def _positional(text: str, args: Sequence[str]) -> Iterator[tuple[re.Match[str], str]]:
    for index, match in enumerate(_markers(_POSITIONAL, text)):
        if index >= len(args):
            raise _unbound(f"number {index + 1}", f"at least {index + 1} values in args")
        yield match, args[index]


def _markers(marker: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    for span in code_spans(text):
        yield from marker.finditer(text, span.start, span.end)


def _apart(value: str, match: re.Match[str]) -> str:
    """Return a value with blanks where it would merge with the adjacent text.

    Without blanks, ``-?`` with the value ``-1`` would begin a comment, and ``'a'?`` with a string
    would contain a doubled quote.
    """
    before = match.string[: match.start()][-1:]
    after = match.string[match.end() :][:1]
    left = "" if _NEEDS_NO_BLANK.fullmatch(before) else " "
    right = "" if _NEEDS_NO_BLANK.fullmatch(after) else " "
    return f"{left}{value}{right}"


def names_of(text: str) -> tuple[str, ...]:
    """Return the distinct names of the parameter markers in a text.

    >>> names_of("SELECT ':a', x::int, :b + :c + :b")
    ('b', 'c')
    """
    return tuple(dict.fromkeys(match["name"] for match in _markers(_NAMED, text)))


def _unbound(parameter: str, remedy: str) -> AcidAnalysisError:
    return AcidAnalysisError(
        "UNBOUND_SQL_PARAMETER",
        f"the statement's parameter {parameter} has no value: pass {remedy}",
        {"name": parameter},
    )
