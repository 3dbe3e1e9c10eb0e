"""Loading of the grammar file, and creation of its parser."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from lark import Lark
from lark.lexer import PatternRE, PatternStr, TerminalDef


def load_grammar(*, debug: bool = False) -> Lark:
    """Build the parser.

    Args:
        debug: whether lark logs the conflicts of the grammar.
    """
    return Lark(
        grammar_text(),
        parser="lalr",
        propagate_positions=True,
        maybe_placeholders=False,
        edit_terminals=_make_whole_word,
        debug=debug,
    )


def grammar_text() -> str:
    """Read the grammar from the installed package, or from the source checkout."""
    packaged = resources.files("acidsql") / "grammar" / "acidsql.lark"
    if packaged.is_file():
        return packaged.read_text(encoding="utf-8")
    checkout = Path(__file__).parents[2]
    return (checkout / "grammar" / "acidsql.lark").read_text(encoding="utf-8")


def _make_whole_word(terminal: TerminalDef) -> None:
    """Make a keyword match whole words in any case, with priority over names.

    A word before a dot and a name is not a keyword.
    """
    pattern = terminal.pattern
    if isinstance(pattern, PatternStr) and pattern.value.isidentifier():
        terminal.pattern = PatternRE(rf"{pattern.value}\b(?!\s*\.\s*(?:[^\W\d]|`))", flags=("i",))
        terminal.priority = 1
