"""Changes of tables: table_changes, acidsql.changes, and acidsql.changes_since."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyspark
import pytest

import acidsql
from tests.limits import set_limits
from tests.product.conditions import condition, condition_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

KEPT = {"acidsql.history.retention": "1d"}
INSERT, DELETE, PREIMAGE, POSTIMAGE = "insert", "delete", "update_preimage", "update_postimage"
Rows = list[tuple[Any, ...]]


def feed(lab: Lab, arguments: str, columns: str = "id, v") -> Rows:
    """Return changes with their types and versions, by version and type."""
    text = f"SELECT {columns}, _change_type, _commit_version FROM table_changes({arguments})"
    return sorted(lab.sql(text), key=lambda row: (row[-1], row[-2], row[:-2]))


@pytest.mark.slow
def test_changes_of_statements(lab: Lab) -> None:
    t = lab.create("id int, v int", properties=KEPT, values="(1, 1), (2, 2), (3, 3)")
    lab.sql(f"UPDATE {t} SET v = 9 WHERE id = 2")
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    lab.sql(
        f"MERGE INTO {t} USING (SELECT 2 AS id, 7 AS v UNION ALL SELECT 4, 4) AS s"
        f" ON {t}.id = s.id"
        " WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
    )
    first = [(1, 1, INSERT, 1), (2, 2, INSERT, 1), (3, 3, INSERT, 1)]
    second = [(2, 9, POSTIMAGE, 2), (2, 2, PREIMAGE, 2)]
    third = [(1, 1, DELETE, 3)]
    fourth = [(2, 9, DELETE, 4), (2, 7, INSERT, 4), (4, 4, INSERT, 4)]
    for kind in ("", "major"):
        if kind:
            lab.compact(t, kind)
        assert feed(lab, f"'{t}', 0") == [*first, *second, *third, *fourth]
        assert feed(lab, f"'{t}', 2, 3") == [*second, *third]
    keyed = [(4, 4, INSERT, 4), (2, 7, POSTIMAGE, 4), (2, 9, PREIMAGE, 4)]
    assert feed(lab, f"'{t}', 4, keys => 'id'") == keyed
    net = [(2, 2, DELETE, 2), (1, 1, DELETE, 3), (2, 7, INSERT, 4), (4, 4, INSERT, 4)]
    assert feed(lab, f"'{t}', 2, net => true") == net
    net = [(2, 2, PREIMAGE, 2), (1, 1, DELETE, 3), (4, 4, INSERT, 4), (2, 7, POSTIMAGE, 4)]
    assert feed(lab, f"'{t}', 2, net => true, keys => array('id')") == net
    kind = f"SELECT id FROM table_changes('{t}', 2) AS c WHERE c._change_type = 'delete'"
    assert lab.sql(f"{kind} AND c.v < 9") == [(1,)]
    filtered = f"SELECT v FROM table_changes('{t}', 4, keys => 'id') WHERE v > 8"
    assert lab.sql(f"{filtered} AND _change_type = '{PREIMAGE}'") == [(9,)]
    write_ids = f"SELECT row__id.writeid, _change_type FROM table_changes('{t}', 3, 3)"
    assert lab.sql(write_ids) == [(1, DELETE)]
    (row,) = acidsql.changes(lab.spark, t, from_version=3, to_version=3).collect()
    assert [*row.asDict()] == ["id", "v", "_change_type", "_commit_version", "_commit_timestamp"]
    history = lab.frame(f"DESCRIBE HISTORY {t}").where("writeId = 3 AND operation = 'DELETE'")
    (time,) = [row.timestamp for row in history.collect()]
    assert abs(time - row._commit_timestamp).total_seconds() < 0.001
    at = row._commit_timestamp
    found = acidsql.changes(lab.spark, t, from_timestamp=at, to_timestamp=at)
    assert [r._commit_version for r in found.collect()] == [3]


@pytest.mark.slow
def test_replaced_rows_and_partitions(lab: Lab) -> None:
    t = lab.create(
        "id int, v int", partitioned="p int", properties=KEPT, values="(1, 1, 1), (2, 2, 2)"
    )
    lab.sql(f"UPDATE {t} SET v = 9 WHERE id = 1")
    lab.sql(f"INSERT OVERWRITE {t} PARTITION (p = 1) VALUES (3, 3)")
    lab.sql(f"DELETE FROM {t} WHERE id = 2")
    lab.sql(f"TRUNCATE TABLE {t} PARTITION (p = 1)")
    lab.sql(f"INSERT INTO {t} VALUES (4, 4, 1)")
    changes = [
        (1, 1, 1, INSERT, 1),
        (2, 2, 2, INSERT, 1),
        (1, 9, 1, POSTIMAGE, 2),
        (1, 1, 1, PREIMAGE, 2),
        (1, 9, 1, DELETE, 3),
        (3, 3, 1, INSERT, 3),
        (2, 2, 2, DELETE, 4),
        (3, 3, 1, DELETE, 5),
        (4, 4, 1, INSERT, 6),
    ]
    for partition in ("", "p=1"):
        if partition:
            lab.compact(t, "major", partition)
        assert feed(lab, f"'{t}', 1", "id, v, p") == changes
    assert feed(lab, f"'{t}', 3, 3", "id, v, p") == changes[4:6]
    net = [(1, 1, 1, DELETE, 2), (2, 2, 2, DELETE, 4), (4, 4, 1, INSERT, 6)]
    assert feed(lab, f"'{t}', 2, net => true", "id, v, p") == net
    text = f"SELECT id, _commit_version FROM table_changes('{t}', 1) WHERE p = 2"
    plan = lab.frame(f"EXPLAIN {text}").first().plan
    assert "1 of 2" in plan
    assert sorted(lab.sql(text)) == [(2, 1), (2, 4)]


@pytest.mark.slow
def test_checkpoints_lose_nothing_when_a_later_write_id_commits_first(
    lab: Lab, other: Lab, before_commit: Callable[[Callable[[], Any]], None]
) -> None:
    t = lab.create("id int, v int", properties=KEPT, values="(1, 1)")
    start = acidsql.changes_since(lab.spark, t, None)
    assert sorted(start.rows.select("id", "_change_type").collect()) == [(1, INSERT)]
    between: list[acidsql.ChangesSince] = []

    def commit_first() -> None:
        other.insert(t, "(3, 3)")
        between.append(acidsql.changes_since(other.spark, t, start.checkpoint))

    before_commit(commit_first)
    lab.insert(t, "(2, 2)")
    (middle,) = between
    assert [row.id for row in middle.rows.collect()] == [3]
    end = acidsql.changes_since(lab.spark, t, middle.checkpoint)
    assert [(row.id, row._commit_version) for row in end.rows.collect()] == [(2, 2)]
    assert acidsql.changes_since(lab.spark, t, end.checkpoint).rows.collect() == []
    assert feed(lab, f"'{t}', 3") == [(2, 2, INSERT, 2), (3, 3, INSERT, 3)]
    assert feed(lab, f"'{t}', 2") == [(2, 2, INSERT, 2)]
    assert condition(lab, f"SELECT * FROM table_changes('{t}', 2, 3)") == "INVALID_CHANGE_RANGE"


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [4_000_000, pytest.param(0, marks=pytest.mark.repeated)])
def test_an_old_row_that_is_lost_is_an_error(
    lab: Lab, numbers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(monkeypatch, broadcast_numbers=numbers)
    t = lab.create("id int, v int", properties=KEPT, values="(1, 1), (2, 2)")
    lab.insert(t, "(3, 3)")
    lab.sql(f"DELETE FROM {t} WHERE id <> 2")
    assert feed(lab, f"'{t}', 3") == [(1, 1, DELETE, 3), (3, 3, DELETE, 3)]
    deltas = [d for d in lab.directories(t) if d.startswith("delta_")]
    for delta in reversed(deltas):
        shutil.rmtree(lab.root(t) / delta)
        for rest in ("", " WHERE v > 100", f" WHERE _change_type = '{DELETE}' AND id = 1"):
            for columns in ("*", "count(*)"):
                with pytest.raises(Exception, match="DELETE_EVENT_WITHOUT_ROW.*CHECK TABLE") as e:
                    lab.sql(f"SELECT {columns} FROM table_changes('{t}', 3){rest}")
                assert '"writeid":' in str(e.value)
        with (
            lab.settings(spark__sql__retainGroupColumns="false"),
            pytest.raises(Exception, match="DELETE_EVENT_WITHOUT_ROW"),
        ):
            lab.sql(f"SELECT * FROM table_changes('{t}', 3)")
        inserted = f"SELECT id FROM table_changes('{t}', 3) WHERE _change_type = '{INSERT}'"
        assert lab.sql(inserted) == []


@pytest.mark.slow
def test_lost_rows_are_looked_for_where_files_do_not_tell(lab: Lab) -> None:
    t = lab.create("id int, v int", properties=KEPT, values="(1, 1), (2, 2), (3, 3), (4, 4)")
    lab.insert(t, "(5, 5)")

    def looks_for(version: int) -> bool:
        """Return whether a plan reads the row ids once more."""
        frame = lab.frame(f"SELECT * FROM table_changes('{t}', {version})")
        assert sorted(row.id for row in frame.collect()) == [version]
        return "raise_error" in frame._jdf.queryExecution().executedPlan().toString()

    lab.sql(f"DELETE FROM {t} WHERE id = 3")
    assert not looks_for(3)
    # The stripes of two write ids in one file. The first has a gap.
    lab.compact(t, "major")
    lab.sql(f"DELETE FROM {t} WHERE id = 4")
    assert looks_for(4)
    lab.sql(f"DELETE FROM {t} WHERE id = 5")
    assert not looks_for(5)


CLAUSES = {
    "VERSION 2 TO VERSION 3": [2, 3],
    "VERSION 2": [2, 3, 4],
    "VERSION 2 EXCLUSIVE TO VERSION 4 INCLUSIVE": [3, 4],
    "VERSION 2 INCLUSIVE TO VERSION 4 EXCLUSIVE": [2, 3],
    "VERSION 'txn {txn}' TO VERSION 4": [3, 4],
    "TIMESTAMP '{time}' EXCLUSIVE": [4],
}


@pytest.mark.slow
@pytest.mark.skipif(pyspark.__version__ < "4.2", reason="Spark 4.2 has the clause CHANGES")
def test_the_clause_of_spark(lab: Lab) -> None:
    t = lab.create("id int, v int", properties=KEPT, values="(1, 1)")
    for i in (2, 3):
        lab.insert(t, f"({i}, {i})")
    lab.sql(f"UPDATE {t} SET v = 9 WHERE id = 3")
    history = lab.frame(f"DESCRIBE HISTORY {t}").where("writeId = 3")
    ((txn, time),) = history.selectExpr("transactionId", "CAST(`timestamp` AS STRING)").collect()
    for clause, versions in CLAUSES.items():
        text = f"{t} CHANGES FROM {clause.format(txn=txn, time=time)}"
        found = lab.sql(f"SELECT DISTINCT c._commit_version FROM {text} AS c ORDER BY 1")
        assert [row[0] for row in found] == versions, clause
    columns = "id, v, _change_type, _commit_version"
    told = lab.sql(f"SELECT {columns} FROM {t} CHANGES FROM VERSION 4 ORDER BY v")
    assert told == [(3, 3, PREIMAGE, 4), (3, 9, POSTIMAGE, 4)]
    net = f"{t} CHANGES FROM VERSION 3 WITH (deduplicationMode = 'netChanges')"
    assert lab.sql(f"SELECT {columns} FROM {net}") == [(3, 9, INSERT, 4)]
    for clause, expected in (
        ("VERSION 9", "VERSION_NOT_FOUND"),
        ("VERSION 3 TO VERSION 2", "INVALID_CHANGE_RANGE"),
        ("VERSION 'one'", "INVALID_PARAMETER_VALUE.CHANGES"),
    ):
        assert condition(lab, f"SELECT * FROM {t} CHANGES FROM {clause}") == expected


@pytest.mark.slow
def test_bounds(lab: Lab) -> None:
    t = lab.create("id int, v int", properties=KEPT, values="(1, 1)")
    other = lab.create("id int")
    for i in (2, 3, 4):
        lab.insert(t, f"({i}, {i})")
    lab.insert(other, "(1)")
    history = (
        lab.frame(f"DESCRIBE HISTORY {t}")
        .selectExpr("writeId", "transactionId", "unix_micros(`timestamp`) AS time")
        .collect()
    )
    txns = {row.writeId: f"txn {row.transactionId}" for row in history}
    at = {row.writeId: f"timestamp_micros({row.time})" for row in history}
    elsewhere = lab.frame(f"DESCRIBE HISTORY {other} LIMIT 1").first().transactionId

    def versions(arguments: str) -> list[int]:
        found = lab.sql(f"SELECT _commit_version FROM table_changes('{t}', {arguments})")
        return sorted(row[0] for row in found)

    no_first, no_last = "starting_bound_inclusive => false", "ending_bound_inclusive => false"
    for first, last in ((2, 4), (f"'{txns[2]}'", f"'{txns[4]}'"), (at[2], at[4]), (at[2], 4)):
        assert versions(f"{first}, {last}") == [2, 3, 4]
        assert versions(f"{first}, {last}, {no_first}") == [3, 4]
        assert versions(f"{first}, {last}, {no_last}") == [2, 3]
        assert versions(f"{first}, {last}, {no_first}, {no_last}") == [3]
        assert versions(f"{first}, {no_first}") == [3, 4]
    for point in (3, f"'{txns[3]}'", at[3]):
        assert versions(f"{point}, {point}") == [3]
        for excluded in (no_first, no_last):
            assert versions(f"{point}, {point}, {excluded}") == []
    # A transaction that did not write the table bounds its changes too.
    assert versions(f"'txn {elsewhere}'") == []
    assert versions(f"1, 'txn {elsewhere}', {no_last}") == [1, 2, 3, 4]
    assert versions(f"0, 1, {no_first}") == [1]
    of_python = acidsql.changes(
        *(lab.spark, t), from_version=txns[2], to_version="4", starting_bound_inclusive=False
    )
    assert of_python.count() == 2
    for arguments, expected in (
        (f"'{txns[3]}', '{txns[2]}'", "INVALID_CHANGE_RANGE"),
        (f"3, 2, {no_last}", "INVALID_CHANGE_RANGE"),
        (f"3, 3, {no_first}, {no_last}", "INVALID_CHANGE_RANGE"),
        ("'txn 99999'", "VERSION_NOT_FOUND"),
        (f"1, {no_last}", "INVALID_PARAMETER_VALUE.CHANGES"),
        (f"since => NULL, {no_first}", "INVALID_PARAMETER_VALUE.CHANGES"),
        ("1, starting_bound_inclusive => 1", "INVALID_PARAMETER_VALUE.CHANGES"),
    ):
        text = f"SELECT * FROM table_changes('{t}', {arguments})"
        assert condition(lab, text) == expected, arguments
    with pytest.raises(acidsql.AcidSqlError) as caught:
        acidsql.changes(lab.spark, t, from_version="main")
    assert condition_of(caught.value) == "INVALID_PARAMETER_VALUE.CHANGES"


@pytest.mark.slow
def test_keys_of_a_table(lab: Lab) -> None:
    keys = {**KEPT, "acidsql.changes.keys": "ID"}
    t = lab.create("id int, v int", properties=keys, values="(1, 1), (2, 2)")
    lab.sql(
        f"MERGE INTO {t} USING (SELECT 1 AS id UNION ALL SELECT 2) AS s ON {t}.id = s.id"
        " WHEN MATCHED AND s.id = 1 THEN UPDATE SET v = 9 WHEN MATCHED THEN DELETE"
    )
    paired = [(2, 2, DELETE, 2), (1, 9, POSTIMAGE, 2), (1, 1, PREIMAGE, 2)]
    told = [(1, 1, DELETE, 2), (2, 2, DELETE, 2), (1, 9, INSERT, 2)]
    assert feed(lab, f"'{t}', 2") == paired
    assert feed(lab, f"'{t}', 2, keys => array()") == told
    for given, expected in ((None, PREIMAGE), ("id", PREIMAGE), ((), DELETE)):
        found = acidsql.changes(lab.spark, t, from_version=2, keys=given).where("v = 1")
        assert [row._change_type for row in found.collect()] == [expected]
    lab.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('acidsql.changes.keys' = 'id, w')")
    assert condition(lab, f"SELECT * FROM table_changes('{t}', 2)") == "INVALID_TABLE_PROPERTY"


def test_transactions(lab: Lab) -> None:
    t = lab.create("id int, v int", properties=KEPT, values="(1, 1)")
    with acidsql.transaction(lab.spark) as txn:
        txn.sql(f"INSERT INTO {t} VALUES (2, 2), (3, 3)")
        txn.sql(f"UPDATE {t} SET v = 7 WHERE id < 3")
        assert txn.sql(f"SELECT id FROM table_changes('{t}', 1)").collect() == [(1,)]
    expected = [(1, 1, DELETE, 2), (1, 7, INSERT, 2), (2, 7, INSERT, 2), (3, 3, INSERT, 2)]
    assert feed(lab, f"'{t}', 2") == expected


@pytest.mark.slow
def test_bad_input(lab: Lab) -> None:
    t = lab.create("id int, v int", values="(1, 1)")
    lab.insert(t, "(2, 2)")
    view = f"{t}_view"
    lab.sql(f"CREATE VIEW {view} AS SELECT * FROM {t}")
    plain = lab.create("id int", properties={"transactional_properties": "insert_only"})
    for arguments, expected in (
        (f"'{t}', 9", "VERSION_NOT_FOUND"),
        (f"'{t}', -1", "VERSION_NOT_FOUND"),
        (f"'{t}', 2, 1", "INVALID_CHANGE_RANGE"),
        (f"'{t}', NULL", "INVALID_PARAMETER_VALUE.CHANGES"),
        (f"'{t}', 1.5", "INVALID_PARAMETER_VALUE.CHANGES"),
        (f"'{t}'", "INVALID_PARAMETER_VALUE.CHANGES"),
        (f"'{t}', 1, 2, 3", "INVALID_PARAMETER_VALUE.CHANGES"),
        (f"'{t}', 1, keys => 'nothing'", "INVALID_PARAMETER_VALUE.CHANGES"),
        (f"'{t}', 1, nett => true", "INVALID_PARAMETER_VALUE.CHANGES"),
        (f"'{t}', '1999-01-01'", "VERSION_NOT_FOUND"),
        (f"'{t}', current_timestamp() + INTERVAL 1 DAY", "VERSION_NOT_FOUND"),
        (f"'{t}', since => 'x'", "INVALID_CHECKPOINT"),
        (f"'{view}', 1", "UNSUPPORTED_FEATURE.CHANGE_FEED"),
        (f"'{plain}', 1", "UNSUPPORTED_FEATURE.CHANGE_FEED"),
    ):
        assert condition(lab, f"SELECT * FROM table_changes({arguments})") == expected, arguments
    checkpoint = acidsql.changes_since(lab.spark, t, None).checkpoint
    acidsql.release(lab.spark)
    lab.sql(f"ALTER TABLE {t} COMPACT 'major' AND WAIT")
    lab.sql(f"VACUUM {t}")
    assert condition(lab, f"SELECT * FROM table_changes('{t}', 2)") == "HISTORY_NOT_AVAILABLE"
    assert acidsql.changes_since(lab.spark, t, checkpoint).rows.collect() == []
    lab.sql(f"DROP TABLE {t}")
    lab.sql(f"CREATE TABLE {t} (id int) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
    with pytest.raises(acidsql.AcidSqlError) as caught:
        acidsql.changes_since(lab.spark, t, checkpoint)
    assert condition_of(caught.value) == "INVALID_CHECKPOINT"


@pytest.mark.slow
def test_consumers_apply_each_change_once(lab: Lab) -> None:
    t = lab.create("id int, v int", properties=KEPT, values="(1, 1), (2, 2)")
    target = lab.create("id int, v int")

    def merge(txn: acidsql.TransactionHandle, changes: DataFrame) -> None:
        txn.sql(
            f"MERGE INTO {target} AS t USING (SELECT * FROM {{changes}} WHERE _change_type <>"
            f" '{PREIMAGE}') AS s ON t.id = s.id"
            f" WHEN MATCHED AND s._change_type = '{DELETE}' THEN DELETE"
            " WHEN MATCHED THEN UPDATE SET v = s.v"
            f" WHEN NOT MATCHED AND s._change_type <> '{DELETE}' THEN INSERT (id, v)"
            " VALUES (s.id, s.v)",
            changes=changes,
        )

    def fail(txn: acidsql.TransactionHandle, changes: DataFrame) -> None:
        merge(txn, changes)
        raise InterruptedError

    def consume(apply: Callable[[acidsql.TransactionHandle, DataFrame], None]) -> bool:
        return acidsql.consume_changes(lab.spark, t, apply, consumer=t, keys="id", net=True)

    assert consume(merge)
    lab.sql(f"UPDATE {t} SET v = 9 WHERE id = 1")
    lab.sql(f"UPDATE {t} SET v = 8 WHERE id = 1")
    lab.sql(f"DELETE FROM {t} WHERE id = 2")
    lab.insert(t, "(3, 3)")
    with pytest.raises(InterruptedError):
        consume(fail)
    assert lab.rows(target) == [(1, 1), (2, 2)]
    ended = threading.Event()

    def last(txn: acidsql.TransactionHandle, changes: DataFrame) -> None:
        merge(txn, changes)
        ended.set()

    acidsql.follow_changes(
        lab.spark, t, last, consumer=t, keys="id", net=True, every=0.01, stop=ended
    )
    assert lab.rows(target) == lab.rows(t) == [(1, 8), (3, 3)]
    assert not consume(merge)


@pytest.mark.slow
def test_consumers_hold_their_table_whatever_becomes_of_the_name(lab: Lab, other: Lab) -> None:
    t = lab.create("id int", properties=KEPT, values="(1)")
    seen: list[int] = []

    def keep(_: acidsql.TransactionHandle, changes: DataFrame) -> None:
        seen.extend(row.id for row in changes.collect())

    def consume(source: str) -> bool:
        return acidsql.consume_changes(lab.spark, source, keep, consumer=t)

    assert consume(t)
    lab.sql(f"ALTER TABLE {t} RENAME TO {t}_new")
    consume(f"{t}_new")
    assert seen == [1]
    other.insert(f"{t}_new", "(2)")
    lab.sql("CREATE DATABASE elsewhere")
    try:
        # A loop goes on with its table, whatever the current database is, and ends with its name.
        def leave(txn: acidsql.TransactionHandle, changes: DataFrame) -> None:
            keep(txn, changes)
            if seen[-1] == 2:
                lab.sql("USE elsewhere")
                other.insert(f"{t}_new", "(3)")
            else:
                lab.session.metastore.rename_table("default", f"{t}_new", "default", f"{t}_gone")

        with pytest.raises(acidsql.AcidSqlError) as caught:
            acidsql.follow_changes(lab.spark, f"{t}_new", leave, consumer=t, every=0.01)
        assert condition_of(caught.value) == "HELD_TABLE_CHANGED"
        assert seen == [1, 2, 3]
    finally:
        lab.sql("USE default")
        lab.sql("DROP DATABASE elsewhere")
    assert lab.sql(f"SELECT table_name FROM acidsql_change_checkpoints WHERE consumer = '{t}'") == [
        (f"default.{t}_new",)
    ]
    # Another table of the first name has not been read; one that takes the place of that is not
    # taken for it.
    new = f"CREATE TABLE {t} (id int) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    lab.sql(new)
    lab.insert(t, "(7)")
    assert consume(t)
    lab.sql(f"DROP TABLE {t}")
    lab.sql(new)
    with pytest.raises(acidsql.AcidSqlError) as caught:
        consume(t)
    assert condition_of(caught.value) == "INVALID_CHECKPOINT"
    assert seen == [1, 2, 3, 7]


@pytest.mark.slow
def test_readers_of_enabled_sessions(on: Lab) -> None:
    t = on.create("id int, v int", values="(1, 1)")
    on.sql(f"UPDATE {t} SET v = 2")
    on.sql(f"DELETE FROM {t}")
    reader = on.spark.read.option("readChangeFeed", "true").option("startingVersion", 2)
    assert sorted(row._change_type for row in reader.table(t).collect()) == [
        DELETE,
        POSTIMAGE,
        PREIMAGE,
    ]
    reader = on.spark.read.option("startingVersion", "2").option("endingVersion", "2")
    assert len(reader.changes(t).collect()) == 2
    net = reader.option("deduplicationMode", "netChanges").changes(t)
    assert sorted(row._change_type for row in net.collect()) == [DELETE, INSERT]
    after = reader.option("startingBoundInclusive", "false").option("endingVersion", 3)
    assert [row._commit_version for row in after.changes(t).collect()] == [3]
    for key, value in (("startingVersion", "x"), ("endingBoundInclusive", "no")):
        with pytest.raises(acidsql.AcidSqlError) as caught:
            on.spark.read.option("startingVersion", 1).option(key, value).changes(t)
        assert condition_of(caught.value) == "INVALID_PARAMETER_VALUE.CHANGES"
