from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acidsql.syntax import parse
from acidsql.syntax.nodes import Clustering
from acidsql.syntax.statements import (
    CreateTable,
)

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
            "CREATE TEMPORARY TRANSACTIONAL TABLE «t» LIKE s ROW FORMAT DELIMITED FIELDS "
            "TERMINATED BY ',' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' CLUSTER BY (a)"
        ),
        {
            **T,
            "properties": TRANSACTIONAL,
            "unsupported": ("TEMPORARY TABLE", "LIKE", "ROW FORMAT", "CLUSTER BY"),
        },
    ),
    (
        "REPLACE TABLE «t» STORED BY 'h' TBLPROPERTIES (transactional=true)",
        {**T, "properties": TRANSACTIONAL, "unsupported": ("REPLACE TABLE", "STORED BY")},
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
