r"""Commands of statements: ``\o``, ``\e``, ``\watch``, ``\G`` and the favourites."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from acidsql.repl.console import CommandError, Completes, Console, PromptCommand, say
from acidsql.repl.favourites import (
    FavouriteError,
    read_favourites,
    substitute,
    write_favourites,
)
from acidsql.repl.runner import Result
from acidsql.repl.shell import Ending

_WATCH_SECONDS = 2.0
_WATCH = re.compile(r"(?:(?P<seconds>\d+(?:\.\d+)?)(?=\s|;|\Z))?\s*(?P<statement>.*)", re.DOTALL)
_NAMED = re.compile(r"(?P<name>\S+)(?:\s+(?P<rest>.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Request to run statements repeatedly.

    Attributes:
        seconds: seconds from the end of a run to the next run.
        statements: statements to run; empty for the statements that ran last.
    """

    seconds: float
    statements: str


def read_watch(argument: str) -> Watch:
    r"""Parse the argument of ``\watch``.

    Raises:
        CommandError: the time is zero.

    >>> read_watch("0.5 SELECT 1;")
    Watch(seconds=0.5, statements='SELECT 1')
    """
    match = _WATCH.fullmatch(argument.strip())
    given = match["seconds"] if match else None
    seconds = _WATCH_SECONDS if given is None else float(given)
    if not seconds:
        raise CommandError("seconds between two runs must be more than 0")
    return Watch(seconds=seconds, statements=match["statement"].strip("; ") if match else "")


def _output(console: Console, argument: str) -> Ending:
    file = file_of(argument)
    try:
        console.shell.output.redirect(file)
    except OSError as error:
        raise CommandError(str(error)) from error
    return say(console, f"results go to {file}") if file else Ending.DONE


def _edit(console: Console, argument: str) -> Ending:
    file = file_of(argument)
    if file is None:
        edited = console.edit(console.last)
        console.draft = (console.last if edited is None else edited).strip()
    else:
        console.edit_file(file)
        console.draft = text_of(file).strip() if file.exists() else ""
    return Ending.DONE


def _watch(console: Console, argument: str) -> Ending:
    request = read_watch(argument)
    statements = request.statements or console.last
    if not statements.strip("; \n"):
        raise CommandError("nothing ran before: \\watch [SECONDS] STATEMENT")
    before = console.shell.settings
    console.shell.settings = replace(before, pager=None)
    try:
        while True:
            now = f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S}"
            console.shell.output.write(f"{now} (every {request.seconds:g} s)\n")
            ending = console.run(statements)
            if ending is not Ending.DONE:
                return ending
            # The user has confirmed the first run, so the next runs need no confirmation.
            console.shell.settings = replace(console.shell.settings, warned_of=())
            console.wait(request.seconds)
    except KeyboardInterrupt:
        return say(console, "")
    finally:
        console.shell.settings = before


def _go(console: Console, _argument: str) -> Ending:
    return console.run(console.last)


def _vertical(console: Console, _argument: str) -> Ending:
    before = console.shell.settings
    console.shell.settings = replace(before, expanded="on")
    try:
        return console.run(console.last)
    finally:
        console.shell.settings = before


def _favourite(console: Console, argument: str) -> Ending:
    favourites = _favourites(console)
    named = _NAMED.fullmatch(argument.rstrip("; "))
    if named is None:
        rows = tuple(sorted(favourites.items()))
        result = Result(
            columns=("name", "query"), numeric=(False, False), rows=rows, truncated=False
        )
        console.shell.show([("", result)])
        return Ending.DONE
    query = favourites.get(named["name"])
    if query is None:
        raise CommandError(f"there is no favourite {named['name']} (\\f lists them)")
    try:
        statements = substitute(query, shlex.split(named["rest"] or ""))
    except (FavouriteError, ValueError) as error:  # ValueError: a quote has no end
        raise CommandError(f"favourite {named['name']}: {error}") from error
    return console.run(statements)


def _save_favourite(console: Console, argument: str) -> Ending:
    named = _NAMED.fullmatch(argument)
    if named is None:
        raise CommandError("name it: \\fs NAME [STATEMENT]")
    query = (named["rest"] or console.last).strip()
    if not query:
        raise CommandError("nothing ran before: \\fs NAME STATEMENT")
    _write(console, {**_favourites(console), named["name"]: query})
    return say(console, f"saved {named['name']}")


def _delete_favourite(console: Console, argument: str) -> Ending:
    favourites = _favourites(console)
    name = argument.rstrip("; ")
    if name not in favourites:
        raise CommandError(f"there is no favourite {name}" if name else "name it: \\fd NAME")
    del favourites[name]
    _write(console, favourites)
    return say(console, f"deleted {name}")


def _favourites(console: Console) -> dict[str, str]:
    try:
        return read_favourites(console.favourites)
    except FavouriteError as error:
        raise CommandError(str(error)) from error


def _write(console: Console, favourites: dict[str, str]) -> None:
    try:
        write_favourites(console.favourites, favourites)
    except FavouriteError as error:
        raise CommandError(str(error)) from error


def file_of(argument: str) -> Path | None:
    """Return the file of an argument; the name can be quoted and can begin with ``~``."""
    name = argument.rstrip("; ")
    if len(name) > 1 and name[0] == name[-1] and name[0] in "'\"":
        name = name[1:-1]
    return Path(name).expanduser() if name else None


def text_of(file: Path) -> str:
    """Return the text of a file.

    Raises:
        CommandError: the file cannot be read.
    """
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file}: {error}") from error


STATEMENT_COMMANDS = (
    PromptCommand(
        name="\\o",
        arguments="[FILE]",
        help="Write results to a file from now on, or to the terminal again.",
        run=_output,
        completes=Completes.FILE,
    ),
    PromptCommand(
        name="\\e",
        arguments="[FILE]",
        help="Edit what ran last, a file, or the statement before it, in $VISUAL or $EDITOR.",
        run=_edit,
        completes=Completes.FILE,
    ),
    PromptCommand(
        name="\\watch",
        arguments="[SECONDS] [STATEMENT]",
        help="Run a statement, or what ran last, every 2 seconds until Ctrl-C.",
        run=_watch,
    ),
    PromptCommand(name="\\g", help="Run the statement before it, or what ran last.", run=_go),
    PromptCommand(
        name="\\G",
        help="Show the rows of the statement before it as lines of column and value.",
        run=_vertical,
    ),
    PromptCommand(
        name="\\f",
        arguments="[NAME [ARGUMENT …]]",
        help="List the favourites, or run one.",
        run=_favourite,
        completes=Completes.FAVOURITE,
    ),
    PromptCommand(
        name="\\fs",
        arguments="NAME [STATEMENT]",
        help="Save a statement, or what ran last, as a favourite.",
        run=_save_favourite,
    ),
    PromptCommand(
        name="\\fd",
        arguments="NAME",
        help="Delete a favourite.",
        run=_delete_favourite,
        completes=Completes.FAVOURITE,
    ),
)
"""Commands of statements."""
