"""Separation of the condition and the query of ``INSERT … REPLACE WHERE`` and ``REPLACE ON``.

The syntax has no keyword between the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from acidsql.syntax.lexer import blank_comments, code_spans, unquote_name

_QUERY_WORD = re.compile(r"(?:SELECT|VALUES|TABLE|FROM|WITH|MAP|REDUCE)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_ALIAS = re.compile(r"\s*(?:AS\s+)?(`(?:[^`]|``)+`|[^\W\d]\w*)\s*", re.IGNORECASE)


def query_starts(text: str) -> Iterator[int]:
    """Yield the offsets where a query may begin after a condition, in ascending order.

    A candidate is an opening parenthesis or a word that can begin a query, outside of other
    parentheses. Only a parser of expressions can determine which candidate begins the query.

    >>> text = "a = f(SELECT 1) SELECT 2"
    >>> [text[start:] for start in query_starts(text)]
    ['(SELECT 1) SELECT 2', 'SELECT 2']
    """
    code = blank_comments(text)
    depth = 0
    for span in code_spans(code):
        position = span.start
        while position < span.end:
            character = code[position]
            if character == "(":
                if depth == 0 and code[:position].strip():
                    yield position
                depth += 1
            elif character == ")":
                depth -= 1
            word = _WORD.match(code, position, span.end)
            if word is not None and depth == 0 and _QUERY_WORD.match(code, position):
                yield position
            position = word.end() if word else position + 1


def without_alias(query: str) -> tuple[str, str | None]:
    """Return a query without the alias after its parentheses, and the alias or None.

    >>> without_alias("(SELECT 1 AS a) AS s")
    ('(SELECT 1 AS a)', 's')
    >>> without_alias("(SELECT 1) UNION SELECT 2")
    ('(SELECT 1) UNION SELECT 2', None)
    """
    code = blank_comments(query)
    end = _closing(code) if code.lstrip().startswith("(") else None
    alias = None if end is None else _ALIAS.fullmatch(code, end)
    if end is None or alias is None:
        return query, None
    return query[:end], unquote_name(alias[1])


def _closing(code: str) -> int | None:
    """Return the offset after the parenthesis that closes the first one."""
    depth = 0
    for span in code_spans(code):
        for position in range(span.start, span.end):
            depth += (code[position] == "(") - (code[position] == ")")
            if depth == 0 and code[position] == ")":
                return position + 1
    return None
