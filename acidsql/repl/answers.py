"""Answers that are easier to read as a text, or as a table of some of their columns."""

from __future__ import annotations

from dataclasses import replace

from acidsql.repl.runner import Result

# Columns of EXPLAIN and SHOW CREATE TABLE, which return one text of several lines.
_TEXTS = frozenset({("plan",), ("createtab_stmt",)})
# Columns of SHOW COMPACTIONS that COMPACT and OPTIMIZE show for an entry.
_COMPACTION = ("compactionid", "dbname", "tabname", "partname", "type", "state", "errormessage")
_IF_GIVEN = frozenset({"partname", "errormessage"})


def lines_of(result: Result) -> str | None:
    """Return the lines of an answer that is a text; None if it is a table."""
    if result.columns not in _TEXTS or len(result.rows) != 1:
        return None
    return f"{str(result.rows[0][0]).rstrip()}\n"


def concise(result: Result, statement: str) -> Result:
    """Reduce the answer of a statement to the columns that describe its effect.

    Args:
        result: the whole answer.
        statement: text of the statement. The answer of SHOW COMPACTIONS keeps all columns.
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
