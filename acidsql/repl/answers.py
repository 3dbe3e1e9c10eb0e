"""Answers that people read better in another form than that of a table of all their columns."""

from __future__ import annotations

from dataclasses import replace

from acidsql.repl.runner import Result

# Columns with one text of several lines: of EXPLAIN, and of SHOW CREATE TABLE.
_TEXTS = frozenset({("plan",), ("createtab_stmt",)})
# Of COMPACT and OPTIMIZE: what is said of an entry, of what SHOW COMPACTIONS says.
_COMPACTION = ("compactionid", "dbname", "tabname", "partname", "type", "state", "errormessage")
_IF_GIVEN = frozenset({"partname", "errormessage"})


def lines_of(result: Result) -> str | None:
    """Return the lines of an answer that is a text, None if it is a table."""
    if result.columns not in _TEXTS or len(result.rows) != 1:
        return None
    return f"{str(result.rows[0][0]).rstrip()}\n"


def concise(result: Result, statement: str) -> Result:
    """Return the answer of a statement with only the columns that say what it did.

    Args:
        result: all of it.
        statement: the text. The answer of SHOW COMPACTIONS keeps all columns.
    """
    is_shown = statement.lstrip().upper().startswith("SHOW")
    if is_shown or not set(_COMPACTION) <= set(result.columns):
        return result
    chosen = [
        position
        for position, name in enumerate(result.columns)
        if name in _COMPACTION
        and (name not in _IF_GIVEN or any(row[position] is not None for row in result.rows))
    ]
    return replace(
        result,
        columns=tuple(result.columns[position] for position in chosen),
        numeric=tuple(result.numeric[position] for position in chosen),
        rows=tuple(tuple(row[position] for position in chosen) for row in result.rows),
    )
