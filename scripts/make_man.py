"""Write the manual page of the command, ``docs/man/acidsql.1``, from the help of its options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from acidsql.repl.main import main

PAGE = Path(__file__).parents[1] / "docs" / "man" / "acidsql.1"
_DOCUMENTS = "https://github.com/acidsql/acidsql/blob/main/docs/index.md"
_STATUS = {
    "0": "All statements ran.",
    "1": "A statement failed, a result was cut short, or Spark did not start.",
    "2": "Wrong usage.",
    "3": "acidsql check found problems; acidsql ingest left records out.",
    "130": "Cancelled with Ctrl-C.",
}
_FILES = {
    "~/.config/acidsql/config.toml": "Settings of the prompt, with their documentation.",
    "~/.config/acidsql/favourites.toml": "Statements that are kept under a name.",
    "~/.local/state/acidsql/history": "What was typed at the prompt.",
}
_VARIABLES = {
    "JAVA_HOME": "Directory of Java 17 or newer.",
    "PAGER": "Command for results that are larger than the terminal.",
    "VISUAL, EDITOR": "Editor of \\e.",
}


def man_page() -> str:
    """Return the page in the format of man."""
    return "".join(f"{line}\n" for line in _lines())


def _lines() -> Iterator[str]:
    yield '.TH ACIDSQL 1 "" "acidsql" "User Commands"'
    yield from (".SH NAME", "acidsql \\- SQL on Hive full-ACID tables with Spark")
    yield from (".SH SYNOPSIS", ".B acidsql", "[OPTIONS] [COMMAND [ARGUMENTS]]")
    yield from (".SH DESCRIPTION", *_paragraphs(main.help or ""))
    yield ".SH OPTIONS"
    yield from _options(main)
    yield ".SH COMMANDS"
    for name, command in sorted(main.commands.items()):
        yield f".SS {_escaped(name)}"
        yield from _paragraphs(command.help or "")
        yield from _options(command)
    for heading, entries in (
        ("EXIT STATUS", _STATUS),
        ("FILES", _FILES),
        ("ENVIRONMENT", _VARIABLES),
    ):
        yield f".SH {heading}"
        for term, text in entries.items():
            yield from (".TP", f".B {_escaped(term)}", _escaped(text))
    yield from (".SH SEE ALSO", _escaped(_DOCUMENTS))


def _options(command: click.Command) -> Iterator[str]:
    names = main.context_settings["help_option_names"]  # of all commands of the group
    context = click.Context(command, info_name="acidsql", help_option_names=names)
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            yield from (".TP", f".B {_escaped(record[0])}", _escaped(_joined(record[1])))


def _paragraphs(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(text.strip().split("\n\n")):
        if number:
            yield ".PP"
        yield _escaped(_joined(paragraph))


def _joined(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _escaped(text: str) -> str:
    """Return a text that roff prints as it is."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(man_page(), encoding="utf-8")
