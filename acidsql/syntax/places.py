"""Positions of errors in statements."""

from __future__ import annotations

import re
from typing import TypedDict

_CONTEXT = 60
_LONGEST_TEXT = 200


class TextPosition(TypedDict):
    """A place in a text, as the errors of ``acidsql.errors`` report it.

    Attributes:
        line: 1-based line.
        column: 1-based column.
        context: the line with a caret below the place; for a long line, only the nearby text.
        offset: 0-based position in the text.
        fragment: the word at the place.
    """

    line: int
    column: int
    context: str
    offset: int
    fragment: str


def shortened(text: str) -> str:
    """Return a text for a message, shortened because a word of a statement may be a megabyte."""
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"


def place_of(text: str, offset: int, fragment: str = "") -> TextPosition:
    r"""Return the place of an offset.

    >>> print(place_of("SELECT 1\nFORM t", 9)["context"])
    FORM t
    ^
    """
    line_start = text.rfind("\n", 0, offset) + 1
    line_end = text.find("\n", offset)
    start = max(line_start, offset - _CONTEXT)
    end = min(line_end if line_end >= 0 else len(text), offset + _CONTEXT)
    indent = re.sub(r"[^\t]", " ", text[start:offset])
    return TextPosition(
        line=text.count("\n", 0, offset) + 1,
        column=offset - line_start + 1,
        context=f"{text[start:end]}\n{indent}^",
        offset=offset,
        fragment=fragment,
    )
