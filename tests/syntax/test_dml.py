from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acidsql.errors import AcidParseError
from acidsql.syntax import parse
from acidsql.syntax.maintenance_statements import Restore, UndoWrite
from acidsql.syntax.nodes import PartitionSpec
from acidsql.syntax.statements import Delete, Insert, Merge, MultiInsert, Update

Check = Callable[[str, type[Any], dict[str, Any]], None]
T = {"name": ("t",)}


def partition(**values: str | None) -> PartitionSpec:
    return PartitionSpec(values=tuple(values.items()))


INSERT = [
    ("INSERT INTO «t» [[query|VALUES (1, ';')]]", T),
    ("INSERT INTO TABLE «d.t» [[query|TABLE s]]", {"name": ("d", "t")}),
    ("INSERT INTO «t» [[query|FROM s SELECT 1]]", T),
    ("INSERT INTO «t» [[query|WITH c AS (SELECT 1) SELECT * FROM c]]", T),
    ("INSERT INTO «t» [[query|(SELECT 1) UNION ALL SELECT 2]]", T),
    ("INSERT INTO «t» [[query|((VALUES (1)))]]", T),
    (
        "INSERT INTO «t» (a, `b ``c`) [[query|SELECT 1, 2]]",
        {**T, "columns": ("a", "b `c")},
    ),
    ("INSERT INTO «t»(a) [[query|(SELECT 1)]]", {**T, "columns": ("a",)}),
    (
        "INSERT INTO «t» (values, from, default) [[query|VALUES (1, 2, DEFAULT)]]",
        {**T, "columns": ("values", "from", "default")},
    ),
    ("INSERT INTO «t» BY NAME [[query|SELECT 1 AS a]]", {**T, "by_name": True}),
    (
        (
            "INSERT OVERWRITE «t» PARTITION (p = DATE '2024-02-29', q == -1, r) IF NOT EXISTS "
            "(a) [[query|SELECT 1, 2]]"
        ),
        {
            **T,
            "overwrite": True,
            "partition": partition(p="DATE '2024-02-29'", q="-1", r=None),
            "if_not_exists": True,
            "columns": ("a",),
        },
    ),
    (
        "INSERT INTO «t» PARTITION (`p,q` = 'a)b', r = f(g(1, 2), 'x')) [[query|SELECT 1]]",
        {**T, "partition": PartitionSpec(values=(("p,q", "'a)b'"), ("r", "f(g(1, 2), 'x')")))},
    ),
    (
        (
            "[[with_clause|WITH RECURSIVE c (n) MAX RECURSION LEVEL 9 AS (SELECT (1)), "
            "d (SELECT 2)]] INSERT INTO «t» [[query|SELECT * FROM c]]"
        ),
        T,
    ),
    ("INSERT INTO «table» [[query|SELECT 1]]", {"name": ("table",)}),
    ("INSERT INTO «table.x» [[query|SELECT 1]]", {"name": ("table", "x")}),
    ("INSERT INTO «t» [[query|SELECT * FROM {df} WHERE a[0] < :x]]", T),
    ("INSERT INTO «t» [[query|SELECT r'\\', \"it\"\"s\", 'it\\'s;']]", T),
    (
        (
            "INSERT [[schema_evolution|WITH SCHEMA EVOLUTION]] INTO «t» WITH ('a'='b') "
            "REPLACE WHERE [[query|a = 1 SELECT 1]]"
        ),
        {**T, "unsupported": ("OPTIONS",), "replace_where": True},
    ),
    (
        "INSERT INTO TABLE «t» BY NAME REPLACE WHERE [[query|a = 1 VALUES (1)]]",
        {**T, "by_name": True, "replace_where": True},
    ),
    (
        "INSERT INTO «t» (a, b) REPLACE WHERE [[query|a IS DISTINCT FROM 1 TABLE s]]",
        {**T, "columns": ("a", "b"), "replace_where": True},
    ),
    (
        "INSERT INTO «t» AS x REPLACE ON [[query|x.a = 1 SELECT 1]]",
        {**T, "alias": "x", "replace_on": True},
    ),
    (
        "INSERT INTO «t» `the x` BY NAME REPLACE ON [[query|(a = b) (SELECT 1) AS s]]",
        {**T, "alias": "the x", "by_name": True, "replace_on": True},
    ),
    (
        "INSERT INTO «t» REPLACE USING (a, `b c`) [[query|SELECT 1]]",
        {**T, "replace_using": ("a", "b c")},
    ),
    (
        "INSERT INTO «t» y (a) REPLACE USING (a) [[query|(SELECT 1)]]",
        {**T, "alias": "y", "columns": ("a",), "replace_using": ("a",)},
    ),
    ("INSERT INTO «replace» [[query|SELECT 1]]", {"name": ("replace",)}),
]


@pytest.mark.parametrize(("marked", "fields"), INSERT)
def test_insert(check: Check, marked: str, fields: dict[str, Any]) -> None:
    check(marked, Insert, fields)


@pytest.mark.parametrize(
    "text",
    [
        "INSERT OVERWRITE t REPLACE WHERE a = 1 SELECT 1",
        "INSERT INTO t PARTITION (p = 1) REPLACE WHERE a = 1 SELECT 1",
    ],
)
def test_what_no_replacement_has_is_left_for_spark_to_refuse(text: str) -> None:
    assert parse(text) is None


DML = [
    ("UPDATE «t» SET a = 1", Update, T),
    ("UPDATE «d.t» AS x SET a = 1, b = 2 WHERE c IN (SELECT 1)", Update,
     {"name": ("d", "t"), "alias": "x"}),
    ("UPDATE «t» x SET l[0] = 5", Update, {**T, "alias": "x"}),
    ("UPDATE «t» AS x(a, b) SET b = 0", Update, {**T, "alias": "x"}),
    ("UPDATE «set» SET set = 1", Update, {"name": ("set",)}),
    ("UPDATE «t» AS set SET a = 1", Update, {**T, "alias": "set"}),
    ("UPDATE «t» settings SET a = 1", Update, {**T, "alias": "settings"}),
    ("[[with_clause|WITH c AS (SELECT 1)]] UPDATE «t» SET a = 1", Update, T),
    ("DELETE FROM «t»", Delete, T),
    ("DELETE FROM «t» x WHERE x.a = 1", Delete, {**T, "alias": "x"}),
    ("DELETE FROM «where» AS `a b` WHERE 1 = 1", Delete,
     {"name": ("where",), "alias": "a b"}),
    ("[[with_clause|WITH recursive AS (SELECT ')')]] DELETE FROM «t»", Delete, T),
    ("MERGE INTO «t» USING s ON t.a = s.a WHEN MATCHED THEN DELETE", Merge, T),
    ("MERGE INTO «using» AS x USING {df} s ON true WHEN NOT MATCHED THEN INSERT *", Merge,
     {"name": ("using",), "alias": "x"}),
    ("MERGE [[schema_evolution|WITH SCHEMA EVOLUTION]] INTO «t» x(a) USING (SELECT 1) ON true",
     Merge, {**T, "alias": "x"}),
    ("[[with_clause|WITH c AS (SELECT 1), d AS (SELECT 2)]] MERGE INTO «t» USING d ON 1=1",
     Merge, T),
]  # fmt: skip


@pytest.mark.parametrize(("marked", "kind", "fields"), DML)
def test_update_delete_merge(
    check: Check, marked: str, kind: type[Any], fields: dict[str, Any]
) -> None:
    check(marked, kind, fields)


MULTI_INSERT = [
    ("FROM s INSERT INTO a SELECT x", ["INSERT INTO a\nFROM s\nSELECT x"], False),
    (
        (
            "FROM (SELECT 'insert into z' AS x) s, u INSERT OVERWRITE TABLE d.a PARTITION (p=1) "
            "SELECT x WHERE f(x) > 1 insert into b (c, d) SELECT y"
        ),
        [
            (
                "INSERT OVERWRITE TABLE d.a PARTITION (p=1)\n"
                "FROM (SELECT 'insert into z' AS x) s, u\nSELECT x WHERE f(x) > 1"
            ),
            "insert into b (c, d)\nFROM (SELECT 'insert into z' AS x) s, u\nSELECT y",
        ],
        False,
    ),
    (
        "WITH c AS (SELECT 1) FROM c INSERT INTO `a b` SELECT x",
        ["WITH c AS (SELECT 1)\nINSERT INTO `a b`\nFROM c\nSELECT x"],
        False,
    ),
    (
        "FROM s INSERT OVERWRITE a PARTITION (p=1, q) IF NOT EXISTS SELECT (x), 'y' "
        "INSERT OVERWRITE LOCAL DIRECTORY '/x' SELECT y",
        ["INSERT OVERWRITE a PARTITION (p=1, q) IF NOT EXISTS\nFROM s\nSELECT (x), 'y'"],
        True,
    ),
]


@pytest.mark.parametrize(("text", "inserts", "directories"), MULTI_INSERT)
def test_multi_insert(text: str, inserts: list[str], directories: bool) -> None:
    statement = parse(text)
    assert isinstance(statement, MultiInsert)
    assert [statement.insert(branch) for branch in statement.branches] == inserts
    assert statement.directories is directories
    for branch in statement.branches:
        one = parse(statement.insert(branch))
        assert isinstance(one, Insert)
        assert one.name == branch.name


RESTORE = [
    ("RESTORE TABLE «t» TO VERSION AS OF [[version|3]]", T),
    ("restore «d.t» version as of [[version|'txn 3']]", {"name": ("d", "t")}),
    ("RESTORE TABLE «restore» TO FOR SYSTEM_VERSION AS OF [[version|-1]]", {"name": ("restore",)}),
    ("RESTORE TABLE «t» TIMESTAMP AS OF [[timestamp|now() - INTERVAL 1 DAY]]", T),
    ("RESTORE «t» TO SYSTEM_TIME AS OF [[timestamp|'2024-01-01']]", T),
]


@pytest.mark.parametrize(("marked", "fields"), RESTORE)
def test_restore(check: Check, marked: str, fields: dict[str, Any]) -> None:
    check(marked, Restore, fields)


@pytest.mark.parametrize("text", ["UNDO WRITE 7 OF TABLE «t»", "undo write 07 of «t»"])
def test_undo_write(check: Check, text: str) -> None:
    check(text, UndoWrite, {**T, "write_id": 7})


@pytest.mark.parametrize("text", ["UNDO WRITE -1 OF t", "UNDO WRITE 1 t", "UNDO WRITE 1 OF t x"])
def test_undo_write_that_is_malformed(text: str) -> None:
    with pytest.raises(AcidParseError):
        parse(text)
