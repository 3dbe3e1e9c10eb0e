"""Prompt: history, highlighting, and the rule when Enter ends the input."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import Completer
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory
from prompt_toolkit.lexers import PygmentsLexer
from pygments.lexers.sql import SqlLexer
from pygments.token import Keyword, Name, _TokenType

from acidsql.repl.statements import is_complete
from acidsql.syntax.lexer import Lexis

_PROMPT = "acidsql{}> "
_CONTINUATION = "      -> "
_WORD_COMMAND = re.compile(r"\s*(?:exit|quit)\s*", re.IGNORECASE)
# Words of Spark's and Hive's SQL that Pygments' standard SQL does not have.
_MORE_KEYWORDS = frozenset(
    {
        "BUCKETS",
        "CHECK",
        "CLUSTERED",
        "COMPACT",
        "COMPACTIONS",
        "LOCATION",
        "MATCHED",
        "MERGE",
        "MINOR",
    }
    | {"MAJOR", "ORC", "OVERWRITE", "PARTITION", "PARTITIONED", "PARTITIONS", "SHOW", "SOURCE"}
    | {"BEGIN", "COMMIT", "ROLLBACK", "START", "TRANSACTION"}
    | {"STORED", "TARGET", "TBLPROPERTIES", "WAIT", "CHECK", "REPAIR"}
)


class AcidSqlLexer(SqlLexer):  # type: ignore[misc] # Pygments has no type hints
    """Pygments' SQL with the words of ACID statements."""

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, _TokenType, str]]:
        """Yield position, type and text of every token."""
        for position, kind, value in super().get_tokens_unprocessed(text):
            known = kind is Name and value.upper() in _MORE_KEYWORDS
            yield position, Keyword if known else kind, value


def make_prompt(
    *,
    history: Path,
    completer: Completer,
    lexis: Callable[[], Lexis] = lambda: Lexis.SPARK,
    mark: Callable[[], str] = lambda: "",
) -> PromptSession[str]:
    """Return a prompt whose Enter ends the input after a semicolon or a command.

    Args:
        history: file of earlier inputs; its directory is made where missing.
        completer: offers completions while typing.
        lexis: returns the rules by which a statement ends.
        mark: returns what the prompt shows of the transaction that is open.
    """
    history.parent.mkdir(parents=True, exist_ok=True)
    return PromptSession(
        message=lambda: _PROMPT.format(mark()),
        prompt_continuation=_CONTINUATION,
        history=FileHistory(str(history)),
        auto_suggest=AutoSuggestFromHistory(),
        lexer=PygmentsLexer(AcidSqlLexer),
        completer=completer,
        complete_in_thread=True,
        multiline=Condition(lambda: not is_submittable(get_app().current_buffer.text, lexis())),
    )


def is_submittable(text: str, lexis: Lexis = Lexis.SPARK) -> bool:
    r"""Return whether Enter ends the input: blank, a command (``\x``, exit, quit), or ``…;``."""
    stripped = text.strip()
    return (
        not stripped
        or stripped.startswith("\\")
        or _WORD_COMMAND.fullmatch(text) is not None
        or is_complete(text, lexis)
    )
