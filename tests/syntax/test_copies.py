"""Tests of CLONE, EXPORT and IMPORT."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acidsql.syntax import parse
from acidsql.syntax.copy_statements import CloneTable, ExportTable, ImportTable
from acidsql.syntax.nodes import PartitionSpec, VersionSpec
from acidsql.syntax.statements import CreateTable

Check = Callable[[str, type[Any], dict[str, Any]], None]

CLONES: list[tuple[str, dict[str, Any]]] = [
    ("CREATE TABLE «c» CLONE t", {"name": ("c",), "cloned": ("t",)}),
    (
        "create table if not exists «d.c» deep clone x.`t u` version as of 3 location 'l' "
        "tblproperties ('a' = 'b')",
        {
            "name": ("d", "c"),
            "cloned": ("x", "t u"),
            "depth": "deep",
            "as_of": VersionSpec(version="3"),
            "if_not_exists": True,
            "location": "l",
            "properties": {"a": "b"},
        },
    ),
    (
        "CREATE OR REPLACE TABLE «c» SHALLOW CLONE t TIMESTAMP AS OF '2025-01-01 00:00:00'",
        {
            "name": ("c",),
            "cloned": ("t",),
            "depth": "shallow",
            "as_of": VersionSpec(timestamp="2025-01-01 00:00:00"),
            "or_replace": True,
        },
    ),
    (
        "REPLACE TABLE «c» CLONE t VERSION AS OF 'txn 17'",
        {
            "name": ("c",),
            "cloned": ("t",),
            "as_of": VersionSpec(version="txn 17"),
            "replace_table": True,
        },
    ),
    ("CREATE TABLE «clone» CLONE clone", {"name": ("clone",), "cloned": ("clone",)}),
]


@pytest.mark.parametrize(("text", "fields"), CLONES)
def test_clone(text: str, fields: dict[str, Any], check: Check) -> None:
    check(text, CloneTable, fields)


def test_tables_called_like_the_keywords() -> None:
    for name in ("clone", "deep", "shallow"):
        text = f"CREATE TABLE {name} (a int) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
        assert isinstance(parse(text), CreateTable)
        assert parse(f"CREATE TABLE {name} USING parquet AS SELECT 1") is None


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("EXPORT TABLE «t» TO '/x y'", {"name": ("t",), "archive": "/x y"}),
        (
            "export table «d.t» partition (p = 1, q = 'a') to 'x' for metadata replication('5')",
            {
                "name": ("d", "t"),
                "archive": "x",
                "partition": PartitionSpec(values=(("p", "1"), ("q", "'a'"))),
                "unsupported": ("FOR REPLICATION",),
            },
        ),
    ],
)
def test_export(text: str, fields: dict[str, Any], check: Check) -> None:
    check(text, ExportTable, fields)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("IMPORT TABLE «t» FROM 'x'", {"name": ("t",), "archive": "x"}),
        (
            "import external table «d.t» partition (p = 1) from 'x' location 'y'",
            {
                "name": ("d", "t"),
                "archive": "x",
                "external": True,
                "partition": PartitionSpec(values=(("p", "1"),)),
                "location": "y",
            },
        ),
    ],
)
def test_import(text: str, fields: dict[str, Any], check: Check) -> None:
    check(text, ImportTable, fields)


def test_import_without_a_name() -> None:
    found = parse("IMPORT FROM 'x'")
    assert isinstance(found, ImportTable)
    assert (found.name, found.archive) == (None, "x")


@pytest.mark.parametrize(
    "text", ["EXPORT TABLE t", "EXPORT t TO 'x'", "IMPORT TABLE t", "CREATE TABLE c CLONE"]
)
def test_other_texts_are_sparks(text: str) -> None:
    assert parse(text) is None
