"""Statements of a text, split at the semicolons that Spark's lexer recognizes.

SQL scripts (``BEGIN … END``) are not supported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from acidsql.syntax.lexer import Kind, Lexis, Mark, marks
from acidsql.syntax.nodes import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Statement of a longer text.

    Attributes:
        text: the statement, with leading comments and without its semicolon.
        line: 1-based line of the source where ``text`` starts.
    """

    text: str
    line: int


def split(source: str, lexis: Lexis = Lexis.SPARK) -> tuple[Statement, ...]:
    """Return the statements of ``source``; the last one needs no semicolon.

    An unfinished string or comment extends to the end of the text.

    >>> [s.text for s in split("SELECT ';'; -- done;")]
    ["SELECT ';'"]
    """
    offsets = list(pieces(source, lexis))
    return tuple(statement_of(source, start, stop) for start, stop, has_code in offsets if has_code)


def is_complete(source: str, lexis: Lexis = Lexis.SPARK) -> bool:
    """Return whether ``source`` ends with the semicolon of a statement; comments can follow."""
    *before, (_, _, has_code) = pieces(source, lexis)
    return bool(before) and not has_code


def is_inside_literal(source: str, lexis: Lexis = Lexis.SPARK) -> bool:
    """Return whether ``source`` ends inside a string, a backtick identifier or a comment."""
    source_marks = list(marks_of_statements(source, lexis))
    if any(mark.kind is Kind.UNFINISHED for mark in source_marks):
        return True
    is_comment = bool(source_marks) and source_marks[-1].kind is Kind.COMMENT
    return is_comment and source_marks[-1].span.end == len(source) and not source.endswith("*/")


def statement_of(source: str, start: int, stop: int) -> Statement:
    """Return the statement between two offsets of a text."""
    text = source[start:stop]
    blanks = len(text) - len(text.lstrip())
    return Statement(text=text.strip(), line=source.count("\n", 0, start + blanks) + 1)


def pieces(source: str, lexis: Lexis) -> Iterator[tuple[int, int, bool]]:
    """Yield the offsets of the parts between semicolons, and whether each part contains code."""
    start = position = 0
    has_code = False
    for mark in marks_of_statements(source, lexis):
        has_code = has_code or not _is_blank(source[position : mark.span.start])
        position = mark.span.end
        if mark.kind is Kind.UNFINISHED:
            yield start, len(source), True
            return
        if mark.kind is Kind.SEMICOLON:
            yield start, mark.span.start, has_code
            start, has_code = position, False
        elif mark.kind is Kind.QUOTED:
            has_code = True
    yield start, len(source), has_code or not _is_blank(source[position:])


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def marks_of_statements(source: str, lexis: Lexis = Lexis.SPARK) -> Iterator[Mark]:
    """Yield the marks of ``source``; a hint counts as a comment, because it hides semicolons."""
    hint_end = 0
    for mark in marks(source, lexis):
        if mark.kind is Kind.HINT:
            closing = source.find("*/", mark.span.end)
            if closing < 0:
                yield Mark(Kind.UNFINISHED, mark.span)
                return
            hint_end = closing + len("*/")
            yield Mark(Kind.COMMENT, Span(start=mark.span.start, end=hint_end))
        elif mark.span.start >= hint_end:
            yield mark
