"""Formats of results for programs: CSV, TSV and JSON lines."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence

from acidsql.repl.rendering import Form
from acidsql.repl.runner import Cell

MACHINE_FORMATS = frozenset({"csv", "tsv", "jsonl"})
"""Formats that write rows as they arrive, and all rows unless there is a limit."""

_NULL = "NULL"
_DELIMITERS = {"csv": ",", "tsv": "\t"}
# Values that are not numbers in JSON.
_NO_NUMBERS = frozenset({"NaN", "Infinity", "-Infinity"})


def lines(
    columns: Sequence[str], forms: Sequence[Form], rows: Iterable[Sequence[Cell]], format_name: str
) -> Iterator[str]:
    r"""Yield the lines of a result in one of ``MACHINE_FORMATS``, each with its line feed.

    The first line of CSV and TSV contains the column names.

    >>> list(lines(("a", "b"), (Form.NUMBER, Form.JSON), [("1.50", '{"x":1}')], "jsonl"))
    ['{"a":1.50,"b":{"x":1}}\n']
    """
    if format_name != "jsonl":
        texts = (tuple(map(cell_text, row)) for row in rows)
        yield from _delimited([tuple(columns)], _DELIMITERS[format_name])
        yield from _delimited(texts, _DELIMITERS[format_name])
        return
    names = [f"{_json(name)}:" for name in columns]
    for row in rows:
        values = map(_json_value, row, forms)
        yield "{" + ",".join(map(str.__add__, names, values)) + "}\n"


def cell_text(cell: Cell) -> str:
    """Return a value as text."""
    if cell is None:
        return _NULL
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


def _json_value(cell: Cell, form: Form) -> str:
    if not isinstance(cell, str):
        return _json(cell)
    is_value = form is Form.JSON or (form is Form.NUMBER and cell not in _NO_NUMBERS)
    return cell if is_value else _json(cell)


def _json(value: Cell) -> str:
    return json.dumps(value, ensure_ascii=False)


class _LastLine:
    """File that keeps only the last line written."""

    text = ""

    def write(self, line: str) -> None:
        self.text = line


def _delimited(rows: Iterable[Sequence[str]], delimiter: str) -> Iterator[str]:
    last = _LastLine()
    # csv quotes the characters of the line terminator, and a carriage return also needs quotes.
    writer = csv.writer(last, delimiter=delimiter, lineterminator="\r\n")
    for row in rows:
        writer.writerow(row)
        yield last.text.removesuffix("\r\n") + "\n"
