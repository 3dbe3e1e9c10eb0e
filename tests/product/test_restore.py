"""RESTORE and UNDO WRITE."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

import acidsql
from acidsql.acid_table import AcidTable
from acidsql.errors import AcidAnalysisError, WriteConflictError
from tests.product.conditions import condition

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

KEPT = {"acidsql.history.retention": "1d"}


def ids(lab: Lab, table: str) -> list[tuple[object, ...]]:
    return sorted(lab.sql(f"SELECT * FROM {table}"))


@pytest.mark.slow
def test_the_difference_alone_is_written(lab: Lab) -> None:
    t = lab.create("id int, v string", values="(1, 'a'), (2, 'b'), (3, 'c')")
    lab.sql(f"UPDATE {t} SET v = 'x' WHERE id = 1")
    lab.sql(f"DELETE FROM {t} WHERE id = 2")
    lab.sql(f"INSERT INTO {t} VALUES (4, 'd')")
    before = lab.rows(t, "row__id, *")
    # 1 and 4 are new, 1 and 2 are back; 3 keeps its row id.
    assert lab.sql(f"RESTORE TABLE {t} TO VERSION AS OF 1") == [(4, 2, 2)]
    assert ids(lab, t) == [(1, "a"), (2, "b"), (3, "c")]
    kept = [row for row in lab.rows(t, "row__id, *") if row in before]
    assert [row[1] for row in kept] == [3]
    assert [d for d in lab.tree(t) if d.endswith("5_0000/")] == [
        "delete_delta_0000005_0000005_0000/",
        "delta_0000005_0000005_0000/",
    ]
    newest = lab.frame(f"DESCRIBE HISTORY {t} LIMIT 1").first()
    assert (newest.operation, newest.statement, newest.numInsertedRows, newest.numDeletedRows) == (
        "RESTORE",
        f"RESTORE TABLE {t} TO VERSION AS OF 1",
        2,
        2,
    )
    assert lab.sql(f"SELECT * FROM {t} VERSION AS OF 4 ORDER BY id") == [
        (1, "x"),
        (3, "c"),
        (4, "d"),
    ]
    assert lab.sql(f"RESTORE {t} VERSION AS OF '4'") == [(4, 2, 2)]
    assert ids(lab, t) == [(1, "x"), (3, "c"), (4, "d")]
    (fourth,) = lab.frame(f"DESCRIBE HISTORY {t}").where("writeId = 5").collect()
    assert AcidTable.forName(lab.spark, t).restoreToTimestamp(fourth.timestamp).first() == (4, 2, 2)
    assert AcidTable.forName(lab.spark, t).restoreToVersion(6).first() == (4, 2, 2)
    # Of the newest version nothing differs: nothing is written, and no write id is used.
    tree = lab.tree(t)
    assert lab.sql(f"RESTORE TABLE {t} TO TIMESTAMP AS OF current_timestamp()") == [(0, 0, 0)]
    assert lab.sql(f"RESTORE TABLE {t} TO VERSION AS OF 8") == [(0, 0, 0)]
    assert lab.tree(t) == tree
    assert lab.frame(f"DESCRIBE HISTORY {t} LIMIT 1").first().writeId == 8
    assert lab.sql(f"RESTORE TABLE {t} TO VERSION AS OF 0") == [(3, 3, 0)]
    assert ids(lab, t) == []


@pytest.mark.repeated
def test_partitions_and_buckets(lab: Lab) -> None:
    t = lab.create(
        "id int",
        partitioned="p string",
        clustered="(id) INTO 2 BUCKETS",
        values="(1, 'a'), (2, 'a'), (3, 'b'), (4, NULL)",
    )
    lab.sql(f"DELETE FROM {t} WHERE id IN (1, 4)")
    lab.sql(f"INSERT INTO {t} VALUES (5, 'new')")
    assert lab.sql(f"RESTORE TABLE {t} TO VERSION AS OF 1") == [(3, 1, 2)]
    assert lab.rows(t) == [(1, "a"), (2, "a"), (3, "b"), (4, None)]
    assert lab.sql(f"SHOW PARTITIONS {t}") == [
        ("p=__HIVE_DEFAULT_PARTITION__",),
        ("p=a",),
        ("p=b",),
        ("p=new",),
    ]
    written = [d for d in lab.tree(t) if "_0000004_" in d and d.endswith("/")]
    assert written == [
        "p=__HIVE_DEFAULT_PARTITION__/delta_0000004_0000004_0000/",
        "p=a/delta_0000004_0000004_0000/",
        "p=new/delete_delta_0000004_0000004_0000/",
    ]
    assert lab.sql(f"CHECK TABLE {t} FULL") == []
    lab.sql(f"ALTER TABLE {t} DROP PARTITION (p = 'b')")
    assert condition(lab, f"RESTORE TABLE {t} TO VERSION AS OF 1") == "HISTORY_NOT_AVAILABLE"


@pytest.mark.repeated
@pytest.mark.parametrize(
    "between",
    [
        pytest.param("INSERT OVERWRITE {t} VALUES (7, 7)", id="overwrite"),
        pytest.param("TRUNCATE TABLE {t}", id="truncate"),
        pytest.param("ALTER TABLE {t} COMPACT 'major'", id="major"),
        pytest.param("ALTER TABLE {t} COMPACT 'minor'", id="minor"),
        pytest.param("ALTER TABLE {t} COMPACT 'rebalance'", id="rebalance"),
    ],
)
def test_what_a_base_hides_is_restored(lab: Lab, between: str) -> None:
    t = lab.create("id int, v int", properties=KEPT, values="(1, 1), (2, 2), (3, 3)")
    lab.sql(f"UPDATE {t} SET v = 9 WHERE id = 2")
    lab.sql(f"DELETE FROM {t} WHERE id = 3")
    acidsql.release(lab.spark)
    lab.sql(between.format(t=t) + (" AND WAIT" if "COMPACT" in between else ""))
    lab.sql(f"INSERT INTO {t} VALUES (5, 5)")
    lab.sql(f"RESTORE TABLE {t} TO VERSION AS OF 2")
    assert ids(lab, t) == [(1, 1), (2, 9), (3, 3)]
    lab.sql(f"RESTORE TABLE {t} TO VERSION AS OF 1")
    assert ids(lab, t) == [(1, 1), (2, 2), (3, 3)]
    assert lab.sql(f"CHECK TABLE {t} FULL") == []


@pytest.mark.slow
def test_undo_of_one_write(lab: Lab) -> None:
    t = lab.create("id int, v int", values="(1, 1), (2, 2), (3, 3)")
    lab.sql(f"UPDATE {t} SET v = 9 WHERE id <= 2")
    lab.sql(f"INSERT INTO {t} VALUES (4, 4)")
    lab.sql(f"DELETE FROM {t} WHERE id = 3")
    tree = lab.tree(t)
    plan = lab.frame(f"EXPLAIN UNDO WRITE 2 OF {t}").first().plan
    lines = [line.strip() for line in plan.partition("== ACID ==")[2].splitlines()]
    own = "<write id>"
    assert f"Write default.{t} by UNDO WRITE 2" in lines
    assert f"Directories: delete_delta_{own}_{own}_0000, delta_{own}_{own}_0000" in lines
    assert "Conflicts: none, as the names of directories and delete events show" in lines
    assert lab.tree(t) == tree
    assert lab.sql(f"UNDO WRITE 2 OF TABLE {t}") == [(4, 2, 2)]
    assert ids(lab, t) == [(1, 1), (2, 2), (4, 4)]
    assert lab.sql(f"UNDO WRITE 4 OF {t}") == [(1, 0, 1)]
    assert ids(lab, t) == [(1, 1), (2, 2), (3, 3), (4, 4)]
    newest = lab.frame(f"DESCRIBE HISTORY {t} LIMIT 1").first()
    assert (newest.operation, newest.statement) == ("UNDO WRITE 4", f"UNDO WRITE 4 OF {t}")
    # Once is enough, unless the undoing was undone.
    with pytest.raises(AcidAnalysisError, match="write id 6 .UNDO WRITE 4. has brought rows") as e:
        lab.sql(f"UNDO WRITE 4 OF {t}")
    assert e.value.condition == "UNDO_CONFLICT"
    assert lab.sql(f"UNDO WRITE 6 OF {t}") == [(1, 1, 0)]
    assert lab.sql(f"UNDO WRITE 4 OF {t}") == [(1, 0, 1)]
    assert ids(lab, t) == [(1, 1), (2, 2), (3, 3), (4, 4)]


@pytest.mark.slow
def test_undo_of_rows_that_were_changed_later(lab: Lab) -> None:
    t = lab.create("id int, v int", partitioned="p int", properties=KEPT, values="(1, 1, 1)")
    lab.sql(f"INSERT INTO {t} SELECT id + 10, 2, id % 2 FROM range(20)")
    lab.sql(f"UPDATE {t} SET v = 3 WHERE id > 10")
    tree, rows = lab.tree(t), lab.rows(t)
    with pytest.raises(AcidAnalysisError, match=r'"writeid":2,.* and others') as caught:
        lab.sql(f"UNDO WRITE 2 OF {t}")
    assert caught.value.condition == "UNDO_CONFLICT"
    assert str(caught.value).count('"writeid":2') == 10
    assert (lab.tree(t), lab.rows(t)) == (tree, rows)
    plan = lab.frame(f"EXPLAIN UNDO WRITE 2 OF {t}").first().plan
    assert "Conflicts: rows of write id 2 that were changed later are looked for first" in plan
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    lab.sql(f"INSERT OVERWRITE {t} PARTITION (p = 1) VALUES (100, 1)")
    with pytest.raises(
        AcidAnalysisError, match="write id 6 has replaced all rows of partition p=1"
    ):
        lab.sql(f"UNDO WRITE 5 OF {t}")
    assert lab.sql(f"UNDO WRITE 6 OF {t}") == [(11, 1, 10)]
    assert lab.rows(t) == [row for row in rows if row[0] != 1]


def test_a_transaction_that_saw_the_rows_before_conflicts(
    lab: Lab, new_lab: Callable[..., Lab]
) -> None:
    t = lab.create("id int", values="(1), (2)")
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    other = new_lab()
    other.sql("START TRANSACTION")
    assert other.rows(t) == [(2,)]
    plan = lab.frame(f"EXPLAIN RESTORE {t} TO VERSION AS OF 1").first().plan
    assert "Version: 1, committed" in plan
    assert "delta_<write id>_<write id>_0000" in plan
    assert lab.sql(f"RESTORE TABLE {t} TO VERSION AS OF 1") == [(1, 0, 1)]
    other.sql(f"DELETE FROM {t} WHERE id = 2")
    with pytest.raises(WriteConflictError):
        other.sql("COMMIT")
    assert lab.rows(t) == [(1,), (2,)]


def test_what_is_refused(lab: Lab) -> None:
    t = lab.create("id int", values="(1), (2)")
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    view, plain = f"{t}_view", f"{t}_plain"
    lab.sql(f"CREATE VIEW {view} AS SELECT * FROM {t}")
    lab.spark.sql(f"CREATE TABLE {plain} (id INT) USING parquet")
    only = lab.create("id int", properties={"transactional_properties": "insert_only"})
    tree = lab.tree(t)
    for text, expected in (
        (f"RESTORE TABLE {t} TO VERSION AS OF 3", "VERSION_NOT_FOUND"),
        (f"RESTORE TABLE {t} TO VERSION AS OF -1", "VERSION_NOT_FOUND"),
        (f"RESTORE TABLE {t} TO VERSION AS OF NULL", "VERSION_NOT_FOUND"),
        (f"RESTORE TABLE {t} TO VERSION AS OF 1 WHERE id = 1", "VERSION_NOT_FOUND"),
        (f"RESTORE TABLE {t} TO VERSION AS OF 'main'", "VERSION_NOT_FOUND"),
        (f"RESTORE TABLE {t} TO TIMESTAMP AS OF '1999-01-01'", "VERSION_NOT_FOUND"),
        (f"RESTORE TABLE {t} TO TIMESTAMP AS OF now() + INTERVAL 1 DAY", "VERSION_NOT_FOUND"),
        (
            f"RESTORE TABLE {t} TO TIMESTAMP AS OF CAST(NULL AS TIMESTAMP)",
            "INVALID_TIME_TRAVEL_TIMESTAMP_EXPR.INPUT",
        ),
        (f"RESTORE TABLE {view} TO VERSION AS OF 1", "EXPECT_TABLE_NOT_VIEW"),
        (f"RESTORE TABLE {only} TO VERSION AS OF 0", "UNSUPPORTED_FEATURE.INSERT_ONLY_TABLE"),
        (f"UNDO WRITE 1 OF {only}", "UNSUPPORTED_FEATURE.INSERT_ONLY_TABLE"),
        (f"UNDO WRITE 0 OF {t}", "VERSION_NOT_FOUND"),
        (f"UNDO WRITE 3 OF {t}", "VERSION_NOT_FOUND"),
        (f"UNDO WRITE 1 OF {view}", "EXPECT_TABLE_NOT_VIEW"),
        (f"UNDO WRITE 1 OF {plain}", "NOT_A_TRANSACTIONAL_TABLE"),
        (f"UNDO WRITE 1 OF {t}", "UNDO_CONFLICT"),
        (f"EXPLAIN UNDO WRITE 3 OF {t}", "VERSION_NOT_FOUND"),
        (f"EXPLAIN UNDO WRITE 1 OF {view}", "EXPECT_TABLE_NOT_VIEW"),
        (f"EXPLAIN UNDO WRITE 1 OF {plain}", "NOT_A_TRANSACTIONAL_TABLE"),
        (f"EXPLAIN UNDO WRITE 1 OF {only}", "UNSUPPORTED_FEATURE.INSERT_ONLY_TABLE"),
    ):
        assert condition(lab, text) == expected, text
    assert lab.tree(t) == tree
    with acidsql.transaction(lab.spark) as transaction:
        for text in (f"RESTORE TABLE {t} TO VERSION AS OF 1", f"UNDO WRITE 2 OF {t}"):
            assert condition(lab, text) == "NOT_ALLOWED_IN_TRANSACTION"
        transaction.sql(f"INSERT INTO {t} VALUES (3)")
    lab.spark.sql(f"DROP TABLE {plain}")
