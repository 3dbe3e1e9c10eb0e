"""Input at the prompt: statements, a command, or statements and a command behind them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from acidsql.repl.statements import is_complete, is_inside_literal
from acidsql.syntax.lexer import Lexis

_COMMAND = re.compile(r"\s*(?P<command>\\\S*?)(?:\s*;?\s*|\s+(?P<argument>.*))", re.DOTALL)
# Commands that may follow a statement on its last line, as in psql and mysql.
_BEHIND = re.compile(r"(?P<command>\\(?:e|G|watch))(?:\s+(?P<argument>\d[\d.]*))?\s*;?\s*\Z")
_EXIT_WORD = re.compile(r"\s*(?:exit|quit)\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    r"""Parts of an input.

    Attributes:
        statements: text before the command, or all of it where there is none.
        command: the command with its backslash, or None.
        argument: what follows the command, without blanks around it.
    """

    statements: str = ""
    command: str | None = None
    argument: str = ""


def read_typed(text: str, lexis: Lexis = Lexis.SPARK) -> Typed:
    r"""Return the parts of ``text``.

    A backslash inside a string, a quoted name or a comment begins no command.

    >>> read_typed("SELECT 1 \\watch 5")
    Typed(statements='SELECT 1', command='\\watch', argument='5')
    >>> read_typed("\\d pet;")
    Typed(statements='', command='\\d', argument='pet;')
    """
    if text.lstrip().startswith("\\"):
        found = _COMMAND.fullmatch(text)
    else:
        found = _BEHIND.search(text)
        if found is not None and is_inside_literal(text[: found.start()], lexis):
            found = None
    if found is None:
        return Typed(statements=text)
    return Typed(
        statements=text[: found.start()].strip(),
        command=found["command"],
        argument=(found["argument"] or "").strip(),
    )


def is_submittable(text: str, lexis: Lexis = Lexis.SPARK) -> bool:
    r"""Return whether Enter ends the input: blank, a command, ``exit``, ``quit``, or ``…;``."""
    return (
        not text.strip()
        or read_typed(text, lexis).command is not None
        or _EXIT_WORD.fullmatch(text) is not None
        or is_complete(text, lexis)
    )
