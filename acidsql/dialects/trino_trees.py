"""Trees of Trino's statements from sqlglot, and the texts of their nodes for Spark.

The nodes have the type Any, because the base classes differ between releases of sqlglot.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from acidsql.dialects.refusals import unsupported
from acidsql.dialects.tokens import Token

# Classes of nodes that need no parentheses in an expression.
_WHOLE = """
    Anonymous Array Boolean Cast Column Distinct Lambda Literal Null Paren Placeholder Star Var
"""
_WHOLE_NODES = frozenset(_WHOLE.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementSource:
    """Statement of a tree.

    Attributes:
        text: text that the user wrote.
        tokens: tokens of the text.
        names: functions with their offsets, by their replaced names in the tree.
    """

    text: str
    tokens: tuple[Token, ...]
    names: Mapping[str, tuple[str, int]]

    def refuse(self, word: str, problem: str, instead: str) -> NoReturn:
        """Raise the error that a construct cannot be translated, at the first place of a word."""
        offset = next((token.start for token in self.tokens if token.word == word.upper()), 0)
        raise unsupported(self.text, offset, problem=problem, instead=instead)


def shown(source: StatementSource, node: Any) -> str:
    """Return the beginning of a node's text, with the user's function names."""
    text = re.sub(
        r"\bacidsql_f\d+\b",
        lambda match: source.names[match[0].lower()][0],
        node.sql(dialect="trino"),
        flags=re.IGNORECASE,
    )
    return text if len(text) <= 60 else f"{text[:57]}…"


def raw(text: str) -> Any:
    """Return a node that sqlglot writes unchanged."""
    from sqlglot import exp  # noqa: PLC0415 - as in tokens.py

    return exp.Var(this=text)


def sql_of(node: Any) -> str:
    """Return the text of a node for Spark."""
    return str(node.sql(dialect="spark", comments=False))


def operand_of(node: Any) -> str:
    """Return the text of a node, in parentheses if it can contain operators."""
    text = sql_of(node)
    return text if type(node).__name__ in _WHOLE_NODES else f"({text})"


def string_of(node: Any) -> str | None:
    """Return the value of a string literal; None for any other node."""
    return str(node.this) if type(node).__name__ == "Literal" and node.is_string else None
