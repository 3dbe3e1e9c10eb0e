"""Completion of statements, with words that are possible at the cursor, and of commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from acidsql.repl.keywords import (
    clause,
    expects_operand,
    following,
    following_word,
    named_behind,
)
from acidsql.repl.named_tables import (
    NamedTable,
    expects_table,
    named_tables,
    plain,
    queries_of_with,
    statement_at,
)
from acidsql.repl.statements import is_inside_literal
from acidsql.repl.tokens import Token, TokenKind, tokens
from acidsql.syntax.lexer import Lexis, quote

_WORD = re.compile(r"[\w`.]*$")
_COMMAND = re.compile(r"\s*(\\\S*)$")
_ARGUMENT = re.compile(r"\s*(?P<command>\\\S+)\s+(?P<argument>.*)", re.DOTALL)
_NAMES = ("column", "alias", "table", "database", "query")
# An unfinished literal after VERSION AS OF can be the name of a tag.
_OF_VERSION = re.compile(r"\bVERSION\s+AS\s+OF\s+'(?P<begin>\w*)$", re.IGNORECASE)
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")


class Names(Protocol):
    """Part of the catalog that completion uses."""

    def databases(self) -> Iterable[str]:
        """Return the databases."""

    def tables(self, database: str | None = None) -> Iterable[str]:
        """Return the tables of a database; by default those that need no database name."""

    def columns(self, table: str) -> Iterable[str]:
        """Return the columns of a table; none if the table does not exist."""

    def functions(self) -> Iterable[str]:
        """Return the functions."""

    def constraints(self, table: str) -> Iterable[str]:
        """Return the named constraints of a table."""

    def tags(self, table: str) -> Iterable[str]:
        """Return the tags of a table."""


class _Offer(NamedTuple):
    """Words that are possible at the cursor, and their kind."""

    words: Iterable[str]
    meaning: str


class StatementCompleter(Completer):
    """Completer of statements and commands.

    It offers tables where a table is expected; columns, aliases and functions where an operand is
    expected; and the keywords that can follow.

    Args:
        keywords: upper-case words of the SQL dialect.
        commands: the shell's commands, and the completers of their arguments; None to complete an
            argument like a statement.
        names: names of tables, columns and functions.
        lexis: function that returns the lexical rules of the dialect.
        casing: case of keywords: ``upper``, ``lower``, or like the typed text (``auto``).
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
        if command := _COMMAND.search(before):
            if not is_inside_literal(before[: command.start(1)], self._lexis()):
                yield from _matching([_Offer(self._commands, "command")], command[1])
            return
        if argument := _ARGUMENT.fullmatch(before):
            completer = self._commands.get(argument["command"])
            if completer is not None:
                inner = Document(argument["argument"])
                yield from completer.get_completions(inner, complete_event)
                return
        if tag := _OF_VERSION.search(before):
            yield from self._tags_of_version(before[: tag.start()], tag["begin"])
        elif not is_inside_literal(before, self._lexis()):
            yield from self._in_statement(document, requested=complete_event.completion_requested)

    def _tags_of_version(self, before: str, begin: str) -> Iterator[Completion]:
        """Yield the tags that can complete a literal after VERSION AS OF."""
        if is_inside_literal(before, self._lexis()):
            return
        tables = named_tables(before, len(before), self._lexis())
        for table in tables[-1:]:
            for tag in self._names.tags(table.name):
                if tag.startswith(begin):
                    yield Completion(tag, start_position=-len(begin), display_meta="tag")

    def _in_statement(self, document: Document, *, requested: bool) -> Iterator[Completion]:
        """Yield the completions at the cursor.

        After a blank, offer only tables, unless the user ``requested`` completions with Tab.
        """
        match = _WORD.search(document.text_before_cursor)
        word = match.group() if match else ""
        start = document.cursor_position - len(word)
        whole = statement_at(tokens(document.text, self._lexis()), start)
        before = [token for token in whole if token.start < start]
        named = named_behind(before)
        if named is not None:
            tables = named_tables(document.text, document.cursor_position, self._lexis())
            names = {"CONSTRAINT": self._names.constraints, "TAG": self._names.tags}[named]
            known_names = [name for table in tables[:1] for name in names(table.name)]
            offers = [
                _Offer(known_names, named.lower()),
                self._keyword_offer(following_word(before), before, word),
            ]
            yield from _matching(offers, word)
        elif expects_table(before):
            yield from _matching(self._tables(whole, before, word), word.rpartition(".")[2])
        elif word or requested:
            tables = named_tables(document.text, document.cursor_position, self._lexis())
            qualifier, dot, last = word.rpartition(".")
            if dot:
                called = [table for table in tables if table.is_called(qualifier)]
                yield from _matching([_Offer(self._columns(called), "column")], last)
            else:
                yield from self._words(before, tables, word)

    def _tables(
        self, whole: Sequence[Token], before: Sequence[Token], word: str
    ) -> Iterator[_Offer]:
        database, dot, _ = word.rpartition(".")
        if dot:
            yield _Offer(self._names.tables(database), "table")
            return
        if not before[-1].is_word("USE"):
            yield _Offer(queries_of_with(whole), "query")
            yield _Offer(self._names.tables(), "table")
        if word or before[-1].is_word("USE"):
            yield _Offer(self._names.databases(), "database")
        if word:
            yield self._keyword_offer(following_word(before), before, word)

    def _words(
        self, before: Sequence[Token], tables: Sequence[NamedTable], word: str
    ) -> Iterator[Completion]:
        depth = _depth(before)
        likely = following(before, depth)
        is_operand = expects_operand(before)
        offers = []
        if is_operand:
            named = [table.alias or plain(table.name).rpartition(".")[2] for table in tables]
            offers = [
                _Offer(self._columns(tables), "column"),
                _Offer(_aliases(before, depth), "alias"),
                _Offer(named, "table"),
                _Offer(self._functions(word), "function"),
            ]
        matching = list(_matching([*offers, self._keyword_offer(likely, before, word)], word))
        if not matching and word:
            every = self._keyword_offer(self._keywords, before, word)
            matching = list(_matching([every], word))
        yield from matching

    def _columns(self, tables: Iterable[NamedTable]) -> Iterator[str]:
        for table in tables:
            yield from self._names.columns(table.name)

    def _functions(self, word: str) -> Iterator[str]:
        if not word:  # there are hundreds
            return
        for name in self._names.functions():
            if _PLAIN_NAME.fullmatch(name):
                yield name.upper() if word.isupper() else name

    def _keyword_offer(self, keywords: Iterable[str], before: Sequence[Token], word: str) -> _Offer:
        words = [token.text for token in before if token.kind is TokenKind.WORD]
        like = word or (words[-1] if words else "")
        is_lower = self._casing == "lower" or (self._casing == "auto" and like.islower())
        return _Offer(map(str.lower, keywords) if is_lower else keywords, "keyword")


def _depth(before: Sequence[Token]) -> int:
    """Return how many parentheses are open after these tokens."""
    if not before:
        return 0
    return before[-1].depth + (before[-1].text == "(")


def _aliases(before: Sequence[Token], depth: int) -> Iterator[str]:
    """Yield the column aliases of a query, in clauses that can use them."""
    if clause(before, depth) not in ("BY", "HAVING"):
        return
    for previous, token in pairwise(before):
        is_name = token.kind in (TokenKind.WORD, TokenKind.NAME)
        if previous.is_word("AS") and is_name and token.depth == depth:
            yield token.text.strip('`"')


def _matching(offers: Iterable[_Offer], word: str) -> Iterator[Completion]:
    """Yield the completions of a word; of equal candidates, only the first."""
    wanted = word.lower().lstrip("`")
    seen = set()
    for words, meaning in offers:
        for candidate in words:
            low = candidate.lower()
            if not low.startswith(wanted) or candidate == word or low in seen:
                continue
            seen.add(low)
            is_name = meaning in (*_NAMES, "constraint", "tag")
            is_plain = not is_name or _PLAIN_NAME.fullmatch(candidate)
            yield Completion(
                candidate if is_plain else quote(candidate),
                start_position=-len(word),
                display=candidate,
                display_meta=meaning,
            )
