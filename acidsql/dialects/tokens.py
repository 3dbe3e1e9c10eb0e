"""Tokens of a statement from sqlglot's tokenizer, grouped by parentheses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from acidsql.dialects.refusals import malformed

_CLOSING = {"(": ")", "[": "]"}
_WORD = re.compile(r"\S+")
_COMMENTS = re.compile(r"--[^\r\n]*|/\*.*\*/", re.DOTALL)
# At the beginning of a text, sqlglot reads everything after SHOW or EXPLAIN as one token. This
# prefix prevents it.
_BEFORE = "x "


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token.

    Attributes:
        text: the token as written in the statement.
        word: the token in upper case if it is a word or a symbol; empty for strings, numbers and
            quoted names.
        start: offset of its first character.
        gap: blanks before the token; comments are replaced by blanks.
    """

    text: str
    word: str
    start: int
    gap: str

    @property
    def end(self) -> int:
        """Offset after the last character."""
        return self.start + len(self.text)

    @property
    def is_string(self) -> bool:
        """Whether it is a string literal."""
        return self.text[0] in "'\""

    @property
    def is_name(self) -> bool:
        """Whether it is a word or a quoted name."""
        return self.text[0] == "`" or self.text[0] == "_" or self.text[0].isalpha()


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Parentheses or brackets, and the nodes inside them."""

    opening: Token
    inside: tuple[Node, ...]
    closing: Token

    @property
    def start(self) -> int:
        """Offset of the opening parenthesis."""
        return self.opening.start


Node: TypeAlias = Token | Group


def word_of(node: Node | None) -> str:
    """Return the word of a token, ``(`` or ``[`` for a group, and otherwise an empty string."""
    if isinstance(node, Group):
        return node.opening.word
    return node.word if node else ""


def read_nodes(text: str, dialect: str) -> tuple[tuple[Node, ...], str]:
    """Return the nodes of a statement, and the blanks after the last node.

    Args:
        text: one statement.
        dialect: sqlglot's name of the dialect, which determines where strings and comments end.

    Raises:
        AcidParseError: a string or comment has no end, or a parenthesis has no partner.
    """
    tokens = list(_tokens(text, dialect))
    end = tokens[-1].end if tokens else 0
    nodes, position = _grouped(text, tokens, 0, None)
    if position < len(tokens):
        raise malformed(text, tokens[position].start, f"unexpected {tokens[position].text!r}")
    return nodes, _blanked(text, end, len(text))


def flat(nodes: Sequence[Node]) -> Iterator[Token]:
    """Yield the tokens of nodes in order."""
    for node in nodes:
        if isinstance(node, Group):
            yield node.opening
            yield from flat(node.inside)
            yield node.closing
        else:
            yield node


def split_at(nodes: Sequence[Node], word: str) -> list[tuple[Node, ...]]:
    """Split nodes at each occurrence of a word outside of groups."""
    pieces: list[list[Node]] = [[]]
    for node in nodes:
        if word_of(node) == word:
            pieces.append([])
        else:
            pieces[-1].append(node)
    return [tuple(piece) for piece in pieces]


def _tokens(text: str, dialect: str) -> Iterator[Token]:
    # Import sqlglot only when a dialect is requested, because the import takes 0.2 seconds.
    import sqlglot  # noqa: PLC0415
    from sqlglot.errors import TokenError  # noqa: PLC0415

    try:
        sqlglot_tokens = sqlglot.tokenize(_BEFORE + text, read=dialect)
    except TokenError:
        raise malformed(text, _unfinished(text), "a string or comment has no end") from None
    position = 0
    for token in sqlglot_tokens[1:]:
        first, last = token.start - len(_BEFORE), token.end - len(_BEFORE)
        if first < position:
            continue  # sqlglot splits `1L` into three tokens
        for start, end in _words(text, first, last + 1):
            piece = text[start:end]
            gap = _blanked(text, position, start)
            yield Token(text=piece, word=_word(piece), start=start, gap=gap)
            position = end


def _words(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each word of a token; sqlglot reads ``ORDER BY`` as one token."""
    if text[start].isalpha():
        for word in _WORD.finditer(text, start, end):
            yield word.span()
    else:
        yield start, end


def _word(text: str) -> str:
    return "" if text[0] in "'\"`" or text[0].isdigit() else text.upper()


def _unfinished(text: str) -> int:
    """Estimate where an unfinished string or comment begins, by its last quote."""
    return max(text.rfind(quote) for quote in ("'", '"', "`", "/*"))


def _blanked(text: str, start: int, end: int) -> str:
    r"""Blank the comments between two tokens, because Spark continues them after ``\\``."""
    gap = text[start:end]
    if _COMMENTS.sub("", gap).strip():
        raise malformed(text, start, "this text has parts that cannot be read")
    return gap if not gap.strip() else "".join(c if c in "\r\n" else " " for c in gap)


def _grouped(
    text: str, tokens: Sequence[Token], position: int, opening: Token | None
) -> tuple[tuple[Node, ...], int]:
    """Return the nodes up to the partner of ``opening``, and the position of the partner."""
    nodes: list[Node] = []
    while position < len(tokens):
        token = tokens[position]
        if token.word in _CLOSING:
            inside, position = _grouped(text, tokens, position + 1, token)
            nodes.append(Group(opening=token, inside=inside, closing=tokens[position]))
        elif token.word in _CLOSING.values():
            if opening is None or token.word != _CLOSING[opening.word]:
                raise malformed(text, token.start, f"unexpected {token.text!r}")
            return tuple(nodes), position
        else:
            nodes.append(token)
        position += 1
    if opening is not None:
        raise malformed(text, opening.start, f"{opening.text!r} has no partner")
    return tuple(nodes), position
