"""Enter ends the input after a statement or a command."""

from __future__ import annotations

from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import DummyCompleter
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from pygments.token import Keyword, Name

from acidsql.repl.prompt import AcidSqlLexer, is_submittable, make_prompt


@pytest.mark.parametrize(
    "text", ["", "  ", "\\q", " \\timing", "exit", "QUIT ", "SELECT 1;", "exit;"]
)
def test_submittable(text: str) -> None:
    assert is_submittable(text)


@pytest.mark.parametrize("text", ["SELECT 1", "SELECT ';", "exit now", "SELECT 1 -- ;"])
def test_not_submittable(text: str) -> None:
    assert not is_submittable(text)


def test_enter_continues_an_unfinished_statement_and_history_is_kept(tmp_path: Path) -> None:
    history = tmp_path / "new" / "history"
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        prompt = make_prompt(history=history, completer=DummyCompleter())
        keys.send_text("SELECT\r'a;'\r;\r")
        assert prompt.prompt() == "SELECT\n'a;'\n;"
    assert "+SELECT\n" in history.read_text()


def test_acid_words_are_keywords() -> None:
    kinds = {text: kind for kind, text in AcidSqlLexer().get_tokens("merge compact salary")}
    assert kinds["compact"] is Keyword
    assert kinds["merge"] in Keyword
    assert kinds["salary"] is Name


def test_the_prompt_shows_an_open_transaction(tmp_path: Path) -> None:
    marks = ["", "*", "!"]
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        prompt = make_prompt(
            history=tmp_path / "history", completer=DummyCompleter(), mark=lambda: marks.pop(0)
        )
    assert callable(prompt.message)
    assert [prompt.message() for _ in range(3)] == ["acidsql> ", "acidsql*> ", "acidsql!> "]
