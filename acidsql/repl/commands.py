"""The commands of the prompt, and what was typed there."""

from __future__ import annotations

import sys

from acidsql.dialects import lexis_of
from acidsql.repl.catalog_commands import CATALOG_COMMANDS
from acidsql.repl.console import Command, CommandError, Console
from acidsql.repl.setting_commands import SETTING_COMMANDS
from acidsql.repl.shell import Ending
from acidsql.repl.statement_commands import STATEMENT_COMMANDS
from acidsql.repl.typed import read_typed

_HELP_END = """\
Everything else is SQL and ends with ";". \\e, \\G and \\watch may also stand behind a statement.
Ctrl-C cancels a statement. Tab completes. F4 switches between the keys of Emacs and of vi.
"""


def _quit(_console: Console, _argument: str) -> Ending:
    return Ending.EXIT


def _help(_console: Console, _argument: str) -> Ending:
    sys.stdout.write(help_text())
    return Ending.DONE


COMMANDS = (
    *CATALOG_COMMANDS,
    *STATEMENT_COMMANDS,
    *SETTING_COMMANDS,
    Command(name="\\?", help="Show the commands.", run=_help),
    Command(name="\\q", help="Leave (also: exit; quit; Ctrl-D).", run=_quit),
)
"""All commands, in the order of their help."""


def help_text() -> str:
    r"""Return what ``\?`` shows."""
    usages = [
        f"{', '.join([command.name, *command.aliases])} {command.arguments}" for command in COMMANDS
    ]
    width = max(map(len, usages)) + 2
    lines = (f"{usage:<{width}}{c.help}\n" for usage, c in zip(usages, COMMANDS, strict=True))
    return "".join(lines) + _HELP_END


def find_command(name: str) -> Command | None:
    """Return the command of a name or alias, or None."""
    return next((c for c in COMMANDS if name == c.name or name in c.aliases), None)


def run_input(console: Console, text: str) -> Ending:
    """Run what was typed at the prompt: statements, a command, or a command behind statements."""
    typed = read_typed(text, lexis_of(console.shell.settings.dialect))
    if typed.command is None:
        return console.run(text) if text.strip() else Ending.DONE
    command = find_command(typed.command)
    if command is None:
        return _failed(f"no such command: {typed.command} (\\? shows them)")
    if typed.statements:
        console.last = typed.statements
    try:
        return command.run(console, typed.argument)
    except CommandError as error:
        return _failed(str(error))


def _failed(message: str) -> Ending:
    sys.stderr.write(f"error: {message}\n")
    return Ending.FAILED
