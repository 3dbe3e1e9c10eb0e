r"""Texts of statements and commands: a backslash outside strings, names and comments is a command.

As in psql, a command may stand behind a statement, between two, and in the middle of one, which
goes on behind it.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass

from acidsql.repl.statements import (
    Statement,
    is_complete,
    marks_of_statements,
    pieces,
    statement_of,
)
from acidsql.syntax.lexer import Kind, Lexis

_COMMAND = re.compile(r"(?P<command>\\!|\\[^\s;]*)\s*(?P<argument>.*)", re.DOTALL)
TAKING = frozenset({"\\e", "\\G", "\\g", "\\watch"})
"""Commands that take the statement before them."""

_WORD = re.compile(r"\s*(?:exit|quit|help)\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    r"""Command in a text.

    Attributes:
        command: its name with the backslash.
        argument: what follows it on the line, without blanks around it.
        statement: the statement that it stands behind, or in the middle of; empty if there is none.
        number: 1-based line of the text.
    """

    command: str
    argument: str = ""
    statement: str = ""
    number: int = 1


def read_line(text: str) -> Line | None:
    r"""Return the command that a text begins with, whose argument is all the rest.

    >>> read_line("\\fs two SELECT 1;\nSELECT 2;")
    Line(command='\\fs', argument='two SELECT 1;\nSELECT 2;', statement='', number=1)
    """
    found = _COMMAND.fullmatch(text.strip())
    if found is None:
        return None
    return Line(command=found["command"], argument=found["argument"].strip())


class Script:
    """Statements and commands of a text, one after the other.

    Args:
        text: the whole of it; its last statement needs no semicolon.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._start = 0
        self._statements: deque[tuple[int, int]] = deque()  # their offsets
        self._line: Line | None = None
        self._end = 0  # of the line

    def next(self, lexis: Lexis) -> Statement | Line | None:
        """Return the next part, None behind the last one.

        Args:
            lexis: the rules of the dialect, which a command may have changed.
        """
        if not self._statements and self._line is None:
            self._read(lexis)
        if self._statements:
            start, stop = self._statements.popleft()
            self._start = stop + 1
            return statement_of(self._text, start, stop)
        line, self._line = self._line, None
        if line is not None and line.command in TAKING:
            self.drop()
        return line

    def drop(self) -> None:
        """Leave out the statement that the command stands in the middle of."""
        self._start = self._end

    def rest(self) -> str:
        """Return what no part has had yet: the statement that a command stood in the middle of."""
        return self._text[self._start :].strip()

    def _read(self, lexis: Lexis) -> None:
        """Look for the statements before the next command, and for the command."""
        source = self._text[self._start :]
        offset = self._start
        backslash = _command_at(source, lexis)
        before = source if backslash is None else source[:backslash]
        *found, (start, stop, has_code) = pieces(before, lexis)
        self._statements.extend((offset + a, offset + b) for a, b, is_code in found if is_code)
        if backslash is None:
            if has_code:
                self._statements.append((offset + start, offset + stop))
            return
        end = source.find("\n", backslash)
        self._end = offset + (len(source) if end < 0 else end)
        line = read_line(self._text[offset + backslash : self._end])
        assert line is not None
        unfinished = before[start:stop].strip() if has_code else ""
        is_behind = not has_code and "\n" not in before[start:stop]
        if line.command in TAKING and is_behind and self._statements:
            first, last = self._statements.pop()
            unfinished = self._text[first : last + 1].strip()
        number = self._text.count("\n", 0, offset + backslash) + 1
        self._line = Line(
            command=line.command, argument=line.argument, statement=unfinished, number=number
        )
        # The statement goes on behind it.
        blanks = " " * (self._end - offset - backslash)
        self._text = self._text[: offset + backslash] + blanks + self._text[self._end :]
        self._start = offset + start


def is_submittable(text: str, lexis: Lexis = Lexis.SPARK) -> bool:
    r"""Return whether Enter ends the input: blank, ``…;``, one with a command, or a word that is
    one: ``exit``, ``quit``, ``help``.
    """
    return (
        not text.strip()
        or has_command(text, lexis)
        or _WORD.fullmatch(text) is not None
        or is_complete(text, lexis)
    )


def has_command(text: str, lexis: Lexis) -> bool:
    """Return whether there is a command in a text."""
    return _command_at(text, lexis) is not None


def _command_at(source: str, lexis: Lexis) -> int | None:
    """Return the offset of the first backslash outside strings, names and comments."""
    position = 0
    for mark in marks_of_statements(source, lexis):
        found = source.find("\\", position, mark.span.start)
        if found >= 0 or mark.kind is Kind.UNFINISHED:
            return found if found >= 0 else None
        position = mark.span.end
    found = source.find("\\", position)
    return found if found >= 0 else None
