"""Errors in a text of another dialect, with their place."""

from __future__ import annotations

import re

from acidsql.errors import AcidDialectError, AcidParseError
from acidsql.syntax.places import TextPosition, place_of, shortened

_WORD = re.compile(r"\w*")


def malformed(text: str, offset: int, message: str) -> AcidParseError:
    """Return the error that a text is not a statement of its dialect."""
    message = shortened(message)
    return AcidParseError(message, **_place(text, offset))


def unsupported(text: str, offset: int, *, problem: str, instead: str) -> AcidDialectError:
    """Return the error that a construct of a dialect cannot be translated to Spark.

    Args:
        text: the statement.
        offset: position of the construct in the statement.
        problem: sentence that says how the construct differs.
        instead: sentence that says what to write instead.
    """
    message = f"{shortened(problem)}: {instead}"
    return AcidDialectError(message, **_place(text, offset))


def _place(text: str, offset: int) -> TextPosition:
    word = _WORD.match(text, offset)
    return place_of(text, offset, word[0] if word else "")
