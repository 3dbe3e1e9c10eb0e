"""Parser of the text of a cell: its options, its variable and its statements."""

from __future__ import annotations

import re
from dataclasses import dataclass

from IPython.core.error import UsageError

from acidsql.dialects import DIALECTS, lexis_of
from acidsql.repl.statements import Statement, split

_OPTION = re.compile(r"\s*--(?P<name>\w[\w-]*)(?:\s*=\s*|\s+|$)(?P<value>\S*)")
_VARIABLE = re.compile(r"\s*(?P<name>[^\W\d]\w*)\s*<<")

OPTIONS = ("dialect", "limit", "spark")
"""Options of the magics; each takes a value."""

DEFAULT_LIMIT = 100
"""Largest number of rows to show, if the cell does not set a limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Request of a cell.

    Attributes:
        statements: one or more statements, in order.
        spark: name of the variable with the Spark session; None if the cell does not name one.
        limit: largest number of rows to show.
        dialect: dialect of the statements.
        variable: name of the variable that gets the DataFrame of the last statement; None to show
            its rows.
    """

    statements: tuple[Statement, ...]
    spark: str | None
    limit: int
    dialect: str
    variable: str | None


def parse_cell(line: str, body: str | None) -> Cell:
    """Parse the text after the name of the magic, and the lines below it.

    Args:
        line: the rest of the line: options, then possibly SQL.
        body: the lines below; None for ``%acidsql``.

    Raises:
        UsageError: an option is unknown or has a wrong value, or there is no statement.
    """
    options, rest = _options(line)
    text = rest if body is None else f"{rest}\n{body}"
    variable = _VARIABLE.match(text)
    dialect = _dialect(options.get("dialect", "spark"))
    statements = split(text[variable.end() :] if variable else text, lexis_of(dialect))
    if not statements:
        raise UsageError("there is no statement to run: see %acidsql?")
    return Cell(
        statements=statements,
        spark=options.get("spark"),
        limit=_limit(options.get("limit")),
        dialect=dialect,
        variable=variable["name"] if variable else None,
    )


def _options(line: str) -> tuple[dict[str, str], str]:
    """Return the options at the beginning of a line, and the rest of the line."""
    options: dict[str, str] = {}
    while option := _OPTION.match(line):
        if option["name"] not in OPTIONS:
            known = ", ".join(f"--{name}" for name in OPTIONS)
            raise UsageError(f"there is no option --{option['name']}: the options are {known}")
        if not option["value"]:
            raise UsageError(f"--{option['name']} needs a value")
        options[option["name"]] = option["value"]
        line = line[option.end() :]
    return options, line


def _dialect(name: str) -> str:
    if name.lower() not in DIALECTS:
        raise UsageError(f"--dialect is {name!r}: give one of {', '.join(DIALECTS)}")
    return name.lower()


def _limit(text: str | None) -> int:
    if text is None:
        return DEFAULT_LIMIT
    if not text.isdecimal():
        raise UsageError(f"--limit is {text!r}: give a number of rows")
    return int(text)
