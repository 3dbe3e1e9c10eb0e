"""What Tab completes behind a command, and how a question is answered."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from acidsql.repl.commands import find_command
from acidsql.repl.interaction import argument_completer, ask


def completions(name: str, argument: str) -> list[str] | None:
    """Return what completes the argument of a command; None: what completes a statement."""
    command = find_command(name)
    assert command is not None
    completer = argument_completer(
        command,
        tables=lambda: ["Pet", "owner"],
        databases=lambda: ["default", "shop"],
        favourites=lambda: ["by-day", "by-month", "x"],
    )
    if completer is None:
        return None
    found = completer.get_completions(Document(argument), CompleteEvent())
    return [completion.text for completion in found]


@pytest.mark.parametrize(
    ("name", "argument", "expected"),
    [
        ("\\timing", "o", ["on", "off"]),
        ("\\x", "a", ["auto"]),
        ("\\format", "js", ["jsonl"]),
        ("\\T", "js", ["jsonl"]),
        ("\\d", "p", ["Pet"]),
        ("\\d+", "", ["Pet", "owner"]),
        ("\\c", "s", ["shop"]),
        ("\\h", "mer", ["MERGE"]),
        ("\\h", "describe h", ["DESCRIBE HEALTH", "DESCRIBE HISTORY"]),
        ("\\f", "by-", ["by-day", "by-month"]),
        ("\\fd", "x", ["x"]),
        ("\\watch", "2 SEL", None),
        ("\\fs", "name SEL", None),
    ],
)
def test_arguments_of_commands(name: str, argument: str, expected: list[str] | None) -> None:
    assert completions(name, argument) == expected


@pytest.mark.parametrize("name", ["\\i", "\\o", "\\e"])
def test_names_of_files(name: str, tmp_path: Path) -> None:
    (tmp_path / "changes.sql").touch()
    assert completions(name, f"{tmp_path}/chan") == ["ges.sql"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False), ("", False), ("x\ny\n", True)],
)
def test_only_yes_is_yes(answer: str, *, expected: bool) -> None:
    with CliRunner().isolation(input=answer) as (out, err, _):
        assert ask("Run it?") is expected
        sys.stderr.flush()
        assert err.getvalue().startswith(b"Run it? [y/N]:")
        assert b"[y/N]" not in out.getvalue()
