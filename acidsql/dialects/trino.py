"""Translation of Trino, for statements that are known to have the same meaning in Spark.

sqlglot parses the syntax and writes it for Spark. This package translates the functions itself
(``trino_functions``), so it gives them names that sqlglot does not know.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

from acidsql.dialects.refusals import malformed, unsupported
from acidsql.dialects.tokens import Node, Token, flat, read_nodes, word_of
from acidsql.dialects.translation import Translation, refuse_view
from acidsql.dialects.trino_nodes import written
from acidsql.dialects.trino_trees import StatementSource
from acidsql.syntax.lexer import quote

_SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.legacy.setopsPrecedence.enabled": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.storeAssignmentPolicy": "ANSI",
}
_TRANSLATED = frozenset({"SELECT", "WITH", "VALUES", "TABLE", "(", "INSERT", "UPDATE", "DELETE"})
# Statements without expressions, where only the quotes of names and strings differ.
_KEPT = frozenset({"SHOW", "DESCRIBE", "DESC", "USE", "DROP", "TRUNCATE", "ALTER"})
# Words that can precede parentheses but are not functions.
_NO_FUNCTIONS = """
    ALL AND ANY ARRAY AS BETWEEN BY CASE CAST CHAR CROSS CUBE DECIMAL DISTINCT ELSE EXCEPT EXISTS
    EXTRACT FILTER FROM GROUP GROUPS IN INSERT INTERSECT INTERVAL INTO IS JOIN LATERAL LIKE MAP
    MATCHED NOT ON OR OVER PARTITION POSITION ROLLUP ROW ROWS SELECT SET SETS SOME SUBSTRING TABLE
    THEN TIME TIMESTAMP TRIM TRY_CAST UNION UNNEST USING VALUES VARCHAR WHEN WHERE WITH WITHIN
"""
_WORDS = frozenset(_NO_FUNCTIONS.split())
_ZONED = re.compile(r"'.*\d\s*[A-Za-z+].*'|'.*:\d\d\s*-.*'")


def translated(text: str, _setting: Callable[[str], str | None]) -> Translation:
    """Translate a statement of Trino to Spark.

    Raises:
        AcidDialectError: a construct is not known to have the same meaning in Spark.
        AcidParseError: the text is not a statement of Trino.
    """
    nodes, _ = read_nodes(text, "trino")
    refuse_view(text, nodes)
    return Translation(text=_written(text, nodes), settings=_SETTINGS)


def _written(text: str, nodes: Sequence[Node]) -> str:
    first, second = ([*map(word_of, nodes), "", ""])[:2]
    if first == "EXPLAIN":
        return f"EXPLAIN {_written(text, nodes[1:])}"
    if first in _KEPT:
        return "".join(f"{token.gap}{_requoted(token)}" for token in flat(nodes)).strip()
    if first in _TRANSLATED or (first, second) == ("MERGE", "INTO") or _is_created_as(nodes):
        return _translated(text, nodes)
    raise unsupported(
        text,
        nodes[0].start if nodes else 0,
        problem=f"{first} {second}".strip() + " of Trino is not carried over to Spark",
        instead="write it in Spark's dialect",
    )


def _is_created_as(nodes: Sequence[Node]) -> bool:
    """Return whether a statement is CREATE TABLE … AS without a WITH clause."""
    words = list(map(word_of, nodes))
    if not words or words[0] != "CREATE" or "AS" not in words:
        return False
    head = words[1 : words.index("AS")]
    return "TABLE" in head and "WITH" not in head


def _requoted(token: Token) -> str:
    if token.text.startswith('"'):
        return quote(token.text[1:-1].replace('""', '"'))
    if token.text.startswith("'"):
        value = token.text[1:-1].replace("''", "'")
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return token.text


def _translated(text: str, nodes: Sequence[Node]) -> str:
    import sqlglot  # noqa: PLC0415 - as in tokens.py
    from sqlglot.errors import ErrorLevel, ParseError, UnsupportedError  # noqa: PLC0415

    pieces, names, offsets = _masked(text, nodes)
    masked = "".join(pieces)
    source = StatementSource(text=text, tokens=tuple(flat(nodes)), names=names)
    try:
        tree: Any = sqlglot.parse_one(masked, read="trino")
    except ParseError as error:
        place = error.errors[0] if error.errors else {}
        offset = _offset(masked, place.get("line") or 1, place.get("col") or 1)
        start = _unmasked(offset, pieces, offsets)
        message = str(place.get("description") or "this is no statement")
        raise malformed(text, start, message) from None
    try:
        result = written(source, tree)
        return str(result.sql(dialect="spark", unsupported_level=ErrorLevel.RAISE, comments=False))
    except UnsupportedError as error:
        raise unsupported(
            text, 0, problem=str(error), instead="write the statement in Spark's dialect"
        ) from None


def _masked(
    text: str, nodes: Sequence[Node]
) -> tuple[list[str], dict[str, tuple[str, int]], list[int]]:
    """Replace the names of the functions in a text by names that sqlglot does not know.

    Returns:
        The pieces of the text; the function and its offset for each name; the offset of each piece.
    """
    names: dict[str, tuple[str, int]] = {}
    pieces: list[str] = []
    offsets: list[int] = []
    for before, token, after in _neighbours(nodes):
        piece = token.text
        if after == "(" and _is_function(before, token):
            piece = f"acidsql_f{len(names)}"
            names[piece] = (token.text.lower(), token.start)
        elif token.is_string and before == "DECIMAL":
            # DECIMAL '1.50' is decimal(3,2), like the number 1.50; sqlglot would write a cast.
            pieces.pop()
            offsets.pop()
            piece = token.text[1:-1]
        elif token.word == "ROW" and after == "ONLY":
            piece = "ROWS"  # older releases of sqlglot only accept FETCH FIRST 1 ROWS ONLY
        elif token.is_string and before == "TIMESTAMP" and _ZONED.fullmatch(token.text):
            raise unsupported(
                text,
                token.start,
                problem="a timestamp with a time zone is not carried over to Spark",
                instead="write it in the session's time zone",
            )
        pieces.append(f"{token.gap or ' '}{piece}")
        offsets.append(token.start)
    return pieces, names, offsets


def _neighbours(nodes: Sequence[Node]) -> list[tuple[str, Token, str]]:
    """Return each token with the word before it and the word after it."""
    tokens = list(flat(nodes))
    words = ["", *(token.word for token in tokens), ""]
    return [(words[i], token, words[i + 2]) for i, token in enumerate(tokens)]


def _is_function(before: str, token: Token) -> bool:
    return (
        bool(token.word)
        and token.is_name
        # `filter(array, …)` is a function, but the FILTER clause after a function is not.
        and (token.word not in _WORDS or (token.word == "FILTER" and before != ")"))
        and before not in (".", "AS", "INTO", "WITH", "TABLE", "VIEW", "UPDATE", "RECURSIVE")
        and (bool(before) or token.start == 0)
    )


def _offset(masked: str, line: int, column: int) -> int:
    starts = [0, *(match.end() for match in re.finditer("\n", masked))]
    return starts[min(line, len(starts)) - 1] + column


def _unmasked(offset: int, pieces: Sequence[str], offsets: Sequence[int]) -> int:
    """Convert an offset after a token of the pieces to an offset in the original text."""
    ends = itertools.accumulate(map(len, pieces))
    starts = [start for start, end in zip(offsets, ends, strict=True) if end <= offset]
    return starts[-1] if starts else 0
