"""Parsing of constraints in column lists and in ``ADD CONSTRAINT``, with Spark's and Hive's syntax.

Spark before 4 does not parse constraints, and no release parses Hive's keywords (``ENABLE``,
``NOVALIDATE``). acidsql therefore removes constraints from the text before Spark's parser reads
it, and also the declarations of identity columns. Expressions are not parsed here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from acidsql.syntax.identity import Identity
from acidsql.syntax.lexer import blank_comments, quote, unquote_name
from acidsql.syntax.nodes import Name


class ConstraintKind(StrEnum):
    """Kind of a constraint; the value contains its first keywords."""

    CHECK = "CHECK"
    PRIMARY_KEY = "PRIMARY KEY"
    UNIQUE = "UNIQUE"
    FOREIGN_KEY = "FOREIGN KEY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """Constraint of a table; NOT NULL and DEFAULT belong to its columns.

    Attributes:
        name: name; empty if the metastore chooses one.
        columns: columns of a key; for a CHECK in a column definition, that column; otherwise empty.
        expression: SQL text of a CHECK.
        enabled: whether writers enforce the constraint; None: the default of its kind.
        validated: True for ``VALIDATE``, False for ``NOVALIDATE``, None for neither.
        rely: whether a planner may rely on the constraint (``RELY``).
        parent: name of the table that a foreign key refers to.
        parent_columns: columns of that table.
    """

    kind: ConstraintKind
    name: str = ""
    columns: tuple[str, ...] = ()
    expression: str | None = None
    enabled: bool | None = None
    validated: bool | None = None
    rely: bool = False
    parent: Name = ()
    parent_columns: tuple[str, ...] = ()

    @property
    def is_enforced(self) -> bool:
        """Return whether writers enforce the constraint."""
        return self.kind is ConstraintKind.CHECK and self.enabled is not False

    @property
    def definition(self) -> str:
        """SQL text of the constraint without its name."""
        rely = " RELY" if self.rely else ""
        if self.kind is ConstraintKind.CHECK:
            return f"CHECK ({self.expression})" + (
                rely if self.is_enforced else f" DISABLE NOVALIDATE{rely}"
            )
        parent = ""
        if self.parent:
            name = ".".join(map(quote, self.parent))
            parent = f" REFERENCES {name} ({_names(self.parent_columns)})"
        return f"{self.kind} ({_names(self.columns)}){parent} DISABLE NOVALIDATE{rely}"


def _names(columns: Sequence[str]) -> str:
    return ", ".join(map(quote, columns))


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnList:
    """Content of the parentheses of CREATE TABLE.

    Attributes:
        columns: the text with blanks in place of the constraints, so that offsets stay the same.
        constraints: in the order of the text.
        identities: identity columns, by name.
    """

    columns: str
    constraints: tuple[Constraint, ...]
    identities: Mapping[str, Identity] = field(default_factory=dict)


_TOKEN = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`]|``)*`|\w+|[^\s\w]""", re.DOTALL
)
_NAME = re.compile(r"`(?:[^`]|``)*`|\w+")
_NESTED_TYPES = frozenset({"ARRAY", "MAP", "STRUCT"})
_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "ENABLE": {"enabled": True},
    "ENFORCED": {"enabled": True},
    "DISABLE": {"enabled": False},
    "NOT ENFORCED": {"enabled": False},
    "VALIDATE": {"validated": True},
    "NOVALIDATE": {"validated": False},
    "RELY": {"rely": True},
    "NORELY": {"rely": False},
}
# Hive's keywords after NOT NULL that only repeat the default.
_OF_NOT_NULL = frozenset({"ENABLE", "ENFORCED", "NOVALIDATE", "NORELY"})


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        return self.text.upper()


@dataclass(frozen=True, slots=True)
class _Part:
    """Part to remove from a list of columns: the tokens from ``begin`` to ``end``, exclusive.

    Without a constraint and an identity, the tokens are options of a NOT NULL, which stays.
    """

    constraint: Constraint | None
    begin: int
    end: int
    identity: Identity | None = None


def split_columns(text: str) -> ColumnList:
    """Separate the constraints in the parentheses of CREATE TABLE from its columns.

    >>> split = split_columns("id INT CHECK (id > 0), PRIMARY KEY (id)")
    >>> split.columns.rstrip(), [c.definition for c in split.constraints]
    ('id INT', ['CHECK (id > 0)', 'PRIMARY KEY (`id`) DISABLE NOVALIDATE'])
    """
    tokens = _tokens(text)
    pieces = list(text)
    constraints = []
    identities = {}
    place, element, angles, has_columns = 0, 0, 0, False
    while place < len(tokens):
        token = tokens[place]
        end = place + 1
        if angles or (token.text == "<" and tokens[place - 1].word in _NESTED_TYPES):
            angles += {"<": 1, ">": -1}.get(token.text, 0)
        elif token.text == "(":
            end = _closing(tokens, place) + 1
        elif token.text == ",":
            element = place + 1
        elif place == element and (table_constraint := _of_table(text, tokens, place)) is not None:
            constraints.append(table_constraint[0])
            end = table_constraint[1]
            # Remove the comma before the constraint, or after it if no column precedes it.
            first = place - 1 if has_columns else place
            last = end if end < len(tokens) and not has_columns else end - 1
            _blank(pieces, tokens[first].start, tokens[last].end)
        elif place > element and (part := _of_column(text, tokens, place, element)) is not None:
            if part.constraint is not None:
                constraints.append(part.constraint)
            if part.identity is not None:
                identities[unquote_name(tokens[element].text)] = part.identity
            _blank(pieces, tokens[part.begin].start, tokens[part.end - 1].end)
            end = part.end
        else:
            has_columns = True
        place = end
    return ColumnList(
        columns="".join(pieces), constraints=tuple(constraints), identities=identities
    )


def parse_constraint(text: str) -> Constraint | None:
    """Parse the constraint of ADD CONSTRAINT from its first word; return None if it is malformed.

    >>> parse_constraint("CONSTRAINT positive CHECK (id > 0)").expression
    'id > 0'
    """
    tokens = _tokens(text)
    parsed = _of_table(text, tokens, 0) if tokens else None
    return None if parsed is None or parsed[1] != len(tokens) else parsed[0]


def _tokens(text: str) -> list[_Token]:
    code = blank_comments(text)
    return [_Token(m[0], m.start(), m.end()) for m in _TOKEN.finditer(code)]


def _blank(pieces: list[str], start: int, end: int) -> None:
    """Replace characters with blanks, but keep line ends."""
    for place in range(start, end):
        if pieces[place] not in "\r\n":
            pieces[place] = " "


def _words(tokens: Sequence[_Token], place: int) -> list[str]:
    """Return the next two words in upper case; after the end of the text, words are empty."""
    return [token.word for token in tokens[place : place + 2]] + [""] * (place + 2 - len(tokens))


def _closing(tokens: Sequence[_Token], opening: int) -> int:
    """Return the position of the matching closing parenthesis, or of the last token."""
    depth = 0
    for place in range(opening, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[place].text, 0)
        if depth == 0:
            return place
    return len(tokens) - 1


def _name(tokens: Sequence[_Token], place: int) -> tuple[str, int]:
    """Return the name after CONSTRAINT, or an empty name, and the position after it."""
    word, following = _words(tokens, place)
    if word == "CONSTRAINT" and _NAME.fullmatch(following):
        return unquote_name(tokens[place + 1].text), place + 2
    return "", place


def _of_table(text: str, tokens: Sequence[_Token], place: int) -> tuple[Constraint, int] | None:
    """Return the table constraint that begins at ``place``, and the position after it."""
    name, place = _name(tokens, place)
    words = _words(tokens, place)
    columns: tuple[str, ...] = ()
    parent = None
    if words == ["CHECK", "("]:
        expression, place = _expression(text, tokens, place + 1)
        made = Constraint(kind=ConstraintKind.CHECK, name=name, expression=expression)
    else:
        kind = next((k for k in _KEYS if k.split() == words[: len(k.split())]), None)
        if kind is None:
            return None
        place += len(kind.split())
        if _words(tokens, place)[0] != "(":
            return None  # a column named unique
        columns, place = _listed(tokens, place)
        made = Constraint(kind=kind, name=name, columns=columns)
    if made.kind is ConstraintKind.FOREIGN_KEY:
        parent = _parent(tokens, place)
        if parent is None:
            return None
        made, place = replace(made, parent=parent[0], parent_columns=parent[1]), parent[2]
    made, place = _with_options(made, tokens, place)
    return (made, place) if _words(tokens, place)[0] in ("", ",") else None


_KEYS = (ConstraintKind.PRIMARY_KEY, ConstraintKind.UNIQUE, ConstraintKind.FOREIGN_KEY)


def _of_column(text: str, tokens: Sequence[_Token], begin: int, element: int) -> _Part | None:
    """Return the column constraint, or the identity, that begins at ``begin``.

    Args:
        element: position of the column's name.
    """
    identity = _identity(tokens, begin)
    if identity is not None:
        return _Part(None, begin, identity[1], identity[0])
    name, place = _name(tokens, begin)
    words = _words(tokens, place)
    columns = (unquote_name(tokens[element].text),)
    if words == ["NOT", "NULL"]:
        if name:
            return _Part(None, begin, place)
        end = place + 2
        while _words(tokens, end)[0] in _OF_NOT_NULL:
            end += 1
        return _Part(None, place + 2, end) if end > place + 2 else None
    if words == ["CHECK", "("]:
        expression, place = _expression(text, tokens, place + 1)
        made = Constraint(
            kind=ConstraintKind.CHECK, name=name, columns=columns, expression=expression
        )
    elif words == ["PRIMARY", "KEY"]:
        made, place = (
            Constraint(kind=ConstraintKind.PRIMARY_KEY, name=name, columns=columns),
            place + 2,
        )
    elif words[0] == "UNIQUE":
        made, place = Constraint(kind=ConstraintKind.UNIQUE, name=name, columns=columns), place + 1
    elif (parent := _parent(tokens, place)) is not None:
        made = Constraint(
            kind=ConstraintKind.FOREIGN_KEY,
            name=name,
            columns=columns,
            parent=parent[0],
            parent_columns=parent[1],
        )
        place = parent[2]
    else:
        return None
    made, end = _with_options(made, tokens, place)
    return _Part(made, begin, end)


def _identity(tokens: Sequence[_Token], begin: int) -> tuple[Identity, int] | None:
    """Return the identity declaration that begins at ``begin``, and the position after it."""
    words = [token.word for token in tokens[begin : begin + 5]]
    if words[:2] == ["GENERATED", "ALWAYS"]:
        place = begin + 2
    elif words[:3] == ["GENERATED", "BY", "DEFAULT"]:
        place = begin + 3
    else:
        return None
    if _words(tokens, place) != ["AS", "IDENTITY"]:
        return None
    always, place = place == begin + 2, place + 2
    if _words(tokens, place)[0] != "(":
        return Identity(always=always), place
    end = _closing(tokens, place)
    options = " ".join(token.word for token in tokens[place + 1 : end])
    numbers = dict(_OF_IDENTITY.findall(options))
    if len(numbers) != options.count(" BY ") + options.count(" WITH "):
        return None  # an option is repeated
    if _OF_IDENTITY.sub("", options).strip():
        return None  # an unknown option, which Spark's parser reports
    start, increment = (
        int(numbers.get(words, "1").replace(" ", "")) for words in ("START WITH", "INCREMENT BY")
    )
    return Identity(start=start, increment=increment, always=always), end + 1


_OF_IDENTITY = re.compile(r"\b(START WITH|INCREMENT BY) ((?:- )?\d+)\b")


def _expression(text: str, tokens: Sequence[_Token], opening: int) -> tuple[str, int]:
    """Return the text in parentheses, and the position after them."""
    end = _closing(tokens, opening)
    inside = blank_comments(text)[tokens[opening].end : tokens[end].start]
    return inside.strip(), end + 1


def _listed(tokens: Sequence[_Token], opening: int) -> tuple[tuple[str, ...], int]:
    """Return the names of a list in parentheses, and the position after it."""
    end = _closing(tokens, opening)
    inside = tokens[opening + 1 : end]
    return tuple(unquote_name(t.text) for t in inside if t.text != ","), end + 1


def _parent(tokens: Sequence[_Token], place: int) -> tuple[Name, tuple[str, ...], int] | None:
    """Return table and columns of the REFERENCES at ``place``, and the position after it."""
    if _words(tokens, place)[0] != "REFERENCES":
        return None
    parts: list[str] = []
    place += 1
    while place < len(tokens) and (
        tokens[place].text == "." or _NAME.fullmatch(tokens[place].text)
    ):
        if tokens[place].text != ".":
            parts.append(unquote_name(tokens[place].text))
        place += 1
    if not parts or _words(tokens, place)[0] != "(":
        return None
    columns, end = _listed(tokens, place)
    return tuple(parts), columns, end


def _with_options(made: Constraint, tokens: Sequence[_Token], place: int) -> tuple[Constraint, int]:
    """Return a constraint with the options at ``place``, and the position after them."""
    while True:
        words = _words(tokens, place)
        option = next((o for o in _OPTIONS if o.split() == words[: len(o.split())]), None)
        if option is None:
            return made, place
        made = replace(made, **_OPTIONS[option])
        place += len(option.split())
