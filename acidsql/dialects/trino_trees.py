"""Trees of Trino's statements that sqlglot has read, and the texts of their parts for Spark.

Their classes have other bases in each release of sqlglot: for mypy they are Any.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from acidsql.dialects.refusals import unsupported
from acidsql.dialects.tokens import Token

# Classes whose texts need no parentheses in an expression.
_WHOLE = """
    Anonymous Array Boolean Cast Column Distinct Lambda Literal Null Paren Placeholder Star Var
"""
_WHOLE_NODES = frozenset(_WHOLE.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The statement that a tree is of.

    Attributes:
        text: as the user wrote it.
        tokens: its tokens.
        names: the functions that stand under other names in the tree, with their offsets.
    """

    text: str
    tokens: tuple[Token, ...]
    names: Mapping[str, tuple[str, int]]

    def refuse(self, word: str, problem: str, instead: str) -> NoReturn:
        """Raise the error that something cannot be carried over, at the first such word."""
        offset = next((token.start for token in self.tokens if token.word == word.upper()), 0)
        raise unsupported(self.text, offset, problem=problem, instead=instead)


def shown(source: Source, node: Any) -> str:
    """Return the beginning of a node's text, as the user wrote it."""
    text = re.sub(
        r"\bacidsql_f\d+\b",
        lambda match: source.names[match[0].lower()][0],
        node.sql(dialect="trino"),
        flags=re.IGNORECASE,
    )
    return text if len(text) <= 60 else f"{text[:57]}…"


def raw(text: str) -> Any:
    """Return a node that is written as it is."""
    from sqlglot import exp  # noqa: PLC0415 - as in tokens.py

    return exp.Var(this=text)


def sql_of(node: Any) -> str:
    """Return the text of a node for Spark."""
    return str(node.sql(dialect="spark", comments=False))


def operand_of(node: Any) -> str:
    """Return the text of a node, in parentheses if operators may be in it."""
    text = sql_of(node)
    return text if type(node).__name__ in _WHOLE_NODES else f"({text})"


def string_of(node: Any) -> str | None:
    """Return the value of a string literal, None of all else."""
    return str(node.this) if type(node).__name__ == "Literal" and node.is_string else None
