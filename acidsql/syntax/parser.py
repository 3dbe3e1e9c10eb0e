"""Text to statement: runs the grammar, and says where a statement that can only be ours is malformed."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from pathlib import Path

from lark import Lark, Token, Tree, UnexpectedInput
from lark.exceptions import VisitError
from lark.lexer import PatternRE, PatternStr, TerminalDef

from acidsql.errors import AcidParseError
from acidsql.syntax.builder import Builder, RepetitionError
from acidsql.syntax.lexis import blank_comments
from acidsql.syntax.statements import Statement

# A text that breaks off after one of these terminals or rules cannot be anything of Spark's.
_OURS = frozenset(
    {
        "COMPACT", "COMPACTIONS", "LOCKS", "REWRITE", "TRANSACTIONAL", "TRANSACTIONS",
        "abort_transactions", "compact", "optimize", "show_compactions", "show_locks",
        "show_transactions",
    }
)  # fmt: skip
_SAYS_TRANSACTIONAL = re.compile(
    r"""\bTBLPROPERTIES\s*\([^)]*?\btransactional\b["'`]?\s*={0,2}\s*["']?true\b""", re.IGNORECASE
)

_TERMINALS = {
    "$END": "the end of the statement",
    "CHUNK": "an expression",
    "COMMA": "','",
    "_EQ": "'='",
    "NAME": "a name",
    "PART": "a name",
    "INTEGER": "a number",
    "LPAR": "'('",
    "RPAR": "')'",
    "SEMICOLON": "the end of the statement",
    "STRING": "a string",
    "VALUE": "a value",
}


def parse(text: str) -> Statement | None:
    """Parse one statement; a semicolon may follow it, and comments may stand anywhere.

    Args:
        text: SQL with its parameters already bound.

    Returns:
        The statement, or None when the text is not one of ours and belongs to Spark as it is:
        queries, ``CREATE TABLE`` of plain tables, and all that neither knows.

    Raises:
        AcidParseError: the text is malformed, and can only have been meant as a statement that
            Spark does not have (``COMPACT``, ``SHOW COMPACTIONS``, a transactional ``CREATE
            TABLE``, …). All other malformed text is left for Spark to refuse.
    """
    code = blank_comments(text)
    try:
        tree = _grammar().parse(code)
        statement: Statement | None = Builder(text=text, code=code).transform(tree)
    except UnexpectedInput as err:
        if not _is_ours(err, code):
            return None
        position, message = _describe(err, code)
        raise _parse_error(text, position, message) from None
    except VisitError as err:
        if not isinstance(err.orig_exc, RepetitionError):
            raise
        raise _parse_error(text, err.orig_exc.position, str(err.orig_exc)) from None
    return statement


@cache
def _grammar() -> Lark:
    return Lark(
        _grammar_text(),
        parser="lalr",
        propagate_positions=True,
        maybe_placeholders=False,
        edit_terminals=_make_whole_word,
    )


def _grammar_text() -> str:
    """Return the grammar from the installed package, or from the source checkout around it."""
    packaged = resources.files("acidsql").joinpath("grammar", "acidsql.lark")
    if packaged.is_file():
        return packaged.read_text(encoding="utf-8")
    checkout = Path(__file__).parents[2]
    return (checkout / "grammar" / "acidsql.lark").read_text(encoding="utf-8")


def _make_whole_word(terminal: TerminalDef) -> None:
    """Make a keyword match whole words in any case, before any name unless it begins a dotted one."""
    pattern = terminal.pattern
    if isinstance(pattern, PatternStr) and pattern.value.isidentifier():
        terminal.pattern = PatternRE(rf"{pattern.value}\b(?!\s*\.\s*(?:[^\W\d]|`))", flags=("i",))
        terminal.priority = 1


def _is_ours(err: UnexpectedInput, code: str) -> bool:
    seen = {
        item.type if isinstance(item, Token) else item.data
        for item in err.interactive_parser.parser_state.value_stack
        if isinstance(item, Token | Tree)
    }
    if seen & _OURS:
        return True
    is_create_table = seen >= {"CREATE", "TABLE"} or "create_table" in seen
    return is_create_table and _SAYS_TRANSACTIONAL.search(code) is not None


def _describe(err: UnexpectedInput, code: str) -> tuple[int, str]:
    """Return where the text goes wrong and what was expected there."""
    token = getattr(err, "token", None)
    at_end = token is not None and token.type == "$END"
    position = len(code.rstrip()) if at_end else err.pos_in_stream
    found = re.compile(r"\w+|.", re.DOTALL).match(code, position)
    accepted = err.interactive_parser.accepts()
    expected = sorted({_TERMINALS.get(name, name) for name in accepted}, key=_words_last)
    message = f"unexpected {found[0]!r}" if found and not at_end else "unexpected end"
    return position, f"{message}, expected {' or '.join(expected)}"


def _words_last(description: str) -> tuple[bool, str]:
    return description.isupper(), description


def _parse_error(text: str, position: int, message: str) -> AcidParseError:
    start = text.rfind("\n", 0, position) + 1
    line_end = text.find("\n", position)
    line = text[start : line_end if line_end >= 0 else len(text)]
    indent = re.sub(r"[^\t]", " ", text[start:position])
    return AcidParseError(
        message,
        line=text.count("\n", 0, position) + 1,
        column=position - start + 1,
        context=f"{line}\n{indent}^",
    )
