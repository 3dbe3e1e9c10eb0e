"""Tables that a statement names, also where it is unfinished."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.repl.named_tables import NamedTable, named_tables
from acidsql.syntax.lexer import Lexis


def named(marked: str, lexis: Lexis = Lexis.SPARK) -> list[tuple[str, str | None]]:
    """Return names and aliases of a text whose cursor is at ``|``."""
    cursor = marked.index("|")
    text = marked[:cursor] + marked[cursor + 1 :]
    return [(table.name, table.alias) for table in named_tables(text, cursor, lexis)]


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("SELECT | FROM pet", [("pet", None)]),
        ("SELECT | FROM pet p WHERE", [("pet", "p")]),
        ("SELECT | FROM x.pet AS p, o, `a b` c", [("x.pet", "p"), ("o", None), ("`a b`", "c")]),
        ("SELECT * FROM pet WHERE |", [("pet", None)]),
        ("SELECT * FROM pet p JOIN owner o ON p.|", [("pet", "p"), ("owner", "o")]),
        ("SELECT * FROM pet LEFT JOIN owner USING (|", [("pet", None), ("owner", None)]),
        ("SELECT | FROM (SELECT * FROM pet) x, owner", [("owner", None), ("pet", None)]),
        ("UPDATE pet SET |", [("pet", None)]),
        ("DELETE FROM pet WHERE |", [("pet", None)]),
        ("INSERT INTO TABLE pet (|", [("pet", None)]),
        ("INSERT OVERWRITE pet SELECT | FROM owner", [("pet", None), ("owner", None)]),
        ("MERGE INTO pet t USING news n ON |", [("pet", "t"), ("news", "n")]),
        ("MERGE INTO a USING b ON x WHEN MATCHED THEN UPDATE SET |", [("a", None), ("b", None)]),
        ("SELECT | FROM history h, LATERAL (SELECT 1)", [("history", "h")]),
        ("DESCRIBE HISTORY history |", [("history", None)]),
        ("DESCRIBE history |", [("history", None)]),
        ("DROP TABLE IF EXISTS pet |", [("pet", None)]),
        ("ALTER TABLE pet DROP |", [("pet", None)]),
        ("SELECT 1 FROM owner; SELECT | FROM pet; SELECT 2 FROM other", [("pet", None)]),
        ("SELECT 'FROM owner' /* FROM x */, | FROM pet -- FROM y", [("pet", None)]),
        ("SELECT * FROM pe|", []),
        ("SELECT * FROM pet, ow|", [("pet", None)]),
        ("SELECT |", []),
        ("SELECT * FROM (|", []),
        ("SELECT * FROM shop.|", []),
    ],
)  # fmt: skip
def test_tables(text: str, tables: list[tuple[str, str | None]]) -> None:
    assert named(text) == tables


def test_quoted_names_of_trino_are_written_for_spark() -> None:
    assert named('SELECT | FROM "a b" AS "c"', Lexis.TRINO) == [("`a b`", "c")]


def test_an_alias_hides_the_name() -> None:
    aliased = NamedTable(name="shop.pet", alias="P")
    assert [aliased.is_called(name) for name in ("p", "`P`", "pet", "shop.pet")] == [
        True,
        True,
        False,
        False,
    ]
    plain = NamedTable(name="shop.Pet", alias=None)
    assert [plain.is_called(name) for name in ("pet", "shop.pet", "shop", "p")] == [
        True,
        True,
        False,
        False,
    ]


_PIECES = ["FROM", "JOIN", "UPDATE", "WHERE", "AS", "a", "`b`", "'", ",", ".", "(", ")", ";"]


@given(st.lists(st.sampled_from(_PIECES)), st.data())
def test_any_text_has_an_answer(words: list[str], data: st.DataObject) -> None:
    text = " ".join(words)
    for table in named_tables(text, data.draw(st.integers(0, len(text)))):
        assert table.name
