r"""Commands that show the catalog: ``\d``, ``\d+``, ``\dt``, ``\dv``, ``\df``, ``\l``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from acidsql.repl.console import CommandError, Completes, Console, PromptCommand
from acidsql.repl.runner import Result
from acidsql.repl.shell import Ending
from acidsql.syntax.literals import quoted_string

# Columns of DESCRIBE DETAIL that ``\d+`` shows.
_STORAGE = ("location", "owner", "numFiles", "sizeInBytes")
_PART = r"(?:\w+|`(?:[^`]|``)+`)"
_NAME = re.compile(rf"{_PART}(?:\.{_PART})*")
_PATTERN = re.compile(rf"(?:(?P<database>{_PART}(?:\.{_PART})*)\.)?(?P<pattern>[\w*|]+)")


def listing(pattern: str, what: str = "TABLES") -> str:
    """Return the statement that lists the tables and views of ``[database.]pattern``.

    Args:
        pattern: pattern of SHOW, with an optional database before it; or empty.
        what: the word after SHOW.

    Raises:
        CommandError: the pattern is not valid.

    >>> listing("shop.pet*")
    "SHOW TABLES IN shop LIKE 'pet*'"
    """
    if not pattern:
        return f"SHOW {what}"
    match = _PATTERN.fullmatch(pattern)
    if match is None:
        raise CommandError(f"{pattern} is no pattern of names, such as pet* or shop.*")
    database = f" IN {match['database']}" if match["database"] else ""
    return f"SHOW {what}{database} LIKE {quoted_string(match['pattern'])}"


def is_partitioned(description: Result) -> bool:
    """Return whether an answer of DESCRIBE describes a partitioned table."""
    return any(row[0] in ("# Partition Information", "# Partitioning") for row in description.rows)


def is_transactional(properties: Result) -> bool:
    """Return whether an answer of SHOW TBLPROPERTIES has the property of an ACID table."""
    return any(
        str(key).lower() == "transactional" and str(value).lower() == "true"
        for key, value, *_ in properties.rows
    )


def with_columns(result: Result, names: Sequence[str]) -> Result:
    """Return a result with some of its columns, in the order of ``names``."""
    chosen = [result.columns.index(name) for name in names]
    return replace(
        result,
        columns=tuple(names),
        numeric=tuple(result.numeric[i] for i in chosen),
        rows=tuple(tuple(row[i] for i in chosen) for row in result.rows),
    )


def _databases(console: Console, _argument: str) -> Ending:
    return _show(console, "", "SHOW DATABASES")


def _list(console: Console, argument: str) -> Ending:
    return _show(console, "", listing(_without_semicolon(argument)))


def _views(console: Console, argument: str) -> Ending:
    return _show(console, "", listing(_without_semicolon(argument), "VIEWS"))


def _functions(console: Console, argument: str) -> Ending:
    return _show(console, "", listing(_without_semicolon(argument), "FUNCTIONS"))


def _describe(console: Console, argument: str) -> Ending:
    name = _without_semicolon(argument)
    if _is_pattern(name):
        return _list(console, argument)
    return _show(console, "", f"DESCRIBE {checked_name(name)}")


def _describe_more(console: Console, argument: str) -> Ending:
    name = _without_semicolon(argument)
    if _is_pattern(name):
        return _list(console, argument)
    query = console.shell.query
    columns = query(f"DESCRIBE {checked_name(name)}")
    properties = query(f"SHOW TBLPROPERTIES {name}") if columns is not None else None
    if columns is None or properties is None:
        return Ending.FAILED
    shown = [(f"Columns of {name}", columns), (f"Properties of {name}", properties)]
    if is_partitioned(columns):
        partitions = query(f"SHOW PARTITIONS {name}")
        if partitions is None:
            return Ending.FAILED
        shown.append((f"Partitions of {name}", partitions))
    console.shell.show(shown)
    if is_transactional(properties):
        detail = query(f"DESCRIBE DETAIL {name}")
        health = query(f"DESCRIBE HEALTH {name}") if detail is not None else None
        if detail is None or health is None:
            return Ending.FAILED
        storage = with_columns(detail, _STORAGE)
        console.shell.show(
            [(f"Storage of {name}", storage), (f"Health of {name}", health)], expanded="on"
        )
    return Ending.DONE


def _show(console: Console, heading: str, statement: str) -> Ending:
    result = console.shell.query(statement)
    if result is None:
        return Ending.FAILED
    console.shell.show([(heading, result)])
    return Ending.DONE


def _is_pattern(name: str) -> bool:
    return not name or "*" in name


def checked_name(name: str) -> str:
    """Return a name if it is valid.

    Raises:
        CommandError: it is not valid.
    """
    if not _NAME.fullmatch(name):
        raise CommandError(f"{name} is no name")
    return name


def _without_semicolon(argument: str) -> str:
    return argument.rstrip("; ")


CATALOG_COMMANDS = (
    PromptCommand(
        name="\\d",
        arguments="[TABLE | PATTERN]",
        help="Show the columns of a table, or list the tables and views.",
        run=_describe,
        completes=Completes.TABLE,
    ),
    PromptCommand(
        name="\\d+",
        arguments="[TABLE | PATTERN]",
        help="Show columns, properties, partitions, place, size and health of a table.",
        run=_describe_more,
        completes=Completes.TABLE,
    ),
    PromptCommand(
        name="\\dt",
        arguments="[PATTERN]",
        help="List the tables and views, those of a pattern such as pet* or shop.* if given.",
        run=_list,
        completes=Completes.TABLE,
    ),
    PromptCommand(
        name="\\dv",
        arguments="[PATTERN]",
        help="List the views, those of a pattern if given.",
        run=_views,
        completes=Completes.TABLE,
    ),
    PromptCommand(
        name="\\df",
        arguments="[PATTERN]",
        help="List the functions, those of a pattern such as date* if given.",
        run=_functions,
    ),
    PromptCommand(name="\\l", help="List the databases.", run=_databases),
)
"""Commands of the catalog."""
