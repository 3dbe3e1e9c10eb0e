"""Results as tables, in HTML and in plain text."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from acidsql.repl.answers import lines_of
from acidsql.repl.machine_formats import cell_text
from acidsql.repl.printer import footer, result_text
from acidsql.repl.runner import Cell, Result


@dataclass(frozen=True, slots=True, repr=False)
class ResultTable:
    """Rows that a cell shows; it does not keep a DataFrame, so it does not retain a snapshot.

    >>> from acidsql.repl.runner import Result
    >>> rows = ((1, "Rex"), (2, None))
    >>> ResultTable(Result(columns=("id", "n"), numeric=(True, False), rows=rows, truncated=False))
    +----+------+
    | id | n    |
    |----+------|
    |  1 | Rex  |
    |  2 | NULL |
    +----+------+
    2 rows
    """

    result: Result

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.result.columns

    @property
    def rows(self) -> tuple[tuple[Cell, ...], ...]:
        """Rows, with integers and booleans unchanged and other values in Spark's text form."""
        return self.result.rows

    def __repr__(self) -> str:
        return result_text(self.result, "table").rstrip("\n")

    def _repr_html_(self) -> str | None:
        """Return the HTML for a notebook; None for a statement without a result.

        It is a table, or the lines of a text such as a plan.
        """
        lines = lines_of(self.result)
        if lines is not None:
            return f"<pre>{escape(lines)}</pre>"
        return _html(self.result) if self.result.columns else None


def _html(result: Result) -> str:
    sides = ["right" if is_number else "left" for is_number in result.numeric]
    head = _row("th", [escape(name) for name in result.columns], sides)
    body = "".join(_row("td", [_cell(value) for value in row], sides) for row in result.rows)
    return (
        f'<table class="dataframe">\n<thead>\n{head}</thead>\n<tbody>\n{body}</tbody>\n</table>\n'
        f"<p>{escape(footer(result))}</p>"
    )


def _row(tag: str, cells: list[str], sides: list[str]) -> str:
    styled = zip(cells, sides, strict=True)
    inside = "".join(f'<{tag} style="text-align: {side}">{cell}</{tag}>' for cell, side in styled)
    return f"<tr>{inside}</tr>\n"


def _cell(value: Cell) -> str:
    # Emphasize NULL, because a string can also be the word NULL.
    return "<em>NULL</em>" if value is None else escape(cell_text(value))
