"""Prompt with history, highlighting, keys, and the rule that determines when Enter ends input."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import Completer
from prompt_toolkit.enums import DEFAULT_BUFFER, EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.styles import style_from_pygments_cls
from pygments.lexers.sql import SqlLexer
from pygments.styles import get_style_by_name
from pygments.token import Keyword, Name, _TokenType

from acidsql.repl.keywords import MORE_KEYWORDS
from acidsql.repl.typed import is_submittable
from acidsql.syntax.lexer import Lexis

_PROMPT = "acidsql{}> "
_CONTINUATION = "      -> "


class AcidSqlLexer(SqlLexer):  # type: ignore[misc] # Pygments has no type hints
    """Pygments' SQL lexer, with the words of ACID statements as keywords."""

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, _TokenType, str]]:
        """Yield the position, type and text of each token."""
        for position, kind, value in super().get_tokens_unprocessed(text):
            known = kind is Name and value.upper() in MORE_KEYWORDS
            yield position, Keyword if known else kind, value


def make_prompt(
    *,
    history: Path,
    completer: Completer,
    lexis: Callable[[], Lexis] = lambda: Lexis.SPARK,
    mark: Callable[[], str] = lambda: "",
    vi_keys: bool = False,
    syntax_style: str = "default",
) -> PromptSession[str]:
    """Return a prompt where Enter ends the input after a semicolon or a command.

    Args:
        history: file with the earlier input; its directory is created if it is missing.
        completer: completer of the input.
        lexis: function that returns the lexical rules, which determine where a statement ends.
        mark: function that returns the prompt's mark of an open transaction.
        vi_keys: whether to begin with the keys of vi instead of Emacs; F4 switches between them.
        syntax_style: name of a style of Pygments.
    """
    history.parent.mkdir(parents=True, exist_ok=True)
    return PromptSession(
        message=lambda: _PROMPT.format(mark()),
        prompt_continuation=_CONTINUATION,
        history=FileHistory(str(history)),
        auto_suggest=AutoSuggestFromHistory(),
        lexer=PygmentsLexer(AcidSqlLexer),
        style=style_from_pygments_cls(get_style_by_name(syntax_style)),
        completer=completer,
        complete_in_thread=True,
        search_ignore_case=True,
        multiline=Condition(lambda: not is_submittable(_typed(), lexis())),
        editing_mode=EditingMode.VI if vi_keys else EditingMode.EMACS,
        enable_open_in_editor=True,
        tempfile_suffix=".sql",
        key_bindings=_keys(),
    )


def _typed() -> str:
    """Return the typed text; during a search with Ctrl-R, the current buffer is another one."""
    buffer = get_app().layout.get_buffer_by_name(DEFAULT_BUFFER)
    return "" if buffer is None else buffer.text


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("f4")
    def switch(event: KeyPressEvent) -> None:
        is_vi = event.app.editing_mode is EditingMode.VI
        event.app.editing_mode = EditingMode.EMACS if is_vi else EditingMode.VI

    return keys
