"""Tests of our parser against Spark's."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from py4j.java_gateway import JavaObject
from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from acidsql.syntax import parse
from acidsql.syntax.lexer import blank_comments, unquote_string
from acidsql.syntax.show_statements import Describe
from acidsql.syntax.statements import Delete, Insert, Merge, Truncate, Update, Use

pytestmark = pytest.mark.spark


def plan(spark: SparkSession, text: str) -> JavaObject:
    return spark._jsparkSession.sessionState().sqlParser().parsePlan(text)


def tree_string(spark: SparkSession, text: str) -> str:
    """Return the plan as text, without the ids that Spark gives its expressions."""
    return re.sub(r"#\d+", "", plan(spark, text).treeString())


NAMED = [
    ("UPDATE set SET a = 1", Update, "UpdateTable", "[set]"),
    ("UPDATE d . `a``b` AS set SET a = 1", Update, "UpdateTable", "[d, a`b]"),
    ("UPDATE t SET set = 1", Update, "UpdateTable", "[t]"),
    ("DELETE FROM where WHERE a = ';'", Delete, "DeleteFromTable", "[where]"),
    ("DELETE FROM t -- ;\\\n;\n WHERE 1 = 1 /* ; /* ; */ */ ; ;", Delete, "DeleteFromTable", "[t]"),
    ("/* a /*+ b */ DELETE FROM 1a.2b", Delete, "DeleteFromTable", "[1a, 2b]"),
    (
        "MERGE INTO using USING s ON true WHEN MATCHED THEN DELETE",
        Merge,
        "MergeIntoTable",
        "[using]",
    ),
    ("INSERT INTO TABLE d.t (values, from) SELECT 1, 2", Insert, "InsertIntoStatement", "[d, t]"),
    ("INSERT INTO table SELECT 1", Insert, "InsertIntoStatement", "[table]"),
    ("INSERT INTO t (SELECT 1) UNION ALL SELECT 2", Insert, "InsertIntoStatement", "[t]"),
    ("INSERT INTO t ((VALUES (1)))", Insert, "InsertIntoStatement", "[t]"),
    ("INSERT OVERWRITE t PARTITION (p = -1) SELECT r'\\'", Insert, "InsertIntoStatement", "[t]"),
    ("WITH recursive AS (SELECT 1) INSERT INTO t TABLE recursive", Insert, "UnresolvedWith", "[t]"),
    ("TRUNCATE TABLE truncate", Truncate, "TruncateTable", "[truncate]"),
    ("DESCRIBE function", Describe, "DescribeRelation", "[function]"),
    ("DESC EXTENDED formatted", Describe, "DescribeRelation", "[formatted]"),
    ("USE database", Use, "SetCatalogAndNamespace", "[database]"),
]


@pytest.mark.parametrize(("text", "kind", "spark_kind", "name"), NAMED)
def test_the_same_statement_of_the_same_table(
    spark: SparkSession, text: str, kind: type[Any], spark_kind: str, name: str
) -> None:
    spark_plan = plan(spark, text)
    assert spark_plan.getClass().getSimpleName() == spark_kind
    assert name in spark_plan.treeString()
    statement: Any = parse(text)
    assert type(statement) is kind
    assert f"[{', '.join(statement.name)}]" == name


NOT_OURS = [
    ("DESCRIBE SELECT a", "DescribeColumn"),
    ("DESCRIBE QUERY SELECT 1", "DescribeQueryCommand"),
    ("INSERT OVERWRITE DIRECTORY '/x' USING orc SELECT 1", "InsertIntoDir"),
    ("FROM s SELECT 1", "Project"),
]


@pytest.mark.parametrize(("text", "spark_kind"), NOT_OURS)
def test_what_is_another_statement_is_not_ours(
    spark: SparkSession, text: str, spark_kind: str
) -> None:
    assert plan(spark, text).getClass().getSimpleName() == spark_kind
    assert parse(text) is None


pieces = st.sampled_from(
    ["a", " ", "'x'", "`y`", "--b\n", "--\\\n'\n", "/*", "*/", "/*+", "-", "/", "'/*'", "1", "\n"]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(pieces, max_size=12).map("".join))
def test_blank_comments_are_comments(spark: SparkSession, text: str) -> None:
    text = f"SELECT 1, {text}"
    try:
        expected = tree_string(spark, text)
    except ParseException:
        return
    assert tree_string(spark, blank_comments(text)) == expected


ESCAPES = [
    r"\n",
    r"\0",
    r"\'",
    r"\"",
    r"\\",
    r"\%",
    r"\_",
    r"\q",
    r"\101",
    r"\8",
    r"\778",
    r"\u00e9",
    r"\u00",
    r"\U0001F600",
    r"\ud83d\ude00",
    r"\Z",
]
escapes = st.sampled_from([*ESCAPES, *'aé😀 "%_', "\\\n", "\n"])


@settings(max_examples=200, deadline=None)
@given(st.lists(escapes, max_size=6).map("".join))
def test_string_literals_have_sparks_value(spark: SparkSession, body: str) -> None:
    token = f"'{body}'"
    expression = plan(spark, f"SELECT {token} AS c").expressions().head()
    assert unquote_string(token) == expression.child().value().toString()
