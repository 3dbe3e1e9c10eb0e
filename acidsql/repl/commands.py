"""Commands of the shell, and texts that contain statements and commands."""

from __future__ import annotations

import sys
from pathlib import Path

from acidsql.dialects import lexis_of
from acidsql.repl.catalog_commands import CATALOG_COMMANDS
from acidsql.repl.console import CommandError, Completes, Console, PromptCommand
from acidsql.repl.files_command import FILES_COMMAND
from acidsql.repl.process_commands import PROCESS_COMMANDS
from acidsql.repl.setting_commands import SETTING_COMMANDS
from acidsql.repl.shell import Ending
from acidsql.repl.statement_commands import STATEMENT_COMMANDS, file_of, text_of
from acidsql.repl.syntax_help import SYNTAX_COMMAND
from acidsql.repl.typed import (
    TAKING,
    Line,
    Script,
    has_command,
    is_submittable,
    read_line,
)

_HELP_END = """\
Everything else is SQL and ends with ";". A command may stand behind a statement, or in the middle
of one, which goes on behind it; \\e, \\g, \\G and \\watch take it.
Ctrl-C cancels a statement. Tab completes. F4 switches between the keys of Emacs and of vi.
"""
_GENERAL = """\
This is acidsql: SQL on Hive ACID tables. Statements end with ";".
\\? shows the commands, \\h the statements, \\h MERGE how one is written, \\q leaves.
"""


def _quit(_console: Console, _argument: str) -> Ending:
    return Ending.EXIT


def _help(_console: Console, _argument: str) -> Ending:
    sys.stdout.write(help_text())
    return Ending.DONE


def _reset(console: Console, _argument: str) -> Ending:
    console.draft = ""
    return Ending.DONE


def _include(console: Console, argument: str) -> Ending:
    file = file_of(argument)
    if file is None:
        raise CommandError("name a file: \\i FILE")
    return run_file(console, file)


COMMANDS = (
    *CATALOG_COMMANDS,
    FILES_COMMAND,
    PromptCommand(
        name="\\i",
        arguments="FILE",
        help="Run the statements and commands of a file.",
        run=_include,
        completes=Completes.FILE,
    ),
    *STATEMENT_COMMANDS,
    *SETTING_COMMANDS,
    *PROCESS_COMMANDS,
    PromptCommand(name="\\r", help="Drop the statement that is not finished.", run=_reset),
    SYNTAX_COMMAND,
    PromptCommand(name="\\?", help="Show the commands.", run=_help),
    PromptCommand(name="\\q", help="Leave (also: exit; quit; Ctrl-D).", run=_quit),
)
"""All commands, in the order of their help."""


def help_text() -> str:
    r"""Return the help text of ``\?``."""
    usages = [
        f"{', '.join([command.name, *command.aliases])} {command.arguments}" for command in COMMANDS
    ]
    width = max(map(len, usages)) + 2
    lines = (f"{usage:<{width}}{c.help}\n" for usage, c in zip(usages, COMMANDS, strict=True))
    return "".join(lines) + _HELP_END


def find_command(name: str) -> PromptCommand | None:
    """Return the command with a name or alias; None if it does not exist."""
    return next((c for c in COMMANDS if name == c.name or name in c.aliases), None)


def run_input(console: Console, text: str) -> Ending:
    """Run the input of the prompt.

    If a command is in the middle of a statement, the statement becomes the next prompt's draft.
    """
    if text.strip("; \n").lower() == "help":
        sys.stdout.write(_GENERAL)
        return Ending.DONE
    line = read_line(text)
    if line is not None:
        return _run_line(console, line, None)
    if not text.strip():
        return Ending.DONE
    script = Script(text)
    lexis = lexis_of(console.shell.settings.dialect)
    if not has_command(text, lexis):
        return console.run(text)
    while True:
        lexis = lexis_of(console.shell.settings.dialect)
        part = script.next(lexis)
        if part is None:
            return Ending.DONE
        if not isinstance(part, Line):
            console.last = part.text
            ending = console.shell.run_one(part, None)
        else:
            ending = _run_line(console, part, None)
            if part.command == "\\r":
                script.drop()
            rest = script.rest()
            if rest and ending is not Ending.EXIT and not is_submittable(rest, lexis):
                console.draft = rest
                return ending
        if ending is not Ending.DONE:
            return ending


def run_script(console: Console, text: str, source: str | None = None) -> Ending:
    """Run statements and commands one after the other until one fails.

    Args:
        console: the console to run them in.
        text: content of a file, or text of the command line.
        source: name of the file, which is shown with errors.
    """
    script = Script(text)
    while True:
        part = script.next(lexis_of(console.shell.settings.dialect))
        if part is None:
            return Ending.DONE
        if isinstance(part, Line):
            ending = _run_line(console, part, source)
            if part.command == "\\r":
                script.drop()
        else:
            console.last = part.text
            ending = console.shell.run_one(part, source)
        if ending is not Ending.DONE:
            return ending


def run_file(console: Console, file: Path) -> Ending:
    """Run the statements and commands of a file.

    Raises:
        CommandError: the file cannot be read, or is already running.
    """
    if file.resolve() in console.files:
        raise CommandError(f"{file} runs already: a file cannot run itself")
    text = text_of(file)
    console.files.append(file.resolve())
    try:
        return run_script(console, text, source=str(file))
    finally:
        console.files.pop()


def _run_line(console: Console, line: Line, source: str | None) -> Ending:
    place = f"{source}:{line.number}: " if source else ""
    command = find_command(line.command)
    if command is None:
        return _failed(f"{place}error: no such command: {line.command} (\\? shows them)")
    if line.statement and line.command in TAKING:
        console.last = line.statement
    try:
        return command.run(console, line.argument)
    except CommandError as error:
        return _failed(f"{place}error: {error}")


def _failed(message: str) -> Ending:
    sys.stderr.write(f"{message}\n")
    return Ending.FAILED
