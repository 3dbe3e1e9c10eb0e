"""Support for Hive's ``INSERT VALUES (…)`` in MERGE, which Spark's grammar does not have."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acidsql.syntax.lexer import blank_comments, code_spans

_INSERT_VALUES = re.compile(r"\bTHEN\s+INSERT(?=\s+VALUES\s*\()", re.IGNORECASE)


def add_insert_columns(text: str, columns: Sequence[str]) -> str:
    """Add the column list to every ``THEN INSERT VALUES (…)`` of a MERGE.

    Args:
        columns: all columns of the target, quoted, in the order of the table.

    >>> add_insert_columns("… WHEN NOT MATCHED THEN INSERT VALUES (s.id)", ["`id`"])
    '… WHEN NOT MATCHED THEN INSERT (`id`) VALUES (s.id)'
    """
    code = blank_comments(text)
    inside = [(span.start, span.end) for span in code_spans(code)]
    names = f" ({', '.join(columns)})"
    for match in reversed(list(_INSERT_VALUES.finditer(code))):
        if any(start <= match.start() and match.end() <= end for start, end in inside):
            text = text[: match.end()] + names + text[match.end() :]
    return text
