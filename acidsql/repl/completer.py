"""Completion of keywords, names of tables and columns, and the shell's own commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from acidsql.repl.named_tables import BEFORE_TABLE, NamedTable, named_tables
from acidsql.repl.statements import is_inside_literal
from acidsql.syntax.lexer import Lexis, quote

_WORD = re.compile(r"[\w`.]*$")
_PREVIOUS_WORD = re.compile(r"(\w+)\s+[\w`.]*$")
_COMMAND = re.compile(r"\s*(\\\S*)$")
_ARGUMENT = re.compile(r"\s*(?P<command>\\\S+)\s+(?P<argument>.*)", re.DOTALL)
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")


class Names(Protocol):
    """Catalog, as far as completion asks it."""

    def tables(self) -> Iterable[str]:
        """Return the tables that can be named without a database."""

    def columns(self, table: str) -> Iterable[str]:
        """Return the columns of a table, none if there is no such one."""


class StatementCompleter(Completer):
    """Completer that offers table names where a table is expected, else columns of the tables that
    the statement names, table names and keywords.

    Args:
        keywords: upper-case words of the SQL dialect.
        commands: the shell's commands, and what completes their arguments; None: as in a statement.
        names: of tables and columns.
        lexis: returns the rules of the dialect.
        casing: case of keywords, ``upper``, ``lower`` or that of the word (``auto``).
    """

    def __init__(
        self,
        *,
        keywords: Iterable[str],
        commands: Mapping[str, Completer | None],
        names: Names,
        lexis: Callable[[], Lexis] = lambda: Lexis.SPARK,
        casing: str = "auto",
    ) -> None:
        self._keywords = sorted(keywords)
        self._commands = dict(sorted(commands.items()))
        self._names = names
        self._lexis = lexis
        self._casing = casing

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        """Yield the completions of the word before the cursor."""
        before = document.text_before_cursor
        if command := _COMMAND.fullmatch(before):
            yield from _matching(self._commands, command[1])
            return
        if argument := _ARGUMENT.fullmatch(before):
            completer = self._commands.get(argument["command"])
            if completer is not None:
                inner = Document(argument["argument"])
                yield from completer.get_completions(inner, complete_event)
                return
        if not is_inside_literal(before, self._lexis()):
            yield from self._in_statement(document, asked=complete_event.completion_requested)

    def _in_statement(self, document: Document, *, asked: bool) -> Iterator[Completion]:
        """Yield what may stand at the cursor; after a blank only what is ``asked`` for by Tab."""
        before = document.text_before_cursor
        match = _WORD.search(before)
        word = match.group() if match else ""
        previous = _PREVIOUS_WORD.search(before)
        if previous is not None and previous[1].upper() in BEFORE_TABLE:
            yield from _matching(self._names.tables(), word)
            return
        if not (word or asked):
            return
        tables = named_tables(document.text, document.cursor_position, self._lexis())
        qualifier, dot, last = word.rpartition(".")
        if dot:
            called = [table for table in tables if table.is_called(qualifier)]
            yield from _matching(self._columns(called), last)
            if not called:
                yield from _matching(self._names.tables(), word)
            return
        yield from _matching(self._columns(tables), word)
        if word:
            yield from _matching(self._names.tables(), word)
            yield from _matching(self._cased_keywords(word), word)

    def _columns(self, tables: Iterable[NamedTable]) -> Iterable[str]:
        return dict.fromkeys(
            column for table in tables for column in self._names.columns(table.name)
        )

    def _cased_keywords(self, word: str) -> Iterable[str]:
        is_lower = self._casing == "lower" or (self._casing == "auto" and word.islower())
        return map(str.lower, self._keywords) if is_lower else self._keywords


def _matching(candidates: Iterable[str], word: str) -> Iterator[Completion]:
    wanted = word.lower().lstrip("`")
    for candidate in candidates:
        if candidate.lower().startswith(wanted) and candidate != word:
            is_plain = candidate.startswith("\\") or _PLAIN_NAME.fullmatch(candidate)
            yield Completion(
                candidate if is_plain else quote(candidate),
                start_position=-len(word),
                display=candidate,
            )
