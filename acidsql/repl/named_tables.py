"""Tables that a statement names in its text, which can be unfinished."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from acidsql.repl.tokens import Token, TokenKind, tokens
from acidsql.syntax.lexer import Lexis, quote

BEFORE_TABLE = frozenset(
    {"ANALYZE", "DESC", "DESCRIBE", "FROM", "INTO", "JOIN", "OVERWRITE", "TABLE", "UPDATE", "USING"}
)
"""Words after which Spark and acidsql expect the name of a table."""

# Words that can be between one of these words and the name, in queries and in other statements.
_IN_QUERIES = ("FROM", "JOIN", "UPDATE", "USING")
_BETWEEN_IN_QUERIES = ("LATERAL",)
_BETWEEN = ("DETAIL", "EXISTS", "EXTENDED", "FORMATTED", "HEALTH", "HISTORY", "IF", "NOT", "TABLE")
# Words of BEFORE_TABLE that precede a table only at the beginning of a statement. Elsewhere, DESC
# is a sort order.
_BEGINNING = ("ANALYZE", "DESC", "DESCRIBE")
# Words that begin a clause of a query.
_CLAUSES = ("SELECT", "FROM", "WHERE", "ON", "BY", "HAVING", "SET", "VALUES", "INTO", "USING")
# Words that can follow a table but are not an alias.
_BEHIND_TABLE = frozenset(
    {"ADD", "ANTI", "CHANGE", "CLUSTER", "COMPACT", "COMPUTE", "CROSS", "DISTRIBUTE", "DROP"}
    | {"EXCEPT", "FOR", "FULL", "GROUP", "HAVING", "INNER", "INTERSECT", "JOIN", "LATERAL"}
    | {"LEFT", "LIMIT", "MINUS", "NATURAL", "OFFSET", "ON", "ORDER", "PARTITION", "PIVOT"}
    | {"RENAME", "REPLACE", "RIGHT", "SELECT", "SEMI", "SET", "SORT", "TABLESAMPLE", "TIMESTAMP"}
    | {"UNION", "UNPIVOT", "UNSET", "USING", "VALUES", "VERSION", "WHEN", "WHERE", "WINDOW"}
    | {"WITH", "FROM", "INSERT", "STORED", "AS", "LIKE", "QUALIFY", "TBLPROPERTIES"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTable:
    """Table in a statement.

    Attributes:
        name: name in Spark's spelling, including quotes and database.
        alias: alias in the statement, without quotes; None if it has none.
    """

    name: str
    alias: str | None

    def is_called(self, qualifier: str) -> bool:
        """Return whether ``qualifier`` can qualify the columns of this table."""
        wanted = plain(qualifier)
        if self.alias is not None:
            return wanted == self.alias.lower()
        table_name = plain(self.name)
        return wanted in (table_name, table_name.rpartition(".")[2])


def plain(name: str) -> str:
    """Return a name in lower case without quotes, for comparisons."""
    return name.replace("`", "").replace('"', "").lower()


def named_tables(text: str, cursor: int, lexis: Lexis = Lexis.SPARK) -> tuple[NamedTable, ...]:
    """Return the tables of the statement at ``cursor``, except the one that is being typed.

    Args:
        text: statements; the last one can be unfinished.
        cursor: offset in ``text``.
        lexis: lexical rules of the dialect.

    >>> named_tables("SELECT  FROM pet AS p", 7)
    (NamedTable(name='pet', alias='p'),)
    """
    statement = statement_at(tokens(text, lexis), cursor)
    return tuple(dict.fromkeys(_references(statement, cursor)))


def expects_table(before: Sequence[Token]) -> bool:
    """Return whether the name of a table or a database can follow these tokens."""
    behind = len(before)
    while behind and before[behind - 1].is_word(*_BETWEEN) and not _begins_name(before, behind - 1):
        behind -= 1
    if not behind:
        return False
    last = before[behind - 1]
    if last.is_word("USE") and behind == 1:
        return True
    if last.text == ",":  # another table of FROM
        return _is_list_of_tables(before[:behind])
    return _begins_name(before, behind - 1)


def queries_of_with(statement: Sequence[Token]) -> Iterator[str]:
    """Yield the names of the queries in a statement's ``WITH name AS (…)`` clause."""
    if not (statement and statement[0].is_word("WITH")):
        return
    for name, word, bracket in zip(statement[1:], statement[2:], statement[3:], strict=False):
        if word.is_word("AS") and bracket.text == "(" and not word.depth:
            yield name.text.strip('`"')


def _begins_name(before: Sequence[Token], position: int) -> bool:
    """Return whether a token is one of ``BEFORE_TABLE``, and precedes a table at its position."""
    token = before[position]
    if not token.is_word(*BEFORE_TABLE):
        return False
    previous = before[position - 1] if position else None
    if token.is_word(*_BEGINNING):
        return previous is None or previous.is_word("EXPLAIN")
    # THEN UPDATE SET of a MERGE, and IS DISTINCT FROM
    return previous is None or not previous.is_word("THEN", "DISTINCT")


def _is_list_of_tables(before: Sequence[Token]) -> bool:
    """Return whether a comma separates the tables of FROM."""
    for token in reversed(before):
        if token.depth < before[-1].depth:
            return False
        if token.depth == before[-1].depth and token.is_word(*_CLAUSES):
            return token.is_word("FROM")
    return False


def statement_at(all_tokens: list[Token], cursor: int) -> list[Token]:
    """Return the tokens of the statement at ``cursor``, from the tokens of a longer text."""
    ends = [position for position, token in enumerate(all_tokens) if token.text == ";"]
    first = max((end + 1 for end in ends if all_tokens[end].start < cursor), default=0)
    last = min((end for end in ends if all_tokens[end].start >= cursor), default=len(all_tokens))
    return all_tokens[first:last]


def _references(statement: Sequence[Token], cursor: int) -> Iterator[NamedTable]:
    for position, token in enumerate(statement):
        if not token.is_word(*BEFORE_TABLE):
            continue
        between = _BETWEEN_IN_QUERIES if token.is_word(*_IN_QUERIES) else _BETWEEN
        behind = position + 1
        while True:
            while _is_between(statement, behind, between):
                behind += 1
            table, behind = _reference(statement, behind, cursor)
            if table is not None:
                yield table
            if not (token.is_word("FROM") and _is_symbol(statement, behind, ",")):
                break
            behind += 1


def _reference(
    statement: Sequence[Token], position: int, cursor: int
) -> tuple[NamedTable | None, int]:
    """Return the table at a position, or None, and the position after it and its alias."""
    if _is_symbol(statement, position, "("):  # _references also visits the tokens inside
        depth = statement[position].depth
        position += 1
        while position < len(statement) and statement[position].depth > depth:
            position += 1
        return None, _alias(statement, position + 1)[1]
    first = position
    while _is_name(statement, position):
        position += 1
        if not _is_symbol(statement, position, "."):
            break
        position += 1
    if position == first:
        return None, position
    parts = statement[first:position]
    if parts[0].start <= cursor <= parts[-1].end:
        return None, position
    alias, position = _alias(statement, position)
    return NamedTable(name="".join(map(_as_in_spark, parts)), alias=alias), position


def _is_between(statement: Sequence[Token], position: int, words: Sequence[str]) -> bool:
    """Return whether a token is one of ``words``, not a table, since a name or ``(`` follows."""
    is_one = position < len(statement) and statement[position].is_word(*words)
    return is_one and (
        _is_name(statement, position + 1) or _is_symbol(statement, position + 1, "(")
    )


def _alias(statement: Sequence[Token], position: int) -> tuple[str | None, int]:
    if position < len(statement) and statement[position].is_word("AS"):
        position += 1
    if not _is_name(statement, position):
        return None, position
    return statement[position].text.strip('`"'), position + 1


def _as_in_spark(part: Token) -> str:
    return quote(part.text[1:-1]) if part.text.startswith('"') else part.text


def _is_name(statement: Sequence[Token], position: int) -> bool:
    if position >= len(statement):
        return False
    token = statement[position]
    return token.kind is TokenKind.NAME or (
        token.kind is TokenKind.WORD and token.text.upper() not in _BEHIND_TABLE
    )


def _is_symbol(statement: Sequence[Token], position: int, symbol: str) -> bool:
    return position < len(statement) and statement[position].text == symbol
