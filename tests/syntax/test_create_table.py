from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acidsql.errors import AcidParseError
from acidsql.syntax import parse
from acidsql.syntax.nodes import Clustering
from acidsql.syntax.statements import CreateTable, CreateTableLike

Check = Callable[[str, type[Any], dict[str, Any]], None]
TRANSACTIONAL = {"transactional": "true"}
T = {"name": ("t",)}

CREATE_TABLE = [
    (
        (
            "CREATE TABLE «t» ([[columns|a INT, m MAP<STRING, DECIMAL(3, 2)>]]) "
            "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
        ),
        {**T, "stored_as": "ORC", "properties": TRANSACTIONAL},
    ),
    (
        (
            "create external table if not exists «`my db`.`t``x`» "
            "([[columns|a int comment ')']]) comment 'it''s' "
            "partitioned by ([[partitioned_by|p int]]) clustered by (a, `b c`) "
            "sorted by (a desc, b) into 4 buckets stored as orc "
            "location \"/a b\" tblproperties (Transactional=TRUE, 'x.y'=1.5, orc.compress=ZLIB)"
        ),
        {
            "name": ("my db", "t`x"),
            "external": True,
            "if_not_exists": True,
            "comment": "it's",
            "clustered_by": Clustering(columns=("a", "b c"), sorted=True, buckets=4),
            "stored_as": "orc",
            "location": "/a b",
            "properties": {"transactional": "true", "x.y": "1.5", "orc.compress": "ZLIB"},
        },
    ),
    (
        (
            "CREATE OR REPLACE TABLE «t» TBLPROPERTIES ('transactional' 'True') LOCATION '/x' "
            "PARTITIONED BY ([[partitioned_by|p]]) CLUSTERED BY (a) INTO 8 BUCKETS USING orc "
            "AS [[query|SELECT 'a;b' AS a, 1 AS p]]"
        ),
        {
            **T,
            "or_replace": True,
            "properties": TRANSACTIONAL,
            "location": "/x",
            "clustered_by": Clustering(columns=("a",), sorted=False, buckets=8),
            "using": "orc",
        },
    ),
    (
        "CREATE TRANSACTIONAL TABLE «t» ([[columns|a INT]])",
        {**T, "properties": TRANSACTIONAL},
    ),
    (
        (
            "CREATE TRANSACTIONAL TABLE «t» STORED AS INPUTFORMAT 'i' OUTPUTFORMAT 'o' "
            "TBLPROPERTIES ('transactional_properties'='default')"
        ),
        {
            **T,
            "stored_as": "i o",
            "properties": {"transactional": "true", "transactional_properties": "default"},
        },
    ),
    (
        "CREATE TRANSACTIONAL TABLE «t» STORED AS ORC [[query|WITH c AS (SELECT 1) TABLE c]]",
        {**T, "stored_as": "ORC", "properties": TRANSACTIONAL},
    ),
    (
        "CREATE TRANSACTIONAL TABLE «t» STORED AS ORC [[query|((SELECT 1))]]",
        {**T, "stored_as": "ORC", "properties": TRANSACTIONAL},
    ),
    (
        "CREATE TRANSACTIONAL TABLE «if» ([[columns|default INT]])",
        {"name": ("if",), "properties": TRANSACTIONAL},
    ),
    (
        (
            "CREATE TRANSACTIONAL TABLE «t» ([[columns|a INT]]) SKEWED BY (a) ON (1, 2) "
            "STORED AS DIRECTORIES ROW FORMAT SERDE 's' WITH SERDEPROPERTIES ('a'='b') "
            "STORED AS ORC OPTIONS (a=1) DEFAULT COLLATION UTF8_BINARY"
        ),
        {
            **T,
            "stored_as": "ORC",
            "properties": TRANSACTIONAL,
            "unsupported": (
                "SKEWED BY",
                "STORED AS DIRECTORIES",
                "ROW FORMAT",
                "WITH SERDEPROPERTIES",
                "OPTIONS",
                "DEFAULT COLLATION",
            ),
        },
    ),
    (
        (
            "CREATE TEMPORARY TRANSACTIONAL TABLE «t» ROW FORMAT DELIMITED FIELDS "
            "TERMINATED BY ',' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' CLUSTER BY (a)"
        ),
        {
            **T,
            "temporary": True,
            "properties": TRANSACTIONAL,
            "unsupported": ("ROW FORMAT", "CLUSTER BY"),
        },
    ),
    (
        "CREATE TABLE IF NOT EXISTS «t» ([[columns|a INT]]) USING `AcidSql` COMMENT 'c'",
        {**T, "if_not_exists": True, "comment": "c", "properties": TRANSACTIONAL},
    ),
    (
        "CREATE TABLE «t» USING acidsql TBLPROPERTIES ('a'='b') AS [[query|SELECT 1 AS a]]",
        {**T, "properties": {"a": "b", **TRANSACTIONAL}},
    ),
    (
        "REPLACE TABLE «t» STORED BY 'h' TBLPROPERTIES (transactional=true)",
        {**T, "properties": TRANSACTIONAL, "replace_table": True, "unsupported": ("STORED BY",)},
    ),
]


@pytest.mark.parametrize(("marked", "fields"), CREATE_TABLE)
def test_create_table(check: Check, marked: str, fields: dict[str, Any]) -> None:
    check(marked, CreateTable, fields)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t (a INT)",
        "CREATE TABLE t (a INT) USING parquet",
        "CREATE TABLE t USING orc TBLPROPERTIES ('transactional'='false')",
        "CREATE TABLE t USING orc TBLPROPERTIES ('x'='transactional', 'true'='true')",
        "CREATE TABLE t USING orc AS SELECT ' TBLPROPERTIES (transactional=true) '",
        "CREATE TABLE t USING orc -- TBLPROPERTIES (transactional=true)",
        "CREATE TABLE t LOCATION 'x' LOCATION 'y'",
    ],
)
def test_plain_create_table_is_left_to_spark(text: str) -> None:
    assert parse(text) is None


def test_a_table_of_no_format_is_transactional_where_that_is_the_default() -> None:
    for text in (
        "CREATE TABLE t (a INT)",
        "CREATE TABLE IF NOT EXISTS t (a INT) PARTITIONED BY (a) COMMENT 'c' LOCATION '/x'",
        "CREATE OR REPLACE TABLE t AS SELECT 1 AS a",
        "CREATE TABLE t (a INT) CLUSTER BY (a)",  # which is refused
    ):
        found = parse(text, acid_by_default=True)
        assert isinstance(found, CreateTable), text
        assert (found.properties, found.stored_as, found.using) == (TRANSACTIONAL, None, None)
    for text in (
        "CREATE TABLE t (a INT) USING orc",
        "CREATE TABLE t (a INT) STORED AS ORC",
        "CREATE TABLE t (a INT) ROW FORMAT DELIMITED",
        "CREATE TABLE t (a INT) STORED BY 'h'",
        "CREATE TABLE t (a INT) OPTIONS (path '/x')",
        "CREATE EXTERNAL TABLE t (a INT) LOCATION '/x'",
        "CREATE TABLE t (a INT) TBLPROPERTIES ('transactional'='false')",
    ):
        assert parse(text, acid_by_default=True) is None, text


@pytest.mark.parametrize("clause", ["CREATE TRANSACTIONAL TABLE t", "CREATE TABLE t USING acidsql"])
def test_a_table_is_transactional_or_not(clause: str) -> None:
    head, _, tail = clause.partition(" t")
    with pytest.raises(AcidParseError, match="'transactional' is not 'true'"):
        parse(f"{head} t (a INT){tail} TBLPROPERTIES ('Transactional'='FALSE')")


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("CREATE TABLE «t» LIKE d.s", {"name": ("t",), "like": ("d", "s")}),
        (
            "CREATE TABLE IF NOT EXISTS «t» LIKE s LOCATION '/x' TBLPROPERTIES ('a'='b')",
            {
                "name": ("t",),
                "like": ("s",),
                "if_not_exists": True,
                "location": "/x",
                "properties": {"a": "b"},
            },
        ),
        (
            "CREATE TEMPORARY TRANSACTIONAL TABLE «t» LIKE s USING orc ROW FORMAT SERDE 'x'",
            {
                "name": ("t",),
                "like": ("s",),
                "temporary": True,
                "transactional": True,
                "using": "orc",
                "unsupported": ("ROW FORMAT",),
            },
        ),
    ],
)
def test_tables_like_others(check: Check, text: str, fields: dict[str, Any]) -> None:
    check(text, CreateTableLike, fields)
