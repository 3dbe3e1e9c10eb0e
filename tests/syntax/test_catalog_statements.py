from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acidsql.syntax.alter_statements import SetDatabaseProperties, UnsetDatabaseProperties
from acidsql.syntax.maintenance_statements import (
    AnalyzeTable,
    AnalyzeTables,
    CheckTable,
    MsckRepair,
    RefreshTable,
)
from acidsql.syntax.nodes import PartitionSpec
from acidsql.syntax.show_statements import (
    Describe,
    DescribeDetail,
    DescribeHealth,
    DescribeHistory,
    Explain,
    ShowColumns,
    ShowCreateTable,
    ShowPartitions,
    ShowTables,
    ShowTblProperties,
    ShowViews,
)
from acidsql.syntax.statements import (
    CacheTable,
    ClearCache,
    CreateDatabase,
    CreateView,
    DropDatabase,
    DropTable,
    DropView,
    LoadData,
    Truncate,
    UncacheTable,
    Use,
)

Check = Callable[[str, type[Any], dict[str, Any]], None]
T = {"name": ("t",)}


def partition(**values: str | None) -> PartitionSpec:
    return PartitionSpec(values=tuple(values.items()))


OTHER_DDL = [
    ("DROP TABLE «t»", DropTable, T),
    (
        "DROP TABLE IF EXISTS «a . b» PURGE",
        DropTable,
        {"name": ("a", "b"), "if_exists": True, "purge": True},
    ),
    ("DROP TABLE «if»", DropTable, {"name": ("if",)}),
    ("DROP TABLE «if.exists»", DropTable, {"name": ("if", "exists")}),
    (
        "DROP TABLE IF EXISTS «exists»",
        DropTable,
        {"name": ("exists",), "if_exists": True},
    ),
    ("DROP TABLE «2024_sales»", DropTable, {"name": ("2024_sales",)}),
    ("DROP TABLE «IDENTIFIER('a.`b c`')»", DropTable, {"name": ("a", "b c")}),
    ("DROP TABLE «identifier»", DropTable, {"name": ("identifier",)}),
    ("DROP VIEW IF EXISTS «v»", DropView, {"name": ("v",), "if_exists": True}),
    (
        (
            "CREATE OR REPLACE TEMP VIEW «v» ([[columns|a COMMENT 'x', b]]) COMMENT 'y' "
            "AS [[query|SELECT 1, 2]]"
        ),
        CreateView,
        {"name": ("v",), "or_replace": True, "temporary": True, "comment": "y"},
    ),
    (
        "CREATE GLOBAL TEMPORARY VIEW «v» AS [[query|VALUES 1]]",
        CreateView,
        {"name": ("v",), "global_temporary": True},
    ),
    (
        (
            "CREATE VIEW IF NOT EXISTS «d.v» WITH SCHEMA TYPE EVOLUTION PARTITIONED ON (a) "
            "TBLPROPERTIES (a='b') AS [[query|(SELECT 1)]]"
        ),
        CreateView,
        {
            "name": ("d", "v"),
            "if_not_exists": True,
            "properties": {"a": "b"},
            "schema_binding": "TYPE EVOLUTION",
            "unsupported": ("PARTITIONED ON",),
        },
    ),
    ("CREATE DATABASE «d»", CreateDatabase, {"name": ("d",)}),
    (
        (
            "CREATE SCHEMA IF NOT EXISTS «c.d» LOCATION '/x' COMMENT 'y' "
            "WITH DBPROPERTIES (a=1, 'b'='c')"
        ),
        CreateDatabase,
        {
            "name": ("c", "d"),
            "if_not_exists": True,
            "location": "/x",
            "comment": "y",
            "properties": {"a": "1", "b": "c"},
        },
    ),
    (
        "DROP NAMESPACE IF EXISTS «d» CASCADE",
        DropDatabase,
        {"name": ("d",), "if_exists": True, "cascade": True},
    ),
    ("DROP DATABASE «d» RESTRICT", DropDatabase, {"name": ("d",)}),
    (
        "ALTER DATABASE «d» SET DBPROPERTIES ('a'='b')",
        SetDatabaseProperties,
        {"name": ("d",), "properties": {"a": "b"}},
    ),
    (
        "ALTER NAMESPACE «c.d» UNSET PROPERTIES IF EXISTS (a, 'b')",
        UnsetDatabaseProperties,
        {"name": ("c", "d"), "keys": ("a", "b"), "if_exists": True},
    ),
    ("USE «d»", Use, {"name": ("d",)}),
    ("USE NAMESPACE «c.d»", Use, {"name": ("c", "d")}),
    ("USE «database»", Use, {"name": ("database",)}),
    ("USE «schema.x»", Use, {"name": ("schema", "x")}),
    ("TRUNCATE TABLE «t»", Truncate, T),
    (
        "TRUNCATE TABLE «t» PARTITION (p='a')",
        Truncate,
        {**T, "partition": partition(p="'a'")},
    ),
]


@pytest.mark.parametrize(("marked", "kind", "fields"), OTHER_DDL)
def test_other_ddl(check: Check, marked: str, kind: type[Any], fields: dict[str, Any]) -> None:
    check(marked, kind, fields)


SHOW_AND_DESCRIBE = [
    ("SHOW TABLES", ShowTables, {}),
    ("SHOW TABLES 'a*'", ShowTables, {"pattern": "a*"}),
    ("SHOW TABLES IN c.d LIKE 'a*|b'", ShowTables, {"database": ("c", "d"), "pattern": "a*|b"}),
    ("SHOW TABLES FROM `like` r'\\x'", ShowTables, {"database": ("like",), "pattern": "\\x"}),
    ("SHOW VIEWS IN d 'a*'", ShowViews, {"database": ("d",), "pattern": "a*"}),
    ("SHOW PARTITIONS «t»", ShowPartitions, T),
    (
        "SHOW PARTITIONS «d.t» PARTITION (p=1)",
        ShowPartitions,
        {"name": ("d", "t"), "partition": partition(p="1")},
    ),
    ("SHOW CREATE TABLE «t»", ShowCreateTable, T),
    ("SHOW CREATE TABLE «t» AS SERDE", ShowCreateTable, {**T, "as_serde": True}),
    ("SHOW COLUMNS IN «d.t»", ShowColumns, {"name": ("d", "t")}),
    ("SHOW COLUMNS FROM «t» FROM d", ShowColumns, {**T, "database": ("d",)}),
    ("SHOW TBLPROPERTIES «t»", ShowTblProperties, T),
    ("SHOW TBLPROPERTIES «t» ('a b')", ShowTblProperties, {**T, "key": "a b"}),
    ("SHOW TBLPROPERTIES «t» (a.b)", ShowTblProperties, {**T, "key": "a.b"}),
    ("DESCRIBE «d.t»", Describe, {"name": ("d", "t")}),
    ("DESC TABLE EXTENDED «t»", Describe, {**T, "mode": "extended"}),
    (
        "describe formatted «t» partition (p='x', q=2) a.`b`",
        Describe,
        {**T, "mode": "formatted", "partition": partition(p="'x'", q="2"), "column": "a.b"},
    ),
    ("DESC «t» c", Describe, {**T, "column": "c"}),
    (
        "DESC EXTENDED «t» AS JSON",
        Describe,
        {**T, "mode": "extended", "as_json": True},
    ),
    ("DESC «formatted»", Describe, {"name": ("formatted",)}),
    ("DESC EXTENDED «extended»", Describe, {"name": ("extended",), "mode": "extended"}),
    ("DESC «function»", Describe, {"name": ("function",)}),
    ("DESC «database.t» c", Describe, {"name": ("database", "t"), "column": "c"}),
    ("DESCRIBE HISTORY «d.t»", DescribeHistory, {"name": ("d", "t")}),
    ("desc history «t» limit 5", DescribeHistory, {**T, "most": 5}),
    ("DESCRIBE HISTORY «`limit`» LIMIT 1", DescribeHistory, {"name": ("limit",), "most": 1}),
    ("DESCRIBE DETAIL «t»", DescribeDetail, T),
    ("DESC HEALTH «t»", DescribeHealth, T),
    (
        "DESCRIBE HEALTH «t» PARTITION (p=1, q)",
        DescribeHealth,
        {**T, "partition": partition(p="1", q=None)},
    ),
    ("DESCRIBE «history»", Describe, {"name": ("history",)}),
    ("DESCRIBE «detail» AS JSON", Describe, {"name": ("detail",), "as_json": True}),
    (
        "DESCRIBE «health» PARTITION (p=1)",
        Describe,
        {"name": ("health",), "partition": partition(p="1")},
    ),
    ("DESCRIBE «history.t» c", Describe, {"name": ("history", "t"), "column": "c"}),
    ("DESCRIBE TABLE «history» c", Describe, {"name": ("history",), "column": "c"}),
]


@pytest.mark.parametrize(("marked", "kind", "fields"), SHOW_AND_DESCRIBE)
def test_show_and_describe(
    check: Check, marked: str, kind: type[Any], fields: dict[str, Any]
) -> None:
    check(marked, kind, fields)


AROUND = [
    ("EXPLAIN [[statement|DELETE FROM t]]", Explain, {}),
    ("explain formatted [[statement|SELECT ';']]", Explain, {"mode": "formatted"}),
    ("CACHE TABLE «t»", CacheTable, T),
    ("CACHE LAZY TABLE «t» OPTIONS ('storageLevel' 'DISK_ONLY') AS [[query|SELECT 1]]",
     CacheTable, {**T, "lazy": True, "properties": {"storageLevel": "DISK_ONLY"}}),
    ("UNCACHE TABLE IF EXISTS «t»", UncacheTable, {**T, "if_exists": True}),
    ("clear cache", ClearCache, {}),
    ("REFRESH TABLE «t»", RefreshTable, T),
    ("ANALYZE TABLE «t» COMPUTE STATISTICS", AnalyzeTable, T),
    ("ANALYZE TABLE «t» COMPUTE STATISTICS FOR ALL COLUMNS", AnalyzeTable,
     {**T, "all_columns": True}),
    ("ANALYZE TABLE «t» COMPUTE STATISTICS FOR COLUMNS", AnalyzeTable,
     {**T, "all_columns": True}),
    ("analyze table «t» compute statistics for columns (a, `B c`)", AnalyzeTable,
     {**T, "analyzed_columns": ("a", "B c")}),
    ("ANALYZE TABLE «t» PARTITION (p=1, q) COMPUTE STATISTICS FOR COLUMNS columns", AnalyzeTable,
     {**T, "partition": partition(p="1", q=None), "analyzed_columns": ("columns",)}),
    ("ANALYZE TABLE «t» COMPUTE STATISTICS NOSCAN", AnalyzeTable, {**T, "noscan": True}),
    ("ANALYZE TABLES COMPUTE STATISTICS", AnalyzeTables, {}),
    ("ANALYZE TABLES IN d COMPUTE STATISTICS NOSCAN", AnalyzeTables,
     {"database": ("d",), "noscan": True}),
    ("MSCK REPAIR TABLE «t» SYNC PARTITIONS", MsckRepair, {**T, "mode": "sync"}),
    ("MSCK REPAIR TABLE «t» drop PARTITIONS", MsckRepair, {**T, "mode": "drop"}),
    ("MSCK REPAIR TABLE «t» ADD PARTITIONS", MsckRepair, T),
    ("ALTER TABLE «t» RECOVER PARTITIONS", MsckRepair, T),
    ("REPAIR TABLE «t»", MsckRepair, T),
    ("CHECK TABLE «t»", CheckTable, T),
    ("check table «d.`check`» partition (p = 1, q) full", CheckTable,
     {"name": ("d", "check"), "partition": partition(p="1", q=None), "mode": "full"}),
    ("CHECK TABLE «fast» FAST REPAIR", CheckTable, {"name": ("fast",), "repair": True}),
    ("CHECK TABLE «repair» REPAIR DRY RUN", CheckTable,
     {"name": ("repair",), "repair": True, "dry_run": True}),
    ("CHECK TABLE «t» FULL REPAIR", CheckTable, {**T, "mode": "full", "repair": True}),
    ("LOAD DATA INPATH '/x y' INTO TABLE «d.t»", LoadData,
     {"name": ("d", "t"), "inpath": "/x y"}),
    ("LOAD DATA LOCAL INPATH '/x' OVERWRITE INTO TABLE «t» PARTITION (p=1)", LoadData,
     {**T, "inpath": "/x", "local": True, "overwrite": True, "partition": partition(p="1")}),
]  # fmt: skip


@pytest.mark.parametrize(("marked", "kind", "fields"), AROUND)
def test_statements_around_others(
    check: Check, marked: str, kind: type[Any], fields: dict[str, Any]
) -> None:
    check(marked, kind, fields)
