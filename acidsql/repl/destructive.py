"""Statements that may destroy more data than the user intends."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from acidsql.repl.tokens import Token, TokenKind, tokens
from acidsql.syntax.lexer import Lexis

_ALL_ROWS = "{} without WHERE {} every row of the table"


@dataclass(frozen=True, slots=True, kw_only=True)
class Danger:
    """Kind of statement that the shell can warn of.

    Attributes:
        name: name of the kind in the configuration file.
        warning: text of the warning.
        fits: function that returns whether a statement has this kind. It takes the tokens outside
            parentheses.
    """

    name: str
    warning: str
    fits: Callable[[Sequence[Token]], bool]


def _begins(*words: str) -> Callable[[Sequence[Token]], bool]:
    def fits(statement: Sequence[Token]) -> bool:
        return len(statement) >= len(words) and all(
            token.is_word(word) for token, word in zip(statement, words, strict=False)
        )

    return fits


def _unconditional(verb: str) -> Callable[[Sequence[Token]], bool]:
    begins = _begins(verb)
    return lambda statement: (
        begins(statement) and not any(token.is_word("WHERE") for token in statement)
    )


DANGERS = (
    Danger(
        name="unconditional_delete",
        warning=_ALL_ROWS.format("DELETE", "removes"),
        fits=_unconditional("DELETE"),
    ),
    Danger(
        name="unconditional_update",
        warning=_ALL_ROWS.format("UPDATE", "changes"),
        fits=_unconditional("UPDATE"),
    ),
    Danger(name="truncate", warning="TRUNCATE removes all rows", fits=_begins("TRUNCATE")),
    Danger(
        name="overwrite",
        warning="INSERT OVERWRITE replaces the rows that are there",
        fits=_begins("INSERT", "OVERWRITE"),
    ),
    Danger(name="drop", warning="DROP removes what it names", fits=_begins("DROP")),
)
"""Kinds of statements that the configuration file can name."""


def warning_of(text: str, kinds: Collection[str], lexis: Lexis = Lexis.SPARK) -> str | None:
    """Return the warning to show before a statement runs; None if there is none.

    Args:
        text: one statement.
        kinds: names of the ``DANGERS`` to look for.
        lexis: lexical rules of the dialect.

    >>> warning_of("DELETE FROM pet", {"unconditional_delete"})
    'DELETE without WHERE removes every row of the table'
    """
    statement = _behind_with([token for token in tokens(text, lexis) if not token.depth])
    warnings = (d.warning for d in DANGERS if d.name in kinds and d.fits(statement))
    return next(warnings, None)


def _behind_with(statement: list[Token]) -> list[Token]:
    """Return the tokens after a ``WITH`` clause; all tokens if the statement has none."""
    if not (statement and statement[0].is_word("WITH")):
        return statement
    for position in range(1, len(statement)):
        before, token = statement[position - 1], statement[position]
        if before.text == ")" and token.kind is TokenKind.WORD and not token.is_word("AS"):
            return statement[position:]
    return []
