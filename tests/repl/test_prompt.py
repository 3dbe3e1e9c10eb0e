"""Enter ends the input after a statement or a command; keys and colours."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pexpect
import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import DummyCompleter
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from pygments.token import Keyword, Name

from acidsql.repl.prompt import AcidSqlLexer, make_prompt


def test_enter_continues_an_unfinished_statement_and_history_is_kept(tmp_path: Path) -> None:
    history = tmp_path / "new" / "history"
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        prompt = make_prompt(history=history, completer=DummyCompleter())
        keys.send_text("SELECT\r'a;'\r;\r")
        assert prompt.prompt() == "SELECT\n'a;'\n;"
    assert "+SELECT\n" in history.read_text()


_ESCAPE, _F4 = "\x1b", "\x1bOS"


@pytest.mark.parametrize(
    ("vi_keys", "keys", "text"),
    [
        # In vi, x removes the character under the cursor, 0 goes to the first, A to the end.
        (True, f"ySELECT 1{_ESCAPE}0xA;\r", "SELECT 1;"),
        (True, f"{_F4}xSELECT 1;\x01\x04\r", "SELECT 1;"),  # Ctrl-A and Ctrl-D of Emacs
        (False, "xSELECT 1;\x01\x04\r", "SELECT 1;"),
        (False, f"{_F4}ySELECT 1{_ESCAPE}0xA;\r", "SELECT 1;"),
    ],
)
def test_keys_of_vi_and_emacs(tmp_path: Path, keys: str, text: str, *, vi_keys: bool) -> None:
    with create_pipe_input() as typed, create_app_session(input=typed, output=DummyOutput()):
        prompt = make_prompt(
            history=tmp_path / "history", completer=DummyCompleter(), vi_keys=vi_keys
        )
        typed.send_text(keys)
        assert prompt.prompt() == text


def test_a_draft_is_completed_by_the_user(tmp_path: Path) -> None:
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        prompt = make_prompt(
            history=tmp_path / "history", completer=DummyCompleter(), syntax_style="monokai"
        )
        keys.send_text(" + 1;\r")
        assert prompt.prompt(default="SELECT\n1") == "SELECT\n1 + 1;"


_PROGRAM = """\
import sys
from pathlib import Path
from prompt_toolkit.completion import DummyCompleter
from acidsql.repl.prompt import make_prompt
prompt = make_prompt(history=Path(sys.argv[1]), completer=DummyCompleter())
while (text := prompt.prompt()) != "end;":
    print("read", repr(text))
"""


@pytest.mark.slow
@pytest.mark.parametrize("leave", ["\x03", "\x07"])  # Ctrl-C and Ctrl-G
def test_the_history_is_searched_backwards(tmp_path: Path, leave: str) -> None:
    history = tmp_path / "history"
    history.write_text("\n# a\n+MERGE INTO pet USING s;\n\n# b\n+SELECT 2;\n")
    arguments = ["-c", _PROGRAM, str(history)]
    shell = pexpect.spawn(
        sys.executable,
        arguments,
        env={**os.environ, "TERM": "xterm"},
        encoding="utf-8",
        timeout=15,
        dimensions=(20, 80),
    )
    try:
        shell.expect("acidsql>")
        shell.send("SEL")
        shell.send("\x12mer")
        shell.expect("[Ii]-search")
        shell.expect("pet")
        shell.send(leave)
        shell.send("ECT 3;\r")  # behind what had been typed
        shell.expect_exact("read 'SELECT 3;'")
        shell.send("\x12mer")
        shell.expect("pet")
        shell.send("\r")  # takes what was found
        shell.send("\r")
        shell.expect_exact(r"read 'MERGE INTO pet USING s;'")
        shell.send("end;\r")
        shell.expect(pexpect.EOF)
    finally:
        shell.close()
    assert "exception" not in shell.before
    assert shell.exitstatus == 0


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
