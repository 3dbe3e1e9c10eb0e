"""Console, which the commands of the prompt act on, and the description of a command."""

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
    """Shell behind a prompt, and what the prompt remembers.

    Attributes:
        shell: runs the statements.
        favourites: file of the favourites.
        edit: opens a text in the user's editor and returns it as it was saved, or None if it was
            not.
        edit_file: opens a file in the user's editor.
        wait: waits for some seconds.
        last: the statements that ran last.
        draft: text that the next prompt begins with.
        history: file of what was typed; None where nothing is.
        variables: of the statements, ``${NAME}``, by their names.
        files: those that are being run, the innermost last.
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
        """Run statements, and remember them."""
        self.last = text
        return self.shell.run_batch(text)


class Completes(Enum):
    """Kind of argument, by what Tab completes in it."""

    STATEMENT = "what a statement may have there"
    CHOICE = "the choices of the command"
    TABLE = "names of tables"
    DATABASE = "names of databases"
    SYNTAX = "words that statements begin with"
    FILE = "files and directories"
    FAVOURITE = "names of favourites"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    r"""Command of the prompt.

    Attributes:
        name: with its backslash.
        help: what it does, one sentence.
        run: runs it with the text behind the name. Raises ``CommandError``.
        arguments: what may follow the name, in brackets where it may be left out.
        aliases: other names.
        completes: what Tab completes behind the name.
        choices: of the argument, for ``Completes.CHOICE``.
    """

    name: str
    help: str
    run: Callable[[Console, str], Ending]
    arguments: str = ""
    aliases: tuple[str, ...] = ()
    completes: Completes = Completes.STATEMENT
    choices: tuple[str, ...] = ()


def say(console: Console, message: str) -> Ending:
    """Write what a command answers; that of a script is no part of its results."""
    stream = sys.stderr if console.history is None else sys.stdout
    stream.write(f"{message}\n")
    return Ending.DONE
