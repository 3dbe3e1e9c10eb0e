r"""Input of the shell, split into statements and commands.

A backslash outside strings, names and comments begins a command. As in psql, a command can be after
a statement, between two statements, or in the middle of a statement, which continues after it.
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
        command: name of the command, with the backslash.
        argument: rest of the line, without surrounding blanks.
        statement: statement before the command or around it; empty if there is none.
        number: 1-based line in the text.
    """

    command: str
    argument: str = ""
    statement: str = ""
    number: int = 1


def read_line(text: str) -> Line | None:
    r"""Return the command at the beginning of a text; its argument is the rest of the text.

    >>> read_line("\\fs two SELECT 1;\nSELECT 2;")
    Line(command='\\fs', argument='two SELECT 1;\nSELECT 2;', statement='', number=1)
    """
    match = _COMMAND.fullmatch(text.strip())
    if match is None:
        return None
    return Line(command=match["command"], argument=match["argument"].strip())


class Script:
    """Statements and commands of a text, one after the other.

    Args:
        text: the whole text; its last statement needs no semicolon.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._start = 0
        self._statements: deque[tuple[int, int]] = deque()  # their offsets
        self._line: Line | None = None
        self._end = 0  # of the line

    def next(self, lexis: Lexis) -> Statement | Line | None:
        """Return the next part; None after the last one.

        Args:
            lexis: lexical rules of the dialect, which a command may have changed.
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
        """Skip the statement around the command."""
        self._start = self._end

    def rest(self) -> str:
        """Return the text that was not returned yet: the statement around a command."""
        return self._text[self._start :].strip()

    def _read(self, lexis: Lexis) -> None:
        """Find the statements before the next command, and the command."""
        source = self._text[self._start :]
        offset = self._start
        backslash = _command_at(source, lexis)
        before = source if backslash is None else source[:backslash]
        *finished, (start, stop, has_code) = pieces(before, lexis)
        self._statements.extend((offset + a, offset + b) for a, b, is_code in finished if is_code)
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
        # Blank the command, because the statement continues after it.
        blanks = " " * (self._end - offset - backslash)
        self._text = self._text[: offset + backslash] + blanks + self._text[self._end :]
        self._start = offset + start


def is_submittable(text: str, lexis: Lexis = Lexis.SPARK) -> bool:
    r"""Return whether Enter ends the input.

    The input must be blank, end with a semicolon, contain a command, or be one of the words
    ``exit``, ``quit`` and ``help``.
    """
    return (
        not text.strip()
        or has_command(text, lexis)
        or _WORD.fullmatch(text) is not None
        or is_complete(text, lexis)
    )


def has_command(text: str, lexis: Lexis) -> bool:
    """Return whether a text contains a command."""
    return _command_at(text, lexis) is not None


def _command_at(source: str, lexis: Lexis) -> int | None:
    """Return the offset of the first backslash outside strings, names and comments."""
    position = 0
    for mark in marks_of_statements(source, lexis):
        backslash = source.find("\\", position, mark.span.start)
        if backslash >= 0 or mark.kind is Kind.UNFINISHED:
            return backslash if backslash >= 0 else None
        position = mark.span.end
    backslash = source.find("\\", position)
    return backslash if backslash >= 0 else None
