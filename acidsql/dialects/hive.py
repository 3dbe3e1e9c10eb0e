"""Translation of Hive 4.1, which edits only the parts where Spark would return other rows."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from acidsql.dialects import hive_commands as commands
from acidsql.dialects.hive_functions import RULES
from acidsql.dialects.refusals import unsupported
from acidsql.dialects.splicing import Splicer
from acidsql.dialects.tokens import Group, Node, Token, read_nodes, word_of
from acidsql.dialects.translation import Translation, refuse_view

# Statements that can contain expressions. In all others, only strings differ.
_WITH_EXPRESSIONS = frozenset(
    {"SELECT", "WITH", "FROM", "INSERT", "UPDATE", "DELETE", "MERGE", "EXPLAIN", "CREATE", "MAP"}
    | {"VALUES", "REDUCE", "("}
)
# Words that end an ORDER BY clause.
_AFTER_ORDER = frozenset(
    {"LIMIT", "OFFSET", "FETCH", "UNION", "INTERSECT", "EXCEPT", "MINUS", "ROWS", "RANGE"}
    | {"INSERT", "DISTRIBUTE", "CLUSTER", "SORT", "ORDER", "WINDOW", ";"}
)
_SETTINGS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.caseSensitive": "false",
    # In Hive, INTERSECT has the same precedence as UNION.
    "spark.sql.legacy.setopsPrecedence.enabled": "true",
    # Hive casts written values to the types of the columns.
    "spark.sql.storeAssignmentPolicy": "LEGACY",
}
_READING_PROPERTY = "acid.fetch.deleted.rows"
_LONG_ESCAPE = re.compile(r"((?:^|[^\\])(?:\\\\)*)\\U(?=[0-9a-fA-F]{8})")


def translated(text: str, setting: Callable[[str], str | None]) -> Translation:
    """Translate a statement of Hive to Spark.

    Args:
        text: one statement, after variable substitution.
        setting: function that looks up a setting of the session, because some settings determine
            the meaning of a statement in Hive.

    Raises:
        AcidDialectError: a construct has no counterpart in Spark.
        AcidParseError: a string or comment has no end.
    """
    command = commands.translated(text)
    if command is not None:
        return command
    settings = dict(_SETTINGS)
    if setting("hive.support.quoted.identifiers") == "none":
        settings["spark.sql.parser.quotedRegexColumnNames"] = "true"
    nodes, rest = read_nodes(text, "hive")
    refuse_view(text, nodes)
    first = word_of(next(iter(nodes), None))
    nulls_last = setting("hive.default.nulls.last") != "false"
    rules = _rules(text, has_expressions=first in _WITH_EXPRESSIONS, nulls_last=nulls_last)
    return Translation(text=rules.text_of(nodes) + rest, settings=settings)


def _rules(text: str, *, has_expressions: bool, nulls_last: bool) -> Splicer:
    def reorder(nodes: tuple[Node, ...], before: str) -> tuple[Node, ...]:
        nodes = tuple(_strings(nodes))
        if not has_expressions:
            return nodes
        _refuse_patterns(text, nodes)
        nodes = _offset_last(tuple(_with_properties(nodes)))
        # WITHIN GROUP (ORDER BY …) omits NULL, and Spark does not accept NULLS LAST there.
        return _sorted_nulls(nodes) if nulls_last and before != "GROUP" else nodes

    return Splicer(
        source=text,
        calls=RULES if has_expressions else {},
        unknown=lambda _call: None,
        reorder=reorder,
    )


def _strings(nodes: tuple[Node, ...]) -> Iterator[Node]:
    r"""Yield the nodes, with strings rewritten for Spark.

    In Hive, ``'a''b'`` is two strings that are joined, and ``\\U0001F600`` is not a character.
    """
    before: Node | None = None
    for node in nodes:
        changed = node
        if isinstance(node, Token) and node.is_string:
            follows = isinstance(before, Token) and before.is_string and not node.gap
            text = _LONG_ESCAPE.sub(r"\1U", node.text)
            changed = replace(node, text=text, gap=" " if follows else node.gap)
        before = node
        yield changed


def _refuse_patterns(text: str, nodes: tuple[Node, ...]) -> None:
    """Refuse patterns of LIKE and RLIKE that match other strings in Spark."""
    for operator, pattern in itertools.pairwise(nodes):
        if not (isinstance(pattern, Token) and pattern.is_string):
            continue
        word = word_of(operator)
        if word == "LIKE" and re.search(r"\\\\(?![%_])", pattern.text):
            problem = "LIKE with a backslash before another character than % and _ differs in Spark"
            instead = "use instr() or RLIKE"
        elif word in ("RLIKE", "REGEXP") and pattern.text in ("''", '""'):
            problem, instead = f"{word} '' is never true in Hive", "write false"
        else:
            continue
        raise unsupported(text, pattern.start, problem=problem, instead=instead)


def _with_properties(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """Yield the nodes, with WITH before a property that controls how a table is read.

    Hive has ``FROM t('acid.fetch.deleted.rows'='true')``, and Spark 4 has ``FROM t WITH (…)``.
    """
    for before, node in zip((None, *nodes), nodes, strict=False):
        is_name = isinstance(before, Token) and before.is_name and before.word != "TBLPROPERTIES"
        if is_name and isinstance(node, Group) and _is_reading_property(node):
            opening = node.opening
            yield Token(text="WITH", word="WITH", start=opening.start, gap=" ")
            yield replace(node, opening=replace(opening, gap=" "))
        else:
            yield node


def _is_reading_property(group: Group) -> bool:
    """Return whether a group is ``('acid.fetch.deleted.rows'='…')``."""
    if group.opening.word != "(" or len(group.inside) != 3:
        return False
    key, equals, value = group.inside
    if not isinstance(key, Token) or not isinstance(value, Token):
        return False
    return key.text[1:-1] == _READING_PROPERTY and word_of(equals) == "=" and value.is_string


def _offset_last(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Rewrite ``LIMIT 5, 10`` to ``LIMIT 10 OFFSET 5``."""
    for index in range(len(nodes) - 3):
        limit, skipped, comma, count = nodes[index : index + 4]
        if (
            word_of(limit) == "LIMIT"
            and word_of(comma) == ","
            and isinstance(skipped, Token)
            and isinstance(count, Token)
        ):
            offset = replace(skipped, text=f"OFFSET {skipped.text}", gap=" ")
            return (*nodes[: index + 1], count, offset, *nodes[index + 4 :])
    return nodes


def _sorted_nulls(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Add NULLS to ORDER BY and SORT BY: Hive sorts NULL after all values, Spark before them."""
    sorted_nodes: list[Node] = []
    begin: int | None = None  # of the current sort expression
    for index, node in enumerate(nodes):
        word = word_of(node)
        if begin is not None and begin < len(sorted_nodes):
            is_field = word_of(sorted_nodes[-1]) == "."
            if word == "," or (word in _AFTER_ORDER and not is_field):
                sorted_nodes += _nulls(sorted_nodes[begin:])
                begin = len(sorted_nodes) + 1 if word == "," else None
        sorted_nodes.append(node)
        if word == "BY" and index and word_of(nodes[index - 1]) in ("ORDER", "SORT"):
            begin = len(sorted_nodes)
    return (*sorted_nodes, *_nulls(sorted_nodes[begin:] if begin is not None else []))


def _nulls(item: Sequence[Node]) -> tuple[Node, ...]:
    words = [word_of(node) for node in item]
    if not words or "NULLS" in words[-2:-1]:
        return ()
    text = "NULLS FIRST" if words[-1] == "DESC" else "NULLS LAST"
    return (Token(text=text, word=text, start=item[-1].start, gap=" "),)
