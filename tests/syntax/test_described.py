"""Tests of what the rows of DESCRIBE EXTENDED say of a table."""

from __future__ import annotations

from acidsql.syntax.described import described


def test_columns_are_told_from_headings() -> None:
    found = described(
        [
            ("id", "int", None),
            ("# of items", "int", "a comment"),
            ("a, b", "string", None),
            ("Comment", "string", None),
            ("# Partition Information", "", ""),
            ("# col_name", "data_type", "comment"),
            ("day", "date", None),
            ("", "", ""),
            ("# Detailed Table Information", "", ""),
            ("Location", "", ""),
            ("Comment", "of the table", ""),
            ("Not Null", "id, a, b", ""),
            ("", "", ""),
            ("# Column Default Values", "", ""),
            ("# of items", "int", "1 + 1"),
            ("", "", ""),
            ("# Generated Columns", "", ""),
            ("a, b", "string", "upper(`# of items`)"),
            ("", "", ""),
            ("# Constraints", "", ""),
            ("positive", "CHECK (id > 0)", ""),
            ("key", "PRIMARY KEY (`id`, `a, b`) DISABLE NOVALIDATE", ""),
        ]
    )
    assert [(c.name, c.columns, c.expression) for c in found.constraints] == [
        ("positive", (), "id > 0"),
        ("key", ("id", "a, b"), None),
    ]
    assert [name for name, _, _ in found.columns] == ["id", "# of items", "a, b", "Comment"]
    assert found.not_null == {"id", "a, b"}
    assert found.defaults == {"# of items": "1 + 1"}
    assert found.generated == {"a, b": "upper(`# of items`)"}
    assert found.is_partitioned
    assert found.details["Comment"] == "of the table"


def test_a_table_with_a_column_alone() -> None:
    found = described([("id", "int", "")])
    assert (found.columns, found.details, found.not_null) == ([("id", "int", "")], {}, frozenset())
    assert not found.is_partitioned
