"""Which statements are asked about before they run."""

from __future__ import annotations

import pytest

from acidsql.repl.destructive import DANGERS, warning_of
from acidsql.syntax.lexer import Lexis

_ALL = [danger.name for danger in DANGERS]
_WARNINGS = {danger.name: danger.warning for danger in DANGERS}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("DELETE FROM pet", "unconditional_delete"),
        ("delete from pet -- where id = 1", "unconditional_delete"),
        ("/* x */ DELETE FROM `where`", "unconditional_delete"),
        ("DELETE FROM pet AS 'where'", "unconditional_delete"),
        ("UPDATE pet SET a = (SELECT max(b) FROM c WHERE d = 1)", "unconditional_update"),
        ("WITH w (x) AS (SELECT 1 WHERE true), v AS (SELECT 2) DELETE FROM pet", _ALL[0]),
        ("WITH delete AS (SELECT 1) UPDATE pet SET a = 1", "unconditional_update"),
        ("TRUNCATE TABLE pet", "truncate"),
        ("INSERT OVERWRITE pet SELECT 1", "overwrite"),
        ("DROP TABLE pet", "drop"),
    ],
)
def test_dangerous(text: str, kind: str) -> None:
    assert warning_of(text, _ALL) == _WARNINGS[kind]
    assert warning_of(text, [name for name in _ALL if name != kind]) is None


@pytest.mark.parametrize(
    "text",
    [
        "DELETE FROM pet WHERE id = 1",
        "WITH w AS (SELECT 1) DELETE FROM pet WHERE id IN (SELECT * FROM w)",
        "UPDATE pet SET a = 1\nwhere b",
        "EXPLAIN DELETE FROM pet",
        "SELECT * FROM delete",
        "WITH w AS (DELETE",
        "MERGE INTO pet USING n ON true WHEN MATCHED THEN DELETE",
        "INSERT INTO pet VALUES (1)",
        "",
    ],
)
def test_harmless(text: str) -> None:
    assert warning_of(text, _ALL) is None


def test_strings_are_those_of_the_dialect() -> None:
    text = "UPDATE pet SET a = '\\' WHERE b = ''"
    assert warning_of(text, _ALL, Lexis.TRINO) is None
    assert warning_of(text, _ALL) == _WARNINGS["unconditional_update"]
