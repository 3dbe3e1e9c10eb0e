"""State of the prompt that commands act on, and the description of a command."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from acidsql.repl.shell import Ending, Shell


class CommandError(Exception):
    """Error in a command."""


@dataclass(slots=True, kw_only=True)
class Console:
    """Shell of a prompt, and the state of the prompt.

    Attributes:
        shell: shell that runs the statements.
        favourites: file of the favourites.
        edit: function that opens a text in the user's editor. It returns the saved text, or None if
            the user did not save it.
        edit_file: function that opens a file in the user's editor.
        wait: function that waits for a number of seconds.
        last: statements that ran last.
        draft: text that the next prompt begins with.
        history: file with the earlier input; None in a script.
        variables: values of the variables of statements, ``${NAME}``, by their names.
        files: files that are being run, the innermost last.
    """

    shell: Shell
    favourites: Path
    edit: Callable[[str], str | None]
    edit_file: Callable[[Path], None]
    wait: Callable[[float], None] = time.sleep
    last: str = ""
    draft: str = ""
    history: Path | None = None
    variables: dict[str, str] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)

    def run(self, text: str) -> Ending:
        """Run statements, and remember them as the last ones."""
        self.last = text
        return self.shell.run_batch(text)


class Completes(Enum):
    """Kind of argument, which determines the completions of Tab."""

    STATEMENT = "what a statement may have there"
    CHOICE = "the choices of the command"
    TABLE = "names of tables"
    DATABASE = "names of databases"
    SYNTAX = "words that statements begin with"
    FILE = "files and directories"
    FAVOURITE = "names of favourites"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptCommand:
    r"""Command of the prompt.

    Attributes:
        name: name of the command, with its backslash.
        help: description of the command, one sentence.
        run: function that runs the command with the text after the name. Raises ``CommandError``.
        arguments: syntax of the arguments; optional ones are in brackets.
        aliases: other names.
        completes: kind of the argument, for Tab.
        choices: possible arguments, for ``Completes.CHOICE``.
    """

    name: str
    help: str
    run: Callable[[Console, str], Ending]
    arguments: str = ""
    aliases: tuple[str, ...] = ()
    completes: Completes = Completes.STATEMENT
    choices: tuple[str, ...] = ()


def say(console: Console, message: str) -> Ending:
    """Write the message of a command; in a script to standard error, apart from its results."""
    stream = sys.stderr if console.history is None else sys.stdout
    stream.write(f"{message}\n")
    return Ending.DONE
