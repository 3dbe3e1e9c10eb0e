"""Editor of a text at its tokens: text without a rule stays as the user wrote it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from acidsql.dialects.refusals import unsupported
from acidsql.dialects.templates import filled
from acidsql.dialects.tokens import Group, Node, Token, flat, split_at, word_of

# Words before a name with parentheses that show that the name is not a function.
_BEFORE_NAMES = frozenset({"INTO", "TABLE", "VIEW", "WITH", "AS", "UPDATE", "EXISTS", "."})


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A function call.

    Attributes:
        source: the statement.
        name: the function, in lower case.
        start: offset of the name.
        nodes: nodes of each argument in the statement.
        text_of: function that returns the edited text of some nodes.
    """

    source: str
    name: str
    start: int
    nodes: tuple[tuple[Node, ...], ...]
    text_of: Callable[[Sequence[Node]], str]

    @property
    def arguments(self) -> tuple[str, ...]:
        """Texts of the arguments."""
        return tuple(map(self.text_of, self.nodes))

    def refuse(self, problem: str, instead: str) -> NoReturn:
        """Raise the error that the call cannot be translated."""
        raise unsupported(self.source, self.start, problem=problem, instead=instead)

    def literal(self, index: int) -> str | None:
        """Return the text of an argument that is a string or a number with an optional sign."""
        if index >= len(self.nodes):
            return None
        *sign, last = self.nodes[index] or (None,)
        if not isinstance(last, Token) or not (last.is_string or last.text[0].isdigit()):
            return None
        if [word_of(node) for node in sign] not in ([], ["-"], ["+"]):
            return None
        return "".join(token.text for token in flat(self.nodes[index]))

    def filled(self, template: str) -> str:
        """Fill the template: the arguments replace ``{0}``, ``{1}``, …."""
        return self.filled_with(template, self.nodes)

    def filled_with(self, template: str, parts: Sequence[Sequence[Node]]) -> str:
        """Fill the template: parts of the call replace ``{0}``, ``{1}``, …."""
        return filled(template, [self._operand(part) for part in parts], self.refuse)

    def _operand(self, nodes: Sequence[Node]) -> str:
        """Return the text of a part, in parentheses if it can contain operators."""
        text = self.text_of(nodes)
        return text if len(nodes) == 1 or _is_reference(nodes) else f"({text})"


Rule: TypeAlias = Callable[[Call], str | None]
"""Function that returns the replacement of a call in Spark; None if the call stays."""

Reorder: TypeAlias = Callable[[tuple[Node, ...], str], tuple[Node, ...]]
"""Function that changes the nodes of a group or a statement; takes the word before the group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Splicer:
    """Rules of a dialect, for one statement.

    Attributes:
        source: the statement.
        calls: rules for the functions that differ, by their names in upper case.
        unknown: rule for all other functions.
        reorder: function that changes the nodes of a group before they become text.
    """

    source: str
    calls: Mapping[str, Rule]
    unknown: Rule
    reorder: Reorder

    def text_of(self, nodes: Sequence[Node], before: str = "") -> str:
        """Return the text of a group for Spark; ``before`` is the word before the group."""
        nodes = self.reorder(tuple(nodes), before)
        pieces: list[str] = []
        index = 0
        while index < len(nodes):
            node = nodes[index]
            if isinstance(node, Group):
                pieces += self._group(node, word_of(nodes[index - 1]) if index else "")
            else:
                text = self._call(nodes, index)
                pieces += (node.gap, node.text if text is None else text)
                index += text is not None
            index += 1
        return "".join(pieces)

    def _group(self, group: Group, before: str) -> tuple[str, ...]:
        opening, closing = group.opening, group.closing
        inside = self.text_of(group.inside, before)
        return opening.gap, opening.text, inside, closing.gap, closing.text

    def _call(self, nodes: Sequence[Node], index: int) -> str | None:
        """Return the replacement of a name and the parentheses after it.

        Return None if they are not a call, or if the call stays.
        """
        if not _is_call(nodes, index):
            return None
        name, group = nodes[index], nodes[index + 1]
        assert isinstance(name, Token)
        assert isinstance(group, Group)
        function = name.text.strip("`")
        rule = self.calls.get(function.upper(), self.unknown)
        call = Call(
            source=self.source,
            name=function.lower(),
            start=name.start,
            nodes=tuple(split_at(group.inside, ",")) if group.inside else (),
            text_of=lambda part: self.text_of(part).strip(),
        )
        return rule(call)


def _is_reference(nodes: Sequence[Node]) -> bool:
    """Return whether nodes are a name or a call with qualifiers, fields and elements."""
    before = "."
    for node in nodes:
        if isinstance(node, Token) and node.is_name and before != ".":
            return False
        before = word_of(node)
        if not (before in (".", "(", "[") or (isinstance(node, Token) and node.is_name)):
            return False
    return True


def _is_call(nodes: Sequence[Node], index: int) -> bool:
    """Return whether a name and the parentheses after it are a function call."""
    node = nodes[index]
    following = nodes[index + 1] if index + 1 < len(nodes) else None
    if not isinstance(node, Token) or not node.is_name or word_of(following) != "(":
        return False
    before = nodes[index - 1] if index else None
    if isinstance(before, Token):
        is_lateral = index > 1 and word_of(nodes[index - 2]) == "LATERAL"
        # An alias or a name can follow a literal or a quoted name, but a function cannot.
        return is_lateral or (bool(before.word) and before.word not in _BEFORE_NAMES)
    return before is None
