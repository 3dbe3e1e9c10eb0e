"""Tests of ``INSERT VALUES`` without a column list."""

from __future__ import annotations

import pytest

from acidsql.syntax.merge import add_insert_columns


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("THEN INSERT VALUES (1)", "THEN INSERT (`a`, `b`) VALUES (1)"),
        ("then insert\n values(1)", "then insert (`a`, `b`)\n values(1)"),
        ("THEN INSERT (a) VALUES (1)", "THEN INSERT (a) VALUES (1)"),
        ("THEN INSERT *", "THEN INSERT *"),
        (
            "THEN /* x */ INSERT -- y\n VALUES (1)",
            "THEN /* x */ INSERT (`a`, `b`) -- y\n VALUES (1)",
        ),
        ("SET a = 'THEN INSERT VALUES (1)'", "SET a = 'THEN INSERT VALUES (1)'"),
        (
            "AND x THEN INSERT VALUES (1) WHEN y THEN INSERT VALUES (2)",
            "AND x THEN INSERT (`a`, `b`) VALUES (1) WHEN y THEN INSERT (`a`, `b`) VALUES (2)",
        ),
    ],
)
def test_columns_are_named_where_they_are_missing(text: str, expected: str) -> None:
    assert add_insert_columns(text, ["`a`", "`b`"]) == expected
