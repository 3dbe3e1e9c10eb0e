"""Printer, which formats results and errors as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cli_helpers.tabular_output import TabularOutputFormatter
from prompt_toolkit.utils import get_cwidth

from acidsql.errors import AcidTextError
from acidsql.repl.answers import lines_of
from acidsql.repl.machine_formats import MACHINE_FORMATS, cell_text, lines
from acidsql.repl.output import is_narrow
from acidsql.repl.rendering import Form
from acidsql.repl.runner import Result
from acidsql.repl.statements import Statement

FORMATS = {
    "table": "psql",
    "unicode": "mysql_unicode",
    "vertical": "vertical",
    "csv": "csv",
    "tsv": "tsv",
    "jsonl": "jsonl",
    "markdown": "github",
    "html": "html",
}
"""Names of the formats, and their names in cli_helpers."""

SCREEN_FORMATS = frozenset({"table", "unicode", "vertical"})
"""Formats for people, which show the number of rows at the end."""

EXPANSIONS = ("off", "on", "auto")
"""When each row is shown as lines of column and value; ``auto``: if the table is too wide."""

_ALIGNED = frozenset({"table", "unicode", "markdown"})

# Text that Spark appends to the sentences of a message: SQLSTATE, position, then the plan.
_MESSAGE_END = re.compile(
    r"\s*(?:SQLSTATE: \w+|;? line \d+,? pos \d+|\(line \d+, (?:pos|column) \d+\)|\n)"
)
# Spark's ParseException shows the statement up to the line of the error, then dashes and carets.
_SPARK_CONTEXT = re.compile(
    r"== SQL(?: \([^)]*\))? ==\n(?P<sql>.*?)\n(?P<dashes>-*)\^\^\^", re.DOTALL
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Position in a statement: 1-based ``line`` and 0-based ``column`` in characters."""

    line: int
    column: int


def result_text(result: Result, format_name: str) -> str:
    """Return ``result`` in one of ``FORMATS``, every line with its line feed."""
    if not result.columns:
        return "OK\n" if format_name in SCREEN_FORMATS else ""
    if format_name in MACHINE_FORMATS:
        forms = [Form.NUMBER if is_number else Form.TEXT for is_number in result.numeric]
        return "".join(lines(result.columns, forms, result.rows, format_name))
    plain = lines_of(result) if format_name in SCREEN_FORMATS else None
    if plain is not None:
        return plain
    rows = [tuple(cell_text(cell) for cell in row) for row in result.rows]
    options: dict[str, object] = {"max_field_width": None}
    if format_name in _ALIGNED:
        options["disable_numparse"] = True
        # tabulate accepts alignments only if there are rows.
        options["colalign"] = [("right" if n else "left") for n in result.numeric] if rows else None
    formatted: Iterator[str] = TabularOutputFormatter().format_output(
        rows,
        list(result.columns),
        format_name=FORMATS[format_name],
        **options,
    )
    last = [footer(result)] if format_name in SCREEN_FORMATS else []
    return "".join(f"{line}\n" for line in [*formatted, *last])


def shown_text(result: Result, format_name: str, *, expanded: str, columns: int | None) -> str:
    """Return the text of ``result_text``, or the expanded form if ``expanded`` requires it.

    Args:
        result: the result.
        format_name: one of ``FORMATS``; formats for programs are never expanded.
        expanded: one of ``EXPANSIONS``.
        columns: width of the terminal; None if there is no terminal, or its width is not known.
    """
    if format_name not in SCREEN_FORMATS or not result.columns or expanded == "off":
        return result_text(result, format_name)
    text = result_text(result, format_name)
    if expanded == "auto" and (columns is None or is_narrow(text, columns)):
        return text
    return result_text(result, "vertical")


def error_text(error: Exception, statement: Statement, source: str | None = None) -> str:
    """Return the message of ``error`` in one line, with a caret at its position if it is known.

    Args:
        error: exception that the statement raised.
        statement: the statement, with its first line in the source.
        source: name of the file that contains the statement; None if there is no file.
    """
    position = locate(error, statement.text)
    line = statement.line + (position.line - 1 if position else 0)
    place = f"{source}:{line}: " if source else ""
    text = f"{place}error: {summary(error)}\n"
    return text + _caret(statement.text, position) if position else text


def summary(error: Exception) -> str:
    """Return the first sentences of an error's message, with its condition name."""
    java_exception = getattr(error, "java_exception", None)
    text = str(error if java_exception is None else java_exception.toString()).strip()
    first = _MESSAGE_END.split(text, maxsplit=1)[0].strip()
    named = first.startswith("[") or java_exception is not None
    return first if named else f"{type(error).__name__}: {first}".rstrip(": ")


def locate(error: Exception, text: str) -> Position | None:
    """Return the position of an error in the statement ``text``; None if it is not known.

    Spark may have parsed a rewritten text. A position is valid only if this text is the same as the
    user's there.
    """
    if isinstance(error, AcidTextError):
        lines = text.split("\n")
        inside = 1 <= error.line <= len(lines)
        return Position(line=error.line, column=error.column - 1) if inside else None
    return _from_query_context(error, text) or _from_parse_message(str(error), text)


def _from_query_context(error: Exception, text: str) -> Position | None:
    contexts: Callable[[], list[object]] | None = getattr(error, "getQueryContext", None)
    for context in contexts() if contexts else []:
        fragment = str(getattr(context, "fragment", str)())
        start = int(getattr(context, "startIndex", int)())
        if fragment and text.startswith(fragment, start):
            return _position(text, start)
        if fragment and text.count(fragment) == 1:
            return _position(text, text.index(fragment))
    return None


def _from_parse_message(message: str, text: str) -> Position | None:
    match = _SPARK_CONTEXT.search(message)
    if match is None:
        return None
    seen, column = match["sql"].split("\n"), len(match["dashes"])
    lines = text.split("\n")
    if seen[-1] in lines[len(seen) - 1 : len(seen)]:
        return Position(line=len(seen), column=column)
    if lines.count(seen[-1]) == 1:
        return Position(line=lines.index(seen[-1]) + 1, column=column)
    return None


def _position(text: str, offset: int) -> Position:
    line_start = text.rfind("\n", 0, offset) + 1
    return Position(line=text.count("\n", 0, offset) + 1, column=offset - line_start)


def _caret(text: str, position: Position) -> str:
    line = text.split("\n")[position.line - 1]
    before = line[: position.column].ljust(position.column)
    indent = "".join("\t" if char == "\t" else " " * get_cwidth(char) for char in before)
    return f"{line}\n{indent}^\n"


def footer(result: Result) -> str:
    """Return the line with the number of rows, or of shown rows."""
    count = len(result.rows)
    if result.truncated:
        return f"first {count} rows; there are more (change this with --limit)"
    return counted(count, "row")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "batch"), counted(2, "batch"), counted(0, "row")
    ('1 batch', '2 batches', '0 rows')
    """
    plural = "es" if noun.endswith("ch") else "s"
    return f"{number} {noun}{'' if number == 1 else plural}"
