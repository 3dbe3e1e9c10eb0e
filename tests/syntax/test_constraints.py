"""Constraints are distinguished from columns, and taken out of their text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.syntax.constraints import (
    Constraint,
    ConstraintKind,
    parse_constraint,
    split_columns,
)


@pytest.mark.parametrize(
    ("text", "columns", "definitions"),
    [
        ("a INT, b INT", "a INT, b INT", []),
        ("a INT CHECK (a > 0) COMMENT 'x'", "a INT COMMENT 'x'", ["CHECK (a > 0)"]),
        ("a INT, CHECK (a > (1 + 2))", "a INT", ["CHECK (a > (1 + 2))"]),
        ("CHECK (a > 0), UNIQUE (a), a INT", "a INT", ["CHECK (a > 0)", "UNIQUE (`a`) DISABLE"]),
        ("a INT, CONSTRAINT k PRIMARY KEY (a, `b c`) NOT ENFORCED RELY, `b c` INT",
         "a INT , `b c` INT", ["PRIMARY KEY (`a`, `b c`) DISABLE NOVALIDATE RELY"]),
        ("a INT PRIMARY KEY DISABLE NOVALIDATE, b INT UNIQUE",
         "a INT , b INT", ["PRIMARY KEY (`a`) DISABLE", "UNIQUE (`b`) DISABLE"]),
        ("a INT REFERENCES d.p (x) NORELY", "a INT",
         ["FOREIGN KEY (`a`) REFERENCES `d`.`p` (`x`) DISABLE"]),
        ("a INT, b INT, FOREIGN KEY (a, b) REFERENCES p (x, y) DISABLE NOVALIDATE",
         "a INT, b INT", ["FOREIGN KEY (`a`, `b`) REFERENCES `p` (`x`, `y`) DISABLE"]),
        ("a INT CHECK (a > 0) DISABLE", "a INT", ["CHECK (a > 0) DISABLE NOVALIDATE"]),
        ("a INT CONSTRAINT n NOT NULL ENABLE, b INT NOT NULL ENABLE NOVALIDATE",
         "a INT NOT NULL , b INT NOT NULL", []),
        ("a STRING DEFAULT 'CHECK (b)' CHECK (a <> ')')",
         "a STRING DEFAULT 'CHECK (b)'", ["CHECK (a <> ')')"]),
        # Names of columns and of fields that are words of constraints.
        ("unique INT, check STRING, `primary` INT, constraint INT",
         "unique INT, check STRING, `primary` INT, constraint INT", []),
        ("a STRUCT<check: INT, unique: MAP<INT, STRING>>, b ARRAY<STRUCT<a: INT>> CHECK (a < b)",
         "a STRUCT<check: INT, unique: MAP<INT, STRING>>, b ARRAY<STRUCT<a: INT>>",
         ["CHECK (a < b)"]),
        ("a INT -- CHECK (a > 0)\n, b INT CHECK (b -- ) \n > 0)",
         "a INT -- CHECK (a > 0)\n, b INT", ["CHECK (b      \n > 0)"]),
        # What is not known stays for Spark's parser, which refuses it.
        ("a INT, PRIMARY KEY (a) DEFERRABLE", "a INT, PRIMARY KEY (a) DEFERRABLE", []),
        ("a INT, FOREIGN KEY (a)", "a INT, FOREIGN KEY (a)", []),
    ],
)  # fmt: skip
def test_constraints_of_column_lists(text: str, columns: str, definitions: list[str]) -> None:
    found = split_columns(text)
    assert found.columns.split() == columns.split()
    assert len(found.columns) == len(text)
    for constraint, start in zip(found.constraints, definitions, strict=True):
        assert constraint.definition.startswith(start)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CONSTRAINT `my c` CHECK ((a))",
         Constraint(kind=ConstraintKind.CHECK, name="my c", expression="(a)")),
        ("unique (a) norely",
         Constraint(kind=ConstraintKind.UNIQUE, columns=("a",))),
        ("PRIMARY KEY (a) ENABLE VALIDATE RELY",
         Constraint(kind=ConstraintKind.PRIMARY_KEY, columns=("a",), enabled=True, validated=True,
                    rely=True)),
        ("CONSTRAINT c", None),
        ("CHECK (a) b", None),
        ("CONSTRAINT c NOT NULL", None),
        ("PRIMARY KEY", None),
    ],
)  # fmt: skip
def test_constraint_of_add_constraint(text: str, expected: Constraint | None) -> None:
    assert parse_constraint(text) == expected


def test_a_column_constraint_knows_its_column() -> None:
    found = split_columns("x INT, `my col` INT CHECK (x > 0)").constraints
    assert [constraint.columns for constraint in found] == [("my col",)]


_WORDS = ("CHECK", "(", ")", ",", "a", "INT", "<", ">", "STRUCT", "UNIQUE", "CONSTRAINT", "NOT")


@given(st.lists(st.sampled_from((*_WORDS, "NULL", "ENABLE", "KEY", "PRIMARY", "REFERENCES", "."))))
def test_no_text_fails(words: list[str]) -> None:
    text = " ".join(words)
    found = split_columns(text)
    assert len(found.columns) == len(text)
    parse_constraint(text)


@given(st.sampled_from(tuple(ConstraintKind)), st.booleans(), st.sampled_from((None, False)))
def test_definitions_are_read_again(kind: ConstraintKind, rely: bool, enabled: bool | None) -> None:
    is_foreign = kind is ConstraintKind.FOREIGN_KEY
    made = Constraint(
        kind=kind,
        columns=() if kind is ConstraintKind.CHECK else ("a b", "c"),
        expression="a > 0" if kind is ConstraintKind.CHECK else None,
        enabled=enabled,
        rely=rely,
        parent=("d", "p") if is_foreign else (),
        parent_columns=("x", "y") if is_foreign else (),
    )
    again = parse_constraint(made.definition)
    assert again is not None
    assert again.definition == made.definition
