"""Completion of keywords, table names and the shell's own commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from acidsql.repl.statements import is_inside_literal

# Words after which Spark and acidsql expect the name of a table.
_BEFORE_TABLE = frozenset(
    {"ANALYZE", "DESC", "DESCRIBE", "FROM", "INTO", "JOIN", "TABLE", "UPDATE", "USING"}
)
_WORD = re.compile(r"[\w`.]*$")
_PREVIOUS_WORD = re.compile(r"(\w+)\s+[\w`.]*$")
_COMMAND = re.compile(r"\s*(\\\w*)$")


class StatementCompleter(Completer):
    """Completer that offers table names where a table is expected, else keywords and table names.

    Args:
        keywords: upper-case words of the SQL dialect.
        commands: the shell's backslash commands.
        table_names: returns the tables that can be named without a database.
    """

    def __init__(
        self,
        *,
        keywords: Iterable[str],
        commands: Iterable[str],
        table_names: Callable[[], Sequence[str]],
    ) -> None:
        self._keywords = sorted(keywords)
        self._commands = sorted(commands)
        self._table_names = table_names

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        """Yield the completions of the word before the cursor."""
        del complete_event  # on Tab or while typing: the same completions
        before = document.text_before_cursor
        if command := _COMMAND.fullmatch(before):
            yield from _matching(self._commands, command[1])
            return
        match = _WORD.search(before)
        word = match.group() if match else ""
        previous = _PREVIOUS_WORD.search(before)
        expects_table = previous is not None and previous[1].upper() in _BEFORE_TABLE
        if is_inside_literal(before) or not (word or expects_table):
            return
        yield from _matching(self._table_names(), word)
        if not expects_table:
            keywords = self._keywords
            if word.islower():
                keywords = [keyword.lower() for keyword in keywords]
            yield from _matching(keywords, word)


def _matching(candidates: Iterable[str], word: str) -> Iterator[Completion]:
    wanted = word.lower()
    for candidate in candidates:
        if candidate.lower().startswith(wanted) and candidate != word:
            yield Completion(candidate, start_position=-len(word))
