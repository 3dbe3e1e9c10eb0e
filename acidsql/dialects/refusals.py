"""Errors about a place in a text of another dialect."""

from __future__ import annotations

import re

from acidsql.errors import AcidDialectError, AcidParseError
from acidsql.syntax.places import Place, place_of, shortened

_WORD = re.compile(r"\w*")


def malformed(text: str, offset: int, message: str) -> AcidParseError:
    """Return the error that a text is no statement of its dialect."""
    message = shortened(message)
    return AcidParseError(message, **_place(text, offset))


def unsupported(text: str, offset: int, *, problem: str, instead: str) -> AcidDialectError:
    """Return the error that something of a dialect cannot be carried over to Spark.

    Args:
        text: the statement.
        offset: position of the construct in it.
        problem: the construct, and how it differs, as a sentence.
        instead: what to write, as a sentence.
    """
    message = f"{shortened(problem)}: {instead}"
    return AcidDialectError(message, **_place(text, offset))


def _place(text: str, offset: int) -> Place:
    found = _WORD.match(text, offset)
    return place_of(text, offset, found[0] if found else "")
