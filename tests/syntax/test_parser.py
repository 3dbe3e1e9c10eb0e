from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from acidsql.syntax import parse
from acidsql.syntax.maintenance_statements import Compact
from acidsql.syntax.nodes import PartitionSpec, Span
from acidsql.syntax.statements import CreateTable, Delete, Insert

CASES = Path(__file__).parents[1] / "cases" / "dml_cases.jsonl"


def partition(**values: str | None) -> PartitionSpec:
    return PartitionSpec(values=tuple(values.items()))


@pytest.mark.parametrize(
    "text",
    [
        "",
        " -- nothing",
        "SELECT 1",
        "WITH c AS (SELECT 1) SELECT * FROM c",
        "VALUES (1)",
        "FROM s SELECT x",
        "SET a = b",
        "UPDATE",
        "UPDATE t",
        "UPDATE 't' SET a = 1",
        "UPDATE 12 SET a = 1",
        "DELETE t WHERE id = 1",
        "MERGE INTO t",
        "INSERT INTO t",
        "INSERT INTO t DEFAULT VALUES",
        "INSERT OVERWRITE DIRECTORY '/x' SELECT 1",
        "INSERT OVERWRITE LOCAL DIRECTORY '/x' STORED AS orc SELECT 1",
        "INSERT INTO t (c.n) SELECT 1",
        "DELETE FROM t WHERE a = 'unclosed",
        "DELETE FROM t; DELETE FROM t",
        "/* unclosed /* */ DELETE FROM t",
        "DESCRIBE QUERY SELECT 1",
        "DESCRIBE SELECT a",
        "DESC FUNCTION upper",
        "DESC DATABASE d",
        "CREATE TEMP VIEW v USING csv",
        "CREATE VIEW v COMMENT 'a' COMMENT 'b' AS SELECT 1",
        "SHOW DATABASES EXTENDED",
        "SHOW TABLESX",
        "SHOW TABLE EXTENDED LIKE 'x'",
        "ALTER VIEW v RENAME TO w",
        "OPTIMIZE t ZORDER (a)",
        "VACUUM t USING INVENTORY i",
        "BEGIN DELETE FROM t; END",
    ],
)
def test_what_is_not_ours_is_left_to_spark(text: str) -> None:
    assert parse(text) is None


def test_text_ends_before_the_semicolon_and_offsets_count_from_its_start() -> None:
    text = "  /* é;😀 */ DELETE FROM `ta;ble😀` -- ;\n WHERE a = ';' /* ; */ ; ; -- end;"
    statement = parse(text)
    assert isinstance(statement, Delete)
    assert statement.text == "  /* é;😀 */ DELETE FROM `ta;ble😀` -- ;\n WHERE a = ';' /* ; */ "
    assert statement.name == ("ta;ble😀",)
    assert statement.name_span.of(text) == "`ta;ble😀`"


def test_comments_inside_a_name_and_a_partition_are_part_of_their_text() -> None:
    text = "ALTER TABLE a/* x */./* y */b PARTITION (p = -- z\n -/**/1) COMPACT 'major'"
    statement = parse(text)
    assert isinstance(statement, Compact)
    assert statement.name == ("a", "b")
    assert statement.name_span.of(text) == "a/* x */./* y */b"
    assert statement.partition == partition(p="-/**/1")


def test_a_hint_is_not_a_comment() -> None:
    text = "INSERT INTO t SELECT /*+ COALESCE(1) */ * FROM s"
    statement = parse(text)
    assert isinstance(statement, Insert)
    assert statement.query.of(text) == "SELECT /*+ COALESCE(1) */ * FROM s"


def test_deeply_nested_parentheses_need_no_recursion() -> None:
    depth = 5_000
    text = f"CREATE TRANSACTIONAL TABLE t ({'(' * depth}x{')' * depth})"
    statement = parse(text)
    assert isinstance(statement, CreateTable)
    assert statement.columns == Span(start=30, end=31 + 2 * depth)


# Names of the classes of statements by their first words.
KINDS = {
    "ALTER": {"AddColumns", "AddConstraint", "AlterViewAs", "Compact", "CreateTag", "RenameColumn"},
    "CACHE": {"CacheTable"},
    "DELETE": {"Delete"},
    "EXPLAIN": {"Explain"},
    "INSERT": {"Insert"},
    "MERGE": {"Merge"},
    "OPTIMIZE": {"Optimize"},
    "REPLACE": {"CreateTable"},
    "RESTORE": {"Restore"},
    "UPDATE": {"Update"},
    "CREATE": {"CreateTable", "CreateView", "NoneType"},
    "SET": {"NoneType"},
}


@pytest.mark.skipif(not CASES.exists(), reason="the cases are not beside the tests")
def test_every_statement_of_the_dml_cases_is_recognised() -> None:
    wrong = []
    for line in CASES.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        setup = (step["sql"] for step in case["setup"] if "sql" in step)
        for text in (case["statement"], *setup):
            code = re.sub(r"^(--.*\n|WITH .*?\)(?= [A-Z]+ )|\s)*", "", text)
            expected = KINDS[code.split()[0].upper()]
            if case["id"] == "delete-no-from":
                expected = {"NoneType"}
            if type(parse(text)).__name__ not in expected:
                wrong.append(text)
    assert wrong == []
