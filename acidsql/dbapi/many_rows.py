"""Rows of ``executemany``, combined into one ``INSERT … VALUES (?, ?)`` statement."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from acidsql.syntax import bind
from acidsql.syntax.lexer import blank_comments, code_spans
from acidsql.syntax.parameters import positional_markers
from acidsql.syntax.statements import Insert

_VALUES = re.compile(r"\s*VALUES\s*(?=\()", re.IGNORECASE)
_DEFAULT = re.compile(r"(?i)\bDEFAULT\b")
_ALONE = re.compile(r"\s*(?:\?|:(?P<name>[^\W\d]\w*))\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTemplate:
    """``INSERT`` with one row of ``VALUES``.

    Attributes:
        head: text before ``VALUES``.
        row: text between the parentheses of the row.
    """

    head: str
    row: str

    def of_literals(self, rows: Sequence[Mapping[str, str] | Sequence[str]]) -> str:
        """Return the statement with all ``rows``, whose values are SQL texts."""
        written = ", ".join(f"({bind(self.row, row)})" for row in rows)
        return f"{self.head} VALUES {written}"

    def of_frame(self, columns: Mapping[str, str] | Sequence[str], frame: str) -> str:
        """Return the statement that inserts a DataFrame, whose name it has in braces.

        Args:
            columns: SQL text that replaces each parameter.
            frame: name of the DataFrame.
        """
        row = bind(_escaped(self.row), columns)
        return f"{_escaped(self.head)} SELECT {row} FROM {{{frame}}}"

    def targets(self, types: Sequence[str]) -> Mapping[int | str, str]:
        """Return the types of the columns whose value is exactly one parameter.

        The keys are the positions or the names of the parameters. A name is only included if all
        its columns have the same type.

        Args:
            types: types of the columns, in the order of the row's values.
        """
        items = _items(self.row)
        if len(items) != len(types):
            return {}
        types_by_place: dict[int | str, set[str]] = {}
        before = 0
        for item, kind in zip(items, types, strict=True):
            alone = _ALONE.fullmatch(item)
            if alone is not None:
                types_by_place.setdefault(alone["name"] or before, set()).add(kind)
            before += positional_markers(item)
        return {place: kinds.pop() for place, kinds in types_by_place.items() if len(kinds) == 1}


def _items(row: str) -> list[str]:
    """Split the text between the parentheses of a row at its commas.

    >>> _items("?, concat('a,b', ?)")
    ['?', " concat('a,b', ?)"]
    """
    depth, begin = 0, 0
    items = []
    for span in code_spans(row):
        for i in range(span.start, span.end):
            depth += (row[i] in "([") - (row[i] in ")]")
            if row[i] == "," and depth == 0:
                items.append(row[begin:i])
                begin = i + 1
    return [*items, row[begin:]]


def _escaped(text: str) -> str:
    """Double the braces of a text, because a name in single braces refers to a DataFrame."""
    return text.replace("{", "{{").replace("}", "}}")


def row_template(text: str, statement: Insert) -> RowTemplate | None:
    """Return the template of an ``INSERT … VALUES (…)`` with one row; None for another statement.

    >>> from acidsql.syntax import parse
    >>> text = "INSERT INTO t VALUES (?, upper(?))"
    >>> row_template(text, parse(text))
    RowTemplate(head='INSERT INTO t ', row='?, upper(?)')
    """
    text = blank_comments(text)
    keyword = _VALUES.match(text, statement.query.start)
    if keyword is None or statement.replaces:  # a row may replace the one before it
        return None
    end = _closing(text, keyword.end())
    if end is None or text[end + 1 :].strip().rstrip(";").strip():
        return None
    row = text[keyword.end() + 1 : end]
    # DEFAULT has a different meaning outside VALUES.
    if any(_DEFAULT.search(span.of(row)) for span in code_spans(row)):
        return None
    return RowTemplate(head=text[: statement.query.start], row=row)


def _closing(text: str, opening: int) -> int | None:
    """Return the offset of the parenthesis that closes the parenthesis at ``opening``."""
    depth = 0
    for span in code_spans(text):
        for i in range(max(span.start, opening), span.end):
            depth += (text[i] == "(") - (text[i] == ")")
            if depth == 0:
                return i
    return None
