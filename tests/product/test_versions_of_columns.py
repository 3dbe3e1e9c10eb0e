"""Versions, changes and RESTORE across changes of columns, on the embedded metastore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import acidsql
from tests.product.conditions import condition

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

KEPT = {"acidsql.history.retention": "30 days"}


@pytest.fixture
def grown(lab: Lab) -> str:
    """A table of four versions with rows: 1 of (id, v), 3 of (id, w), 5 of (id, w, n), 6 of n
    BIGINT.
    """
    t = lab.create("id int, v string", properties=KEPT, values="(1, 'a'), (2, 'b')")
    lab.sql(f"ALTER TABLE {t} RENAME COLUMN v TO w")
    lab.sql(f"UPDATE {t} SET w = 'c' WHERE id = 2")
    lab.sql(f"ALTER TABLE {t} ADD COLUMN n int")
    lab.sql(f"UPDATE {t} SET n = 5 WHERE id = 1")
    lab.sql(f"INSERT WITH SCHEMA EVOLUTION INTO {t} VALUES (3, 'd', 6000000000)")
    return t


def read(lab: Lab, text: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    frame = lab.frame(text)
    return frame.columns, sorted(map(tuple, frame.collect()))


VERSIONS = {
    1: (["id", "v"], [(1, "a"), (2, "b")]),
    2: (["id", "w"], [(1, "a"), (2, "b")]),
    3: (["id", "w"], [(1, "a"), (2, "c")]),
    4: (["id", "w", "n"], [(1, "a", None), (2, "c", None)]),
    5: (["id", "w", "n"], [(1, "a", 5), (2, "c", None)]),
    6: (["id", "w", "n"], [(1, "a", 5), (2, "c", None), (3, "d", 6000000000)]),
}


@pytest.mark.parametrize("kind", ["", "minor", "major"])
def test_versions_are_read_with_the_columns_that_they_had(lab: Lab, grown: str, kind: str) -> None:
    if kind:
        lab.compact(grown, kind)
    for version, expected in VERSIONS.items():
        assert read(lab, f"SELECT * FROM {grown} VERSION AS OF {version}") == expected, version
    types = [f.dataType.simpleString() for f in lab.frame(f"TABLE {grown}").schema.fields]
    older = lab.frame(f"SELECT * FROM {grown} VERSION AS OF 5").schema
    assert (types[-1], older["n"].dataType.simpleString()) == ("bigint", "int")
    both = f"SELECT a.v, b.w FROM {grown} VERSION AS OF 1 a JOIN {grown} b USING (id)"
    assert sorted(lab.sql(both)) == [("a", "a"), ("b", "c")]
    assert lab.sql(f"SELECT id FROM {grown} VERSION AS OF 1 WHERE v = 'b'") == [(2,)]
    text = f"SELECT w FROM {grown} VERSION AS OF 1"
    assert condition(lab, text) == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    lab.insert(grown, "(4, 'e', 7)")
    with acidsql.as_of(lab.spark, transaction=_transaction(lab, grown, 1)):
        assert read(lab, f"SELECT * FROM {grown}") == VERSIONS[1]


def _transaction(lab: Lab, table: str, write_id: int) -> int:
    history = lab.frame(f"DESCRIBE HISTORY {table}").where(f"writeId = {write_id}").collect()
    return int(next(row.transactionId for row in history if row.operation != "COMPACT"))


def test_changes_have_the_columns_of_their_end(lab: Lab, grown: str) -> None:
    def changes(text: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        frame = lab.frame(f"SELECT * FROM table_changes('{grown}', {text})")
        names = [n for n in frame.columns if not n.startswith("_commit")]
        return names, sorted(map(tuple, frame.select(*names).collect()), key=repr)

    assert changes("1, 1") == (
        ["id", "v", "_change_type"],
        [(1, "a", "insert"), (2, "b", "insert")],
    )
    assert changes("2, 3") == (
        ["id", "w", "_change_type"],
        [(2, "b", "update_preimage"), (2, "c", "update_postimage")],
    )
    assert changes("3, 5") == (
        ["id", "w", "n", "_change_type"],
        [
            (1, "a", 5, "update_postimage"),
            (1, "a", None, "update_preimage"),
            (2, "b", None, "update_preimage"),
            (2, "c", None, "update_postimage"),
        ],
    )
    lab.sql(f"ALTER TABLE {grown} SET TBLPROPERTIES ('acidsql.changes.keys' = 'w')")
    names, rows = changes("1, 1")
    assert names == ["id", "v", "_change_type"]
    assert len(rows) == 2
    lab.sql(f"ALTER TABLE {grown} SET TBLPROPERTIES ('acidsql.changes.keys' = 'n')")
    text = f"SELECT * FROM table_changes('{grown}', 1, 1)"
    assert condition(lab, text) == "INVALID_PARAMETER_VALUE.CHANGES"


def test_restore_keeps_the_columns_of_today(lab: Lab, grown: str) -> None:
    lab.sql(f"RESTORE TABLE {grown} TO VERSION AS OF 1")
    assert read(lab, f"SELECT * FROM {grown}") == (
        ["id", "w", "n"],
        [(1, "a", None), (2, "b", None)],
    )
    lab.sql(f"RESTORE TABLE {grown} TO VERSION AS OF 6")
    assert read(lab, f"SELECT * FROM {grown}") == VERSIONS[6]
    lab.compact(grown, "major")
    lab.sql(f"ALTER TABLE {grown} ADD COLUMN m int")
    assert lab.rows(grown, "m") == [(None,)] * 3


def test_restore_keeps_not_null(lab: Lab) -> None:
    t = lab.create("id int", properties=KEPT, values="(1), (2)")
    lab.sql(f"ALTER TABLE {t} ADD COLUMN n int")
    lab.sql(f"UPDATE {t} SET n = id")
    lab.sql(f"ALTER TABLE {t} ALTER COLUMN n SET NOT NULL")
    text = f"RESTORE TABLE {t} TO VERSION AS OF 1"
    assert condition(lab, text) == "NOT_NULL_CONSTRAINT_VIOLATION"
    assert lab.rows(t) == [(1, 1), (2, 2)]
    lab.sql(f"ALTER TABLE {t} ALTER COLUMN n DROP NOT NULL")
    lab.sql(text)
    assert lab.rows(t) == [(1, None), (2, None)]


def test_a_clone_of_a_version_has_the_columns_of_today(lab: Lab, grown: str) -> None:
    lab.sql(f"CREATE TABLE {grown}_copy CLONE {grown} VERSION AS OF 1")
    assert read(lab, f"SELECT * FROM {grown}_copy") == (
        ["id", "w", "n"],
        [(1, "a", None), (2, "b", None)],
    )
    lab.sql(f"DROP TABLE {grown}_copy")


@pytest.mark.slow
def test_the_data_source_reads_versions_with_their_columns(lab: Lab, grown: str) -> None:
    acidsql.register(lab.spark)
    for version, (names, rows) in VERSIONS.items():
        reader = lab.spark.read.format("acidsql").option("versionAsOf", version)
        frame = reader.load(f"default.{grown}")
        assert (frame.columns, sorted(map(tuple, frame.collect()))) == (names, rows)
    feed = lab.spark.read.format("acidsql").option("readChangeFeed", True)
    bounds = {"startingVersion": 1, "endingVersion": 1}
    frame = feed.options(**bounds).load(f"default.{grown}")
    assert frame.columns[:2] == ["id", "v"]
    assert sorted(row.v for row in frame.collect()) == ["a", "b"]
