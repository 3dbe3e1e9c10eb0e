"""Statements that destroy more than their author may have meant."""

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
        name: of the kind, in the configuration file.
        warning: what is said of such a statement.
        fits: whether a statement is one, by its tokens outside parentheses.
    """

    name: str
    warning: str
    fits: Callable[[Sequence[Token]], bool]


def _begins(*words: str) -> Callable[[Sequence[Token]], bool]:
    def fits(found: Sequence[Token]) -> bool:
        return len(found) >= len(words) and all(
            token.is_word(word) for token, word in zip(found, words, strict=False)
        )

    return fits


def _unconditional(verb: str) -> Callable[[Sequence[Token]], bool]:
    begins = _begins(verb)
    return lambda found: begins(found) and not any(token.is_word("WHERE") for token in found)


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
"""The kinds, by the names that the configuration file has for them."""


def warning_of(text: str, kinds: Collection[str], lexis: Lexis = Lexis.SPARK) -> str | None:
    """Return what is to be said before a statement runs, or None.

    Args:
        text: one statement.
        kinds: names of the ``DANGERS`` to look for.
        lexis: rules of its dialect.

    >>> warning_of("DELETE FROM pet", {"unconditional_delete"})
    'DELETE without WHERE removes every row of the table'
    """
    found = _behind_with([token for token in tokens(text, lexis) if not token.depth])
    warnings = (d.warning for d in DANGERS if d.name in kinds and d.fits(found))
    return next(warnings, None)


def _behind_with(found: list[Token]) -> list[Token]:
    """Return the tokens of the statement that a ``WITH`` precedes, or all."""
    if not (found and found[0].is_word("WITH")):
        return found
    for position in range(1, len(found)):
        before, token = found[position - 1], found[position]
        if before.text == ")" and token.kind is TokenKind.WORD and not token.is_word("AS"):
            return found[position:]
    return []
