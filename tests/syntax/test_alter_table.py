from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acidsql.syntax import parse
from acidsql.syntax.alter_statements import (
    AddColumns,
    AddConstraint,
    AddPartitions,
    AlterTable,
    ChangeColumn,
    CommentOnColumn,
    CommentOnTable,
    DropColumns,
    DropConstraint,
    DropPartitions,
    PlacedPartition,
    RenameColumn,
    RenamePartition,
    RenameTable,
    ReplaceColumns,
    SetLocation,
    SetProperties,
    UnsetProperties,
)
from acidsql.syntax.nodes import PartitionFilter, PartitionSpec

Check = Callable[[str, type[Any], dict[str, Any]], None]
T = {"name": ("t",)}


def partition(**values: str | None) -> PartitionSpec:
    return PartitionSpec(values=tuple(values.items()))


def partition_filter(*comparisons: tuple[str, str | None, str | None]) -> PartitionFilter:
    return PartitionFilter(comparisons=comparisons)


PARTITIONS = [
    (
        "ALTER TABLE «d.t» ADD PARTITION (p=1)",
        AddPartitions,
        {"name": ("d", "t"), "partitions": (PlacedPartition(spec=partition(p="1")),)},
    ),
    (
        "ALTER TABLE «t» ADD IF NOT EXISTS PARTITION (p='a', q=2) LOCATION '/x' PARTITION (p=-1)",
        AddPartitions,
        {
            **T,
            "if_not_exists": True,
            "partitions": (
                PlacedPartition(spec=partition(p="'a'", q="2"), location="/x"),
                PlacedPartition(spec=partition(p="-1")),
            ),
        },
    ),
    (
        "ALTER TABLE «t» DROP PARTITION (p=1)",
        DropPartitions,
        {**T, "partitions": (partition_filter(("p", "=", "1")),)},
    ),
    (
        "ALTER TABLE «t» DROP PARTITION (p>=1, P < -2, q <>'a' ,r, s!= 3, t<='a', u>1, v == 2)",
        DropPartitions,
        {
            **T,
            "partitions": (
                partition_filter(
                    ("p", ">=", "1"),
                    ("P", "<", "-2"),
                    ("q", "<>", "'a'"),
                    ("r", None, None),
                    ("s", "!=", "3"),
                    ("t", "<=", "'a'"),
                    ("u", ">", "1"),
                    ("v", "=", "2"),
                ),
            ),
        },
    ),
    (
        "ALTER TABLE «t» DROP IF EXISTS PARTITION (p=1), PARTITION (q=DATE'2024-01-01') PURGE",
        DropPartitions,
        {
            **T,
            "if_exists": True,
            "partitions": (
                partition_filter(("p", "=", "1")),
                partition_filter(("q", "=", "DATE'2024-01-01'")),
            ),
            "purge": True,
        },
    ),
    (
        "ALTER TABLE «compact» PARTITION (p=1) RENAME TO PARTITION (p=2)",
        RenamePartition,
        {
            "name": ("compact",),
            "partition": partition(p="1"),
            "new_partition": partition(p="2"),
        },
    ),
    ("ALTER TABLE «t» SET LOCATION '/x'", SetLocation, {**T, "location": "/x"}),
    (
        "ALTER TABLE «t» PARTITION (p=1) SET LOCATION '/x'",
        SetLocation,
        {**T, "location": "/x", "partition": partition(p="1")},
    ),
]


@pytest.mark.parametrize(("marked", "kind", "fields"), PARTITIONS)
def test_partitions(check: Check, marked: str, kind: type[Any], fields: dict[str, Any]) -> None:
    check(marked, kind, fields)


CHANGE = {**T, "column_name": ("a",)}
COLUMNS = [
    (
        "ALTER TABLE «t» ADD COLUMNS ([[columns|x INT, y STRUCT<a: INT> COMMENT ')']])",
        AddColumns,
        T,
    ),
    ("ALTER TABLE «t» ADD COLUMN ([[columns|x INT]]) CASCADE", AddColumns, {**T, "cascade": True}),
    ("ALTER TABLE «t» ADD COLUMNS ([[columns|x INT]]) RESTRICT", AddColumns, T),
    ("ALTER TABLE «t» ADD COLUMN [[columns|x INT COMMENT 'c' FIRST]]", AddColumns, T),
    (
        "ALTER TABLE «t» ADD COLUMN [[columns|cascade STRING, b DECIMAL(5,2)]] CASCADE",
        AddColumns,
        {**T, "cascade": True},
    ),
    ("ALTER TABLE «t» REPLACE COLUMNS ([[columns|a INT]])", ReplaceColumns, T),
    (
        "ALTER TABLE «t» REPLACE COLUMNS ([[columns|a INT]]) CASCADE",
        ReplaceColumns,
        {**T, "cascade": True},
    ),
    ("ALTER TABLE «t» DROP COLUMN [[columns|a]]", DropColumns, T),
    ("ALTER TABLE «t» DROP COLUMNS [[columns|IF EXISTS (a, b.c)]]", DropColumns, T),
    (
        "ALTER TABLE «t» RENAME COLUMN `a b` TO to",
        RenameColumn,
        {**T, "column_name": ("a b",), "new_column": "to"},
    ),
    (
        "ALTER TABLE «t» CHANGE a b [[definition|BIGINT]]",
        ChangeColumn,
        {**CHANGE, "new_column": "b"},
    ),
    (
        "ALTER TABLE «t» CHANGE COLUMN a a [[definition|STRUCT<first: INT> COMMENT 'x' AFTER y]] "
        "CASCADE",
        ChangeColumn,
        {**CHANGE, "new_column": "a", "cascade": True},
    ),
    (
        "ALTER TABLE «t» CHANGE a `cascade` [[definition|INT]] RESTRICT",
        ChangeColumn,
        {**CHANGE, "new_column": "cascade"},
    ),
    ("ALTER TABLE «t» ALTER COLUMN a TYPE [[definition|DECIMAL(12, 2)]]", ChangeColumn, CHANGE),
    (
        "ALTER TABLE «t» CHANGE COLUMN a TYPE [[definition|BIGINT]] CASCADE",
        ChangeColumn,
        {**CHANGE, "cascade": True},
    ),
    (
        "ALTER TABLE «t» ALTER a.b COMMENT 'it''s'",
        ChangeColumn,
        {**T, "column_name": ("a", "b"), "comment": "it's"},
    ),
    ("ALTER TABLE «t» ALTER COLUMN a SET NOT NULL", ChangeColumn, {**CHANGE, "not_null": True}),
    ("ALTER TABLE «t» ALTER COLUMN a DROP NOT NULL", ChangeColumn, {**CHANGE, "not_null": False}),
    ("ALTER TABLE «t» ALTER COLUMN a SET DEFAULT [[default|f(1, 'x') + 2]]", ChangeColumn, CHANGE),
    (
        "ALTER TABLE «t» ALTER COLUMN a DROP DEFAULT",
        ChangeColumn,
        {**CHANGE, "without_default": True},
    ),
    ("ALTER TABLE «t» ALTER COLUMN a FIRST", ChangeColumn, {**CHANGE, "moved": True}),
    ("ALTER TABLE «t» ALTER COLUMN a AFTER b", ChangeColumn, {**CHANGE, "moved": ("b",)}),
]


@pytest.mark.parametrize(("marked", "kind", "fields"), COLUMNS)
def test_columns(check: Check, marked: str, kind: type[Any], fields: dict[str, Any]) -> None:
    check(marked, kind, fields)


def test_a_semicolon_ends_a_definition() -> None:
    statement = parse("ALTER TABLE t CHANGE a b INT CASCADE ; ")
    assert isinstance(statement, ChangeColumn)
    assert statement.cascade
    assert statement.definition is not None
    assert statement.definition.of(statement.text) == "INT"


NAMES_AND_PROPERTIES = [
    (
        "ALTER TABLE «d.t» RENAME TO `a b`.c",
        RenameTable,
        {"name": ("d", "t"), "new_name": ("a b", "c")},
    ),
    (
        "ALTER TABLE «t» SET TBLPROPERTIES ('a'='b', c.d = TRUE)",
        SetProperties,
        {**T, "properties": {"a": "b", "c.d": "TRUE"}},
    ),
    (
        "ALTER TABLE «t» UNSET TBLPROPERTIES ('a', b.c)",
        UnsetProperties,
        {**T, "keys": ("a", "b.c")},
    ),
    (
        "ALTER TABLE «t» UNSET TBLPROPERTIES IF EXISTS ('a')",
        UnsetProperties,
        {**T, "keys": ("a",), "if_exists": True},
    ),
    ("ALTER TABLE «t» [[rest|SET SERDEPROPERTIES ('a'='b')]]", AlterTable, T),
    ("ALTER TABLE «t» ADD [[constraint|CONSTRAINT c CHECK (a > 1)]]", AddConstraint, T),
    ("ALTER TABLE «t» ADD [[constraint|PRIMARY KEY (a) DISABLE]]", AddConstraint, T),
    ("ALTER TABLE «t» DROP CONSTRAINT c", DropConstraint, {**T, "constraint_name": "c"}),
    (
        "ALTER TABLE «t» DROP CONSTRAINT IF EXISTS `a b` CASCADE",
        DropConstraint,
        {**T, "constraint_name": "a b", "if_exists": True},
    ),
    ("ALTER TABLE «t» [[rest|CLUSTER BY (a)]]", AlterTable, T),
    ("ALTER TABLE «t» [[rest|CONCATENATE]]", AlterTable, T),
    ("ALTER TABLE «t» [[rest|PARTITION (p=1) REPLACE COLUMNS (a INT)]]", AlterTable, T),
    ("ALTER TABLE «t» [[rest|EXCHANGE PARTITION (p=1) WITH TABLE u]]", AlterTable, T),
]


@pytest.mark.parametrize(("marked", "kind", "fields"), NAMES_AND_PROPERTIES)
def test_names_and_properties(
    check: Check, marked: str, kind: type[Any], fields: dict[str, Any]
) -> None:
    check(marked, kind, fields)


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE t",
        "ALTER TABLE t ADD",
        "ALTER TABLE t CHANGE a",
        "ALTER TABLE t RENAME",
        "ALTER TABLE t DROP",
        "ALTER TABLE t SET TBLPROPERTIES",
        "ALTER TABLE t ADD PARTITION (p=1), PARTITION (p=2)",
    ],
)
def test_what_cannot_be_understood_is_left_to_spark(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    ("text", "kind", "fields"),
    [
        ("COMMENT ON TABLE «d.t» IS 'x y'", CommentOnTable, {"name": ("d", "t"), "comment": "x y"}),
        ("comment on table «t» is NULL", CommentOnTable, T),
        (
            "COMMENT ON COLUMN «t.`a b`» IS ''",
            CommentOnColumn,
            {"name": ("t", "a b"), "comment": ""},
        ),
    ],
)
def test_comments(check: Check, text: str, kind: type[Any], fields: dict[str, Any]) -> None:
    check(text, kind, fields)
