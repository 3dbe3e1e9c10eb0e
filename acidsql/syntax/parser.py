"""Parser from text to statement, with the errors of malformed statements."""

from __future__ import annotations

import re

from lark import Lark, Token, Tree, UnexpectedInput, UnexpectedToken
from lark.exceptions import VisitError

from acidsql.errors import AcidParseError
from acidsql.once import once
from acidsql.syntax.builder import Builder, MalformedError
from acidsql.syntax.grammar import load_grammar
from acidsql.syntax.lexer import blank_comments
from acidsql.syntax.places import place_of, shortened
from acidsql.syntax.statements import Statement

# A text with a syntax error after one of these terminals or rules cannot be a Spark statement.
OURS = frozenset(
    {
        "COMMIT", "COMPACT", "COMPACTIONS", "LOCKS", "REWRITE", "ROLLBACK", "TRANSACTION",
        "TRANSACTIONAL", "TRANSACTIONS", "UNDO",
        "abort_compactions", "abort_transactions", "commit", "compact", "optimize_table",
        "rollback", "show_compactions", "show_locks",
        "show_transactions", "start_transaction", "undo_write",
    }
)  # fmt: skip
_SAYS_TRANSACTIONAL = re.compile(
    r"""\bTBLPROPERTIES\s*\([^()]*?\btransactional\b["'`]?\s*(?:==?\s*)?["']?true\b"""
    r"""|\bUSING\s+`?acidsql\b""",
    re.IGNORECASE,
)

_TERMINALS = {
    "CHUNK": "an expression",
    "$END": "the end of the statement",
    "COMMA": "','",
    "CONDITION": "a condition",
    "DEFINITION": "a definition",
    "_EQ": "'='",
    "NAME": "a name",
    "PART": "a name",
    "INTEGER": "a number",
    "LPAR": "'('",
    "RPAR": "')'",
    "SEMICOLON": "the end of the statement",
    "STRING": "a string",
    "VALUE": "a value",
    "VALUE_CHUNK": "a value",
}
_LONGEST_HINT = 6
_WORD = re.compile(r"\w+|(['\"`]).*?\1|.", re.DOTALL)


def parse(text: str, *, acid_by_default: bool = False) -> Statement | None:
    """Parse one statement, which may contain comments and end with a semicolon.

    Args:
        text: SQL with its parameters already bound.
        acid_by_default: whether a ``CREATE TABLE`` without a format creates a transactional table.

    Returns:
        The statement, or None if Spark executes the text unchanged: queries, ``CREATE TABLE`` of
        plain tables, and texts that acidsql does not recognise.

    Raises:
        AcidParseError: the text is malformed, and resembles a statement that Spark does not have
            (``COMPACT``, ``SHOW COMPACTIONS``, a transactional ``CREATE TABLE``, …). Spark refuses
            all other malformed texts.
    """
    code = blank_comments(text)
    try:
        tree = _grammar().parse(code)
        statement: Statement | None = Builder(
            text=text, code=code, acid_by_default=acid_by_default
        ).transform(tree)
    except UnexpectedInput as err:
        if not _is_ours(err, code):
            return None
        position, message = _describe(err, code)
        raise _parse_error(text, code, position, message) from None
    except VisitError as err:
        if not isinstance(err.orig_exc, MalformedError):
            raise
        raise _parse_error(text, code, err.orig_exc.position, str(err.orig_exc)) from None
    return statement


@once
def _grammar() -> Lark:
    return load_grammar()


def _is_ours(err: UnexpectedInput, code: str) -> bool:
    seen: set[str] = set()
    for item in err.interactive_parser.parser_state.value_stack:
        if isinstance(item, Token):
            seen.add(item.type)
        elif isinstance(item, Tree):
            seen.update(tree.data for tree in item.iter_subtrees())
    if seen & OURS:
        return True
    is_create_table = seen >= {"CREATE", "TABLE"} or bool(seen & {"_create_head", "create_table"})
    return is_create_table and _SAYS_TRANSACTIONAL.search(code) is not None


def _describe(err: UnexpectedInput, code: str) -> tuple[int, str]:
    """Return the position of a syntax error, and its message."""
    accepted = err.interactive_parser.accepts()  # type: ignore[no-untyped-call] # lark has none
    expected = sorted({_TERMINALS.get(name, name) for name in accepted}, key=str.swapcase)
    hint = f", expected {' or '.join(expected)}" if len(expected) <= _LONGEST_HINT else ""
    if isinstance(err, UnexpectedToken) and err.token.type == "$END":
        return len(code.rstrip()), f"unexpected end of the statement{hint}"
    position = err.pos_in_stream or 0
    word = _WORD.match(code, position)
    return position, f"unexpected {shortened(word[0]) if word else ''!r}{hint}"


def _parse_error(text: str, code: str, position: int, message: str) -> AcidParseError:
    word = _WORD.match(code, position)
    return AcidParseError(message, **place_of(text, position, word[0].strip() if word else ""))
