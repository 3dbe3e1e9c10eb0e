from __future__ import annotations

import pytest

from acidsql.syntax.replacing import query_starts, without_alias


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("a = 1 SELECT 2", ["SELECT 2"]),
        ("(a = 1) (SELECT 2)", ["(SELECT 2)"]),
        ("a IS DISTINCT FROM b TABLE t", ["FROM b TABLE t", "TABLE t"]),
        ("a IN (SELECT 1) VALUES (2)", ["(SELECT 1) VALUES (2)", "VALUES (2)", "(2)"]),
        ("a = 'SELECT' AND `from` = 1 /* SELECT */ with c AS (SELECT 1) SELECT 2", None),
        ("selected = 1 AND x.y > 2", []),
    ],
)
def test_query_starts(text: str, starts: list[str] | None) -> None:
    found = [text[start:] for start in query_starts(text)]
    if starts is None:
        starts = ["with c AS (SELECT 1) SELECT 2", "(SELECT 1) SELECT 2", "SELECT 2"]
    assert found == starts


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT 1 AS a", ("SELECT 1 AS a", None)),
        ("(SELECT 1) s", ("(SELECT 1)", "s")),
        (" (SELECT ')' AS a) AS `a ``b`", (" (SELECT ')' AS a)", "a `b")),
        ("(SELECT 1)", ("(SELECT 1)", None)),
        ("(SELECT 1) LIMIT 1", ("(SELECT 1) LIMIT 1", None)),
        ("(SELECT (1)", ("(SELECT (1)", None)),
    ],
)
def test_without_alias(query: str, expected: tuple[str, str | None]) -> None:
    assert without_alias(query) == expected
